//! Finds checkpoints, records and sessions by what they are about: the one query layer for all that searches.
//!
//! A hit is an object with the best of its matches: of a checkpoint that has the text in its note and in its message, the note. What is
//! stored is searched as it is stored, so that redacted text cannot be found.

mod checkpoints;
mod content;
mod hit;
mod options;
mod query;
mod records;
mod sessions;

use std::cmp::Reverse;

use super::{Context, session_info};
use crate::{
    error::{Error, Result},
    model::hit::score,
};

pub(crate) use hit::{Hit, Kind};
pub(crate) use options::Content;
pub(crate) use options::Options;
use options::Search;
pub(crate) use query::Pattern;
use query::Query;

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
    let mut broken = checkpoints::search(context, &options, &search, &mut found)?;
    broken.extend(records::search(context, &options, &search, &mut found)?);
    sessions::prompts(context, &options, &search, &mut found)?;
    sessions::transcripts(context, &options, &search, &mut found)?;
    found.sort_by_cached_key(|hit| {
        let (seconds, _) = hit.moment;
        (Reverse(score(hit.field, now.saturating_sub(seconds))), Reverse(seconds), hit.id.clone())
    });
    found.truncate(options.limit.unwrap_or(usize::MAX));
    Ok((found, broken))
}
