//! Where the stat cache of a worktree is kept.

use gix::ObjectId;

use super::look::Seen;
use crate::{error::Result, git::Repo, state};

/// Keeps what every path was for the next pass; `anchor` is the checkpoint that holds the content.
pub(crate) fn store_cache(repo: &Repo, seen: &mut Seen, anchor: Option<ObjectId>) {
    if let Some((cache, true)) = &mut seen.cache {
        cache.anchor = anchor;
        let stored = cache_path(repo).and_then(|path| cache.store(&path, repo.object_hash()));
        if let Err(error) = stored {
            // What was saved is saved; the next pass reads more than it had to.
            tracing::warn!(%error, "stat cache not stored");
        }
    }
}

pub(crate) fn cache_path(repo: &Repo) -> Result<std::path::PathBuf> {
    Ok(state::ensure_directory(repo.git_dir())?.join("index"))
}
