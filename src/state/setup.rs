//! `<git-dir>/checkpoint/setup.toml`: how far the set-up of a linked worktree has come.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{directory, ensure_directory, read_text, replace_file};
use crate::error::{Error, Result};

/// More than this is in the file only if it is damaged.
const LONGEST: u64 = 1 << 16;

/// How many of the commands have succeeded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Progress {
    /// The SHA-256 of the commands.
    pub(crate) commands: String,
    /// How many have succeeded, from the first.
    pub(crate) done: usize,
}

fn file(git_dir: &Path) -> PathBuf {
    directory(git_dir).join("setup.toml")
}

/// Returns how far the set-up of the worktree of `git_dir` has come; none if it has not begun, or the file is damaged.
///
/// # Errors
/// If the file cannot be read.
pub(crate) fn progress(git_dir: &Path) -> Result<Option<Progress>> {
    let text = read_text(&file(git_dir), LONGEST)?;
    Ok(text.and_then(|text| toml::from_str(&text).ok()))
}

/// Writes how far it has come.
pub(crate) fn write(git_dir: &Path, progress: &Progress) -> Result<()> {
    ensure_directory(git_dir)?;
    let text = toml::to_string(progress).map_err(|cause| Error::internal("a set-up").with_cause(cause))?;
    replace_file(&file(git_dir), text.as_bytes())
}
