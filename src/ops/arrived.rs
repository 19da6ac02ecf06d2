//! Finds the records of this clone whose work is in commits that have come from elsewhere: a forge has squashed or rebased a branch, and
//! its commits have other ids, and no trailers.
//!
//! Only our own log is asked, and only about commits that no command in this clone has made: see the rule in `ops::records::log`.

use std::collections::{BTreeSet, HashSet};

use bstr::{BStr, ByteSlice as _};
use gix::ObjectId;

use super::{
    Context,
    known_base::known_head,
    records::{self, Log},
    sources::{Search, Source},
};
use crate::{
    error::Result,
    git::{Repo, revision::Reachable},
    model::{
        head_move::{HeadMove, LogEnd, MoveKind},
        record::{How, Link, Record},
        refname::Base,
    },
};

/// So many commits, the newest, are looked at.
const MOST_COMMITS: usize = 64;
/// So many records, the newest, are looked at.
const MOST_RECORDS: usize = 200;

/// Returns the links that the next command which writes will add for what HEAD has got since we last looked.
pub(crate) fn links_to_come(context: &Context) -> Result<Vec<Link>> {
    let head = context.repo.head()?.id;
    let known = known_head(context).filter(|(known, _)| *known != Base::of_head(head));
    let (Some(head), Some(known)) = (head, known) else { return Ok(Vec::new()) };
    let (moves, _) = context.repo.head_moves(known, head)?;
    links_of_arrived(context, known, &moves)
}

/// Returns links from the commits that `moves` have brought to HEAD, which was at `known`, and that have no record, to records of lost
/// commits whose work they have. Each commit is looked at when HEAD gets it for the first time.
pub(crate) fn links_of_arrived(
    context: &Context,
    known: (Base, Option<LogEnd>),
    moves: &[HeadMove],
) -> Result<Vec<Link>> {
    let repo = &context.repo;
    let (tips, Some(log)) = (brought(repo, moves)?, Log::own(repo)?) else { return Ok(Vec::new()) };
    if tips.is_empty() {
        return Ok(Vec::new());
    }
    let mut since: Vec<ObjectId> = known.0.commit_id().into_iter().collect();
    since.extend(repo.heads_before(known));
    if repo.commits_since(&since, &tips, &[], 1)?.is_empty() {
        return Ok(Vec::new());
    }
    let lost = lost(context, &log, &tips)?;
    let arrived = arrived(repo, &log, (&since, &tips), &lost)?;
    let search = Search::among(context, &log, &arrived, lost, None)?;
    let mut links = Vec::new();
    for commit in &arrived {
        context.check_interrupt()?;
        for Source { record, only, .. } in search.of(commit)? {
            let from = log.find(&record).ok().flatten().map(|record| record.commit);
            links.push(Link { record, commit: commit.id, from, how: How::Relink, only });
        }
    }
    Ok(links)
}

/// Returns the commits that lead to what `moves` have brought to HEAD: where it went, and what was merged.
fn brought(repo: &Repo, moves: &[HeadMove]) -> Result<Vec<ObjectId>> {
    let mut tips = Vec::new();
    for moved in moves {
        match moved.kind {
            MoveKind::Existing | MoveKind::Reset | MoveKind::RebaseStart => tips.push(moved.to),
            MoveKind::Merge | MoveKind::Commit if repo.is_commit(moved.to)? => {
                tips.extend(repo.parents_of(moved.to)?.into_iter().skip(1));
            }
            _ => {}
        }
    }
    Ok(tips)
}

/// Returns the newest records of commits that none of `tips` leads to, the newest first.
fn lost(context: &Context, log: &Log<'_>, tips: &[ObjectId]) -> Result<Vec<Record>> {
    let repo = &context.repo;
    let mut of_records = Vec::new();
    for id in records::newest(repo, MOST_RECORDS)? {
        context.check_interrupt()?;
        // A damaged record says nothing.
        let links = log.links(&id).unwrap_or_default();
        of_records.push((id, links.into_iter().map(|link| link.commit).collect::<Vec<_>>()));
    }
    let commits: Vec<ObjectId> = of_records.iter().flat_map(|(_, commits)| commits).copied().collect();
    let outside = repo.outside_of(tips, &commits)?;
    of_records.retain(|(_, commits)| !commits.is_empty() && commits.iter().all(|commit| outside.contains(commit)));
    let mut lost: Vec<Record> = of_records
        .iter()
        .filter_map(|(id, _)| log.find(id).ok().flatten())
        .filter(|it| !it.sessions.is_empty())
        .collect();
    lost.sort_by_key(|record| (std::cmp::Reverse(record.seconds), record.id));
    Ok(lost)
}

/// Returns the newest commits that `tips` lead to and `since` do not, and that change a file of `lost`, without merges, those that have a
/// record, and those that were made here.
fn arrived(
    repo: &Repo,
    log: &Log<'_>,
    (since, tips): (&[ObjectId], &[ObjectId]),
    lost: &[Record],
) -> Result<Vec<Reachable>> {
    let files = lost.iter().flat_map(|record| &record.files).filter(|file| !file.sessions.is_empty());
    let paths: BTreeSet<&BStr> = files.map(|file| file.path.as_bstr()).collect();
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let paths: Vec<&BStr> = paths.into_iter().collect();
    let mut found = Vec::new();
    for id in repo.commits_since(since, tips, &paths, MOST_COMMITS)? {
        let parents = repo.written_parents_of(id)?;
        // A shallow clone does not have what its first commits change.
        let is_whole = parents.first().map_or(Ok(true), |parent| repo.is_commit(*parent))?;
        if is_whole && log.of_commit(id)?.is_empty() {
            found.push(Reachable { id, tree_id: repo.tree_of_commit(id)?, parent_id: parents.first().copied() });
        }
    }
    if !found.is_empty() {
        let made_here = made_here(repo)?;
        found.retain(|commit| !made_here.contains(&commit.id));
    }
    Ok(found)
}

/// Returns the commits that commands in this clone have made, as far as the reflogs of HEAD and of the branches go back. These were
/// judged when they were made.
fn made_here(repo: &Repo) -> Result<HashSet<ObjectId>> {
    let words = ["log", "--no-show-signature", "--walk-reflogs", "--format=%H %gs", "--branches", "HEAD", "--"];
    let output = repo.run_git(&words.map(str::to_owned), None)?;
    let makes = |message: &[u8]| {
        let kind = MoveKind::of_message(message);
        let is_made =
            |kind: MoveKind| kind.makes_commit() || matches!(kind, MoveKind::RebaseStep | MoveKind::RebaseResolved);
        // A rebase and a cherry-pick say so of a commit that they take as it is.
        kind.is_some_and(is_made) && !message.contains_str("fast-forward")
    };
    let entries = output.lines().filter_map(|line| line.split_once_str(" "));
    Ok(entries.filter(|(_, message)| makes(message)).filter_map(|(id, _)| ObjectId::from_hex(id).ok()).collect())
}
