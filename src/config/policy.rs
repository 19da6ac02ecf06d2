//! Settings about commits with lines of agents: what their messages say, and which of them a check lets pass.

use serde::Deserialize;

/// The limits for `attribution --check`, in percent of the committed lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Policy {
    /// How much may be agents'.
    pub max_agent_percentage: u64,
    /// The limit for lines of unknown author.
    pub max_unknown_percentage: u64,
}

/// What commits say of agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Commit {
    /// The trailer that a commit with lines of agents gets.
    pub disclosure: Disclosure,
}

/// The trailer for each agent that has a part in a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Disclosure {
    /// None.
    Off,
    /// `Assisted-by`.
    AssistedBy,
    /// `Generated-by`.
    GeneratedBy,
}

impl Disclosure {
    /// Returns the key of the trailer.
    pub(crate) fn key(self) -> Option<&'static str> {
        match self {
            Self::Off => None,
            Self::AssistedBy => Some("Assisted-by"),
            Self::GeneratedBy => Some("Generated-by"),
        }
    }
}

/// The policies of `ci check`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Ci {
    /// How much may be agents', in percent.
    pub max_agent_percentage: u64,
    /// How much may be of unknown authors, in percent.
    pub max_unknown_percentage: u64,
    /// The keys of trailers of which a commit with lines of agents needs one.
    pub disclosure_trailers: Vec<String>,
    /// The same for a review.
    pub review_trailers: Vec<String>,
    /// The pathspecs of files in which no line may be an agent's.
    pub human_paths: Vec<String>,
}
