//! The lock of git's hooks, one for all worktrees.

use crate::{
    error::Result,
    ops::Context,
    state::{self, lock::Lock},
};

/// Takes the lock, unless nothing will be changed.
pub(super) fn lock(context: &Context, dry_run: bool) -> Result<Option<Lock>> {
    if dry_run {
        return Ok(None);
    }
    let directory = state::ensure_directory(context.repo.common_dir())?;
    let go_on = || context.check_interrupt();
    context.repo.remove_dead_locks();
    Lock::acquire(&directory.join("hooks.lock"), context.settings.lock_timeout, &go_on).map(Some)
}
