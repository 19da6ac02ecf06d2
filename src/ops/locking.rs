//! Takes the lock of a worktree's checkpoints.

use std::time::{Duration, Instant};

use super::{
    Context, Worktree,
    inherited::set_inherited_aside,
    salvage::{Look, set_broken_aside},
};
use crate::{
    error::{Kind, Result},
    state::{self, lock::Lock},
};

/// Takes the lock of this worktree's checkpoints for a writing command, and first sets broken shadows aside: new
/// checkpoints must not build on missing objects.
pub(crate) fn lock_to_write(context: &Context) -> Result<Worktree<'_>> {
    let worktree = lock(context)?;
    set_broken_aside(&worktree, Look::AtTip)?;
    Ok(worktree)
}

/// Takes the lock of this worktree's checkpoints, and removes the leftovers of processes that were killed while they held a lock.
/// Leaves the refs alone, broken shadows included, except what a removed worktree of the same name has left.
///
/// # Errors
/// [`Kind::Race`] if another process holds it for longer than the setting `lock-timeout`.
pub fn lock(context: &Context) -> Result<Worktree<'_>> {
    let (directory, start) = (state::ensure_directory(context.repo.git_dir())?, Instant::now());
    let mut lock =
        Lock::acquire(&directory.join("lock"), context.settings.lock_timeout, &|| context.check_interrupt())?;
    tracing::debug!(took = ?start.elapsed(), "lock: taken");
    if !lock.dead().is_empty() {
        context.repo.sweep(lock.dead());
        lock.forget_dead();
    }
    context.repo.remove_dead_locks();
    let worktree = Worktree::new(context, lock)?;
    set_inherited_aside(&worktree)?;
    Ok(worktree)
}

/// Takes the lock and sets broken shadows aside as [`lock_to_write`] does. Returns none if the lock is not free within two
/// seconds: a commit waits for us. For the same reason, leaves temporary files of killed processes where they are.
pub(crate) fn lock_soon(context: &Context) -> Result<Option<Worktree<'_>>> {
    const LONGEST: Duration = Duration::from_secs(2);
    let path = state::ensure_directory(context.repo.git_dir())?.join("lock");
    context.repo.remove_dead_locks();
    let lock = match Lock::acquire(&path, LONGEST, &|| context.check_interrupt()) {
        Err(error) if error.kind() == Kind::Race => return Ok(None),
        taken => taken?,
    };
    let worktree = Worktree::new(context, lock)?;
    set_inherited_aside(&worktree)?;
    set_broken_aside(&worktree, Look::AtTip)?;
    Ok(Some(worktree))
}
