//! Forgets operations, so that git can collect what only the operation logs lead to.

use bstr::ByteSlice as _;

use crate::{
    error::Result,
    git::{Repo, refs::RefUpdate},
    model::refname,
    ops::Context,
};

/// Forgets the operations of worktrees that no longer exist. Where git has given a name to another worktree since, the log of the
/// removed one stays for as long as a part of a log. Returns how many logs are gone.
pub(crate) fn forget_removed(context: &Context) -> Result<usize> {
    const DAY: i64 = 24 * 60 * 60;
    let repo = &context.repo;
    let days = context.settings.operations.keep_days.map(|days| i64::try_from(days).unwrap_or(i64::MAX));
    let oldest = days.map(|days| jiff::Timestamp::now().as_second().saturating_sub(days.saturating_mul(DAY)));
    forget(repo, |name| {
        let is_old = |seconds| oldest.is_some_and(|oldest| seconds < oldest);
        let worktree = refname::worktree_of_operations(name);
        let is_gone = worktree.is_some_and(|id| id != "main" && !repo.git_dir_of(id.as_bstr()).exists());
        is_gone || refname::operations_removed_at(name).is_some_and(is_old)
    })
}

/// Forgets the operations of all worktrees, and lets the command under way leave no entry either: what it removes must not be
/// undone. Returns how many logs are gone.
pub fn forget_all(context: &Context) -> Result<usize> {
    context.repo.stop_recording();
    forget(&context.repo, |_| true)
}

fn forget(repo: &Repo, is_forgotten: impl Fn(&str) -> bool) -> Result<usize> {
    let mut logs = repo.sound_refs(refname::OPERATIONS)?;
    logs.retain(|(name, _)| is_forgotten(name));
    let delete = |(name, id)| RefUpdate { name, old: Some(id), new: None };
    let updates: Vec<RefUpdate> = logs.into_iter().map(delete).collect();
    if !updates.is_empty() {
        repo.update_refs(&updates)?;
    }
    Ok(updates.len())
}
