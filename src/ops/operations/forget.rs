//! Forgets operations, so that git can collect what only the operation logs lead to.

use bstr::ByteSlice as _;

use crate::{
    error::Result,
    git::{Repo, refs::RefUpdate},
    model::refname,
};

/// Forgets the operations of worktrees that no longer exist. Returns how many logs are gone.
pub(crate) fn forget_removed(repo: &Repo) -> Result<usize> {
    let mut logs = repo.sound_refs(refname::OPERATIONS)?;
    logs.retain(|(name, _)| {
        let worktree = refname::worktree_of_operations(name);
        worktree.is_some_and(|id| id != "main" && !repo.git_dir_of(id.as_bstr()).exists())
    });
    let delete = |(name, id)| RefUpdate { name, old: Some(id), new: None };
    let updates: Vec<RefUpdate> = logs.into_iter().map(delete).collect();
    if !updates.is_empty() {
        repo.update_refs(&updates)?;
    }
    Ok(updates.len())
}
