//! Lets work that stands on one commit go on upon another: the paths in which the worktree still shows it.

use std::collections::BTreeSet;

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use crate::{
    error::Result,
    git::{
        Repo,
        edit_tree::{Edit, edit_tree},
        new_objects::NewObjects,
    },
    model::{
        change::{Change, Leaf, Mode},
        checkpoint::Checkpoint,
        refname::Base,
    },
    ops::likeness::is_all_there,
};

/// Where work is to go on.
pub(crate) struct Ground {
    /// The tree of the commit that it shall stand on.
    pub(crate) head_tree_id: ObjectId,
    /// The tree that its first checkpoint follows.
    pub(crate) last_tree_id: ObjectId,
    /// What the worktree is, or what else is to be looked for.
    pub(crate) now_tree_id: ObjectId,
    /// The only paths that may go on; none: all.
    pub(crate) wanted: Option<BTreeSet<BString>>,
    /// True if that is what the worktree holds: where it is as the work left it, so it stays.
    pub(crate) is_now_seen: bool,
}

/// What of a chain goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Carried {
    /// The tree of the checkpoint that brings it.
    pub(crate) tree_id: ObjectId,
    /// The paths; none if nothing goes on.
    pub(crate) paths: Vec<BString>,
    /// True if something of the chain is neither among them nor in the commit.
    pub(crate) leaves_some: bool,
}

/// Returns the tree of the commit that the chain of `checkpoint` stands on.
pub(crate) fn base_tree(repo: &Repo, checkpoint: &Checkpoint) -> Result<ObjectId> {
    match checkpoint.base {
        Base::Commit(id) => repo.tree_of_commit(id),
        Base::Unborn => Ok(repo.empty_tree_id()),
    }
}

/// Returns what of the chain ending with `tip` goes on upon `ground`.
pub(crate) fn carry(repo: &Repo, tip: &Checkpoint, ground: &Ground, objects: &mut NewObjects<'_>) -> Result<Carried> {
    let mut edits: Vec<(BString, Edit)> = Vec::new();
    let mut paths = Vec::new();
    let mut leaves_some = false;
    for change in repo.diff_trees(base_tree(repo, tip)?, tip.tree_id)? {
        let path = change.path.as_bstr();
        let head = repo.find_leaf(ground.head_tree_id, path)?;
        let now = repo.find_leaf(ground.now_tree_id, path)?;
        let is_wanted = ground.wanted.as_ref().is_none_or(|wanted| wanted.contains(&change.path));
        if !is_wanted || now == head || change.after == head {
            leaves_some |= change.after != head && (ground.is_now_seen || !is_all_there(repo, &change, head)?);
            continue;
        }
        let carried = if (change.after == now && ground.is_now_seen) || change.before == head {
            change.after
        } else if let Some(merged) = merge(repo, &change, head, objects)? {
            Some(merged)
        } else if !ground.is_now_seen && is_all_there(repo, &change, head)? {
            // The commit has it, beside what somebody did next to it.
            continue;
        } else {
            now
        };
        paths.push(change.path.clone());
        if repo.find_leaf(ground.last_tree_id, path)? != carried {
            edits.push((change.path, carried.map(|leaf| (leaf.id, leaf.mode))));
        }
    }
    let tree_id = if edits.is_empty() { ground.last_tree_id } else { edit_tree(ground.last_tree_id, &edits, objects)? };
    Ok(Carried { tree_id, paths, leaves_some })
}

/// Returns what `change` makes of a file that the commit has changed, too; none if the two do not go together.
fn merge(repo: &Repo, change: &Change, head: Option<Leaf>, objects: &mut NewObjects<'_>) -> Result<Option<Leaf>> {
    let (Some(before), Some(after), Some(head)) = (change.before, change.after, head) else { return Ok(None) };
    let is_file = |leaf: &Leaf| matches!(leaf.mode, Mode::File | Mode::Executable);
    if ![before, after, head].iter().all(is_file) {
        return Ok(None);
    }
    let merged = repo.merge_blobs(before.id, after.id, head.id)?;
    let Some(merged) = merged else { return Ok(None) };
    let id = objects.add(gix::objs::Kind::Blob, &merged)?;
    let mode = if after.mode == before.mode { head.mode } else { after.mode };
    Ok(Some(Leaf { id, mode }))
}
