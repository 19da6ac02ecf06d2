//! A session that has a turn under way in another worktree of the repository.

use std::path::Path;

use bstr::ByteSlice as _;
use gix::ObjectId;
use serde::Serialize;

use super::{
    super::session_info::{self, SessionInfo, find_or_rebuild, is_elsewhere, read_anew},
    super::{Context, Worktree, author, closing::save_unless_turns_are_known, condense, enter::Purpose, turn},
    events::{Stopped, close_interrupted, leave},
};
use crate::{
    error::{Error, Result},
    git::Repo,
    model::{
        id_text,
        path_text::shell_word,
        refname::decode_component,
        session::{Phase, Session, SessionEvent},
    },
};

/// The turn of a session that was ended in another worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Elsewhere {
    /// The path of that worktree.
    pub worktree: String,
    /// The checkpoint there of what the turn left unsaved.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub checkpoint: Option<ObjectId>,
}

/// Ends the turn that the session `id` has in another worktree, if it has one and that can be opened. This locks the other
/// worktree, so the caller must not hold the lock of its own.
pub(crate) fn leave_elsewhere(
    context: &Context,
    id: &str,
    info: &SessionInfo,
    session_event: SessionEvent,
) -> Result<Option<Stopped>> {
    let Some(session) = find_or_rebuild(context, id)? else { return Ok(None) };
    if session.phase != Phase::Active || session.is_in(context.repo.worktree_id()) {
        return Ok(None);
    }
    // It may have been moved since.
    let linked = decode_component(&session.worktree).and_then(|id| context.repo.linked_worktree(id.as_bstr()));
    let place = linked.unwrap_or_else(|| session.worktree_path.clone().into());
    let Ok(repo) = Repo::open(&place) else { return Ok(None) };
    if !session.is_in(repo.worktree_id()) || !is_same(repo.common_dir(), context.repo.common_dir()) {
        return Ok(None);
    }
    let there = context.with_repo(repo);
    let worktree = Worktree::enter(&there, Purpose::Change)?;
    // Another process may have ended it meanwhile, and begun a turn here, which must not be overwritten.
    let is_still_open = |session: Session| session.phase == Phase::Active && session.is_in(there.repo.worktree_id());
    if !find_or_rebuild(&worktree, id)?.is_some_and(is_still_open) {
        read_anew(context, id);
        return Ok(None);
    }
    save_unless_turns_are_known(&worktree)?;
    let left = turn::write_after(&worktree, leave_there(&worktree, id, info, session_event))
        .and_then(|left| condense::complete_ended(&worktree, id).map(|()| left));
    read_anew(context, id);
    left.map(Some)
}

/// The same if the session's process is gone: another process goes on with the session.
pub(super) fn leave_if_gone(context: &Context, id: &str) -> Result<Option<Stopped>> {
    if !author::is_gone(context, id) {
        return Ok(None);
    }
    leave_elsewhere(context, id, &SessionInfo::default(), SessionEvent::Stop)
}

/// Ends the turn of the session `id` in the worktree where it is under way.
fn leave_there(worktree: &Worktree<'_>, id: &str, info: &SessionInfo, session_event: SessionEvent) -> Result<Stopped> {
    let mut saved = None;
    // A process that is gone has not made the changes since.
    if author::is_gone(worktree, id)
        && let Some(mut session) = find_or_rebuild(worktree, id)?
    {
        saved = close_interrupted(worktree, &mut session)?;
        session_info::store(worktree, &session)?;
    }
    let left = leave(worktree, id, info, session_event)?;
    Ok(match saved {
        Some(saved) if left.checkpoint.is_none() => left.with_saved(saved),
        _ => left,
    })
}

/// A worktree may name what it shares by a way round.
fn is_same(one: &Path, other: &Path) -> bool {
    matches!((std::fs::canonicalize(one), std::fs::canonicalize(other)), (Ok(one), Ok(other)) if one == other)
}

/// The same before a turn of the session `id` begins here: what it has done there must not count as another author's.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if it has one there that cannot be ended.
pub(super) fn end_elsewhere(context: &Context, id: &str) -> Result<Option<Elsewhere>> {
    let Some(session) = find_or_rebuild(context, id)?.filter(|session| is_elsewhere(context, session)) else {
        return Ok(None);
    };
    let (worktree, word) = (session.worktree_path, shell_word(id));
    let refused = || {
        Error::refused(format!("the turn of the session '{id}' in the worktree '{worktree}' cannot be ended"))
            .with_hint(format!(
                "run 'git checkpoint session stop {word}' there; if nothing there is to be saved as its work, \
                'git checkpoint session adopt --force {word}' moves it here"
            ))
    };
    let left = leave_elsewhere(context, id, &SessionInfo::default(), SessionEvent::Stop)
        .map_err(|cause| refused().with_cause(cause))?;
    let Some(left) = left else {
        // It may have ended by itself meanwhile.
        let is_still = find_or_rebuild(context, id)?.is_some_and(|session| is_elsewhere(context, &session));
        return if is_still { Err(refused()) } else { Ok(None) };
    };
    let checkpoint = left.checkpoint.and_then(|saved| saved.id);
    Ok(Some(Elsewhere { worktree, checkpoint }))
}
