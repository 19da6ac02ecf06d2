//! Who made a change.

use serde::{Deserialize, Serialize};

/// Who made the change that a checkpoint holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Contributor {
    /// A coding agent, usually with a session.
    Agent,
    /// A person.
    Human,
    /// The author is unknown.
    Unknown,
}

impl Contributor {
    /// Returns the word used in trailers, JSON and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Human => "human",
            Self::Unknown => "unknown",
        }
    }

    /// Parses `word`.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Agent, Self::Human, Self::Unknown].into_iter().find(|contributor| contributor.as_str() == word)
    }
}
