//! The lock of the commands that make, move or remove worktrees of a repository.

use super::{super::Context, aside};
use crate::{
    error::{Error, Kind, Result},
    state::{self, lock::Lock},
};

/// Takes the lock under which worktrees are made, moved and removed, and changes nothing.
pub(super) fn lock_to_look(context: &Context) -> Result<Lock> {
    let directory = state::ensure_directory(context.repo.common_dir())?;
    let go_on = || context.check_interrupt();
    let lock = Lock::acquire(&directory.join("worktrees.lock"), context.settings.lock_timeout, &go_on);
    lock.map_err(|error| match error.kind() {
        Kind::Race => Error::race("another process is about to make, move or remove a worktree of this repository")
            .with_hint("try again when it is done, or raise 'lock-timeout'"),
        _ => error,
    })
}

/// Takes the lock under which worktrees are made, moved and removed, and puts back what a killed removal has moved.
///
/// `worktree add` holds it from its count of the worktrees until git has registered its own.
pub(super) fn lock(context: &Context) -> Result<Lock> {
    let lock = lock_to_look(context)?;
    aside::put_back_interrupted(context)?;
    Ok(lock)
}
