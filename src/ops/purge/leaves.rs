//! The leaves of a checkpoint's trees that its base does not have so.

use bstr::{BString, ByteSlice as _};

use crate::{
    error::Result,
    git::{Repo, pathspec::Pathspec, side::Side},
    model::{
        change::{Change, Mode},
        checkpoint::Checkpoint,
    },
    ops::chain::carry_forward::base_tree,
};

/// Returns the leaves at `pathspec` in which `checkpoint` differs from its base: files, what is staged, exact bytes and unmerged
/// content, each with the tree that has it.
pub(super) fn leaves_at(
    repo: &Repo,
    checkpoint: &Checkpoint,
    pathspec: &mut Pathspec<'_>,
) -> Result<Vec<(Tree, Change)>> {
    if pathspec.is_empty() {
        return Ok(Vec::new());
    }
    let mut leaves = leaves_of(repo, checkpoint)?;
    leaves.retain(|(tree, change)| pathspec.matches(tree.path_of(change).as_bstr()));
    Ok(leaves)
}

/// Returns all leaves in which `checkpoint` differs from its base.
pub(super) fn leaves_of(repo: &Repo, checkpoint: &Checkpoint) -> Result<Vec<(Tree, Change)>> {
    let empty = repo.empty_tree_id();
    // Git may have removed the base of what no ref leads to.
    let base = base_tree(repo, checkpoint).unwrap_or(empty);
    let side = checkpoint.side_id.map_or_else(|| Ok(Side::default()), |id| repo.read_side(id))?;
    let trees = [
        (Tree::Files, base, Some(checkpoint.tree_id)),
        (Tree::Index, base, side.index_tree_id),
        (Tree::Raw, empty, side.raw_tree_id),
        (Tree::Unmerged, empty, side.unmerged_tree_id),
    ];
    let mut leaves = Vec::new();
    for (tree, before, after) in trees.into_iter().filter_map(|(tree, before, after)| Some((tree, before, after?))) {
        for change in repo.diff_trees(before, after)? {
            if change.after.is_some_and(|leaf| leaf.mode != Mode::Gitlink) {
                leaves.push((tree, change));
            }
        }
    }
    Ok(leaves)
}

/// A tree of a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tree {
    Files,
    Index,
    Raw,
    Unmerged,
}

impl Tree {
    /// Returns the path of the file in the worktree.
    pub(super) fn path_of(self, change: &Change) -> BString {
        match self {
            Self::Unmerged => change.path.split_once_str("/").map_or_else(BString::default, |(_, path)| path.into()),
            Self::Files | Self::Index | Self::Raw => change.path.clone(),
        }
    }
}
