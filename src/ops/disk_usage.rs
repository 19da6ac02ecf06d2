//! How many bytes of the object database only checkpoints hold.
//!
//! Exact reachability would require a walk through the whole history of the repository. Instead, this counts what each
//! checkpoint brought in: commits, side commits, and the trees and blobs that differ from the previous checkpoint (or
//! the base). The cost depends on the saved changes only. A blob that was committed later still counts.

use std::collections::HashSet;

use gix::ObjectId;

use crate::{error::Result, git::Repo, model::checkpoint::Checkpoint};

/// Chains with more checkpoints in total are not weighed.
const MOST_CHECKPOINTS: usize = 50_000;

/// Adds to `found` the objects that the chain ending with `tip` brought in.
///
/// Stops at a checkpoint that `found` already contains. Returns false if the budget is used up first.
pub(crate) fn collect(repo: &Repo, tip: ObjectId, found: &mut HashSet<ObjectId>, budget: &mut Budget) -> Result<bool> {
    for checkpoint in repo.chain(tip) {
        let checkpoint = checkpoint?;
        if !found.insert(checkpoint.id) {
            return Ok(true);
        }
        if !budget.take_one() {
            return Ok(false);
        }
        let parent_tree_id = repo.tree_of_commit(checkpoint.parent_id)?;
        repo.collect_new_objects(parent_tree_id, checkpoint.tree_id, found)?;
        collect_side(repo, &checkpoint, found)?;
    }
    Ok(true)
}

/// The staged tree differs little from the worktree's; everything else in a side commit is its own.
fn collect_side(repo: &Repo, checkpoint: &Checkpoint, found: &mut HashSet<ObjectId>) -> Result<()> {
    let Some(side_id) = checkpoint.side_id.filter(|id| found.insert(*id)) else { return Ok(()) };
    let side_tree_id = repo.tree_of_commit(side_id)?;
    found.insert(side_tree_id);
    for (name, is_tree, id) in repo.tree_entries(side_tree_id)? {
        if is_tree {
            let beside = if name == "index" { checkpoint.tree_id } else { repo.empty_tree_id() };
            repo.collect_new_objects(beside, id, found)?;
        } else {
            found.insert(id);
        }
    }
    Ok(())
}

/// How many checkpoints may still be weighed.
pub(crate) struct Budget(usize);

impl Budget {
    pub(crate) fn new() -> Self {
        Self(MOST_CHECKPOINTS)
    }

    fn take_one(&mut self) -> bool {
        self.0 = self.0.saturating_sub(1);
        self.0 > 0
    }
}
