//! Takes up work that a save finds in the worktree again after it was set aside, so that it keeps its authors.

use crate::{
    error::Result,
    git::{new_objects::NewObjects, written::Written},
    model::checkpoint::Origin,
    ops::{
        Worktree,
        chain::{Author, Request, Scope, Seen, Shadow},
        provenance::set_aside,
    },
};

/// Takes up work that was set aside and that the save finds in the worktree again, for example after `git stash pop`, as a prompt
/// does: from then on, the shadow knows its lines, however few of them a commit takes. Returns the objects that are still to be
/// written and, if it took up work, those that it has written for that and the sessions of the work. The caller checks the
/// written ones when a ref leads to them.
///
/// Does nothing during the turn of a session: `attempt` looks for what git brings then.
pub(super) fn take_up_returned<'w>(
    worktree: &'w Worktree<'_>,
    request: &Request,
    origin: &Origin,
    shadow: &mut Shadow,
    seen: &Seen,
    objects: NewObjects<'w>,
) -> Result<(NewObjects<'w>, Option<Written<'w>>, Vec<String>)> {
    let repo = &worktree.repo;
    let is_of_worktree = request.author == Author::Infer && origin.session.is_none() && !shadow.sets_aside;
    if !is_of_worktree || matches!(request.scope, Scope::OwnSteps(_) | Scope::Stashed(_) | Scope::PutBack(_)) {
        return Ok((objects, None, Vec::new()));
    }
    let changes = objects.changes_of_trees(shadow.last_tree_id(), seen.tree_id)?;
    let changed = changes.into_iter().map(|change| change.path).collect();
    if !set_aside::may_come_back(repo, &shadow.name, &changed)? {
        return Ok((objects, None, Vec::new()));
    }
    let target = objects.target();
    let written = objects.write()?;
    let sessions = set_aside::take_up(worktree, shadow, seen, &changed, None)?;
    Ok((NewObjects::new(repo, target), Some(written), sessions))
}
