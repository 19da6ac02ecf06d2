//! Commits that a cherry-pick, am or rebase left to a person or an agent to complete after a conflict.

use std::collections::BTreeSet;

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::{candidates::candidates, made::Made, work::has_work_of};
use crate::{
    error::Result,
    git::Repo,
    model::{
        head_move::MoveKind,
        refname::{self, Base},
    },
    ops::{Context, chain::shadows::latest_on},
};

/// How many checkpoints back we look for a conflict.
const MOST_CHECKPOINTS: usize = 64;

/// Returns true if `made` was completed after a conflict, or where a rebase has stopped: the reflog says so, or we have seen the
/// conflict.
fn is_resolved(repo: &Repo, made: &Made) -> Result<bool> {
    Ok(matches!(made.kind, MoveKind::Resolved | MoveKind::RebaseResolved) || has_met_conflict(repo, made)?)
}

/// Returns true if `made` is a copy of a commit, and a file that it changes had a conflict. For a cherry-pick, the reflog says
/// so; for the others, a checkpoint on the parent of `made` does.
pub(crate) fn has_met_conflict(repo: &Repo, made: &Made) -> Result<bool> {
    match made.kind {
        MoveKind::Resolved => Ok(true),
        MoveKind::Copy | MoveKind::RebaseStep | MoveKind::RebaseResolved => {
            let unmerged = unmerged(repo, made.base);
            Ok(!unmerged.is_empty() && made.changes(repo)?.iter().any(|change| unmerged.contains(&change.path)))
        }
        _ => Ok(false),
    }
}

/// Returns the files that had a conflict in a checkpoint of the live shadow of `base`, or when an open turn began.
fn unmerged(repo: &Repo, base: Base) -> BTreeSet<BString> {
    let mut paths = BTreeSet::new();
    // A broken shadow or baseline contributes nothing.
    let tip = latest_on(repo, base).unwrap_or_default();
    let shadow = tip.iter().flat_map(|tip| repo.chain_in_time(tip.id).take(MOST_CHECKPOINTS).flatten());
    let pending = repo.refs_below(refname::PENDING).unwrap_or_default().into_iter();
    let baselines = pending.filter_map(|(_, id)| repo.find_checkpoint(id).ok().flatten());
    let baselines = baselines.filter(|it| it.base == base && it.worktree == repo.worktree_id());
    for checkpoint in shadow.chain(baselines) {
        let side = checkpoint.side_id.and_then(|id| repo.read_side(id).ok());
        paths.extend(side.into_iter().flat_map(|side| side.manifest.unmerged).map(|entry| entry.path));
    }
    paths
}

/// Returns true if `made` takes a conflict resolution of a session. `copied` is the commit that `made` copies, if known: a file
/// that is the same in both had no conflict to resolve.
pub(crate) fn takes_resolution(context: &Context, made: &Made, copied: Option<ObjectId>) -> Result<bool> {
    let repo = &context.repo;
    if !is_resolved(repo, made)? {
        return Ok(false);
    }
    let mut changes = made.changes(repo)?;
    if let Some(copied) = copied.filter(|copied| repo.is_commit(*copied).unwrap_or(false)) {
        let tree_id = repo.tree_of_commit(copied)?;
        changes.retain(|change| repo.find_leaf(tree_id, change.path.as_bstr()).ok() != Some(change.after));
    }
    has_work_of(context, &candidates(repo, made.base, false)?, &changes, made.when)
}
