//! The session that stands in for the agent of a round, which may report nothing of itself: what is changed in the worktree of the
//! round is the agent's work all the same. If the agent reports its own session, the turn of the other one ends first.

use super::{
    super::{
        Context,
        session_info::{OnMultisession, SessionInfo, check_id, find_or_rebuild},
    },
    events::{end, stop},
    prompt::prompt,
};
use crate::{
    error::{Error, Result},
    model::session::{Phase, Session},
    state::{process, rounds},
};

/// Lets a session stand in for a program that `agent` names, and this process starts, in the worktree of a round: it begins, and a
/// turn of it; `asked` is its prompt. If this process is killed, the turn counts as one whose agent has died.
///
/// # Errors
/// As [`prompt`].
pub(crate) fn stand_in(context: &Context, agent: &str, asked: &str) -> Result<()> {
    process::outlives_hooks();
    begin(context, agent, Some(asked))
}

/// Lets a session stand in for what `agent` names in the worktree of a round: another process starts that, and when it ends is not
/// known. If the session has begun before, it stays as it is.
///
/// # Errors
/// As [`prompt`].
pub(crate) fn stand_in_for_other(context: &Context, agent: &str) -> Result<()> {
    if let Some(id) = id_here(context)
        && find_or_rebuild(context, &id)?.is_some()
    {
        return Ok(());
    }
    process::is_unknown();
    begin(context, agent, None)
}

fn begin(context: &Context, agent: &str, asked: Option<&str>) -> Result<()> {
    let id = id_here(context).ok_or_else(|| Error::internal("no round has made this worktree"))?;
    let info = SessionInfo {
        agent: Some(agent.to_owned()),
        // The worktree is new: no other session has worked there.
        on_multisession: OnMultisession::Continue,
        ..SessionInfo::default()
    };
    prompt(context, &id, asked, &info, &mut |_| Ok(true)).map(drop)
}

/// Ends the session that stands in for the agent in this worktree, if one does; what its turn has left becomes its last checkpoint.
///
/// # Errors
/// As [`end`].
pub(crate) fn stand_down(context: &Context) -> Result<()> {
    match standing(context)? {
        Some(session) => end(context, &session.id, &SessionInfo::default()).map(drop),
        None => Ok(()),
    }
}

/// Ends the turn of the session that stands in for the agent in this worktree, because `id` is about to report one: two sessions
/// would share what is changed.
///
/// # Errors
/// As [`stop`].
pub(crate) fn give_way(context: &Context, id: &str) -> Result<()> {
    match standing(context)?.filter(|it| it.id != id && it.phase == Phase::Active) {
        Some(session) => stop(context, &session.id, &SessionInfo::default()).map(drop),
        None => Ok(()),
    }
}

/// Returns the session that stands in for the agent in this worktree, and has not ended.
fn standing(context: &Context) -> Result<Option<Session>> {
    let Some(id) = id_here(context) else { return Ok(None) };
    let found = find_or_rebuild(context, &id)?;
    Ok(found.filter(|it| it.phase != Phase::Ended && it.is_in(context.repo.worktree_id())))
}

/// Returns the id of the session that stands in for the agent in this worktree; none if no round has made that.
fn id_here(context: &Context) -> Option<String> {
    rounds::stand_in(context.repo.git_dir()).filter(|id| check_id(id).is_ok())
}
