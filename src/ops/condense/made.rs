//! How a commit was made, and what it changes.

use bstr::ByteSlice as _;
use gix::ObjectId;

use crate::{
    error::Result,
    git::Repo,
    model::{
        change::Change,
        head_move::{HeadMove, MoveKind, When},
        refname::Base,
    },
};

/// How a commit was made.
pub(crate) struct Made {
    /// The commit.
    pub(crate) commit: ObjectId,
    /// How git made it.
    pub(crate) kind: MoveKind,
    /// Its first parent.
    pub(crate) parent: Option<ObjectId>,
    /// The base of the shadow that the work comes from: the parent, or the commit that was amended.
    pub(crate) base: Base,
    /// When it was made, as far as the reflog's date can be believed; none if git has just made it, or if nothing says it.
    pub(crate) when: Option<When>,
}

impl Made {
    /// Returns how the commit of `moved` was made.
    pub(crate) fn by(repo: &Repo, moved: &HeadMove) -> Result<Self> {
        let commit = moved.to;
        let parents = repo.parents_of(commit)?;
        let parent = parents.first().copied();
        let amended = moved.from.commit_id().filter(|from| Some(*from) != parent && *from != commit);
        let is_amend = match amended {
            Some(from) => repo.is_commit(from)? && repo.parents_of(from)? == parents,
            None => false,
        };
        let base = if is_amend { moved.from } else { Base::of_head(parent) };
        Ok(Self { commit, kind: moved.kind, parent, base, when: moved.when })
    }

    /// Returns the commit that this one replaces, if it is an amended one.
    pub(crate) fn amended(&self) -> Option<ObjectId> {
        self.base.commit_id().filter(|base| Some(*base) != self.parent)
    }

    /// Returns what the commit changes compared with its base, except what a merge brought in from its other parents.
    pub(crate) fn changes(&self, repo: &Repo) -> Result<Vec<Change>> {
        let mut changes = repo.diff_trees(self.base_tree_id(repo)?, repo.tree_of_commit(self.commit)?)?;
        drop_brought(repo, repo.parents_of(self.commit)?.get(1..).unwrap_or_default(), &mut changes)?;
        Ok(changes)
    }

    /// Returns the tree of the base.
    pub(crate) fn base_tree_id(&self, repo: &Repo) -> Result<ObjectId> {
        self.base.commit_id().map_or_else(|| Ok(repo.empty_tree_id()), |id| repo.tree_of_commit(id))
    }
}

/// Drops from the changes of a merge those that one of the commits `others` brought in: that commit's record covers
/// them.
pub(super) fn drop_brought(repo: &Repo, others: &[ObjectId], changes: &mut Vec<Change>) -> Result<()> {
    for other in others {
        let tree_id = repo.tree_of_commit(*other)?;
        let mut kept = Vec::with_capacity(changes.len());
        for change in changes.drain(..) {
            if repo.find_leaf(tree_id, change.path.as_bstr())? != change.after {
                kept.push(change);
            }
        }
        *changes = kept;
    }
    Ok(())
}
