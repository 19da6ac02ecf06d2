//! Commits whose files `git checkpoint restore`, or `round apply`, has put into the worktree.

use gix::ObjectId;

use super::super::{chain::timeline::live_tips, restored_target::restored};
use crate::{
    error::Result,
    git::Repo,
    model::refname::{Base, ShadowName},
};

/// How many checkpoints of the live shadow we look at.
const MOST_CHECKPOINTS: usize = 200;

/// Returns the commits that restores in this worktree had as their target since HEAD is at `head`, the last one first. A restore of
/// a checkpoint puts back the work of the commit that the checkpoint is based on, too.
pub(super) fn put_back(repo: &Repo, head: Option<ObjectId>) -> Result<Vec<ObjectId>> {
    let base = Base::of_head(head);
    let mut commits = Vec::new();
    for tip in live_tips(repo, Some(repo.worktree_id()))? {
        if ShadowName::from_ref(&tip.name).is_none_or(|shadow| shadow.base != base) {
            continue;
        }
        for checkpoint in repo.chain(tip.id).take(MOST_CHECKPOINTS) {
            // A broken shadow has no evidence; `status` says that it is broken.
            let Ok(checkpoint) = checkpoint else { break };
            let Some(target) = restored(&checkpoint.origin) else { continue };
            let commit = match repo.find_checkpoint(target) {
                Ok(Some(source)) => source.base.commit_id(),
                Ok(None) => repo.is_commit(target)?.then_some(target),
                Err(_) => None,
            };
            commits.extend(commit.filter(|commit| !commits.contains(commit)));
        }
    }
    Ok(commits)
}
