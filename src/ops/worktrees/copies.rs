//! The copies in which isolated rounds work: what commands for linked worktrees do, done there.

use std::path::Path;

use super::{
    super::Context,
    in_use::refuse_at_work,
    setup::{Run, tear_down},
    worktree_lock::lock_set_up,
};
use crate::{
    error::{Error, Result},
    git::registrations::Registration,
};

/// Opens the copy of an isolated round at `path`, which is a repository of its own; returns also its only worktree.
///
/// # Errors
/// If it cannot be opened.
pub(crate) fn copy_at(context: &Context, path: &Path) -> Result<(Context, Registration)> {
    let there = context.with_repo(context.repo.open_worktree(path)?);
    let found = there.repo.registrations()?.into_iter().next();
    Ok((there, found.ok_or_else(|| Error::internal("git has no main worktree"))?))
}

/// Refuses if the copy of an isolated round, the repository of `there`, whose only worktree is `found`, is in use.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if so.
pub(crate) fn refuse_copy_in_use(there: &Context, found: &Registration) -> Result<()> {
    refuse_at_work(there, found, &found.path)
}

/// Runs the commands of `worktree.teardown` in the copy of an isolated round. Returns true if there are some.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if they are not approved, or one fails.
pub(crate) fn tear_down_copy(there: &Context, found: &Registration, run: Run<'_>) -> Result<bool> {
    let mut lock = lock_set_up(there, found)?;
    let ran = tear_down(there, found, &mut lock, run);
    if there.check_interrupt().is_err() {
        // What the signal has cut off may not have ended.
        lock.leave();
    }
    ran.map(|ran| ran.is_some())
}
