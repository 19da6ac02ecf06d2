//! What is shown of a session.

use serde::Serialize;

use crate::model::session::{Phase, Session};

/// A session as it is after an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct State {
    /// Its id.
    pub id: String,
    /// The agent's name.
    pub agent: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// Where it stands.
    pub phase: Phase,
    /// The number of its last turn.
    pub turn: u32,
    /// The worktree it works in.
    pub worktree: String,
    /// The root of that worktree when the session was last seen there.
    pub worktree_path: String,
    /// The commit at HEAD when it was last seen.
    pub base: String,
    /// True if the first checkpoint of the turn sets the shadow aside.
    pub should_reset_shadow: bool,
    /// When it was first seen, in Unix seconds.
    pub started: i64,
    /// When it was last seen, in Unix seconds.
    pub last_seen: i64,
}

impl From<&Session> for State {
    fn from(session: &Session) -> Self {
        Self {
            id: session.id.clone(),
            agent: session.agent.clone(),
            model: session.model.clone(),
            phase: session.phase,
            turn: session.turn.number,
            worktree: session.worktree.clone(),
            worktree_path: session.worktree_path.clone(),
            base: session.base.clone(),
            should_reset_shadow: session.under_way.as_ref().is_some_and(|turn| turn.should_reset_shadow),
            started: session.started,
            last_seen: session.last_seen,
        }
    }
}
