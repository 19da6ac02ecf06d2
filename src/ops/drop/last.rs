//! What the last checkpoints of a chain have that nothing else has.

use std::collections::{BTreeSet, HashSet};

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use crate::{
    error::Result,
    git::Repo,
    model::refname,
    ops::{
        chain::changes,
        replace::{NAMESPACES, RefMove},
    },
};

/// Returns the paths whose content in a checkpoint of `left_out` would be in no other place: those at the end of a chain have
/// it, and neither HEAD, nor the worktree, nor a checkpoint to which another ref leads. `repo` has the tree of the worktree,
/// `worktree_tree_id`, in memory.
pub(super) fn only_there(
    repo: &Repo,
    left_out: &HashSet<ObjectId>,
    moves: &[RefMove],
    worktree_tree_id: ObjectId,
) -> Result<BTreeSet<BString>> {
    let mut others = vec![worktree_tree_id];
    others.extend(repo.head()?.id.map(|id| repo.tree_of_commit(id)).transpose()?);
    for (name, tip) in repo.refs_below(refname::PREFIX)? {
        if NAMESPACES.iter().any(|prefix| name.starts_with(prefix)) && !left_out.contains(&tip) {
            others.extend(repo.find_checkpoint(tip)?.map(|checkpoint| checkpoint.tree_id));
        }
    }
    let mut paths = BTreeSet::new();
    for moved in moves.iter().filter(|moved| is_chain(&moved.r#ref)) {
        let dropped = repo.chain(moved.old).take_while(|it| it.as_ref().map_or(true, |it| left_out.contains(&it.id)));
        for checkpoint in dropped {
            let checkpoint = checkpoint?;
            let before = repo.checkpoint(checkpoint.parent_id)?.map(|before| before.tree_id);
            others.extend(before.filter(|_| !left_out.contains(&checkpoint.parent_id)));
            for change in changes(repo, &checkpoint)?.into_iter().filter(|change| change.after.is_some()) {
                let mut is_elsewhere = false;
                for tree_id in &others {
                    is_elsewhere = is_elsewhere || repo.find_leaf(*tree_id, change.path.as_bstr())? == change.after;
                }
                if !is_elsewhere {
                    paths.insert(change.path);
                }
            }
        }
    }
    Ok(paths)
}

fn is_chain(name: &str) -> bool {
    name.starts_with(refname::SHADOWS) || name.starts_with(refname::ARCHIVE)
}
