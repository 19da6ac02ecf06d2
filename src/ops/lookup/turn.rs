//! Finds what the worktree was before and after a turn of a session.

use gix::ObjectId;

use super::super::{
    Context,
    chain::timeline::{Timeline, all_tips},
    restored_target::restored,
    session_info,
};
use crate::{
    error::{Error, Result},
    model::{checkpoint::Checkpoint, selector::TurnName},
};

/// Returns the last checkpoint of the turn `name`, or what was there before its first one: a checkpoint, or the base commit; and
/// the id of the session.
///
/// # Errors
/// If the session is not known, or the turn has no checkpoint.
pub(super) fn find(context: &Context, name: &TurnName) -> Result<(ObjectId, String)> {
    let found = session_info::find(context, &name.session)?;
    // A session whose file is lost is still in its checkpoints.
    let session = found.clone().unwrap_or_else(|| name.session.clone());
    let mut timeline = Timeline::new(&context.repo, &all_tips(&context.repo, None)?)?;
    let mut of_turn = timeline.by_ref().map(|(checkpoint, _)| checkpoint).filter(|it| is_of(it, &session, name.turn));
    let Some(last) = of_turn.next() else {
        let broken = (!timeline.broken.is_empty()).then(|| timeline.broken.remove(0));
        return Err(broken.unwrap_or_else(|| no_such_turn(&session, name.turn, found.is_some())));
    };
    let id = if name.is_before { of_turn.last().unwrap_or(last).before_id() } else { last.id };
    Ok((id, session))
}

/// Returns true if the turn itself has taken `checkpoint`: it was not carried to another base, and no restore put it back.
fn is_of(checkpoint: &Checkpoint, session: &str, turn: u32) -> bool {
    let origin = &checkpoint.origin;
    let is_copy = origin.carried.is_some() || restored(origin).is_some();
    !is_copy && origin.turn == Some(turn) && origin.session.as_deref() == Some(session)
}

fn no_such_turn(session: &str, turn: u32, is_known: bool) -> Error {
    if is_known {
        Error::user(format!("turn {turn} of the session '{session}' has no checkpoint")).with_hint(format!(
            "a turn that changed nothing has none; 'git checkpoint session show {session}' lists the turns"
        ))
    } else {
        session_info::unknown(session)
    }
}
