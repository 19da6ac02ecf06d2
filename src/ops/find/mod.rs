//! Finds checkpoints, records and sessions by what they are about: the one query layer for all that searches.
//!
//! A hit is an object with the best of its matches: of a checkpoint that has the text in its note and in its message, the note. What is
//! stored is searched as it is stored, so that redacted text cannot be found.

mod checkpoints;
mod content;
mod hit;
mod query;
mod records;
mod sessions;

use std::{cmp::Reverse, collections::BTreeSet};

use bstr::BString;

use super::{Context, session_info};
use crate::{
    error::{Error, Result},
    model::{
        contributor::Contributor,
        hit::{Field, score},
    },
};

pub(crate) use content::Content;
pub(crate) use hit::{Hit, Kind};
pub(crate) use query::Pattern;
use query::Query;

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
struct Search {
    query: Query,
    fields: BTreeSet<Field>,
    content: Option<Content>,
}

impl Search {
    fn wants(&self, field: Field) -> bool {
        self.fields.contains(&field)
    }
}

/// Returns the hits, the best first, and the errors of what cannot be read. `now` is the time, in Unix seconds.
///
/// # Errors
/// If the pattern is no regular expression, or a pathspec is malformed.
pub(crate) fn find(context: &Context, options: &Options, now: i64) -> Result<(Vec<Hit>, Vec<Error>)> {
    let query = Query::new(&options.pattern)?;
    let search = Search { query, fields: options.fields.clone(), content: options.content };
    let mut options = options.clone();
    if let Some(name) = &options.session {
        options.session = Some(session_info::find(context, name)?.unwrap_or_else(|| name.clone()));
    }
    let mut found = Vec::new();
    let broken = checkpoints::search(context, &options, &search, &mut found)?;
    records::search(context, &options, &search, &mut found)?;
    sessions::prompts(context, &options, &search, &mut found)?;
    sessions::transcripts(context, &options, &search, &mut found)?;
    found.sort_by_cached_key(|hit| {
        let (seconds, _) = hit.moment;
        (Reverse(score(hit.field, now.saturating_sub(seconds))), Reverse(seconds), hit.id.clone())
    });
    found.truncate(options.limit.unwrap_or(usize::MAX));
    Ok((found, broken))
}
