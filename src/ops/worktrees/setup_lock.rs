//! The lock of a worktree while it is set up: it is not removed meanwhile.

use super::{super::Context, lock::WorktreeLock};
use crate::{
    error::{Error, Kind, Result},
    git::registrations::Registration,
    state::{
        self,
        lock::{Lock, SETUP_LOCK, is_held},
    },
};

/// Takes the lock under which the commands that set up the worktree `found` run.
///
/// # Errors
/// [`Kind::User`] if another process has removed it; [`Kind::Race`] if another process holds the lock for too long.
pub(super) fn lock_set_up(context: &Context, found: &Registration) -> Result<WorktreeLock> {
    let path = state::ensure_directory_of_linked(&found.git_dir)?.join(SETUP_LOCK);
    let go_on = || context.check_interrupt();
    let lock = Lock::acquire(&path, context.settings.lock_timeout, &go_on).map_err(|error| match error.kind() {
        Kind::Race => being_set_up(found),
        _ => error,
    })?;
    Ok(WorktreeLock::new(lock, path))
}

/// Refuses if the commands that set up the worktree `found` run.
pub(super) fn refuse_set_up(found: &Registration) -> Result<()> {
    if is_held(&state::directory(&found.git_dir).join(SETUP_LOCK)) {
        return Err(being_set_up(found));
    }
    Ok(())
}

fn being_set_up(found: &Registration) -> Error {
    Error::race(format!("another process sets up the worktree '{}'", found.path.display()))
        .with_hint("try again when it has ended, and what is left of a set-up that was interrupted")
}
