//! The files that a shadow left under one name and that a commit, the index or the worktree has under another one.

use std::collections::BTreeSet;

use bstr::BString;

use crate::{error::Result, git::Repo, model::change::Change, ops::share::is_telling};

/// Returns the renames from files that a shadow left (`touched`) to files of `committed` that are not in it; git has found its own
/// renames in `committed`, but those from files that the shadow renamed before lack a part of the way. If there is still a file of the
/// old name, work of a short line is no evidence.
pub(crate) fn renamed_since(repo: &Repo, touched: &[Change], committed: &[Change]) -> Result<Vec<Change>> {
    let is_left = |path: &BString| at(touched, path).map(|left| left.after.is_some());
    let is_new = |change: &&Change| match (is_left(&change.path), &change.old_path) {
        (Some(is_left), _) => !is_left,
        (None, Some(old_path)) => is_left(old_path) == Some(false),
        (None, None) => change.before.is_none(),
    };
    let new = committed.iter().filter(is_new);
    let mut ends: Vec<Change> = new.filter_map(|it| Change::between(it.path.clone(), None, it.after)).collect();
    if ends.is_empty() {
        return Ok(ends);
    }
    for left in left_out(touched, committed) {
        ends.extend(Change::between(left.path.clone(), left.after, None));
        // Another file may be there now. If it is no other, it is the most similar one.
        let now = at(committed, &left.path).and_then(|now| now.after);
        ends.extend(Change::between(left.path.clone(), None, now));
    }
    ends.sort_by(|one, other| one.path.cmp(&other.path));
    let mut renamed = Vec::new();
    for change in repo.detect_renames(ends)? {
        let old_path = change.old_path.as_ref().filter(|old_path| **old_path != change.path);
        let Some(left) = old_path.and_then(|old_path| at(touched, old_path)) else { continue };
        let is_gone = at(committed, &left.path).map_or(left.before.is_none(), |now| now.after.is_none());
        if is_gone || is_telling(repo, left)? {
            renamed.push(change);
        }
    }
    Ok(renamed)
}

/// Returns those of `touched` that left a file which `committed` neither keeps as it is nor renames: it is gone, as it was before the
/// work, or changed, or another file has its name.
pub(super) fn left_out<'c>(touched: &'c [Change], committed: &'c [Change]) -> impl Iterator<Item = &'c Change> {
    let renamed: BTreeSet<&BString> = committed.iter().filter_map(|change| change.old_path.as_ref()).collect();
    touched.iter().filter(move |change| {
        let is_kept = at(committed, &change.path).is_some_and(|now| now.after == change.after);
        change.after.is_some() && !is_kept && !renamed.contains(&change.path)
    })
}

/// Returns the change of `path`.
pub(super) fn at<'c>(changes: &'c [Change], path: &BString) -> Option<&'c Change> {
    changes.binary_search_by(|change| change.path.cmp(path)).ok().map(|at| &changes[at])
}
