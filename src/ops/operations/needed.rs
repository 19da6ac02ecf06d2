//! The checkpoints that `undo` and `redo` need of what the last restores did.

use bstr::{BString, ByteVec as _};
use gix::ObjectId;

use super::log::Log;
use crate::{
    error::Result,
    ops::Context,
    state::journal::{Journal, Progress},
};

/// Returns the checkpoints that the last restore of each worktree put back, or took before, if it was interrupted or if it can still be
/// undone or redone.
pub(crate) fn needed(context: &Context) -> Result<Vec<ObjectId>> {
    let repo = &context.repo;
    let mut needed = Vec::new();
    for git_dir in repo.git_dirs()? {
        let journal = match Journal::read(&git_dir) {
            Ok(Some(journal)) => journal,
            Ok(None) => continue,
            // Of a damaged one nothing can be known; `undo` says so.
            Err(error) => {
                tracing::warn!(%error, "cannot protect what the last restore needs");
                continue;
            }
        };
        let worktree: BString = match git_dir.file_name().filter(|_| git_dir != repo.common_dir()) {
            None => "main".into(),
            Some(name) if name == "main" => "worktrees/main".into(),
            Some(name) => Vec::from_os_str_lossy(name).into_owned().into(),
        };
        let log = Log::of(context, worktree.as_ref(), Some(&journal))?;
        // What cannot be read may say that it can go back.
        let is_readable = log.broken.is_none();
        if journal.progress == Progress::Applying || !is_readable || log.can_go_back(context, &journal) {
            needed.extend([journal.target, journal.pre_restore]);
        }
    }
    Ok(needed)
}
