//! How a commit was made, and what it changes.

use bstr::ByteSlice as _;
use gix::ObjectId;

use crate::{
    error::Result,
    git::Repo,
    model::{
        change::Change,
        record::{RecordId, ids_in_message},
        refname::Base,
    },
    state::commit_note::CommitNote,
};

/// How a commit was made.
pub(super) struct Made {
    /// The commit.
    pub(super) commit: ObjectId,
    /// Its first parent.
    pub(super) parent: Option<ObjectId>,
    /// The base of the shadow that the work comes from: the parent, or the commit that was amended.
    pub(super) base: Base,
    /// The commit that the work starts from: `base`, or what it was rewritten to since.
    pub(super) from: Base,
}

/// Returns true if `note` was written for `commit`, the one at HEAD.
pub(super) fn was_made(repo: &Repo, commit: ObjectId, note: &CommitNote) -> Result<bool> {
    if let Some(id) = note.reserved.as_deref().and_then(RecordId::parse)
        && ids_in_message(repo.message_of(commit)?.as_bytes()).contains(&id)
    {
        return Ok(true);
    }
    if Base::parse(&note.head) == Some(Base::Commit(commit)) {
        return Ok(false);
    }
    let made = made(repo, commit, note)?;
    let is_on_head = made.base.to_string() == note.head;
    let has_promise =
        note.reserved.is_some() || note.copied.is_some() || !(note.reused.is_empty() && note.squashed.is_empty());
    Ok(is_on_head && has_promise && repo.has_just_committed()?)
}

pub(super) fn made(repo: &Repo, commit: ObjectId, note: &CommitNote) -> Result<Made> {
    let parents = repo.parents_of(commit)?;
    let parent = parents.first().copied();
    let plain = Made { commit, parent, base: Base::of_head(parent), from: Base::of_head(parent) };
    let Some(Base::Commit(head)) = Base::parse(&note.head) else { return Ok(plain) };
    let is_amend = Some(head) != parent && head != commit && repo.is_commit(head)? && repo.parents_of(head)? == parents;
    Ok(if is_amend { Made { base: Base::Commit(head), from: Base::Commit(head), ..plain } } else { plain })
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
