//! Finds the originals of commits that git has rewritten without our hooks, or that another program has rewritten.

use std::collections::{BTreeMap, BTreeSet};

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::{append, held, links_of};
use crate::{
    error::Result,
    git::Repo,
    model::{
        record::{How, Link, RecordId},
        refname::Base,
    },
    ops::{Context, provenance::recorded, records::Log},
};

/// How many commits of each line we look at.
const MOST_COMMITS: usize = 200;

/// Who wrote a commit and when, and its subject: all of this survives a rebase.
type Stamp = (BString, BString, i64, BString);

/// Links the commits that lead to `to` to the records of those that they replace, which led to `from`; only commits that have
/// no records yet.
///
/// The same author, time and subject show which commit replaces which; where a commit was squashed or its message changed, its
/// content does.
pub(crate) fn link_unreported(context: &Context, from: Base, to: ObjectId) -> Result<()> {
    let repo = &context.repo;
    let (Some(from), Some(log)) = (from.commit_id(), Log::open(repo)?) else { return Ok(()) };
    let (left, new) = fork(repo, from, to)?;
    let mut lost: BTreeMap<ObjectId, Vec<RecordId>> = BTreeMap::new();
    for commit in left {
        let ids = log.of_commit(commit)?;
        if !ids.is_empty() {
            lost.insert(commit, ids);
        }
    }
    let mut bare = Vec::new();
    for commit in if lost.is_empty() { Vec::new() } else { new } {
        if log.of_commit(commit)?.is_empty() {
            bare.push(commit);
        }
    }
    if bare.is_empty() {
        return Ok(());
    }
    let mut links = Vec::new();
    let pairs = pairs(repo, lost.keys().copied(), &bare)?;
    for (old, new) in &pairs {
        links.extend(links_of(&log, *old, *new, How::Rebase)?);
    }
    let mut links = held(repo, links)?;
    let linked: BTreeSet<RecordId> = links.iter().map(|link| link.record).collect();
    for (old, ids) in &lost {
        for id in ids.iter().filter(|id| !linked.contains(id)) {
            for commit in &bare {
                context.check_interrupt()?;
                let parent = repo.parents_of(*commit)?.first().copied();
                if recorded::is_any_in(context, parent, *commit, id)? {
                    links.push(Link { record: *id, commit: *commit, from: Some(*old), how: How::Squash });
                }
            }
        }
    }
    append(context, links)
}

/// Returns the commits that lead to `from` and those that lead to `to`, down to the one that both have, first parents only; none
/// if they have no near commit in common.
fn fork(repo: &Repo, from: ObjectId, to: ObjectId) -> Result<(Vec<ObjectId>, Vec<ObjectId>)> {
    let (mut lines, mut next) = ([Vec::new(), Vec::new()], [Some(from), Some(to)]);
    while next.iter().any(Option::is_some) && lines[0].len() < MOST_COMMITS && lines[1].len() < MOST_COMMITS {
        for at in [0, 1] {
            let Some(commit) = next[at] else { continue };
            if let Some(shared) = lines[1 - at].iter().position(|other| *other == commit) {
                lines[1 - at].truncate(shared);
                let [left, new] = lines;
                return Ok((left, new));
            }
            lines[at].push(commit);
            next[at] = repo.parent_and_time(commit)?.and_then(|(parent, _)| parent);
        }
    }
    let is_all = next.iter().all(Option::is_none);
    let [left, new] = lines;
    Ok(if is_all { (left, new) } else { (Vec::new(), Vec::new()) })
}

/// Returns which of `new` replaces which of `left`, where stamps leave no doubt.
fn pairs(repo: &Repo, left: impl Iterator<Item = ObjectId>, new: &[ObjectId]) -> Result<Vec<(ObjectId, ObjectId)>> {
    let (left, new) = (by_stamp(repo, left)?, by_stamp(repo, new.iter().copied())?);
    let pair = |(stamp, old): (&Stamp, &Vec<ObjectId>)| match (&**old, new.get(stamp).map(Vec::as_slice)) {
        (&[old], Some(&[new])) => Some((old, new)),
        _ => None,
    };
    Ok(left.iter().filter_map(pair).collect())
}

fn by_stamp(repo: &Repo, commits: impl Iterator<Item = ObjectId>) -> Result<BTreeMap<Stamp, Vec<ObjectId>>> {
    let mut found: BTreeMap<Stamp, Vec<ObjectId>> = BTreeMap::new();
    for commit in commits {
        let stamp = repo.with_commit(commit, |commit| {
            let author = commit.author().ok()?;
            let subject = commit.message.lines().next().unwrap_or_default();
            Some((author.name.to_owned(), author.email.to_owned(), author.seconds(), subject.into()))
        })?;
        if let Some(stamp) = stamp {
            found.entry(stamp).or_default().push(commit);
        }
    }
    Ok(found)
}
