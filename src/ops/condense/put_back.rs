//! Work of sessions that git has put back to HEAD between two checkpoints, for example by `git restore`.
//!
//! Git's index remembers it until the file is staged. What the file has then is typed anew or comes back, which the replay can
//! only distinguish if it knows that the file was as in HEAD.

use bstr::BString;

use super::{commit::shadows_of_sessions, extra::take_extra};
use crate::{
    error::Result,
    git::edit_tree::Edit,
    model::{
        change::{Change, Leaf},
        checkpoint::{Checkpoint, Origin},
        refname::Base,
    },
    ops::{
        Context, Worktree,
        chain::{Shadow, carry_forward::base_tree, peek::worktree_tree, stashed::Stashes},
        session_info::open_turns,
    },
};

/// Returns what git has put back to HEAD since `tip`, the last checkpoint on it: the changes to that content. Leaves out files that a
/// stash entry holds, since `git stash pop` may bring their work back,
/// and those whose work has another name now.
pub(crate) fn put_back(context: &Context, tip: &Checkpoint) -> Result<Vec<Change>> {
    let repo = &context.repo;
    if repo.is_rebasing() || tip.base != Base::of_head(repo.head()?.id) {
        return Ok(Vec::new());
    }
    let touched = repo.diff_trees(tip.tree_id, base_tree(repo, tip)?)?;
    let since = repo.stored_after(tip.id, tip.seconds);
    let mut changes = repo.put_back_since(touched, since)?;
    if !changes.is_empty() {
        let stashes = Stashes::read(repo)?;
        changes.retain(|change| !stashes.have(&change.path));
    }
    if changes.is_empty() {
        return Ok(changes);
    }
    let now = worktree_tree(context)?;
    let mut new = now.repo.diff_trees(base_tree(repo, tip)?, now.tree_id)?;
    new.retain(|change| change.before.is_none());
    let former: Vec<_> = changes.iter().filter_map(|change| Some((change.path.clone(), change.before?.id))).collect();
    let renamed = now.repo.find_renamed(&former, new)?;
    changes.retain(|change| renamed.iter().all(|(_, at)| former[*at].0 != change.path));
    Ok(changes)
}

/// Takes a checkpoint of what git has put back, if no turn is open: then the tool calls and the saves of the turn show it.
pub(crate) fn checkpoint_put_back(worktree: &Worktree<'_>) -> Result<()> {
    let repo = &worktree.repo;
    if !open_turns(worktree)?.is_empty() {
        return Ok(());
    }
    let base = Base::of_head(repo.head()?.id);
    let Some(on_base) = shadows_of_sessions(repo, base)? else { return Ok(()) };
    let changes = put_back(worktree, &on_base.latest)?;
    if changes.is_empty() {
        return Ok(());
    }
    let edit = |leaf: Leaf| -> Edit { Some((leaf.id, leaf.mode)) };
    let edits: Vec<(BString, Edit)> =
        changes.into_iter().map(|change| (change.path, change.after.and_then(edit))).collect();
    take_extra(worktree, Shadow::read_at(repo, base)?, Vec::new(), &edits, &Origin::default(), ("put back", ""))
}
