//! Where the stat cache of a worktree is kept.

use std::path::PathBuf;

use crate::{error::Result, git::Repo, state};

/// Returns the file of the stat cache, in a directory that exists.
pub(crate) fn cache_path(repo: &Repo) -> Result<PathBuf> {
    Ok(state::ensure_directory(repo.git_dir())?.join("index"))
}
