//! Start, stop and end of a session.

use serde::Serialize;

use super::{
    super::closing::{close_turn, save_unless_turns_are_known},
    super::session_info::{
        self, add_info, check_id, clock, find_or_rebuild, is_elsewhere, prepare, sign_of_life, unknown,
    },
    super::session_info::{SessionInfo, check_transcript},
    super::{
        Context, Worktree, author, condense,
        follow::lock_and_follow,
        guard,
        save::{self, Author, Request, Saved, SkippedPath},
        turn::{self, EndReason, release_pending},
    },
    retry::retry_on_race,
    state::State,
    warning::{self, Question},
};
use crate::{
    error::{Error, Result},
    model::{
        refname::Base,
        session::{Action, Phase, Session, SessionEvent, transition},
        turns::EndEvidence,
    },
    state::failpoint,
};

/// The result of a start. Serializes to what `session start --json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Started {
    /// The version of this shape.
    pub version: u32,
    /// The session.
    pub session: State,
    /// True if it had ended, and is resumed.
    pub resumed: bool,
}

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

/// The result of an end. Serializes to what `session end --json` prints.
pub(super) type Ended = Stopped;

/// Registers the session `id`, or resumes it.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if another session has uncommitted work here and `info` or `ask` says
/// to cancel; nothing has changed then.
pub fn start(
    context: &Context,
    id: &str,
    info: &SessionInfo,
    ask: &mut dyn FnMut(&Question) -> Result<bool>,
) -> Result<Started> {
    let started = check_id(id)
        .and_then(|()| check_transcript(info))
        .and_then(|()| prepare(context))
        .and_then(|()| warning::check(context, id, info.on_multisession, ask))
        .and_then(|has_agreed| {
            let worktree = lock_and_follow(context)?;
            worktree.check_turns()?;
            let started = begin(&worktree, id, info)?;
            if has_agreed {
                warning::note_agreed(&worktree, id);
            }
            turn::write(&worktree).map(|()| started)
        });
    context.emit_failure("session start", started)
}

/// Makes the session `id` known; the user has been asked what there is to ask.
pub(crate) fn begin(worktree: &Worktree<'_>, id: &str, info: &SessionInfo) -> Result<Started> {
    let mut known = find_or_rebuild(worktree, id)?;
    // Another process goes on with the session. It has not made the changes since the old one died.
    let is_interrupted = |session: &&mut Session| {
        session.phase == Phase::Active && session.is_in(worktree.repo.worktree_id()) && author::is_gone(worktree, id)
    };
    if let Some(session) = known.as_mut().filter(is_interrupted) {
        close_interrupted(worktree, session)?;
    }
    let step = transition(known.as_ref().map(|session| session.phase), SessionEvent::Start);
    let mut session = known.unwrap_or_else(|| Session::new(id, &worktree.repo.worktree_id().to_owned(), clock()));
    add_info(&mut session, info);
    session.phase = step.phase.unwrap_or(session.phase);
    seen_here(worktree, &mut session)?;
    sign_of_life(&mut session);
    session_info::store(worktree, &session)?;
    let resumed = step.actions.contains(&Action::Resume);
    Ok(Started { version: 1, session: State::from(&session), resumed })
}

/// Closes the turn of `session` that was never stopped.
pub(super) fn close_interrupted(worktree: &Worktree<'_>, session: &mut Session) -> Result<()> {
    // A session that ended between two tool calls has changed nothing since, but people may have.
    if session.is_in(worktree.repo.worktree_id()) && guard::died_in_turn(worktree, &session.id) {
        let request = Request { turn_of: Some(session.id.clone()), ..Request::default() };
        save::save_worktree(worktree, &request)?;
    }
    close_turn(worktree, session, EndEvidence::Inferred).map(drop)
}

/// Notes where a session was seen.
pub(crate) fn seen_here(context: &Context, session: &mut Session) -> Result<()> {
    let repo = &context.repo;
    // A turn under way stays where it began.
    if session.phase != Phase::Active {
        session.worktree = Session::new(&session.id, &repo.worktree_id().to_owned(), 0).worktree;
        session.worktree_path = repo.worktree_root().display().to_string();
        session.base = Base::of_head(repo.head()?.id).to_string();
    }
    session.last_seen = clock();
    Ok(())
}

/// Ends the turn of the session `id`; what it left unsaved becomes its last checkpoint.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if there is no such session.
pub fn stop(context: &Context, id: &str, info: &SessionInfo) -> Result<Stopped> {
    context.emit_failure("session stop", retry_on_race(|| enter_and_leave(context, id, info, SessionEvent::Stop)))
}

/// Ends the session `id`, and its turn if one is under way.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if there is no such session.
pub fn end(context: &Context, id: &str, info: &SessionInfo) -> Result<Ended> {
    context.emit_failure("session end", retry_on_race(|| enter_and_leave(context, id, info, SessionEvent::End)))
}

fn enter_and_leave(context: &Context, id: &str, info: &SessionInfo, session_event: SessionEvent) -> Result<Stopped> {
    check_id(id)?;
    check_transcript(info)?;
    prepare(context)?;
    let worktree = lock_and_follow(context)?;
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
        return Err(unknown(id));
    };
    if is_elsewhere(worktree, &session) {
        let path = &session.worktree_path;
        return Err(Error::refused(format!("the turn of the session '{id}' is under way in the worktree '{path}'"))
            .with_hint("run it there, or move the session here: 'git checkpoint session adopt --force'"));
    }
    add_info(&mut session, info);
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
