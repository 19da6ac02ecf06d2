//! What the worktrees that are compared have now.

use bstr::{BStr, ByteSlice as _};
use gix::ObjectId;

use crate::{
    error::{Error, Result},
    git::{
        Repo,
        registrations::{Place, Registration},
    },
    model::{checkpoint::Checkpoint, manifest::Manifest, refname::Base},
    ops::{
        Context,
        chain::{
            peek::{Worktree, worktree_tree},
            shadows::{latest, live},
        },
    },
};

/// Returns the other worktrees of the repository, the main one first, then by their paths.
pub(super) fn others(repo: &Repo) -> Result<Vec<Registration>> {
    let mut all = repo.registrations()?;
    all.retain(|it| it.id != repo.worktree_id() && it.place != Place::Bare);
    Ok(all)
}

/// Returns the branch at HEAD; none if it is detached, or cannot be read.
pub(super) fn branch(of: &Registration) -> Option<String> {
    let branch = of.head.branch.as_ref()?;
    Some(branch.strip_prefix(b"refs/heads/").unwrap_or(branch).as_bstr().to_string())
}

/// What a worktree has now.
#[derive(Clone, Copy)]
pub(super) struct Now<'s> {
    /// The repository, in which the tree and its blobs can be read.
    pub(super) repo: &'s Repo,
    /// The tree.
    pub(super) tree_id: ObjectId,
    /// What the tree cannot say.
    pub(super) manifest: &'s Manifest,
    /// The commit at HEAD.
    pub(super) head: Option<ObjectId>,
}

/// What the files of a worktree are now, which may be stored nowhere.
pub(super) struct Seen {
    worktree: Worktree,
    head: Option<ObjectId>,
}

impl Seen {
    /// Looks at what a save would take. Files that are as they were at the last checkpoint are not read.
    pub(super) fn of(context: &Context) -> Result<Self> {
        let head = context.repo.head()?.id;
        Ok(Self { worktree: worktree_tree(context)?, head })
    }

    /// Returns it.
    pub(super) fn now(&self) -> Now<'_> {
        let Worktree { repo, tree_id, manifest, .. } = &self.worktree;
        Now { repo, tree_id: *tree_id, manifest, head: self.head }
    }
}

/// What a worktree had when its last checkpoint on HEAD was taken; without one, what HEAD has.
pub(super) struct Saved {
    /// The commit at HEAD.
    pub(super) head: Option<ObjectId>,
    /// The checkpoint.
    pub(super) tip: Option<Checkpoint>,
    /// The tree.
    pub(super) tree_id: ObjectId,
}

impl Saved {
    /// Returns what the worktree with the id `worktree` and HEAD at `head` had. `repo` may be open in another one.
    pub(super) fn of(repo: &Repo, worktree: &BStr, head: Option<ObjectId>) -> Result<Self> {
        let tip = latest(repo, &live(repo, Base::of_head(head), worktree)?)?;
        let tree_id = match (&tip, head) {
            (Some(tip), _) => tip.tree_id,
            (None, Some(id)) => repo.tree_of_commit(id)?,
            (None, None) => repo.empty_tree_id(),
        };
        Ok(Self { head, tip, tree_id })
    }

    /// Returns what its tree cannot say.
    pub(super) fn manifest(&self, repo: &Repo) -> Result<Manifest> {
        let side_id = self.tip.as_ref().and_then(|tip| tip.side_id);
        Ok(side_id.map(|id| repo.read_side(id)).transpose()?.map(|side| side.manifest).unwrap_or_default())
    }
}

/// Returns the commit from which both sides have gone on.
///
/// # Errors
/// If there is none, or several, or the history cannot be read.
pub(super) fn base(here: Now<'_>, there: Now<'_>) -> Result<ObjectId> {
    let (one, other) = match (here.head, there.head) {
        (Some(one), Some(other)) => (one, other),
        (None, _) => return Err(Error::corrupt("this worktree has no commit yet")),
        (_, None) => return Err(Error::corrupt("that worktree has no commit yet")),
    };
    match here.repo.merge_bases(one, other)?[..] {
        [base] => Ok(base),
        [] => Err(Error::corrupt("the two histories have no commit in common")),
        _ => Err(Error::corrupt("the two branches were merged into each other, so there are several merge bases")),
    }
}

/// Returns the message of `error` with its last cause.
pub(super) fn why(error: &Error) -> String {
    error.causes().last().map_or_else(|| error.message().to_owned(), |cause| format!("{}: {cause}", error.message()))
}
