//! What a program of `round race` has in its environment: the session that stands in for it.

use super::environment;
use crate::{
    error::Result,
    ops::{Context, sessions},
};

/// The variable.
pub(super) const VARIABLE: &str = "GIT_CHECKPOINT_SESSION";

/// Ends the turn of the session that stands in for the program that runs us, because `id` reports a turn of its own.
///
/// # Errors
/// If that turn cannot be ended.
pub(super) fn give_way(context: &Context, id: &str) -> Result<()> {
    match environment::variable(VARIABLE) {
        Some(stand_in) => sessions::give_way(context, &stand_in.to_string_lossy(), id),
        None => Ok(()),
    }
}
