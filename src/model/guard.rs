//! Whether an agent may continue in a worktree that others use, too: the decision table, and the messages.

mod report;

pub use report::{Help, Report, Where};

use serde::Serialize;

/// What to do when agents get in each other's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Deny what would corrupt work.
    Refuse,
    /// Also deny what might corrupt work.
    Strict,
    /// Warn where [`Refuse`](Self::Refuse) denies.
    Warn,
    /// Check nothing.
    Off,
}

/// The state of a worktree before or after a session's tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The worktree belongs to another session's agent.
    Worktree,
    /// HEAD, or jj's `@`, is a temporary commit of an agent, not one of the user's.
    Temporary,
    /// During the call, HEAD moved to another session's commit, or the message at HEAD came to name another session.
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
    /// Another live session has an open tool call.
    Busy,
}

/// The decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// The agent continues.
    Allow,
    /// The agent continues, with a warning.
    Warn,
    /// The agent is held back.
    Deny,
}

/// Returns the decision for `state`.
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

/// The state in the JSON output.
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
    /// Returns the code for the JSON output.
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
