//! Finds the commit that a promised record belongs to after HEAD has moved.

use gix::ObjectId;

use super::{commit::keep, made::made};
use crate::{
    error::Result,
    git::Repo,
    model::{
        record::{RecordId, ids_in_message},
        refname::Base,
    },
    ops::Worktree,
    state::commit_note::CommitNote,
};

/// How many commits back from HEAD we search for the promised trailer.
const MOST_COMMITS: usize = 64;

/// How many earlier positions of HEAD we search.
const MOST_MOVES: usize = 32;

/// Keeps a promise made to an earlier commit than `commit`, the one at HEAD. Returns what remains of `note`.
pub(super) fn keep_promise_to_past(worktree: &Worktree<'_>, commit: ObjectId, note: CommitNote) -> Result<CommitNote> {
    let repo = &worktree.repo;
    if promises(&note).is_empty() || is_made_of(repo, commit, &note)? {
        return Ok(note);
    }
    let Some(past) = promised_elsewhere(repo, commit, &note)? else { return Ok(note) };
    keep(worktree, past, &note)?;
    Ok(CommitNote::default())
}

pub(super) fn promises(note: &CommitNote) -> Vec<RecordId> {
    note.reserved.iter().chain(&note.reused).filter_map(|id| RecordId::parse(id)).collect()
}

/// Returns true if `commit` is the one that was prepared: it has the trailer, or it has none and the expected base.
fn is_made_of(repo: &Repo, commit: ObjectId, note: &CommitNote) -> Result<bool> {
    let named = ids_in_message(repo.message_of(commit)?.as_ref());
    if promises(note).iter().any(|id| named.contains(id)) {
        return Ok(true);
    }
    // A commit that names another record than the reserved one is not the one that was prepared.
    let may_be = named.is_empty() || note.reserved.is_none();
    Ok(may_be && Base::parse(&note.head) == Some(made(repo, commit, note)?.base))
}

/// Returns the commit that has a promised trailer, though HEAD has moved since.
pub(super) fn promised_elsewhere(repo: &Repo, head: ObjectId, note: &CommitNote) -> Result<Option<ObjectId>> {
    let promises = promises(note);
    if promises.is_empty() {
        return Ok(None);
    }
    let start = Base::parse(&note.head).and_then(Base::commit_id);
    let mut at = Some(head);
    for _ in 0..MOST_COMMITS {
        let Some(id) = at.filter(|id| Some(*id) != start) else { break };
        if !repo.is_commit(id)? {
            break;
        }
        if names_any(repo, id, &promises)? {
            return Ok(Some(id));
        }
        at = repo.parents_of(id)?.first().copied();
    }
    promised_where_head_was(repo, &promises)
}

/// Returns a recent position of HEAD that has a trailer of `promises`: another branch was checked out since.
pub(super) fn promised_where_head_was(repo: &Repo, promises: &[RecordId]) -> Result<Option<ObjectId>> {
    if !promises.is_empty() {
        for id in repo.where_head_was(MOST_MOVES) {
            if repo.is_commit(id)? && names_any(repo, id, promises)? {
                return Ok(Some(id));
            }
        }
    }
    Ok(None)
}

fn names_any(repo: &Repo, commit: ObjectId, promises: &[RecordId]) -> Result<bool> {
    Ok(ids_in_message(repo.message_of(commit)?.as_ref()).iter().any(|id| promises.contains(id)))
}
