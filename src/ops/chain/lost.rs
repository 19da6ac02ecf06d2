//! Checkpoints that cannot be read any more: the worktree may still have the work that was in them, and nothing else tells whose
//! that is.

use gix::ObjectId;

use super::shadows;
use crate::{
    error::Result,
    git::Repo,
    model::refname::{self, Base, ShadowName},
    ops::Context,
    state::kept,
};

/// How many archived shadows are looked at, the newest ones.
const MOST_SHADOWS: usize = 64;

/// Returns true if the unsaved changes of this worktree may be work of checkpoints that cannot be read.
pub(crate) fn may_have_lost_work(context: &Context) -> Result<bool> {
    Ok(!context.broken().is_empty()
        || is_shadow_lost(&context.repo)?
        || !unreadable_archived(&context.repo)?.is_empty())
}

/// Returns true if a shadow on HEAD was set aside because it could not be read, and none has followed it.
fn is_shadow_lost(repo: &Repo) -> Result<bool> {
    let kept = kept::all(repo.common_dir());
    if kept.is_empty() {
        return Ok(false);
    }
    let base = Base::of_head(repo.head()?.id);
    let is_here = |name: ShadowName| name.base == base && name.worktree == repo.worktree_id();
    let is_lost = kept.iter().filter_map(|kept| ShadowName::from_ref(&kept.name)).any(is_here);
    Ok(is_lost && shadows::live(repo, base, repo.worktree_id())?.is_empty())
}

/// Returns the refs of archived shadows that cannot be read, and whose work may come back: no record and no other shadow has it.
pub(crate) fn unreadable_archived(repo: &Repo) -> Result<Vec<String>> {
    let mut names = repo.ref_names_below(refname::ARCHIVE)?;
    names.retain(|name| !refname::is_settled(name));
    names.sort_by_key(|name| std::cmp::Reverse(refname::archived_at(name)));
    let mut unreadable = Vec::new();
    for name in names.into_iter().take(MOST_SHADOWS) {
        if let Some(id) = repo.find_sound_ref(&name)?
            && !is_readable(repo, id)
        {
            unreadable.push(name);
        }
    }
    Ok(unreadable)
}

/// Returns true if the checkpoint `id` and its tree can be read.
fn is_readable(repo: &Repo, id: ObjectId) -> bool {
    let tree_id = repo.checkpoint(id).map(|checkpoint| checkpoint.map(|checkpoint| checkpoint.tree_id));
    // What is no checkpoint holds no work.
    tree_id.is_ok_and(|tree_id| tree_id.is_none_or(|tree_id| repo.find_entry(tree_id, ".".into()).is_ok()))
}
