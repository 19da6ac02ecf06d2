//! Links the commits that have come from elsewhere to the records of this clone whose work they have: a forge has squashed or
//! rebased a branch, and its commits have other ids, and no trailers.
//!
//! Only our own log is asked, and only about commits that nothing in this clone has made: see the rule in `ops::records::log`.

use std::collections::HashSet;

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use crate::{
    error::Result,
    git::{Repo, revision::Reachable},
    model::{
        head_move::MoveKind,
        record::{How, Link, Record},
        refname::Base,
    },
    ops::{
        Context, Worktree,
        records::{self, Additions, Log},
        sources::Search,
    },
};

/// So many commits, the newest, are looked at.
const MOST_COMMITS: usize = 64;
/// So many records, the newest, are looked at.
const MOST_RECORDS: usize = 200;

/// Links the commits that HEAD has got on the way from `known` to `now`, and that have no record, to those of lost commits.
pub(super) fn link_arrived(worktree: &Worktree<'_>, known: Base, now: Base) -> Result<()> {
    let (repo, Some(head)) = (&worktree.repo, now.commit_id()) else { return Ok(()) };
    let (Some(log), true) = (Log::own(repo)?, known != now) else { return Ok(()) };
    let arrived = arrived(repo, &log, known, head)?;
    let lost = lost(worktree, &log, head, &arrived)?;
    if lost.is_empty() {
        return Ok(());
    }
    let made_here = made_here(repo)?;
    let arrived: Vec<Reachable> = arrived.into_iter().filter(|commit| !made_here.contains(&commit.id)).collect();
    let search = Search::among(worktree, &log, &arrived, lost, None)?;
    let mut links = Vec::new();
    for commit in &arrived {
        worktree.check_interrupt()?;
        for (record, _) in search.of(commit)? {
            let from = log.find(&record).ok().flatten().map(|record| record.commit);
            links.push(Link { record, commit: commit.id, from, how: How::Relink });
        }
    }
    if links.is_empty() {
        return Ok(());
    }
    records::append(worktree, Additions { records: Vec::new(), links })
}

/// Returns the newest of the commits that `head` leads to and `known` does not, without merges and without those that have a record.
fn arrived(repo: &Repo, log: &Log<'_>, known: Base, head: ObjectId) -> Result<Vec<Reachable>> {
    let most = format!("--max-count={MOST_COMMITS}");
    let mut words = vec!["rev-list".to_owned(), "--no-merges".to_owned(), "--ignore-missing".to_owned(), most];
    words.push(head.to_string());
    // A purge may have removed it.
    words.extend(known.commit_id().map(|known| format!("^{known}")));
    let mut found = Vec::new();
    for line in repo.run_git(&words, None)?.lines() {
        let Ok(id) = ObjectId::from_hex(line.trim()) else { continue };
        let parents = repo.written_parents_of(id)?;
        // A shallow clone does not have what its first commits change.
        let is_whole = parents.first().map_or(Ok(true), |parent| repo.is_commit(*parent))?;
        if is_whole && log.of_commit(id)?.is_empty() {
            found.push(Reachable { id, tree_id: repo.tree_of_commit(id)?, parent_id: parents.first().copied() });
        }
    }
    Ok(found)
}

/// Returns those of the newest records that change a path of `arrived`, and whose commits `head` does not lead to; the newest first.
fn lost(context: &Context, log: &Log<'_>, head: ObjectId, arrived: &[Reachable]) -> Result<Vec<Record>> {
    let (repo, mut lost) = (&context.repo, Vec::new());
    let mut changed: HashSet<BString> = HashSet::new();
    for commit in arrived {
        let before = commit.parent_id.map_or_else(|| Ok(repo.empty_tree_id()), |parent| repo.tree_of_commit(parent))?;
        changed.extend(repo.diff_trees(before, commit.tree_id)?.into_iter().map(|change| change.path));
    }
    if changed.is_empty() {
        return Ok(lost);
    }
    let is_in_head =
        |commit| Ok::<_, crate::error::Error>(repo.is_commit(commit)? && repo.reaches(vec![head], commit, 0)?);
    for id in records::newest(repo, MOST_RECORDS)? {
        context.check_interrupt()?;
        // A damaged record says nothing.
        let Some(record) = log.find(&id).ok().flatten() else { continue };
        if !record.files.iter().any(|file| changed.contains(&file.path)) || is_in_head(record.commit)? {
            continue;
        }
        let mut is_here = false;
        for link in log.links(&id)? {
            is_here = is_here || is_in_head(link.commit)?;
        }
        if !is_here {
            lost.push(record);
        }
    }
    Ok(lost)
}

/// Returns the commits that commands in this clone have made, as far as the reflogs of HEAD and of the branches go back. These were
/// judged when they were made.
fn made_here(repo: &Repo) -> Result<HashSet<ObjectId>> {
    let words = ["log", "--walk-reflogs", "--format=%H %gs", "--branches", "HEAD"].map(str::to_owned);
    let output = repo.run_git(&words, None)?;
    let makes = |message: &[u8]| {
        let kind = MoveKind::of_message(message);
        kind.is_some_and(|kind| kind.makes_commit() || matches!(kind, MoveKind::RebaseStep | MoveKind::RebaseResolved))
    };
    let entries = output.lines().filter_map(|line| line.split_once_str(" "));
    Ok(entries.filter(|(_, message)| makes(message)).filter_map(|(id, _)| ObjectId::from_hex(id).ok()).collect())
}
