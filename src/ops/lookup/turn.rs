//! Finds what the worktree was before and after a turn of a session.

use gix::ObjectId;

use super::super::{
    Context,
    chain::timeline::{Timeline, all_tips},
    restored_target::restored,
};
use crate::{
    error::{Error, Result},
    model::{checkpoint::Checkpoint, path_text::shell_word, selector::TurnName},
};

/// Returns the last checkpoint of the turn that `name` names, of `session`; or what was there before its first one: a checkpoint, or
/// the base commit.
///
/// # Errors
/// If the turn has no checkpoint.
pub(super) fn find(context: &Context, session: &str, name: &TurnName) -> Result<ObjectId> {
    let mut timeline = Timeline::new(&context.repo, &all_tips(&context.repo, None)?)?;
    let is_of_turn = |it: &Checkpoint| turn_of(it) == Some((session, name.turn));
    let mut of_turn = timeline.by_ref().map(|(checkpoint, _)| checkpoint).filter(is_of_turn);
    let Some(last) = of_turn.next() else {
        let broken = (!timeline.broken.is_empty()).then(|| timeline.broken.remove(0));
        return match broken {
            Some(error) => Err(error),
            None => Err(no_such_turn(session, name.turn, has_saved_outside_of_turns(context, session)?)),
        };
    };
    Ok(if name.is_before { of_turn.last().unwrap_or(last).before_id() } else { last.id })
}

/// Returns the session and the turn that `checkpoint` belongs to; none if it was carried to another base or follows a restore: the
/// turn itself has not taken it then.
pub(crate) fn turn_of(checkpoint: &Checkpoint) -> Option<(&str, u32)> {
    let origin = &checkpoint.origin;
    let is_copy = origin.carried.is_some() || restored(origin).is_some();
    origin.session.as_deref().zip(origin.turn).filter(|_| !is_copy)
}

/// Returns true if `session` has a checkpoint that belongs to none of its turns, as of `save --session`.
fn has_saved_outside_of_turns(context: &Context, session: &str) -> Result<bool> {
    let mut timeline = Timeline::new(&context.repo, &all_tips(&context.repo, None)?)?;
    Ok(timeline.any(|(it, _)| it.origin.session.as_deref() == Some(session) && it.origin.turn.unwrap_or(0) == 0))
}

fn no_such_turn(session: &str, turn: u32, has_others: bool) -> Error {
    let word = shell_word(session);
    let error = Error::user(format!("turn {turn} of the session '{session}' has no checkpoint"));
    error.with_hint(if has_others {
        format!("it has some that 'save' took outside of a turn: 'git checkpoint list --session {word}' names them")
    } else {
        format!("a turn that changed nothing has none; 'git checkpoint prompts {word}' lists the turns")
    })
}
