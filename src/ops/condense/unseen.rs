//! Commits that git told nobody of: one agent runs git without hooks, some programs that commit know none, and people turn
//! them off.

use gix::ObjectId;

use super::{
    Made,
    candidates::{candidates, hold_work},
    condense, drop_brought, finish, link_what_is_there, made,
};
use crate::{
    error::Result,
    git::merge::Committed,
    model::{record::Record, refname::Base},
    ops::{
        Context,
        known_base::{known_base, note_base},
        recommit, records,
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
    let (Some(known), Committed { first: unseen, later }) = unseen(context)? else { return Ok(()) };
    if unseen.is_empty() && later.is_empty() {
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
    // The work that there was has not waited for these: whoever follows HEAD sees what has become of it.
    later.into_iter().try_for_each(|commit| keep(context, commit, false))
}

/// Makes the records of those that came before `last`, which git tells of now, or is about to make on them (none).
pub(super) fn commits_before(context: &Context, last: Option<ObjectId>) -> Result<()> {
    let Committed { first, later } = unseen(context)?.1;
    let commits = first.into_iter().map(|commit| (commit, true)).chain(later.into_iter().map(|commit| (commit, false)));
    for (commit, takes_work) in commits.take_while(|(commit, _)| Some(commit.1) != last) {
        keep(context, commit, takes_work)?;
    }
    Ok(())
}

/// Returns where HEAD was when we last looked, if it was moved since, and the commits that moved it.
fn unseen(context: &Context) -> Result<(Option<Base>, Committed)> {
    let repo = &context.repo;
    let (Some(head), Some(known)) = (repo.head()?.id, known_base(context)) else {
        return Ok((None, Committed::default()));
    };
    if known == Base::Commit(head) || repo.is_rebasing() {
        return Ok((None, Committed::default()));
    }
    Ok((Some(known), repo.committed_since(known.commit_id(), head, MOST_MOVES)?))
}

fn keep(context: &Context, (before, commit): Unseen, takes_work: bool) -> Result<()> {
    // Whoever died after the record was made has begun what is to be done.
    let reserved = record_of(context, commit)?.map(|record| record.id.to_string());
    let mut note = CommitNote { head: Base::of_head(before).to_string(), reserved, ..CommitNote::default() };
    let made = made(&context.repo, commit, &note)?;
    note.reused = committed_again(context, &made)?;
    link_what_is_there(context, &made, &note)?;
    if !takes_work {
        return Ok(());
    }
    condense(context, &made, &note)?;
    note_base(context, Base::Commit(commit))
}

/// Returns the records whose work the commit has again, as they are looked for before a commit of which git tells.
fn committed_again(context: &Context, made: &Made) -> Result<Vec<String>> {
    let repo = &context.repo;
    if repo.parents_of(made.commit)?.len() > 1 {
        return Ok(Vec::new());
    }
    let again = recommit::records_again_in(context, made.base.commit_id(), made.commit)?;
    Ok(again.iter().map(ToString::to_string).collect())
}

/// Returns the record that was made of `commit`.
pub(super) fn record_of(context: &Context, commit: ObjectId) -> Result<Option<Record>> {
    for id in records::of_commit(&context.repo, commit)? {
        if let Some(record) = records::find(&context.repo, &id)?.filter(|record| record.commit == commit) {
            return Ok(Some(record));
        }
    }
    Ok(None)
}
