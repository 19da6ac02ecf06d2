//! The changed lines that match: `-S` and `-G`, as git-log(1) has them.

use std::collections::HashMap;

use bstr::{BString, ByteSlice as _};

use super::{
    options::{Content, Search},
    query::Query,
};
use crate::{
    error::{Kind, Result},
    git::{Repo, pathspec::Pathspec},
    model::{change::Change, hit::Excerpt},
};

/// Files larger than this are not searched, as git does not compare them.
const LARGEST: u64 = 32 << 20;

/// Returns the first of `changes` at the paths of `pathspec` that matches: its path, and a line with a match.
pub(super) fn find(
    repo: &Repo,
    changes: Vec<Change>,
    search: &Search,
    pathspec: &mut Pathspec<'_>,
) -> Result<Option<(BString, Excerpt)>> {
    let Some(content) = search.content else { return Ok(None) };
    let query = &search.query;
    for change in changes {
        repo.check_interrupt()?;
        if !(pathspec.is_empty() || pathspec.matches(change.path.as_bstr())) {
            continue;
        }
        let leaves = [change.before, change.after];
        let sizes = leaves.iter().flatten().filter_map(|leaf| repo.size_of_object(leaf.id));
        if sizes.max().is_some_and(|size| size > LARGEST) {
            continue;
        }
        let texts = leaves.map(|leaf| match repo.text_of(leaf) {
            // Of a damaged file, nothing is found.
            Err(error) if error.kind() == Kind::Corrupt => Ok(None),
            text => text,
        });
        let [before, after] = texts;
        let (before, after) = (before?.unwrap_or_default(), after?.unwrap_or_default());
        let is_binary = [&before, &after].iter().any(|text| text[..text.len().min(8000)].contains(&0));
        if is_binary || !(query.is_in(&before) || query.is_in(&after)) {
            continue;
        }
        let found = match content {
            Content::Occurrences if query.count(&before) == query.count(&after) => None,
            Content::Occurrences => {
                changed_line(&before, &after, query).or_else(|| query.find(&after)).or_else(|| query.find(&before))
            }
            Content::Lines => changed_line(&before, &after, query),
        };
        if let Some(found) = found {
            return Ok(Some((change.path, found)));
        }
    }
    Ok(None)
}

/// Returns a matching line that one of the texts has more often than the other one.
fn changed_line(before: &[u8], after: &[u8], query: &Query) -> Option<Excerpt> {
    let mut counts: HashMap<&[u8], i64> = HashMap::new();
    for (text, step) in [(before, -1), (after, 1)] {
        for line in text.lines().filter(|line| query.is_in(line)) {
            *counts.entry(line).or_default() += step;
        }
    }
    let differs = |line: &&[u8]| counts.get(line).is_some_and(|count| *count != 0);
    after.lines().find(differs).or_else(|| before.lines().find(differs)).and_then(|line| query.find(line))
}
