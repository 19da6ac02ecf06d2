//! Work that a stash entry holds.

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::{archive::archive_name, shadow::Shadow};
use crate::{
    error::Result,
    git::{Repo, refs::RefUpdate},
    model::{
        change::{Change, Leaf},
        refname,
    },
};

/// Keeps the tip of `shadow` in the archive if `changes`, which the next checkpoint makes, take back to HEAD what a stash
/// entry holds: when the stash is popped, that work is found there.
pub(crate) fn keep_stashed(repo: &Repo, shadow: &Shadow, changes: &[Change]) -> Result<()> {
    let Some(tip) = &shadow.tip else { return Ok(()) };
    let mut taken_back = Vec::new();
    for change in changes.iter().filter(|change| change.before.is_some()) {
        if repo.find_leaf(shadow.head_tree_id, change.path.as_bstr())? == change.after {
            taken_back.push(change);
        }
    }
    if taken_back.is_empty() {
        return Ok(());
    }
    let stashes = stash_trees(repo)?;
    let mut is_stashed = false;
    for change in taken_back {
        is_stashed = is_stashed || any_has(repo, &stashes, &change.path, change.before)?;
    }
    if !is_stashed {
        return Ok(());
    }
    // The names alone say which archived shadows cannot be this one: almost all.
    for name in repo.ref_names_below(refname::ARCHIVE)? {
        if refname::may_be_archive_of(&name, tip.id) && repo.find_ref(&name)? == Some(tip.id) {
            return Ok(());
        }
    }
    repo.update_refs(&[RefUpdate { name: archive_name(repo, tip.id)?, old: None, new: Some(tip.id) }])
}

/// Returns the trees of the newest stash entries, with those of their untracked files.
pub(crate) fn stash_trees(repo: &Repo) -> Result<Vec<ObjectId>> {
    if repo.find_ref("refs/stash")?.is_none() {
        return Ok(Vec::new());
    }
    let listed = repo.try_git(&["rev-list", "--walk-reflogs", MOST_STASHES, "refs/stash"], None)?;
    let mut trees = Vec::new();
    for stash in listed.stdout.lines().filter_map(|line| ObjectId::from_hex(line.trim()).ok()) {
        let untracked = repo.parents_of(stash)?.get(2).copied();
        for commit in [Some(stash), untracked].into_iter().flatten() {
            trees.push(repo.tree_of_commit(commit)?);
        }
    }
    Ok(trees)
}

/// Returns true if one of `trees` has `leaf` at `path`.
pub(crate) fn any_has(repo: &Repo, trees: &[ObjectId], path: &BString, leaf: Option<Leaf>) -> Result<bool> {
    for tree in trees {
        if repo.find_leaf(*tree, path.as_bstr())? == leaf {
            return Ok(true);
        }
    }
    Ok(false)
}

/// How many stash entries are looked at.
const MOST_STASHES: &str = "--max-count=20";
