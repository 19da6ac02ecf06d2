//! The checkpoints that `undo` and `redo` need of what the last restores did.

use std::collections::HashSet;

use bstr::BStr;
use gix::ObjectId;

use super::{Repo, read_operations::Recorded};
use crate::{
    error::Result,
    model::operation_stack::stack,
    state::journal::{Journal, Progress},
};

impl Repo {
    /// Returns the checkpoints that the last restore of each worktree put back, or took before, if it was interrupted or if it can
    /// still be undone or redone.
    pub(crate) fn needed_to_undo(&self) -> Result<Vec<ObjectId>> {
        let mut needed = Vec::new();
        for git_dir in self.git_dirs()? {
            let journal = match Journal::read(&git_dir) {
                Ok(Some(journal)) => journal,
                Ok(None) => continue,
                // Of a damaged one nothing can be known; `undo` says so.
                Err(error) => {
                    tracing::warn!(%error, "cannot protect what the last restore needs");
                    continue;
                }
            };
            let worktree = self.worktree_of(&git_dir);
            if journal.progress == Progress::Applying || self.may_go_back(worktree.as_ref(), &journal)? {
                needed.extend([journal.target, journal.pre_restore]);
            }
        }
        Ok(needed)
    }

    /// Returns true if `undo` or `redo` in `worktree` can take back the operation that has the journal `live`, or if the log cannot
    /// be read, which may say so.
    fn may_go_back(&self, worktree: &BStr, live: &Journal) -> Result<bool> {
        let mut entries = Vec::new();
        for entry in self.operations(worktree)? {
            self.check_interrupt()?;
            match entry {
                Ok(recorded) => entries.push(recorded),
                Err(_) => return Ok(true),
            }
        }
        let operations = entries.iter().rev().map(|recorded| (recorded.id, &recorded.operation));
        let stack = stack(operations, Some(live.nonce.as_str()));
        let is_it = |entry: &Recorded| {
            if let Some(nonce) = &entry.operation.nonce {
                return *nonce == live.nonce;
            }
            // That of an earlier version.
            let text = self.files_of(entry).ok().flatten();
            text.and_then(|text| Journal::parse(&text).ok()).is_some_and(|it| it.nonce == live.nonce)
        };
        let can_go_back: HashSet<&ObjectId> = stack.undo.iter().chain(&stack.redo).collect();
        let mut with_files = entries.iter().filter(|entry| entry.operation.has_files);
        Ok(with_files.any(|entry| can_go_back.contains(&entry.id) && is_it(entry)))
    }
}
