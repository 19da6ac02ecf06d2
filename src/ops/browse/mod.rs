//! What the terminal browser shows: what one entry of its list has changed, and whether the list is still right.
//!
//! The list itself is that of `history`, read as far as it is shown, and a search is that of `find`.

mod compared;
mod details;

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use bstr::BString;
use gix::ObjectId;

pub(crate) use self::details::{About, Details, File, Lines};
use super::Context;
use crate::{error::Result, model::refname};

/// What is looked at.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Subject {
    /// What is not committed yet.
    Worktree,
    /// What a commit has changed.
    Commit(ObjectId),
    /// What a checkpoint has changed, or those of a turn.
    Checkpoint {
        /// The commit before it, or before the first one of the turn.
        before: ObjectId,
        /// The last of them.
        id: ObjectId,
    },
    /// How two states differ.
    Compared {
        /// The old one.
        from: ObjectId,
        /// The new one; none for the worktree as it is now.
        to: Option<ObjectId>,
    },
}

/// Returns what `subject` has changed in the files that `pathspecs` select, all if there are none. The lines are those of the file at
/// `only`, if one is given, else of the first files.
///
/// # Errors
/// If it cannot be read.
pub(crate) fn look_at(
    context: &Context,
    subject: &Subject,
    pathspecs: &[BString],
    only: Option<&BString>,
) -> Result<Details> {
    match subject {
        Subject::Worktree => details::of_worktree(context, pathspecs, only),
        Subject::Commit(id) => details::of_commit(context, *id, pathspecs, only),
        Subject::Checkpoint { before, id } => details::of_checkpoint(context, *before, *id, pathspecs, only),
        Subject::Compared { from, to } => compared::details(context, *from, *to, pathspecs, only),
    }
}

/// Returns a number that is another one when refs of checkpoints, or HEAD, have changed.
pub(crate) fn state(context: &Context) -> Result<u64> {
    let mut hasher = DefaultHasher::new();
    let head = context.repo.head()?;
    (head.id, head.branch).hash(&mut hasher);
    for (name, id) in context.repo.refs_below(refname::PREFIX)? {
        (name, id).hash(&mut hasher);
    }
    Ok(hasher.finish())
}
