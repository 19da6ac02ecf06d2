//! The locks of rounds: of all, for the moment in which one is found or chosen; and of each, while it is made or ended.

use super::super::Context;
use crate::{
    error::{Error, Kind, Result},
    state::{
        self,
        lock::Lock,
        rounds::{self, Round},
    },
};

/// Takes the lock under which a new round gets its names.
///
/// # Errors
/// [`Kind::Race`] if another process holds it for too long.
pub(super) fn lock_all(context: &Context) -> Result<Lock> {
    let file = state::ensure_directory(context.repo.common_dir())?.join("rounds.lock");
    take(context, &file, "another process begins a round of this repository".to_owned())
}

/// Takes the lock under which `round` is made or ended.
///
/// # Errors
/// [`Kind::Race`] if another process holds it for too long.
pub(super) fn lock_round(context: &Context, round: &Round) -> Result<Lock> {
    let file = round.lock_file(context.repo.common_dir())?;
    take(context, &file, format!("another process begins or ends the round '{}'", round.id))
}

/// Takes the lock of the round `id`, and returns the round as it is then.
///
/// # Errors
/// As [`lock_round`]; [`Kind::Race`] if the round is no more.
pub(super) fn locked(context: &Context, id: &str) -> Result<(Lock, Round)> {
    let read = || {
        let unknown = || Error::race(format!("the round '{id}' is no more"));
        rounds::read(context.repo.common_dir(), id)?.ok_or_else(unknown)
    };
    let lock = lock_round(context, &read()?)?;
    Ok((lock, read()?))
}

fn take(context: &Context, file: &std::path::Path, what: String) -> Result<Lock> {
    let go_on = || context.check_interrupt();
    Lock::acquire(file, context.settings.lock_timeout, &go_on).map_err(|error| match error.kind() {
        Kind::Race => Error::race(what).with_hint("try again when it is done, or raise 'lock-timeout'"),
        _ => error,
    })
}
