//! The session that stands in for a program of `round race`, which may report nothing of itself: what it changes is its work all
//! the same. If the program is an agent that reports its own session, the turn of the other one ends first.

use super::{
    super::{
        Context,
        session_info::{OnMultisession, SessionInfo, check_id, find_or_rebuild},
    },
    events::{end, stop},
    prompt::prompt,
};
use crate::{error::Result, model::session::Phase, state::process};

/// How the ids of such sessions begin.
const PREFIX: &str = "round-";

/// Returns the session that stands in for the program of `round`.
pub(crate) fn of_round(round: &str) -> String {
    format!("{PREFIX}{round}")
}

/// Begins the session `id`, and a turn of it, for a program that `agent` names and this process starts; `asked` is its command line.
/// If this process is killed, the turn counts as one whose agent has died.
///
/// # Errors
/// As [`prompt`].
pub(crate) fn stand_in(context: &Context, id: &str, agent: &str, asked: &str) -> Result<()> {
    process::outlives_hooks();
    let info = SessionInfo {
        agent: Some(agent.to_owned()),
        // The worktree is new: no other session has worked there.
        on_multisession: OnMultisession::Continue,
        ..SessionInfo::default()
    };
    prompt(context, id, Some(asked), &info, &mut |_| Ok(true)).map(drop)
}

/// Ends the session `id` that [`stand_in`] has begun; what its turn has left becomes its last checkpoint.
///
/// # Errors
/// As [`end`].
pub(crate) fn stand_down(context: &Context, id: &str) -> Result<()> {
    end(context, id, &SessionInfo::default()).map(drop)
}

/// Ends the turn of the session `stand_in` in this worktree, because `id` is about to report one: two sessions would share what is
/// changed.
///
/// # Errors
/// As [`stop`].
pub(crate) fn give_way(context: &Context, stand_in: &str, id: &str) -> Result<()> {
    if stand_in == id || !stand_in.starts_with(PREFIX) || check_id(stand_in).is_err() {
        return Ok(());
    }
    let is_under_way = find_or_rebuild(context, stand_in)?
        .is_some_and(|session| session.phase == Phase::Active && session.is_in(context.repo.worktree_id()));
    if is_under_way {
        stop(context, stand_in, &SessionInfo::default())?;
    }
    Ok(())
}
