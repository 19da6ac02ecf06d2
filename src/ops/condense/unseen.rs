//! Commits that git told nobody of: one agent runs git without hooks, some programs that commit know none, and people turn
//! them off.

use gix::ObjectId;

use super::{
    candidates::{candidates, hold_work},
    condense, drop_brought, finish, link_what_is_there, made,
};
use crate::{
    error::Result,
    model::refname::Base,
    ops::{
        Context,
        follow::{known_base, note_base},
        records,
    },
    state::{commit_note::CommitNote, lock::Lock},
};

/// How often HEAD may have been moved since.
const MOST_MOVES: usize = 64;

/// A commit, after where HEAD was before it.
type Unseen = (Option<ObjectId>, ObjectId);

/// Makes the records of the commits that have moved HEAD since we last looked, until something else has. What comes after
/// the last of them that took work has only moved HEAD.
///
/// They have no trailer: a message is not rewritten. What one command both wrote and committed is the committer's.
pub(crate) fn commits_unseen(context: &Context, lock: &Lock) -> Result<()> {
    finish(context, lock)?;
    let (Some(known), unseen) = unseen(context)? else { return Ok(()) };
    if unseen.is_empty() {
        return Ok(());
    }
    let found = candidates(&context.repo, known, true)?;
    let mut took = 0;
    for (at, commit) in unseen.iter().enumerate() {
        let repo = &context.repo;
        let tree_id = |id: Option<ObjectId>| id.map_or_else(|| Ok(repo.empty_tree_id()), |id| repo.tree_of_commit(id));
        let mut changes = repo.diff_trees(tree_id(commit.0)?, tree_id(Some(commit.1))?)?;
        drop_brought(repo, repo.parents_of(commit.1)?.get(1..).unwrap_or_default(), &mut changes)?;
        if hold_work(repo, &found, &changes)? {
            took = at + 1;
        }
    }
    for (at, commit) in unseen.into_iter().enumerate() {
        keep(context, commit, at < took)?;
    }
    Ok(())
}

/// Makes the records of those that came before `last`, which git tells of now, or is about to make on them (none).
pub(super) fn commits_before(context: &Context, last: Option<ObjectId>) -> Result<()> {
    for commit in unseen(context)?.1 {
        if Some(commit.1) == last {
            break;
        }
        keep(context, commit, true)?;
    }
    Ok(())
}

/// Returns where HEAD was when we last looked, if it was moved since, and the commits that moved it, oldest first.
fn unseen(context: &Context) -> Result<(Option<Base>, Vec<Unseen>)> {
    let repo = &context.repo;
    let (Some(head), Some(known)) = (repo.head()?.id, known_base(context)) else { return Ok((None, Vec::new())) };
    if known == Base::Commit(head) || repo.is_rebasing() {
        return Ok((None, Vec::new()));
    }
    Ok((Some(known), repo.committed_since(known.commit_id(), head, MOST_MOVES)?))
}

fn keep(context: &Context, (before, commit): Unseen, takes_work: bool) -> Result<()> {
    // Whoever died after the record was made has begun what is to be done.
    let reserved = record_of(context, commit)?;
    let note = CommitNote { head: Base::of_head(before).to_string(), reserved, ..CommitNote::default() };
    let made = made(&context.repo, commit, &note)?;
    link_what_is_there(context, &made, &note)?;
    if !takes_work {
        return Ok(());
    }
    condense(context, &made, &note)?;
    note_base(context, Base::Commit(commit))
}

/// Returns the record that was made of `commit`.
fn record_of(context: &Context, commit: ObjectId) -> Result<Option<String>> {
    for id in records::of_commit(&context.repo, commit)? {
        if records::find(&context.repo, &id)?.is_some_and(|record| record.commit == commit) {
            return Ok(Some(id.to_string()));
        }
    }
    Ok(None)
}
