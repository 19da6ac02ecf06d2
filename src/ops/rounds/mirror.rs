//! `--mirror`: what is not committed where a round's directory is comes along, as a commit of its own.

use std::collections::BTreeMap;

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::{
    super::{Context, Worktree, enter::Purpose, save::save_before, worktrees},
    commit::{commit_all, refuse_left_out},
};
use crate::{
    config::Mirror,
    error::{Error, Result},
    model::change::{Change, Leaf, Mode},
    state::rounds::{Committed, Place},
};

/// The message of the commit.
pub(super) const BASELINE: &str = "[ROUND] Baseline";

/// What is not committed in a worktree.
pub(super) struct Taken {
    /// The checkpoint that has it.
    pub(super) checkpoint: ObjectId,
    /// The commit that it is based on.
    pub(super) base: ObjectId,
    /// The paths to take along, each with what that commit has there.
    pub(super) paths: BTreeMap<BString, Option<Leaf>>,
}

/// Takes a checkpoint of the worktree of `here`, and decides what of it comes along; none if nothing does.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if the checkpoint would lack something of it; if none can be taken.
pub(super) fn take(here: &Context, mirror: Mirror) -> Result<Option<Taken>> {
    if mirror == Mirror::None {
        return Ok(None);
    }
    let worktree = Worktree::enter(here, Purpose::Change)?;
    let seen = save_before(&worktree, "For a round", false)?;
    drop(worktree);
    let checkpoint = seen.saved.id.ok_or_else(|| Error::internal("no checkpoint was taken"))?;
    let found = here.repo.find_checkpoint(checkpoint)?;
    let Some(base) = found.and_then(|it| it.base.commit_id()) else {
        return Err(Error::user("there is no commit yet, so that no round can begin at one")
            .with_hint("make the first one with 'git commit'"));
    };
    let (old, new) = (here.repo.tree_of_commit(base)?, here.repo.tree_of_commit(checkpoint)?);
    let index = here.repo.user_index()?;
    let is_staged = |path: &BString| index.as_ref().is_some_and(|it| it.entry_by_path(path.as_bstr()).is_some());
    // What the checkpoint lacks would stay behind. Repositories inside do so anyway.
    let mut manifest = seen.side.manifest;
    manifest.nested.clear();
    manifest.skipped.retain(|left| mirror == Mirror::All || is_staged(&left.path));
    refuse_left_out(&manifest, &here.repo.worktree_root().display().to_string())?;
    let is_tracked = |change: &Change| change.before.is_some() || is_staged(&change.path);
    // The repository of a submodule does not come along.
    let is_file = |change: &Change| [change.before, change.after].iter().flatten().all(|it| it.mode != Mode::Gitlink);
    let changes = here.repo.diff_trees(old, new)?.into_iter();
    let meant = changes.filter(|change| is_file(change) && (mirror == Mirror::All || is_tracked(change)));
    let paths = meant.map(|change| (change.path, change.before)).collect();
    Ok(Some(Taken { checkpoint, base, paths }))
}

/// Brings what was `taken` into the worktree of `there`, which begins at the same commit, and commits it to `branch`.
///
/// # Errors
/// If not all of it can be written; as [`commit_all`].
pub(super) fn bring(there: &Context, place: &Place, branch: &str, taken: Taken) -> Result<Committed> {
    worktrees::fill_from_checkpoint(there, taken.checkpoint, Some(taken.paths))?;
    commit_all(there, there.repo.identity(), place, branch, BASELINE, "What the round begins with")
}
