//! What a checkpoint changes.

use crate::{
    error::Result,
    git::Repo,
    model::{change::Change, checkpoint::Checkpoint},
};

/// Returns how `checkpoint` differs from the one before it, or from the base.
pub(crate) fn changes(repo: &Repo, checkpoint: &Checkpoint) -> Result<Vec<Change>> {
    repo.diff_trees(repo.tree_of_commit(checkpoint.before_id())?, checkpoint.tree_id)
}
