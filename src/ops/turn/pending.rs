//! The refs that keep the baselines of turns, and their release.

use gix::ObjectId;

use crate::{
    error::Result,
    git::{
        Repo,
        new_objects::{NewObjects, Target},
        refs::RefUpdate,
        seed::staged,
    },
    model::{
        checkpoint::Checkpoint,
        refname::{self, Base},
    },
    ops::{
        Context,
        chain::{archive::archive_name, shadows},
    },
};

/// How many checkpoints back we look for the same state.
const MOST_CHECKPOINTS: usize = 64;

/// Returns the ref of the baseline of `session` in this worktree, and the checkpoint that it points to.
pub(crate) fn pending_of(repo: &Repo, session: &str) -> Result<Option<(String, ObjectId)>> {
    let name = refname::pending_ref(repo.worktree_id(), session);
    if let Some(id) = repo.find_sound_ref(&name)? {
        return Ok(Some((name, id)));
    }
    let old = refname::old_pending_ref(session);
    let Some(id) = repo.find_sound_ref(&old)? else { return Ok(None) };
    let is_here = readable(repo, id).is_none_or(|pending| pending.worktree == repo.worktree_id());
    Ok(is_here.then_some((old, id)))
}

/// Returns the checkpoint `id`, if it can be read: a damaged baseline must not stop later checkpoints.
pub(super) fn readable(repo: &Repo, id: ObjectId) -> Option<Checkpoint> {
    repo.find_checkpoint(id).ok().flatten()
}

/// Releases the baseline of `session` in this worktree. It goes to the archive, unless the worktree
/// (`now_tree_id`), HEAD or a live shadow holds the same.
pub(crate) fn release_pending(context: &Context, session: &str, now_tree_id: Option<ObjectId>) -> Result<()> {
    let Some((name, id)) = pending_of(&context.repo, session)? else { return Ok(()) };
    release(&context.repo, name, id, now_tree_id)
}

/// Releases the baselines of `session` in all worktrees, because the session will not continue there.
pub(super) fn release_all_pending(context: &Context, session: &str) -> Result<()> {
    let repo = &context.repo;
    for (name, id) in repo.refs_below(refname::PENDING)? {
        if refname::is_pending_of(&name, session) {
            release(repo, name, id, None)?;
        }
    }
    Ok(())
}

fn release(repo: &Repo, name: String, id: ObjectId, now_tree_id: Option<ObjectId>) -> Result<()> {
    let mut updates = vec![RefUpdate { name, old: Some(id), new: None }];
    if let Some(pending) = readable(repo, id)
        && !(now_tree_id == Some(pending.tree_id) && is_staged_still(repo, &pending)?)
        && !is_held(repo, &pending)?
    {
        updates.insert(0, RefUpdate { name: archive_name(repo, id)?, old: None, new: Some(id) });
    }
    repo.update_refs(&updates)
}

/// Returns true if the index is still as it was when `pending` was taken.
fn is_staged_still(repo: &Repo, pending: &Checkpoint) -> Result<bool> {
    let side = pending.side_id.map(|id| repo.read_side(id)).transpose()?.unwrap_or_default();
    let Some(tree_id) = side.index_tree_id else { return Ok(side.unmerged_tree_id.is_none()) };
    let now = staged(repo, &mut NewObjects::new(repo, Target::Loose))?;
    Ok(side.unmerged_tree_id.is_none() && now.unmerged.is_empty() && now.tree_id == Some(tree_id))
}

fn is_held(repo: &Repo, pending: &Checkpoint) -> Result<bool> {
    let head = repo.head()?.id;
    let head_tree_id = head.map_or_else(|| Ok(repo.empty_tree_id()), |id| repo.tree_of_commit(id))?;
    if pending.side_id.is_none() && pending.tree_id == head_tree_id {
        return Ok(true);
    }
    let Some(tip) = shadows::latest_on(repo, Base::of_head(head))?.map(|tip| tip.id) else { return Ok(false) };
    // Two checkpoints with the same tree may differ in the index and in the exact bytes.
    let is_same = |it: &Checkpoint| it.tree_id == pending.tree_id && it.side_id == pending.side_id;
    Ok(repo.chain_in_time(tip).take(MOST_CHECKPOINTS).flatten().any(|checkpoint| is_same(&checkpoint)))
}
