//! Whether an agent may go on in a worktree that others work in, too: the table, and what is said where it may not.

mod report;

pub use report::{Report, Where};

use serde::Serialize;

/// What the user wants to happen when agents tangle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// What would corrupt work is denied.
    Refuse,
    /// What might is denied too.
    Strict,
    /// What [`Refuse`](Self::Refuse) denies is a warning.
    Warn,
    /// Nothing is checked.
    Off,
}

/// What is the matter in a worktree before or after a tool call of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It is the worktree of another session's agent.
    Worktree,
    /// HEAD, or jj's `@`, is no commit of the user's but an agent's for a while.
    Temporary,
    /// HEAD was moved to another session's commit, or became one, during the call.
    Moved {
        /// True if the commit is on a remote-tracking branch.
        is_published: bool,
    },
    /// jj has several versions of the change that the call began at.
    Diverged,
    /// HEAD's message names another session.
    Named {
        /// True if that session lives.
        is_live: bool,
        /// True if the commit is on a remote-tracking branch.
        is_published: bool,
    },
    /// Another live session has a tool call under way.
    Busy,
}

/// What is done about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// The agent goes on.
    Allow,
    /// The agent goes on, and somebody is told.
    Warn,
    /// The agent is held back.
    Deny,
}

/// Returns what is done about `state`.
pub fn decide(state: State, policy: Policy) -> Decision {
    use State::{Busy, Diverged, Moved, Named, Temporary, Worktree};
    let is_strict = policy == Policy::Strict;
    let is_denied = match state {
        Worktree | Temporary | Diverged => true,
        Moved { is_published } => is_strict || !is_published,
        Named { is_live, is_published } => is_strict || is_live && !is_published,
        Busy => is_strict,
    };
    match policy {
        _ if !is_denied => Decision::Allow,
        Policy::Off => Decision::Allow,
        Policy::Warn => Decision::Warn,
        Policy::Refuse | Policy::Strict => Decision::Deny,
    }
}

/// What is the matter, as programs are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Code {
    /// [`State::Worktree`]
    AgentWorktree,
    /// [`State::Temporary`]
    TemporaryWorkspace,
    /// [`State::Moved`]
    StartingPointMoved,
    /// [`State::Diverged`]
    StartingPointDiverged,
    /// [`State::Named`]
    ConcurrentSession,
    /// [`State::Busy`]
    ToolCallOpen,
}

impl State {
    /// Returns how programs are told of it.
    pub fn code(self) -> Code {
        match self {
            Self::Worktree => Code::AgentWorktree,
            Self::Temporary => Code::TemporaryWorkspace,
            Self::Moved { .. } => Code::StartingPointMoved,
            Self::Diverged => Code::StartingPointDiverged,
            Self::Named { .. } => Code::ConcurrentSession,
            Self::Busy => Code::ToolCallOpen,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Decision::{Allow, Deny, Warn};

    const fn named(is_live: bool, is_published: bool) -> State {
        State::Named { is_live, is_published }
    }

    /// The table of the manual, row by row: refuse, strict, warn, off.
    #[rstest::rstest]
    #[case::worktree(State::Worktree, [Deny, Deny, Warn, Allow])]
    #[case::temporary(State::Temporary, [Deny, Deny, Warn, Allow])]
    #[case::moved(State::Moved { is_published: false }, [Deny, Deny, Warn, Allow])]
    #[case::moved_to_published(State::Moved { is_published: true }, [Allow, Deny, Allow, Allow])]
    #[case::diverged(State::Diverged, [Deny, Deny, Warn, Allow])]
    #[case::named_live(named(true, false), [Deny, Deny, Warn, Allow])]
    #[case::named_live_published(named(true, true), [Allow, Deny, Allow, Allow])]
    #[case::named_gone(named(false, false), [Allow, Deny, Allow, Allow])]
    #[case::named_gone_published(named(false, true), [Allow, Deny, Allow, Allow])]
    #[case::busy(State::Busy, [Allow, Deny, Allow, Allow])]
    fn every_cell_of_the_table(#[case] state: State, #[case] expected: [Decision; 4]) {
        let policies = [Policy::Refuse, Policy::Strict, Policy::Warn, Policy::Off];
        assert_eq!(policies.map(|policy| decide(state, policy)), expected);
    }
}
