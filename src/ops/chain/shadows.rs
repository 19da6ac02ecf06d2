//! The live shadows of one commit in one worktree: the worktree's, and the sessions' own.
//!
//! Each is a chain of its own. From the latest checkpoint, [`Repo::chain_in_time`] walks all of them.

use bstr::BStr;
use gix::ObjectId;

use super::made_again::is_made_again;
use crate::{
    config::Storage,
    error::Result,
    git::Repo,
    model::{
        checkpoint::Checkpoint,
        refname::{self, Base, ShadowName},
        session::is_valid_id,
    },
    ops::Context,
};

/// A live shadow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Live {
    pub(crate) name: ShadowName,
    /// Its last checkpoint.
    pub(crate) id: ObjectId,
}

/// Returns the live shadows of `worktree` on `base`, of both storage modes: the setting may have changed since.
///
/// A new worktree has none, although a removed one of its name may have left some: the next command that writes there sets them aside.
pub(crate) fn live(repo: &Repo, base: Base, worktree: &BStr) -> Result<Vec<Live>> {
    if worktree == repo.worktree_id() && is_made_again(repo)? {
        return Ok(Vec::new());
    }
    let name = ShadowName::of_worktree(base, worktree);
    let mut live = Vec::new();
    for (name, id) in repo.refs_below(&name.sessions())? {
        live.extend(ShadowName::from_ref(&name).map(|name| Live { name, id }));
    }
    live.extend(repo.find_ref(&name.to_ref())?.map(|id| Live { name, id }));
    Ok(live)
}

/// Returns the live shadows of `worktree` on all commits.
pub(crate) fn live_anywhere(repo: &Repo, worktree: &BStr) -> Result<Vec<Live>> {
    let all = repo.refs_below(refname::SHADOWS)?.into_iter();
    let named = all.filter_map(|(name, id)| ShadowName::from_ref(&name).map(|name| Live { name, id }));
    Ok(named.filter(|live| live.name.worktree == *worktree).collect())
}

/// Returns the latest checkpoint of `live`; skips refs that point to no checkpoint.
///
/// The latest is the one with the latest time, which never decreases along a chain. Of several with the same time,
/// it is the one that the others do not follow.
pub(crate) fn latest(repo: &Repo, live: &[Live]) -> Result<Option<Checkpoint>> {
    let mut latest: Vec<Checkpoint> = Vec::new();
    for shadow in live {
        let Some(checkpoint) = repo.find_checkpoint(shadow.id)? else { continue };
        let last = latest.first().map(Checkpoint::taken);
        if last.is_some_and(|last| checkpoint.taken() > last) {
            latest.clear();
        }
        if last.is_none_or(|last| checkpoint.taken() >= last) {
            latest.push(checkpoint);
        }
    }
    let is_before = |it: &Checkpoint, other: &Checkpoint| it.id != other.id && came_after(repo, other, it);
    let at = latest.iter().position(|it| !latest.iter().any(|other| is_before(it, other)));
    Ok(at.map(|at| latest.swap_remove(at)))
}

/// Returns the last checkpoint of this worktree on `base`.
pub(crate) fn latest_on(repo: &Repo, base: Base) -> Result<Option<Checkpoint>> {
    latest(repo, &live(repo, base, repo.worktree_id())?)
}

/// Returns true if `later`, which is not older, builds on `earlier`.
pub(crate) fn came_after(repo: &Repo, later: &Checkpoint, earlier: &Checkpoint) -> bool {
    let before = repo.chain_in_time(later.id).skip(1).take_while(Result::is_ok).flatten();
    before.take_while(|it| it.taken() >= earlier.taken()).any(|it| it.id == earlier.id)
}

/// Returns the name of the shadow that a checkpoint by `session` is added to.
pub(crate) fn name_for(context: &Context, base: Base, session: Option<&str>) -> ShadowName {
    let has_own = context.settings.storage == Storage::Session;
    let session = session.filter(|id| has_own && is_valid_id(id)).map(Into::into);
    ShadowName { session, ..ShadowName::of_worktree(base, context.repo.worktree_id()) }
}
