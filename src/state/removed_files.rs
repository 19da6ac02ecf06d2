//! Deletes removed worktrees with all their files: never through a mount point, and never under a process that works there.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{
    failpoint, process_places, read_text,
    removed::{LONGEST, RECORD, Removed, folder},
};
use crate::error::{Context as _, Kind, Result};

/// How the name of a folder begins whose content is being deleted: no restore finds it.
const DROPPED: &str = "dropped-";

/// Why files must not be deleted now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hindrance {
    /// Another file system is mounted there.
    Mount,
    /// The process with this id works there.
    Process(u32),
}

/// How a deletion has ended.
#[derive(Debug)]
pub(crate) enum Deletion {
    /// All is deleted.
    Whole,
    /// A part is deleted: it cannot be restored any more, and the next sweep goes on.
    Part(io::Error),
    /// Nothing is deleted.
    Hindered(Hindrance),
}

impl Removed {
    /// Returns why it must not be deleted now; none if it may be.
    pub(crate) fn hindrance(&self) -> Option<Hindrance> {
        [Some(&self.folder), self.tree_outside()].into_iter().flatten().find_map(|path| hindrance(path))
    }

    /// Returns where its root is kept, if not in the folder.
    fn tree_outside(&self) -> Option<&PathBuf> {
        self.tree.as_ref().filter(|_| !self.is_tree_in_folder())
    }

    /// Deletes it with all its files.
    ///
    /// # Errors
    /// If nothing is deleted.
    pub(crate) fn delete(&self) -> Result<Deletion> {
        if let Some(hindrance) = self.hindrance() {
            return Ok(Deletion::Hindered(hindrance));
        }
        let dropped = self.folder.with_file_name(format!("{DROPPED}{}", self.id));
        fs::rename(&self.folder, &dropped)
            .context(Kind::Internal, || format!("cannot delete '{}'", self.folder.display()))?;
        failpoint::hit("worktree:after-dropped");
        Ok(delete_dropped(&dropped, self.tree_outside()).map_or_else(Deletion::Part, |()| Deletion::Whole))
    }
}

/// Deletes the folder `dropped`, and the root `outside` of it.
fn delete_dropped(dropped: &Path, outside: Option<&PathBuf>) -> io::Result<()> {
    if let Some(tree) = outside {
        remove_all(tree)?;
        // Without the record, no sweep looks for the root again.
        fs::remove_file(dropped.join(RECORD))?;
    }
    remove_all(dropped)
}

/// Goes on to delete what a killed process has begun to delete.
pub(crate) fn sweep_dropped(common_dir: &Path) {
    for entry in fs::read_dir(folder(common_dir)).into_iter().flatten().flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| name.strip_prefix(DROPPED)).map(str::to_owned) else {
            continue;
        };
        let text = read_text(&entry.path().join(RECORD), LONGEST).ok().flatten();
        let tree = text.and_then(|text| Removed::parse(id, entry.path(), &text)?.tree);
        // One that was in the folder is there under its new name.
        let outside = tree.filter(|tree| !tree.starts_with(folder(common_dir)));
        // A mount point has nothing while its file system is not there.
        if outside.as_ref().is_some_and(|tree| fs::symlink_metadata(tree).is_err() && !has_others(tree)) {
            continue;
        }
        if let Err(error) = delete_dropped(&entry.path(), outside.as_ref()) {
            tracing::warn!(%error, folder = %entry.path().display(), "a removed worktree cannot be deleted");
        }
    }
}

/// Returns true if the directory above `path` has something in it: a mount point has nothing while its file system is not there.
pub(crate) fn has_others(path: &Path) -> bool {
    path.parent().and_then(|parent| fs::read_dir(parent).ok()).is_some_and(|mut entries| entries.next().is_some())
}

/// Returns why the directory `path` must not be deleted now; none if it may be.
fn hindrance(path: &Path) -> Option<Hindrance> {
    // The kernel knows canonical paths alone.
    let path = fs::canonicalize(path).ok()?;
    if process_places::has_mount(&path) {
        return Some(Hindrance::Mount);
    }
    process_places::one_in(&path).map(|(pid, _)| Hindrance::Process(pid))
}

/// Deletes the directory `path` if it is there, with read-only directories in it. No symbolic link is followed.
fn remove_all(path: &Path) -> io::Result<()> {
    if let Some(hindrance) = hindrance(path) {
        let why = match hindrance {
            Hindrance::Mount => "a file system is mounted there".to_owned(),
            Hindrance::Process(pid) => format!("the process {pid} works there"),
        };
        return Err(io::Error::new(io::ErrorKind::ResourceBusy, why));
    }
    let remove = || match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    };
    match remove() {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            make_writable(path);
            remove()
        }
        removed => removed,
    }
}

/// Lets the user change the directory `path` and all below it, as far as they are the user's.
fn make_writable(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let Ok(metadata) = fs::symlink_metadata(path) else { return };
    if !metadata.is_dir() {
        return;
    }
    drop(fs::set_permissions(path, fs::Permissions::from_mode(metadata.permissions().mode() | 0o700)));
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        make_writable(&entry.path());
    }
}
