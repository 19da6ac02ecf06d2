//! Commits that git told nobody of: one agent runs git without hooks, and some programs that commit know none.

use super::keep;
use crate::{
    error::Result,
    model::refname::Base,
    ops::{
        Context,
        follow::{known_base, note_base},
    },
    state::{commit_note::CommitNote, lock::Lock},
};

/// How many commits are made good for.
const MOST_COMMITS: usize = 64;

/// Makes the records of the commits that have moved HEAD since we last looked, if nothing else has.
///
/// They have no trailer: a message is not rewritten. What one command both wrote and committed is the committer's.
pub(crate) fn commits_unseen(context: &Context, lock: &Lock) -> Result<()> {
    let repo = &context.repo;
    super::finish(context, lock)?;
    let (Some(head), Some(known)) = (repo.head()?.id, known_base(context)) else { return Ok(()) };
    if known == Base::Commit(head) || repo.is_rebasing() {
        return Ok(());
    }
    for (before, commit) in repo.committed_since(known.commit_id(), head, MOST_COMMITS) {
        if !repo.is_commit(commit)? {
            return Ok(());
        }
        let note = CommitNote { head: Base::of_head(before).to_string(), ..CommitNote::default() };
        keep(context, commit, &note)?;
        note_base(context, Base::Commit(commit))?;
    }
    Ok(())
}
