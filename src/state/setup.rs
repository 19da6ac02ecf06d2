//! `<git-dir>/checkpoint/setup.toml`: how far the set-up of a linked worktree has come.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{directory, ensure_directory_of_linked, read_text, remove_file_if_there, replace_file};
use crate::error::{Context as _, Kind, Result};

/// More than this is in the file only if it is damaged.
const LONGEST: u64 = 1 << 16;

/// How many commands have succeeded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Progress {
    /// How many, from the first.
    pub(crate) done: usize,
    /// The digest of these.
    pub(crate) commands: String,
}

fn file(git_dir: &Path) -> PathBuf {
    directory(git_dir).join("setup.toml")
}

/// Returns how far the set-up of the worktree of `git_dir` has come; if it has not begun, or the file is damaged, not at all.
///
/// # Errors
/// If the file cannot be read.
pub(crate) fn read(git_dir: &Path) -> Result<Progress> {
    let text = read_text(&file(git_dir), LONGEST)?;
    Ok(text.and_then(|text| toml::from_str(&text).ok()).unwrap_or_default())
}

/// Returns true if it has begun, or is due, in the worktree of `git_dir`.
pub(crate) fn is_noted(git_dir: &Path) -> bool {
    file(git_dir).is_file()
}

/// Writes how far it has come.
///
/// # Errors
/// If the file cannot be written; [`Kind::User`] if there is no such worktree any more.
pub(crate) fn write(git_dir: &Path, progress: &Progress) -> Result<()> {
    ensure_directory_of_linked(git_dir)?;
    let text = toml::to_string(progress).context(Kind::Internal, || "cannot write down a set-up".into())?;
    replace_file(&file(git_dir), text.as_bytes())
}

/// Notes that the set-up has not begun, as after a teardown.
///
/// # Errors
/// If the file cannot be removed.
pub(crate) fn forget(git_dir: &Path) -> Result<()> {
    remove_file_if_there(&file(git_dir))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        assert_eq!(read(dir.path()).expect("readable"), Progress::default());
        let progress = Progress { done: 2, commands: "aa".into() };
        write(dir.path(), &progress).expect("written");
        assert_eq!(read(dir.path()).expect("readable"), progress);
        forget(dir.path()).expect("it is there");
        forget(dir.path()).expect("it is gone already");
        assert_eq!(read(dir.path()).expect("readable"), Progress::default());
        std::fs::write(file(dir.path()), b"?").expect("written");
        assert_eq!(read(dir.path()).expect("readable"), Progress::default());
        let gone = dir.path().join("gone");
        assert_eq!(write(&gone, &progress).expect_err("there is no worktree").kind(), Kind::User);
        assert!(!gone.exists());
    }
}
