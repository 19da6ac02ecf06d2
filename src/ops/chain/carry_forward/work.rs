//! Carries work forward from one base commit to another: the paths whose work the worktree still contains.

use std::{
    cell::OnceCell,
    collections::{BTreeSet, HashSet},
};

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use crate::{
    error::Result,
    git::{
        Repo,
        edit_tree::{Edit, edit_tree},
        new_names::{By, Old},
        new_objects::NewObjects,
    },
    model::{
        change::{Change, Leaf, Mode},
        checkpoint::Checkpoint,
        refname::Base,
    },
    ops::share::share,
};

/// Where work is carried to.
pub(crate) struct Destination {
    /// The tree of the new base commit.
    pub(crate) head_tree_id: ObjectId,
    /// The tree of the checkpoint that the carried work follows.
    pub(crate) last_tree_id: ObjectId,
    /// The tree in which we look for the work: the worktree's, or that of a checkpoint.
    pub(crate) now_tree_id: ObjectId,
    /// The only paths to carry forward; none: all.
    pub(crate) wanted: Option<BTreeSet<BString>>,
    /// True if `now_tree_id` was just read from the worktree: a path that still has the work's content there is carried with this
    /// content, and not merged with that of the last checkpoint.
    pub(crate) is_now_seen: bool,
}

/// The part of a chain that is carried forward.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Carried {
    /// The tree of the checkpoint that carries it.
    pub(crate) tree_id: ObjectId,
    /// The carried paths; none if nothing is carried.
    pub(crate) paths: Vec<BString>,
    /// True if some of the chain's work is neither carried nor in the new base commit.
    pub(crate) leaves_some: bool,
}

/// Returns the tree of the base commit of the chain of `checkpoint`.
pub(crate) fn base_tree(repo: &Repo, checkpoint: &Checkpoint) -> Result<ObjectId> {
    match checkpoint.base {
        Base::Commit(id) => repo.tree_of_commit(id),
        Base::Unborn => Ok(repo.empty_tree_id()),
    }
}

/// Returns the work of the chain that ends with `tip`, as it is carried `to` there.
pub(crate) fn carry(repo: &Repo, tip: &Checkpoint, to: &Destination, objects: &mut NewObjects<'_>) -> Result<Carried> {
    let mut edits: Vec<(BString, Edit)> = Vec::new();
    let mut paths = Vec::new();
    let mut leaves_some = false;
    let base_tree_id = base_tree(repo, tip)?;
    let renamed = OnceCell::new();
    let changes = repo.diff_trees(base_tree_id, tip.tree_id)?;
    let mut former = None;
    let mut gone = Vec::new();
    for change in &changes {
        let path = change.path.as_bstr();
        let head = repo.find_leaf(to.head_tree_id, path)?;
        // If the new base has renamed the file, the worktree has the new name, too, unless `now_tree_id` was just read from it. The
        // work is not carried to the old name: it stays in the old shadow, where a commit finds it by its content.
        if !to.is_now_seen && head.is_none() && change.before.is_some() {
            if renamed.get().is_none() {
                drop(renamed.set(renamed_from(repo, base_tree_id, to.head_tree_id)?));
            }
            if renamed.get().is_some_and(|names| names.contains(&change.path)) {
                leaves_some = true;
                continue;
            }
        }
        let now = repo.find_leaf(to.now_tree_id, path)?;
        let is_wanted = to.wanted.as_ref().is_none_or(|wanted| wanted.contains(&change.path));
        // The user has undone the work in this file, or moved the file.
        if is_wanted && now == head && change.after.is_some() && change.after != head {
            gone.push(change);
            continue;
        }
        if !is_wanted || now == head || change.after == head {
            leaves_some |=
                change.after != head && (to.is_now_seen || !share(repo, change, change.before, head)?.is_all());
            continue;
        }
        // Both the work and the new base may have a new file here. If the work has renamed a file to this path, it begins with
        // that file.
        let before = if change.before.is_none() && head.is_some() {
            if former.is_none() {
                former = Some(repo.detect_renames(changes.clone())?);
            }
            let renamed = former.iter().flatten().find(|it| it.path == change.path && it.old_path.is_some());
            // Without another change, there is nothing to merge with a file that the new base has there.
            renamed.and_then(|it| it.before).filter(|before| Some(before.id) != change.after.map(|after| after.id))
        } else {
            change.before
        };
        // The checkpoint that the work follows may have more of the file than the new base commit.
        let last = repo.find_leaf(to.last_tree_id, path)?;
        // Carries the work's own content if possible, else its merge with the last checkpoint's, else what the worktree has.
        let carried = if (change.after == now && to.is_now_seen) || before == last {
            change.after
        } else if let Some(merged) = merge(repo, (before, change.after), last, objects)? {
            Some(merged)
        } else if !to.is_now_seen && share(repo, change, change.before, head)?.is_all() {
            // The commit contains the work, together with changes of others: nothing is left to carry.
            continue;
        } else {
            now
        };
        paths.push(change.path.clone());
        if last != carried {
            edits.push((change.path.clone(), carried.map(|leaf| (leaf.id, leaf.mode))));
        }
    }
    let places = if gone.is_empty() { Vec::new() } else { new_places(repo, to, &changes, &gone)? };
    for change in gone {
        // If the work was moved to another file, it may come back to this one, so that the old shadow stays as well.
        let head = repo.find_leaf(to.head_tree_id, change.path.as_bstr())?;
        leaves_some |= to.is_now_seen || !share(repo, change, change.before, head)?.is_all();
        if let Some(place) = places.iter().find(|place| place.old_path.as_ref() == Some(&change.path)) {
            edits.push((place.path.clone(), place.after.map(|leaf| (leaf.id, leaf.mode))));
            paths.push(place.path.clone());
        }
    }
    let tree_id = if edits.is_empty() { to.last_tree_id } else { edit_tree(to.last_tree_id, &edits, objects)? };
    Ok(Carried { tree_id, paths, leaves_some })
}

/// Returns the renames from files of the chain that are `gone` to files in which the worktree differs from the new base commit, and that
/// the chain, which made `changes`, does not know.
fn new_places(repo: &Repo, to: &Destination, changes: &[Change], gone: &[&Change]) -> Result<Vec<Change>> {
    let known: HashSet<&BString> = changes.iter().map(|change| &change.path).collect();
    let old: Vec<Old> = gone.iter().filter_map(|change| Old::after(change)).collect();
    let differing = repo.diff_trees(to.head_tree_id, to.now_tree_id)?;
    repo.new_names(&old, &differing, By::Whole, |change| !known.contains(&change.path))
}

/// Returns the files of the tree `before` that have other names in the tree `after`.
fn renamed_from(repo: &Repo, before: ObjectId, after: ObjectId) -> Result<BTreeSet<BString>> {
    let changes = repo.detect_renames(repo.diff_trees(before, after)?)?;
    Ok(changes.into_iter().filter_map(|change| change.old_path).collect())
}

/// Applies the change from one leaf to another to a file that has `other` changes as well; none if the two conflict.
pub(crate) fn merge(
    repo: &Repo,
    (before, after): (Option<Leaf>, Option<Leaf>),
    other: Option<Leaf>,
    objects: &mut NewObjects<'_>,
) -> Result<Option<Leaf>> {
    let (Some(before), Some(after), Some(other)) = (before, after, other) else { return Ok(None) };
    let is_file = |leaf: &Leaf| matches!(leaf.mode, Mode::File | Mode::Executable);
    if ![before, after, other].iter().all(is_file) {
        return Ok(None);
    }
    let merged = repo.merge_blobs(before.id, after.id, other.id)?;
    let Some(merged) = merged else { return Ok(None) };
    let id = objects.add(gix::objs::Kind::Blob, &merged)?;
    let mode = if after.mode == before.mode { other.mode } else { after.mode };
    Ok(Some(Leaf { id, mode }))
}
