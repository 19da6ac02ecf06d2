//! Stop and end of a session.

use serde::Serialize;

use super::{
    super::closing::{close_turn, save_unless_turns_are_known},
    super::session_info::{self, SessionInfo, add_info, find_or_rebuild, is_elsewhere, sign_of_life, unknown},
    super::{
        Context, Worktree, author, condense,
        enter::Purpose,
        guard,
        save::{self, Author, Request, Saved, SkippedPath},
        turn::{self, EndReason, release_pending},
        usage,
    },
    admit::admit,
    retry::retry_on_race,
    state::State,
};
use crate::{
    error::{Error, Result},
    model::{
        path_text::shell_word,
        session::{Action, Phase, Session, SessionEvent, transition},
        turns::EndEvidence,
    },
    state::failpoint,
};

/// The result of a stop. Serializes to what `session stop --json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stopped {
    /// The version of this shape.
    pub version: u32,
    /// The session.
    pub session: State,
    /// The checkpoint of what the turn left unsaved.
    pub checkpoint: Option<Saved>,
    /// What is not in it, or was left out when there was nothing else to save.
    pub skipped: Vec<SkippedPath>,
}

impl Stopped {
    /// Returns the same result with what `saved` has.
    pub(super) fn with_saved(self, saved: Saved) -> Self {
        let skipped = saved.skipped.clone();
        Self { checkpoint: Some(saved).filter(|saved| saved.created), skipped, ..self }
    }
}

/// The result of an end. Serializes to what `session end --json` prints.
pub(super) type Ended = Stopped;

/// Closes the turn of `session` that was never stopped. Returns the last checkpoint taken for it, if one was.
pub(super) fn close_interrupted(worktree: &Worktree<'_>, session: &mut Session) -> Result<Option<Saved>> {
    let mut died = None;
    // A session that ended between two tool calls has changed nothing since, but people may have.
    if session.is_in(worktree.repo.worktree_id()) && guard::died_in_turn(worktree, &session.id) {
        let request = Request { turn_of: Some(session.id.clone()), ..Request::default() };
        died = Some(save::save_worktree(worktree, &request)?.saved);
    }
    let closed = close_turn(worktree, session, EndEvidence::Inferred)?;
    Ok(closed.filter(|saved| saved.created).or(died))
}

/// Ends the turn of the session `id`; what it left unsaved becomes its last checkpoint.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if there is no such session.
pub fn stop(context: &Context, id: &str, info: &SessionInfo) -> Result<Stopped> {
    context.emit_failure("session stop", retry_on_race(|| enter_and_leave(context, id, info, SessionEvent::Stop)))
}

/// Ends the turn of `session`, whose process is gone: what may be left unsaved becomes its last checkpoint. That is no sign of life.
///
/// # Errors
/// As [`stop`].
pub(crate) fn close_abandoned(context: &Context, session: &Session) -> Result<()> {
    stop(context, &session.id, &SessionInfo::default())?;
    let worktree = Worktree::enter(context, Purpose::Change)?;
    let Some(mut closed) = find_or_rebuild(&worktree, &session.id)? else { return Ok(()) };
    if closed.phase == Phase::Active {
        // The agent has come back since the stop.
        return Ok(());
    }
    (closed.process, closed.last_seen) = (session.process.clone(), session.last_seen);
    closed.is_interrupted = true;
    session_info::store(&worktree, &closed)
}

/// Ends the session `id`, and its turn if one is under way.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if there is no such session.
pub fn end(context: &Context, id: &str, info: &SessionInfo) -> Result<Ended> {
    context.emit_failure("session end", retry_on_race(|| enter_and_leave(context, id, info, SessionEvent::End)))
}

fn enter_and_leave(context: &Context, id: &str, info: &SessionInfo, session_event: SessionEvent) -> Result<Stopped> {
    admit(context, id, info)?;
    let worktree = Worktree::enter(context, Purpose::Change)?;
    save_unless_turns_are_known(&worktree)?;
    let left = turn::write_after(&worktree, leave(&worktree, id, info, session_event))?;
    condense::complete_ended(&worktree, id)?;
    Ok(left)
}

/// Ends the turn of the session `id`, or the session.
pub(crate) fn leave(
    worktree: &Worktree<'_>,
    id: &str,
    info: &SessionInfo,
    session_event: SessionEvent,
) -> Result<Stopped> {
    let Some(mut session) = find_or_rebuild(worktree, id)? else {
        // A prompt that was killed may have left these.
        release_pending(worktree, id, None)?;
        worktree.edit_turns(|turns| turns.end(id));
        return Err(unknown(worktree, id));
    };
    if is_elsewhere(worktree, &session) {
        let path = &session.worktree_path;
        return Err(Error::refused(format!("the turn of the session '{id}' is under way in the worktree '{path}'"))
            .with_hint(format!(
                "run it there, or move the session here: 'git checkpoint session adopt --force {}'",
                shell_word(id)
            )));
    }
    add_info(&mut session, info);
    if session.open_records.is_empty() || info.tokens.is_some() {
        // Otherwise, it is counted when these records are completed.
        usage::count(worktree, &session, info.tokens);
    }
    let step = transition(Some(session.phase), session_event);
    let saved = if step.actions.contains(&Action::CloseTurn) {
        close_turn(worktree, &mut session, EndEvidence::Reported)?
    } else {
        if author::has_left_command(worktree, id) {
            save::save_worktree(worktree, &Request { author: Author::Infer, ..Request::default() })?;
        }
        // A tool may have been reported after the turn, and a prompt that was killed has left what it began with.
        turn::end(worktree, &mut session, EndReason::Stopped, None)?;
        None
    };
    let skipped = saved.as_ref().map(|saved| saved.skipped.clone()).unwrap_or_default();
    if session_event == SessionEvent::End {
        turn::end(worktree, &mut session, EndReason::Ended, None)?;
    }
    session.phase = step.phase.unwrap_or(session.phase);
    sign_of_life(&mut session);
    failpoint::hit("stop:before-session");
    session_info::store(worktree, &session)?;
    failpoint::hit("stop:after-session");
    let checkpoint = saved.filter(|saved| saved.created);
    Ok(Stopped { version: 1, session: State::from(&session), checkpoint, skipped })
}
