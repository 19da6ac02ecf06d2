//! Infers who made the changes between two events.
//!
//! What changes while a session uses a tool is attributed to that session when the tool is done. What changes while no
//! tool is in use that could have changed it is attributed to a human. If several sessions, or a command in the
//! background, may have made a change, its author is unknown.

use std::collections::BTreeSet;

use super::{Context, session_info::clock};
use crate::{
    error::Result,
    model::{
        checkpoint::Origin,
        contributor::Contributor,
        process::Life,
        session::{Phase, Session},
    },
    state::{
        calls::{Call, Calls},
        process,
        sessions::{self, Found},
    },
};

/// Returns the tool calls in use in this worktree, except those that started longer ago than `stale-after`.
pub(crate) fn calls(context: &Context) -> Calls {
    let mut calls = Calls::read(context.repo.git_dir());
    let stale_after = i64::try_from(context.settings.stale_after.as_secs()).unwrap_or(i64::MAX);
    let oldest = clock().saturating_sub(stale_after);
    calls.open.retain(|call| call.started >= oldest);
    calls
}

/// How we know that a turn has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    /// The agent reported it, or its process is gone: a tool call that was not done was interrupted.
    Said,
    /// The next turn begins: the user may have rejected a tool call that was not done.
    Unsaid,
}

/// Returns the author of what the turn of `session` leaves unsaved when it ends.
///
/// If the agent reported its tool calls, each named the files it may change, and all are done, the changes are not the
/// session's. If a reported call is not done, `over` decides. If the agent reported no calls, or one that may change any
/// path, the changes are the session's, or unknown if another session may have made them.
pub(crate) fn gap(context: &Context, session: &Session, over: Over) -> Result<Origin> {
    let calls = calls(context);
    let mut own = calls.accounts.iter().filter(|account| account.session == session.id).peekable();
    let is_told = own.peek().is_some() && own.all(|account| !account.used_anything);
    if !is_told {
        let is_others = is_shared(context, &calls, &session.id)?;
        return Ok(if is_others { unknown() } else { of_session(session, None) });
    }
    if calls.open.iter().any(|call| call.session == session.id) {
        return Ok(match over {
            Over::Said => of_session(session, None),
            Over::Unsaid => unknown(),
        });
    }
    between(context, &calls.open.iter().collect::<Vec<_>>())
}

/// Returns true if another session has an open turn here and does not report its tool calls: it may have made any
/// change.
fn is_shared(context: &Context, calls: &Calls, session: &str) -> Result<bool> {
    Ok(untold(context, calls)?.iter().any(|other| other.id != session))
}

/// Returns the sessions with an open turn here that do not report their tool calls.
fn untold(context: &Context, calls: &Calls) -> Result<Vec<Session>> {
    let repo = &context.repo;
    let stale_after = i64::try_from(context.settings.stale_after.as_secs()).unwrap_or(i64::MAX);
    let oldest = clock().saturating_sub(stale_after);
    let mut open = sessions::open_turns(repo.common_dir(), repo.git_dir())?;
    open.retain(|session| {
        let is_at_work = session.phase == Phase::Active && session.is_in(repo.worktree_id());
        let is_untold = !calls.accounts.iter().any(|account| account.session == session.id);
        let lives = session.last_seen >= oldest && process::life(session.process.as_ref()) != Life::Dead;
        is_at_work && is_untold && lives
    });
    Ok(open)
}

/// Returns the author of the unsaved changes for a save that names no author.
///
/// That is a human, unless a tool that may change any path is in use, or a session with an open turn does not report
/// its tool calls: then it is that session. If several sessions qualify, the author is unknown.
pub(crate) fn unsaved(context: &Context) -> Result<Origin> {
    let calls = calls(context);
    Ok(match &untold(context, &calls)?[..] {
        [] => {
            let mut open = Vec::new();
            for call in calls.open.iter().filter(|call| call.paths.is_none()) {
                // After an agent was killed, a human makes this save.
                if !is_gone(context, &call.session)? {
                    open.push(call);
                }
            }
            between(context, &open)?
        }
        [session] if calls.open.is_empty() => of_session(session, None),
        _ => unknown(),
    })
}

/// Returns the author of the unsaved changes before a prompt to `session`: a human, unless another session may have
/// made them.
pub(crate) fn before_prompt(context: &Context, session: &str) -> Result<Origin> {
    let is_others = is_shared(context, &calls(context), session)?;
    Ok(if is_others { unknown() } else { Origin { contributor: Contributor::Human, ..Origin::default() } })
}

fn unknown() -> Origin {
    Origin { contributor: Contributor::Unknown, ..Origin::default() }
}

/// Returns the author of the changes before `session` uses the tool `key` on the paths with these digests (none: any
/// path).
pub(crate) fn before(context: &Context, session: &str, key: &str, paths: Option<&[String]>) -> Result<Origin> {
    let calls = calls(context);
    let is_other = |call: &&Call| call.session != session || call.key != key;
    let may_reach = |call: &&Call| match (&call.paths, paths) {
        (Some(its), Some(paths)) => its.iter().any(|path| paths.contains(path)),
        _ => true,
    };
    between(context, &calls.open.iter().filter(is_other).filter(may_reach).collect::<Vec<_>>())
}

/// Returns the author of the changes before a commit that a tool in use may make; none if there is no such tool, or if
/// several sessions use one.
pub(crate) fn before_commit(context: &Context) -> Result<Option<Origin>> {
    let calls = calls(context);
    let mut open = Vec::new();
    for call in calls.open.iter().filter(|call| call.paths.is_none() && !call.is_background) {
        // After an agent was killed, a human or another agent makes this commit.
        if !is_gone(context, &call.session)? {
            open.push(call);
        }
    }
    let origin = between(context, &open)?;
    Ok(Some(origin).filter(|origin| origin.session.is_some()))
}

fn is_gone(context: &Context, session: &str) -> Result<bool> {
    let found = sessions::load(context.repo.common_dir(), session)?;
    Ok(matches!(found, Found::Session(session) if process::life(session.process.as_ref()) == Life::Dead))
}

/// Returns the author of what changed while exactly the tools `open` were in use.
fn between(context: &Context, open: &[&Call]) -> Result<Origin> {
    let sessions: BTreeSet<&str> = open.iter().map(|call| call.session.as_str()).collect();
    let is_background = open.iter().any(|call| call.is_background);
    match (sessions.len(), open.first()) {
        (0, _) | (_, None) => Ok(Origin::default()),
        (1, Some(call)) if !is_background => {
            let is_one = open.iter().all(|it| it.agent_id == call.agent_id);
            let agent_id = call.agent_id.clone().filter(|_| is_one);
            match sessions::load(context.repo.common_dir(), &call.session)? {
                Found::Session(session) => Ok(of_session(&session, agent_id)),
                _ => Ok(unknown()),
            }
        }
        _ => Ok(unknown()),
    }
}

/// Returns true if a session other than `session` uses a tool here that may change any path.
pub(crate) fn is_another_at_work(context: &Context, session: &str) -> bool {
    calls(context).open.iter().any(|call| call.session != session && call.paths.is_none())
}

/// Returns the origin of changes by `session`, or by its helper `agent_id`.
pub(crate) fn of_session(session: &Session, agent_id: Option<String>) -> Origin {
    Origin {
        contributor: Contributor::Agent,
        session: Some(session.id.clone()),
        agent: session.agent.clone(),
        model: session.model.clone(),
        turn: Some(session.turn.number),
        agent_id,
        ..Origin::default()
    }
}
