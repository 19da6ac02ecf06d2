//! Reads and stores sessions: the file of a session has who it is, the one of its worktree whether a turn is under way.

use std::{collections::HashMap, path::Path};

use bstr::{BString, ByteSlice as _};

use super::super::{Context, Worktree};
use crate::{
    error::Result,
    model::{process::Life, refname::decode_component, session::Session, turns::Turns},
    state::{
        process, rounds,
        sessions::{self, Found},
        turns,
    },
};

/// Returns what is found of the session `id`; a damaged file is set aside.
pub(crate) fn load(context: &Context, id: &str) -> Result<Found> {
    let found = match context.locked() {
        Some(locked) => locked.sessions.load(id),
        None => sessions::load(context.repo.common_dir(), id),
    };
    Ok(match found? {
        Found::Session(session) => Found::Session(Box::new(with_turn(context, *session))),
        found => found,
    })
}

/// Returns what is in the file of the session `id`, and leaves it as it is; none if that makes no sense. It says nothing of a
/// turn.
fn read(context: &Context, id: &str) -> Result<Option<Session>> {
    match context.locked() {
        Some(locked) => locked.sessions.read(id),
        None => sessions::read(context.repo.common_dir(), id),
    }
}

/// The same, where a file that cannot be read is none.
pub(crate) fn peek(context: &Context, id: &str) -> Option<Session> {
    read(context, id).ok().flatten()
}

/// Lets the file of the session `id` be read anew: it was stored under the lock of another worktree.
pub(crate) fn read_anew(context: &Context, id: &str) {
    if let Some(locked) = context.locked() {
        locked.sessions.forget(id);
    }
}

/// Returns all sessions with a file that makes sense, latest first.
pub(crate) fn all(context: &Context) -> Result<Vec<Session>> {
    let mut worktrees = HashMap::new();
    let sessions = sessions::all(context.repo.common_dir())?.into_iter();
    let with_turn = |session: Session| {
        let turns = worktrees.entry(session.worktree.clone()).or_insert_with(|| turns_of(context, &session));
        let turn = turns.turn_of(&session.id).cloned();
        session.with_turn(turn.as_ref())
    };
    Ok(sessions.map(with_turn).collect())
}

/// Returns `session` with the turn that it has under way in its worktree.
pub(super) fn with_turn(context: &Context, session: Session) -> Session {
    let turns = turns_of(context, &session);
    let turn = turns.turn_of(&session.id);
    session.with_turn(turn)
}

/// Returns what is open in the worktree of `session`.
fn turns_of(context: &Context, session: &Session) -> Turns {
    let repo = &context.repo;
    if session.is_in(repo.worktree_id()) {
        return context.turns();
    }
    let is_plain = |id: &BString| !id.strip_prefix(b"worktrees/").unwrap_or(id).contains(&b'/') && !id.ends_with(b"..");
    // Nothing is open in a worktree that does not exist any more.
    let is_here = |id: &BString| is_plain(id) && !repo.has_lost_worktree(id.as_bstr());
    let id = decode_component(&session.worktree).filter(is_here);
    id.map(|id| turns::peek(&repo.git_dir_of(id.as_bstr()))).unwrap_or_default()
}

/// Returns the sessions with a turn under way in this worktree, by id; the number of other sessions costs no time.
pub(crate) fn open_turns(context: &Context) -> Result<Vec<Session>> {
    let repo = &context.repo;
    let mut open = Vec::new();
    for entry in context.turns().entries {
        let Some(turn) = &entry.turn else { continue };
        let session = read(context, &entry.id)?;
        // One that was taken over by another worktree has left its turn here behind.
        open.extend(session.filter(|it| it.is_in(repo.worktree_id())).map(|session| session.with_turn(Some(turn))));
    }
    open.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(open)
}

/// Returns the same without those whose process is dead: what is changed from now on does not count as theirs.
pub(crate) fn lasting_turns(context: &Context) -> Result<Vec<Session>> {
    let mut open = open_turns(context)?;
    open.retain(|session| process::life(session.process.as_ref()) != Life::Dead);
    Ok(open)
}

/// Returns the same without those that do not say that something works here; see [`is_at_work`].
pub(crate) fn turns_at_work(context: &Context) -> Result<Vec<Session>> {
    let mut open = open_turns(context)?;
    open.retain(|session| is_at_work(context.repo.git_dir(), session));
    Ok(open)
}

/// Returns true if the open turn of `session`, in the worktree with the git directory `git_dir`, says that something works there: its
/// process is not dead. If that is not known, the session must not stand in for the agent of a round: such a turn is open for as long
/// as the round.
pub(crate) fn is_at_work(git_dir: &Path, session: &Session) -> bool {
    match process::life(session.process.as_ref()) {
        Life::Dead => false,
        Life::Alive => true,
        Life::Unknown => rounds::stand_in(git_dir).as_ref() != Some(&session.id),
    }
}

/// Stores `session`, and its turn if that is in this worktree.
///
/// The turn comes last, when the lock is released: until then it is as it was before.
pub(crate) fn store(worktree: &Worktree<'_>, session: &Session) -> Result<()> {
    worktree.store_session(session)?;
    if session.is_in(worktree.repo.worktree_id()) {
        worktree.edit_turns(|turns| turns.set_turn(&session.id, session.under_way.as_ref()));
    }
    Ok(())
}
