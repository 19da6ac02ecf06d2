//! What is decided about a piece, and how far it is reviewed.

use serde::{Deserialize, Serialize};

/// What a person has decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verdict {
    /// It stays.
    Accept,
    /// It goes.
    Reject,
    /// It is to be changed as the text says.
    Comment,
    /// Nothing yet: this takes an earlier decision back.
    Later,
}

/// How far a piece is reviewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    /// Nothing is decided.
    Open,
    /// It was rejected, and is there.
    Rejected,
    /// It is to be changed.
    Commented,
    /// It stays.
    Accepted,
}

impl State {
    /// Returns the state of a piece that `verdict` holds for.
    pub(crate) fn of(verdict: Option<Verdict>) -> Self {
        match verdict {
            None | Some(Verdict::Later) => Self::Open,
            Some(Verdict::Reject) => Self::Rejected,
            Some(Verdict::Comment) => Self::Commented,
            Some(Verdict::Accept) => Self::Accepted,
        }
    }

    /// Returns the word for it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Rejected => "rejected",
            Self::Commented => "commented",
            Self::Accepted => "accepted",
        }
    }

    /// Returns true if a person still has to decide: what was rejected is there again, or still.
    pub(crate) fn is_undecided(self) -> bool {
        matches!(self, Self::Open | Self::Rejected)
    }

    /// Returns the state of what has pieces in these `states`: all have to be decided.
    pub(crate) fn of_all(states: impl IntoIterator<Item = Self>) -> Self {
        states.into_iter().min().unwrap_or(Self::Open)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::nothing(&[], State::Open)]
    #[case::all(&[State::Accepted, State::Accepted], State::Accepted)]
    #[case::one_is_open(&[State::Accepted, State::Open], State::Open)]
    #[case::one_is_commented(&[State::Accepted, State::Commented], State::Commented)]
    #[case::one_is_rejected(&[State::Rejected, State::Commented], State::Rejected)]
    fn all_of_a_hunk_has_to_be_decided(#[case] states: &[State], #[case] expected: State) {
        assert_eq!(State::of_all(states.iter().copied()), expected);
    }
}
