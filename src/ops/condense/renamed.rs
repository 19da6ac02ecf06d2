//! The files that a shadow left under one name and that a commit, the index or the worktree has under another one.

use std::collections::BTreeSet;

use bstr::BString;

use crate::{error::Result, git::Repo, model::change::Change};

/// Returns the renames from files that a shadow left (`touched`) to files of `committed` that the shadow has not touched: new
/// files, and files that had other content. `committed` has the renames that git finds from the parent of the commit; a file that
/// the shadow has renamed, too, has lost its name in the shadow there.
pub(crate) fn renamed_since(repo: &Repo, touched: &[Change], committed: &[Change]) -> Result<Vec<Change>> {
    let is_left = |path: &BString| at(touched, path).map(|left| left.after.is_some());
    let is_new = |change: &&Change| match (is_left(&change.path), &change.old_path) {
        (Some(is_left), _) => !is_left,
        (None, Some(old_path)) => is_left(old_path) == Some(false),
        (None, None) => true,
    };
    let left: Vec<&Change> = left_out(touched, committed).collect();
    if left.is_empty() {
        return Ok(Vec::new());
    }
    let mut ends = Vec::new();
    for new in committed.iter().filter(is_new) {
        ends.extend(Change::between(new.path.clone(), None, new.after));
        // The file may only have changed: then what it was before is more similar to it than another file.
        ends.extend(Change::between(new.path.clone(), new.before.filter(|_| new.old_path.is_none()), None));
    }
    for left in left {
        ends.extend(Change::between(left.path.clone(), left.after, None));
        // If the file that has the name now is the same one, it is more similar than other files.
        let now = at(committed, &left.path).and_then(|now| now.after);
        ends.extend(Change::between(left.path.clone(), None, now));
    }
    ends.sort_by(|one, other| one.path.cmp(&other.path));
    let mut renamed = repo.detect_renames(ends)?;
    renamed.retain(|change| change.old_path.as_ref().is_some_and(|old_path| *old_path != change.path));
    Ok(renamed)
}

/// Returns those of `touched` that left a file which `committed` neither keeps as it is nor renames: it is gone, as it was before the
/// work, or changed, or another file has its name.
pub(super) fn left_out<'c>(touched: &'c [Change], committed: &'c [Change]) -> impl Iterator<Item = &'c Change> {
    // If the shadow has renamed a file, too, the old name is another file's in the shadow.
    let is_renamed_in_shadow = |change: &Change| at(touched, &change.path).is_some_and(|left| left.after.is_some());
    let renamed = committed.iter().filter(|change| !is_renamed_in_shadow(change));
    let renamed: BTreeSet<&BString> = renamed.filter_map(|change| change.old_path.as_ref()).collect();
    touched.iter().filter(move |change| {
        let is_kept = at(committed, &change.path).is_some_and(|now| now.after == change.after);
        change.after.is_some() && !is_kept && !renamed.contains(&change.path)
    })
}

/// Returns the change of `path`.
pub(super) fn at<'c>(changes: &'c [Change], path: &BString) -> Option<&'c Change> {
    changes.binary_search_by(|change| change.path.cmp(path)).ok().map(|at| &changes[at])
}
