//! Writes missing objects of the last checkpoint again. A `git prune` that runs during a save may delete some of its objects.
//! Each save checks that, but it may be killed before the check, or the prune may delete them after it. As long as the worktree
//! has the same files, the objects can be written again.

use std::collections::HashSet;

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::{
    changes::changes,
    shadow::Shadow,
    write::{is_stored, write_again},
};
use crate::{
    error::{Error, Result},
    git::{Repo, new_objects::NewObjects},
    model::checkpoint::Checkpoint,
    ops::Worktree,
};

/// A blob that the last checkpoint added to the chain.
struct Added {
    /// None for a blob of the side data, which belongs to no file.
    path: Option<BString>,
    id: ObjectId,
}

/// Makes sure that the last checkpoint is whole before a save that finds no changes returns it.
/// Writes those of the save's `objects` that are missing, and reads the files again if that does not help.
///
/// # Errors
/// [`Kind::Corrupt`](crate::error::Kind::Corrupt) if the files do not bring back what is missing.
pub(crate) fn repair_unchanged(worktree: &Worktree<'_>, shadow: &Shadow, objects: NewObjects<'_>) -> Result<()> {
    let is_whole = || missing(&worktree.repo, shadow).is_ok_and(|missing| missing.is_empty());
    if !worktree.repo.distrusts_objects() && is_whole() {
        return Ok(());
    }
    let are_written = objects.write()?.check_and_release().is_ok();
    if !(are_written && is_whole()) {
        write_again(worktree)?;
    }
    match missing(&worktree.repo, shadow)?.first() {
        None => Ok(()),
        Some(Added { path: Some(path), id }) => {
            Err(Error::corrupt(format!("the content '{id}' of '{path}' in the last checkpoint is missing")))
        }
        Some(Added { path: None, id }) => {
            Err(Error::corrupt(format!("the object '{id}' of the last checkpoint is missing")))
        }
    }
}

/// Writes missing objects of the last checkpoint again, if the files still have their content. A save does this before it takes
/// the next checkpoint, which shares the objects of all unchanged files.
pub(crate) fn repair_before_next(worktree: &Worktree<'_>, shadow: &Shadow) {
    // An error means that a tree is missing. If the next checkpoint needs that tree, the save fails later.
    let is_whole = missing(&worktree.repo, shadow).map_or(true, |missing| missing.is_empty());
    if !is_whole && let Err(error) = write_again(worktree) {
        tracing::warn!(%error, "cannot write again what the last checkpoint lacks");
    }
}

/// Returns the blobs that the last checkpoint of `shadow` added to the chain and that the repository no longer has. Leaves out
/// what the worktree cannot bring back: blobs of files that it does not have (sparse checkout; a partial clone may still fetch
/// them), and staged or unmerged blobs, which git's index keeps.
///
/// # Errors
/// [`Kind::Corrupt`](crate::error::Kind::Corrupt) if a tree is missing.
fn missing(repo: &Repo, shadow: &Shadow) -> Result<Vec<Added>> {
    let Some(tip) = &shadow.tip else { return Ok(Vec::new()) };
    // Where the checkpoint before it is damaged, all that differs from HEAD counts as added.
    let mut changes = changes(repo, tip).or_else(|_| repo.diff_trees_if_damaged(shadow.head_tree_id, tip.tree_id))?;
    let side = shadow.tip_side.clone().unwrap_or_default();
    if let Some(tree_id) = side.raw_tree_id {
        let empty = repo.empty_tree_id();
        let before = raw_tree_before(repo, tip).unwrap_or(empty);
        changes.extend(repo.diff_trees(before, tree_id).or_else(|_| repo.diff_trees(empty, tree_id))?);
    }
    for tree_id in [side.index_tree_id, side.unmerged_tree_id].into_iter().flatten() {
        // Checks the trees only: git keeps the blobs while they are staged.
        repo.diff_trees_if_damaged(shadow.head_tree_id, tree_id)?;
    }
    let files = changes.into_iter().filter_map(|change| {
        let leaf = change.after.filter(is_stored)?;
        Some(Added { path: Some(change.path), id: leaf.id })
    });
    let mut added: Vec<Added> = files.chain(side.moved_id.map(|id| Added { path: None, id })).collect();
    let gone: HashSet<ObjectId> = repo.gone(added.iter().map(|it| it.id).collect()).into_iter().collect();
    let is_here = |path: &BString| repo.worktree_root().join(path.to_path_lossy()).symlink_metadata().is_ok();
    added.retain(|it| gone.contains(&it.id) && it.path.as_ref().is_none_or(is_here));
    Ok(added)
}

/// Returns the tree of raw bytes of the checkpoint before `tip`.
fn raw_tree_before(repo: &Repo, tip: &Checkpoint) -> Option<ObjectId> {
    let before = repo.checkpoint(tip.before_id()).ok().flatten()?;
    repo.read_side(before.side_id?).ok()?.raw_tree_id
}
