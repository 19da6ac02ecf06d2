//! Divides a save of a person's changes in two, if some of them may be work of archived checkpoints that cannot be read. Only those
//! checkpoints could say who wrote it: so the first part has an unknown author.

use bstr::BString;

use crate::{
    error::Result,
    git::new_objects::NewObjects,
    model::{checkpoint::Origin, contributor::Contributor},
    ops::{
        Worktree, author,
        chain::{Author, Request, Scope, Seen, Shadow, lost},
    },
};

/// What to save instead of a request, in this order.
pub(super) struct Split {
    /// What has an unknown author, if that is not all.
    pub(super) first: Option<Request>,
    pub(super) rest: Request,
}

/// Returns what to save instead of `request` by `origin`; none if none of the changes from `shadow` to `seen` may be such work.
/// Work that comes back was looked for before: which archived shadows are damaged is noted then.
pub(super) fn split(
    worktree: &Worktree<'_>,
    request: &Request,
    origin: &Origin,
    (shadow, seen, objects): (&Shadow, &Seen, &NewObjects<'_>),
) -> Result<Option<Split>> {
    let is_of_worktree = !matches!(request.scope, Scope::OwnSteps(_) | Scope::Stashed(_) | Scope::PutBack(_));
    if origin.contributor != Contributor::Human
        || !is_of_worktree
        || request.is_lost_saved
        || !lost::is_any_noted(&worktree.repo)
    {
        return Ok(None);
    }
    let changes = objects.changes_of_trees(shadow.last_tree_id(), seen.tree_id)?;
    let changed: Vec<BString> = changes.into_iter().map(|change| change.path).collect();
    let lost = lost::lost_among(worktree, &changed)?;
    if lost.is_empty() {
        return Ok(None);
    }
    let rest = Request { is_lost_saved: true, ..request.clone() };
    let unknown = Author::Is(author::unknown());
    if lost.len() == changed.len() {
        return Ok(Some(Split { first: None, rest: Request { author: unknown, ..rest } }));
    }
    let (scope, turn_of) = (Scope::PathsIfThere(lost.into_iter().collect()), request.turn_of.clone());
    let first = Some(Request { scope, author: unknown, turn_of, ..Request::default() });
    Ok(Some(Split { first, rest }))
}
