//! `missed` in the directory of a worktree's checkpoints: there while an event of an agent could not be handled, and what the agent
//! has changed may be unsaved.

use std::{fs, path::Path};

fn path(git_dir: &Path) -> std::path::PathBuf {
    super::directory(git_dir).join("missed")
}

/// Notes that an event was missed. The file is empty: it can be made on most disks that are full. If not, there is nothing that
/// could be done.
pub(crate) fn note(git_dir: &Path) {
    // Not the git directory of a worktree that has just been removed.
    drop(fs::create_dir(super::directory(git_dir)));
    drop(fs::File::options().create(true).append(true).open(path(git_dir)));
}

/// Returns true if an event was missed.
pub(crate) fn is_noted(git_dir: &Path) -> bool {
    path(git_dir).symlink_metadata().is_ok()
}

/// Notes that all changes were saved since.
pub(crate) fn forget(git_dir: &Path) {
    drop(fs::remove_file(path(git_dir)));
}
