//! Commits made without our hooks: one agent and some other programs run no hooks, and users can disable them.

use gix::ObjectId;

use super::{
    commit::{condense, link_what_is_there, record_of},
    made::{Made, made},
};
use crate::{
    error::Result,
    git::merge::Committed,
    model::refname::Base,
    ops::{
        Context, Worktree,
        known_base::{known_base, note_base},
        provenance::recorded,
    },
    state::commit_note::CommitNote,
};

/// The largest number of moves of HEAD that we look through.
const MOST_MOVES: usize = 64;

/// The position of HEAD before a commit, and the commit.
type Unseen = (Option<ObjectId>, ObjectId);

/// Makes the records of the unseen commits before `last`, the one that git reports now; none: a commit about to be
/// made.
pub(super) fn commits_before(worktree: &Worktree<'_>, last: Option<ObjectId>) -> Result<()> {
    let Committed { first, later } = unseen(worktree)?.1;
    let commits = first.into_iter().map(|commit| (commit, true)).chain(later.into_iter().map(|commit| (commit, false)));
    for (commit, takes_work) in commits.take_while(|(commit, _)| Some(commit.1) != last) {
        keep(worktree, commit, takes_work)?;
    }
    Ok(())
}

/// Returns where HEAD was when we last looked, if it has moved since, and the commits that moved it.
pub(super) fn unseen(context: &Context) -> Result<(Option<Base>, Committed)> {
    let repo = &context.repo;
    let (Some(head), Some(known)) = (repo.head()?.id, known_base(context)) else {
        return Ok((None, Committed::default()));
    };
    if known == Base::Commit(head) || repo.is_rebasing() {
        return Ok((None, Committed::default()));
    }
    Ok((Some(known), repo.committed_since(known.commit_id(), head, MOST_MOVES)?))
}

pub(super) fn keep(worktree: &Worktree<'_>, (before, commit): Unseen, takes_work: bool) -> Result<()> {
    // If the record exists, a process crashed after it began this step.
    let reserved = record_of(worktree, commit)?.map(|record| record.id.to_string());
    let mut note = CommitNote { head: Base::of_head(before).to_string(), reserved, ..CommitNote::default() };
    let made = made(&worktree.repo, commit, &note)?;
    note.reused = committed_again(worktree, &made)?;
    link_what_is_there(worktree, &made, &note)?;
    if !takes_work {
        return Ok(());
    }
    condense(worktree, &made, &note)?;
    note_base(worktree, Base::Commit(commit))
}

/// Returns the records whose work the commit contains again; the hooks look for the same before a commit.
fn committed_again(context: &Context, made: &Made) -> Result<Vec<String>> {
    let repo = &context.repo;
    if repo.parents_of(made.commit)?.len() > 1 {
        return Ok(Vec::new());
    }
    let again = recorded::records_again_in(context, made.base.commit_id(), made.commit)?;
    Ok(again.iter().map(ToString::to_string).collect())
}
