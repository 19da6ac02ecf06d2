//! What to search for, and where.

use std::collections::BTreeSet;

use bstr::BString;

use super::query::{Pattern, Query};
use crate::model::{contributor::Contributor, hit::Field};

/// What of a change has to match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// The number of matches differs.
    Occurrences,
    /// An added or deleted line matches; one that only moved within its file does not count.
    Lines,
}

/// What to search for, and where.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    /// What is searched for.
    pub(crate) pattern: Pattern,
    /// Where; changed lines only with `content`.
    pub(crate) fields: BTreeSet<Field>,
    /// Search changed lines in this way.
    pub(crate) content: Option<Content>,
    /// Only what is of this session: its id, the beginning of that, or its agent.
    pub(crate) session: Option<String>,
    /// Only what is of this agent, in any case of letters.
    pub(crate) agent: Option<String>,
    /// Only what changed one of these pathspecs (relative to the worktree's root).
    pub(crate) paths: Vec<BString>,
    /// Only what is not older than this moment, in Unix seconds.
    pub(crate) since: Option<i64>,
    /// Only what is not newer than this moment, in Unix seconds.
    pub(crate) until: Option<i64>,
    /// Only the work of agents, or of people.
    pub(crate) owner: Option<Contributor>,
    /// At most this many, the best ones.
    pub(crate) limit: Option<usize>,
}

/// A search that is under way.
pub(super) struct Search {
    pub(super) query: Query,
    pub(super) fields: BTreeSet<Field>,
    pub(super) content: Option<Content>,
}

impl Search {
    /// Returns true if `field` is to be searched.
    pub(super) fn wants(&self, field: Field) -> bool {
        self.fields.contains(&field)
    }
}
