//! The files that a shadow left under one name and that a commit, the index or the worktree has under another one.

use std::{
    collections::{BTreeSet, HashSet},
    io::ErrorKind,
};

use bstr::{BString, ByteSlice as _};

use crate::{
    error::Result,
    git::{
        Repo,
        new_names::{By, Old},
    },
    model::change::{Change, Leaf},
};

/// Returns the renames from files that a shadow left (`touched`) to files of `committed` that the shadow has not touched, or left with
/// other content.
/// `committed` has the renames that git finds from the parent of the commit; a file that the shadow has renamed, too, has lost its
/// name in the shadow there.
///
/// A new file may come from any file that is left out. A file that had other content, in HEAD or in the shadow, comes only from one that
/// is gone from the worktree: else, both may begin alike, as files made from a template do.
pub(crate) fn renamed_since(repo: &Repo, touched: &[Change], committed: &[Change]) -> Result<Vec<Change>> {
    let is_left = |path: &BString| at(touched, path).map(|left| left.after.is_some());
    let is_new = |change: &Change| match (is_left(&change.path), &change.old_path) {
        (Some(is_left), _) => !is_left,
        (None, Some(old_path)) => is_left(old_path) == Some(false),
        (None, None) => change.before.is_none(),
    };
    let left: Vec<&Change> = left_out(touched, committed).collect();
    let old = |left: &[&Change]| -> Vec<Old> { left.iter().filter_map(|left| Old::after(left)).collect() };
    let mut renamed = repo.new_names(&old(&left), committed, By::Git, is_new)?;
    let contents: HashSet<Leaf> = touched.iter().filter_map(|left| left.after).collect();
    let is_open = |change: &Change| match at(touched, &change.path) {
        None => change.before.is_some() && change.after.is_some() && change.old_path.is_none(),
        Some(left) => change.after != left.after && change.after.is_some_and(|after| contents.contains(&after)),
    };
    let has_few = (1..=MOST_REPLACED).contains(&committed.iter().filter(|change| is_open(change)).count());
    let paired: HashSet<&BString> = renamed.iter().filter_map(|it| it.old_path.as_ref()).collect();
    let is_unpaired = |left: &&Change| !paired.contains(&left.path);
    let gone: Vec<&Change> =
        left.into_iter().filter(|left| has_few && is_unpaired(left) && is_gone(repo, left)).collect();
    renamed.extend(repo.new_names(&old(&gone), committed, By::Git, is_open)?);
    renamed.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(renamed)
}

/// If a commit changes more files than this, we do not look for files that were moved onto them.
const MOST_REPLACED: usize = 100;

/// Returns true if the worktree has no file at the path of `left`.
fn is_gone(repo: &Repo, left: &Change) -> bool {
    let Ok(path) = left.path.to_path() else { return false };
    let error = std::fs::symlink_metadata(repo.worktree_root().join(path)).err();
    error.is_some_and(|error| matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory))
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
