//! What a round has changed: from the commit at which its branch begins to what is in its worktree, or on the branch.

use bstr::BString;
use gix::ObjectId;

use super::{
    super::Context,
    copies,
    end::found,
    listing::{base_of, bytes, named},
    retire::tip_of,
};
use crate::{
    error::{Error, Result},
    git::Repo,
    model::round::Mode,
    state::rounds::{Place, Round},
};

/// The two sides of a directory of a round.
pub(crate) struct Compared {
    /// The directory that was worked on.
    pub(crate) directory: BString,
    /// Where to compare.
    pub(crate) context: Context,
    /// The commit at which the branch begins.
    pub(crate) from: ObjectId,
    /// The last commit of the branch; none: what is in the worktree of `context` now.
    pub(crate) to: Option<ObjectId>,
}

/// Returns the two sides of each directory of the round that `name` stands for. The commits that HEAD here has as well are not the
/// round's, as for `round apply`.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if none of them has a branch; if a worktree, or a branch, is gone.
pub(crate) fn compared(context: &Context, name: &str) -> Result<Vec<Compared>> {
    let round = named(context, name)?;
    let own = |(_, mut it): (&Place, Compared)| {
        let tip = it.to.map_or_else(|| it.context.repo.head().map(|head| head.id), |to| Ok(Some(to)))?;
        let from = tip.map(|tip| common_with_here(&context.repo, it.from, tip)).transpose()?;
        // What an ended round has changed is to be seen also when it is merged.
        it.from = from.filter(|from| it.to != Some(*from)).unwrap_or(it.from);
        Ok(it)
    };
    compared_of(context, &round)?.into_iter().map(own).collect()
}

/// Returns the commit from which on the branch that ends at `to` has changes of its own: where it began, at `base`, or a later commit
/// that HEAD here has as well, because the agent has merged it, or has rebased the branch onto it.
pub(super) fn common_with_here(repo: &Repo, base: ObjectId, to: ObjectId) -> Result<ObjectId> {
    let Some(head) = repo.head()?.id else { return Ok(base) };
    // Where git takes other commits for some, the history cannot be read: the beginning is right, too.
    match repo.merge_bases(head, to).unwrap_or_default()[..] {
        [common] if repo.merge_bases(base, common).unwrap_or_default()[..] == [base] => Ok(common),
        _ => Ok(base),
    }
}

/// Returns the two sides of each directory of `round` that has a branch.
///
/// # Errors
/// As [`compared`].
pub(super) fn compared_of<'r>(context: &Context, round: &'r Round) -> Result<Vec<(&'r Place, Compared)>> {
    let mut all = Vec::new();
    for place in &round.places {
        let Some((from, branch)) = base_of(place).zip(place.branch.as_deref()) else { continue };
        let (there, to) = if place.is_done {
            (
                context.with_repo(reopened(&context.repo)?),
                Some(tip_of(&context.repo, branch, place.retired.as_deref())?),
            )
        } else {
            (live(context, place)?, None)
        };
        all.push((place, Compared { directory: bytes(&place.context), context: there, from, to }));
    }
    if all.is_empty() {
        return Err(Error::refused(format!("the round '{}' has no branch, and no commit at which it began", round.id)));
    }
    Ok(all)
}

/// Opens the worktree in which the work of `place` goes on.
fn live(context: &Context, place: &Place) -> Result<Context> {
    if place.mode == Mode::Workspace {
        return Ok(context.with_repo(Repo::open(&place.context)?));
    }
    if place.mode == Mode::Isolated {
        return copies::open(context, place)?.ok_or_else(|| copies::gone(place));
    }
    match found(context, place)? {
        Some(found) => Ok(context.with_repo(context.repo.open_worktree(&found.path)?)),
        None => {
            Err(Error::refused(format!("the worktree of '{}' is gone", place.branch.as_deref().unwrap_or_default()))
                .with_hint("'git checkpoint worktree restore --list' shows what can be restored"))
        }
    }
}

fn reopened(repo: &Repo) -> Result<Repo> {
    Repo::open(repo.worktree_root())
}
