//! The worktrees that are compared: which there are, and what each has now.

use std::path::PathBuf;

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use crate::{
    error::{Error, Result},
    git::Repo,
    model::refname::Base,
    ops::{
        Context,
        chain::{
            peek::{Worktree, worktree_tree},
            shadows::latest_on,
        },
    },
};

/// Another worktree.
pub(super) struct Other {
    /// `main`, or git's id of a linked one.
    pub(super) id: BString,
    /// Its root.
    pub(super) root: PathBuf,
    /// False if it is not there.
    is_there: bool,
}

/// Returns the other worktrees of the repository, the main one first; without another one, at the cost of one look.
pub(super) fn others(repo: &Repo) -> Vec<Other> {
    let there = repo.other_worktrees().into_iter().map(|(id, root)| Other { id, root, is_there: true });
    let lost = repo.lost_worktrees().into_iter().map(|(id, root)| Other { id, root, is_there: false });
    let mut others: Vec<Other> = there.chain(lost).collect();
    others.sort_by(|one, two| (one.id != "main", &one.id).cmp(&(two.id != "main", &two.id)));
    others
}

/// Opens the worktree `other`.
///
/// # Errors
/// If it is not there, or git would refuse to work there.
pub(super) fn open(context: &Context, other: &Other) -> Result<Context> {
    if !other.is_there {
        return Err(Error::corrupt("its directory is not there, or is that of another repository"));
    }
    Ok(context.with_repo(Repo::open(&other.root)?))
}

/// Returns the branch at HEAD; none if it is detached, or cannot be read.
pub(super) fn branch(context: &Context) -> Option<String> {
    let branch = context.repo.head().ok()?.branch?;
    Some(branch.strip_prefix(b"refs/heads/").unwrap_or(&branch).as_bstr().to_string())
}

/// What a worktree has now.
#[derive(Clone, Copy)]
pub(super) struct Now<'r> {
    /// The repository, in which the tree and its blobs can be read.
    pub(super) repo: &'r Repo,
    /// The tree.
    pub(super) tree_id: ObjectId,
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
        Now { repo: &self.worktree.repo, tree_id: self.worktree.tree_id, head: self.head }
    }
}

impl<'r> Now<'r> {
    /// Returns what the last checkpoint on HEAD has; without one, what HEAD has.
    pub(super) fn of_checkpoints(repo: &'r Repo) -> Result<Self> {
        let head = repo.head()?.id;
        let tree_id = match (latest_on(repo, Base::of_head(head))?, head) {
            (Some(checkpoint), _) => checkpoint.tree_id,
            (None, Some(id)) => repo.tree_of_commit(id)?,
            (None, None) => repo.empty_tree_id(),
        };
        Ok(Self { repo, tree_id, head })
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
