//! Finishes condensations that another process began: `commit.toml` says what was promised to which commit.

use gix::ObjectId;

use super::{
    candidates::{candidates, hold_work},
    commit::keep,
    made::{drop_brought, was_made},
    promise::{keep_promise_to_past, promised_elsewhere, promised_where_head_was, promises},
    staged::has_work_on,
    unseen::{self, commits_before, unseen},
};
use crate::{
    error::Result,
    git::merge::Committed,
    model::refname::Base,
    ops::{
        Context, Worktree,
        known_base::{known_base, note_base},
        locking::try_lock,
    },
    state::{
        commit_note::{CommitNote, Unkept},
        failpoint,
    },
};

/// Finishes a condensation that a process left because it crashed or could not get the lock.
pub(crate) fn finish(worktree: &Worktree<'_>) -> Result<()> {
    let repo = &worktree.repo;
    let Some(mut note) = CommitNote::read(repo.git_dir())? else { return Ok(()) };
    let head = repo.head()?.id;
    if let Some(commit) = head
        && was_made(repo, commit, &note)?
    {
        return commit_made(worktree);
    }
    keep_earlier(worktree, &note)?;
    if Base::of_head(head).to_string() == note.head {
        // No commit was made, or HEAD has left it again.
        if let Some(past) = promised_where_head_was(repo, &promises(&note))? {
            keep(worktree, past, &note)?;
            return CommitNote::remove(repo.git_dir());
        }
        if note.earlier.is_empty() {
            return Ok(());
        }
        note.earlier.clear();
        return note.write(repo.git_dir());
    }
    if let Some(commit) = head
        && let Some(past) = promised_elsewhere(repo, commit, &note)?
    {
        keep(worktree, past, &note)?;
    }
    CommitNote::remove(repo.git_dir())
}

/// Condenses the work that the commit at HEAD took in this worktree.
pub(crate) fn commit_made(worktree: &Worktree<'_>) -> Result<()> {
    let repo = &worktree.repo;
    let Some(commit) = repo.head()?.id else { return Ok(()) };
    worktree.emit_failure("condense", commits_before(worktree, Some(commit))).unwrap_or_default();
    let plain = || CommitNote { is_again: repo.is_rebasing(), ..CommitNote::default() };
    let note = CommitNote::read(repo.git_dir())?.unwrap_or_else(plain);
    keep_earlier(worktree, &note)?;
    // The note is for the next commit, which is being prepared. Its preparation has finished this commit or noted it as
    // unkept.
    let is_for_next = note.head == Base::Commit(commit).to_string();
    let note = if is_for_next { plain() } else { keep_promise_to_past(worktree, commit, note)? };
    keep(worktree, commit, &note)?;
    failpoint::hit("condense:before-base");
    // During a rebase or cherry-pick the work stays on its base; it is followed from there at the end.
    if !repo.is_rebasing() && !note.is_again {
        note_base(worktree, Base::Commit(commit))?;
    }
    failpoint::hit("condense:before-note");
    if is_for_next { Ok(()) } else { CommitNote::remove(repo.git_dir()) }
}

fn keep_earlier(worktree: &Worktree<'_>, note: &CommitNote) -> Result<()> {
    for Unkept { commit, note } in &note.earlier {
        if let Ok(commit) = ObjectId::from_hex(commit.as_bytes())
            && worktree.repo.is_commit(commit)?
        {
            keep(worktree, commit, note)?;
        }
    }
    Ok(())
}

/// Returns the commits, oldest first, whose promises could not be kept yet, to be noted beside the next commit's.
pub(crate) fn unkept(context: &Context) -> Result<Vec<Unkept>> {
    let repo = &context.repo;
    let head = Base::of_head(repo.head()?.id);
    // Commits made without our hooks may have left work that the next commit takes.
    if let Some(known) = known_base(context).filter(|known| *known != head)
        && has_work_on(repo, known)?
        && let Some(worktree) = try_lock(context)?
    {
        let kept = finish(&worktree).and_then(|()| commits_before(&worktree, None));
        context.emit_failure("condense", kept).unwrap_or_default();
    }
    let Some(note) = CommitNote::read(repo.git_dir())? else { return Ok(Vec::new()) };
    let made = match repo.head()?.id {
        Some(commit) if was_made(repo, commit, &note)? => Some(commit),
        _ => None,
    };
    if made.is_none() && note.earlier.is_empty() {
        return Ok(Vec::new());
    }
    if let Some(worktree) = try_lock(context)? {
        finish(&worktree)?;
        return Ok(Vec::new());
    }
    let CommitNote { earlier, .. } = note.clone();
    let last =
        made.map(|commit| Unkept { commit: commit.to_string(), note: CommitNote { earlier: Vec::new(), ..note } });
    Ok(earlier.into_iter().chain(last).collect())
}

/// Makes the records of the unseen commits, as far as HEAD moved by commits only. Commits after the last one that took
/// work only move HEAD.
///
/// These commits get no trailer, since that would rewrite them. If one command both changed files and committed them,
/// the changes are the committer's.
pub(crate) fn commits_unseen(worktree: &Worktree<'_>) -> Result<()> {
    finish(worktree)?;
    let (Some(known), Committed { first: unseen, later }) = unseen(worktree)? else { return Ok(()) };
    if unseen.is_empty() && later.is_empty() {
        return Ok(());
    }
    let found = candidates(&worktree.repo, known, true)?;
    let mut took = 0;
    for (at, commit) in unseen.iter().enumerate() {
        let repo = &worktree.repo;
        let tree_id = |id: Option<ObjectId>| id.map_or_else(|| Ok(repo.empty_tree_id()), |id| repo.tree_of_commit(id));
        let mut changes = repo.diff_trees(tree_id(commit.0)?, tree_id(Some(commit.1))?)?;
        drop_brought(repo, repo.parents_of(commit.1)?.get(1..).unwrap_or_default(), &mut changes)?;
        if hold_work(repo, &found, &changes)? {
            took = at + 1;
        }
    }
    for (at, commit) in unseen.into_iter().enumerate() {
        unseen::keep(worktree, commit, at < took)?;
    }
    // HEAD moved otherwise before these commits, so they take no work; `follow` looks at what remains.
    later.into_iter().try_for_each(|commit| unseen::keep(worktree, commit, false))
}
