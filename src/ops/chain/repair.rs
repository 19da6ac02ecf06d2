//! Writes again what the last checkpoint lacks. Its objects may be gone because its save was killed before it checked what a
//! `git prune` beside it had removed, or because the prune removed them after that check. As long as the worktree has the same
//! files, they can be written again.

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
    ops::Worktree,
};

/// A blob that the last checkpoint added to the chain.
struct Added {
    /// None for a blob of the side data, which belongs to no file.
    path: Option<BString>,
    id: ObjectId,
}

/// Makes sure that the last checkpoint is whole before a save returns it, because the worktree has not changed since.
/// Writes those of the save's `objects` that are missing, and reads the files again if that does not help.
///
/// # Errors
/// [`Kind::Corrupt`](crate::error::Kind::Corrupt) if the files do not bring back what is missing.
pub(crate) fn repair_unchanged(worktree: &Worktree<'_>, shadow: &Shadow, objects: NewObjects<'_>) -> Result<()> {
    let is_whole = || missing(&worktree.repo, shadow).is_ok_and(|missing| missing.is_empty());
    if !worktree.repo.is_wary() && is_whole() {
        return Ok(());
    }
    let are_written = objects.write()?.settle().is_ok();
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

/// Writes again what the last checkpoint lacks and the files still have, before a save takes the next one: that one relies on
/// all that has not changed.
pub(crate) fn repair_before_next(worktree: &Worktree<'_>, shadow: &Shadow) {
    // A tree that is missing stops the save later on, if the next checkpoint needs it.
    let is_whole = missing(&worktree.repo, shadow).map_or(true, |missing| missing.is_empty());
    if !is_whole && let Err(error) = write_again(worktree) {
        tracing::warn!(%error, "cannot write again what the last checkpoint lacks");
    }
}

/// Returns which blobs the last checkpoint of `shadow` added to the chain and the repository no longer has, unless nothing here
/// can bring them back: those of files that are not in the worktree (a sparse checkout), and of conflicts, which the index has.
/// A partial clone may still fetch them.
///
/// # Errors
/// [`Kind::Corrupt`](crate::error::Kind::Corrupt) if a tree is missing.
fn missing(repo: &Repo, shadow: &Shadow) -> Result<Vec<Added>> {
    let Some(tip) = &shadow.tip else { return Ok(Vec::new()) };
    // Where the checkpoint before it is damaged, all that differs from HEAD counts as added.
    let mut changes = changes(repo, tip).or_else(|_| repo.diff_trees_if_damaged(shadow.head_tree_id, tip.tree_id))?;
    let side = shadow.tip_side.clone().unwrap_or_default();
    if let Some(tree_id) = side.raw_tree_id {
        changes.extend(repo.diff_trees(repo.empty_tree_id(), tree_id)?);
    }
    for tree_id in [side.index_tree_id, side.unmerged_tree_id].into_iter().flatten() {
        // Fails if one of its trees is missing. Git keeps the blobs, as long as they are staged.
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
