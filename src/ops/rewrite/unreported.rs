//! Finds the originals of commits that git has rewritten without our hooks, or that another program has rewritten.

use std::collections::{BTreeMap, BTreeSet};

use gix::ObjectId;

use super::{append, held, limited, links_of};
use crate::{
    error::Result,
    git::{Repo, stamp::Stamp},
    model::{
        reconcile::Rewrite,
        record::{How, Link, RecordId},
    },
    ops::{
        Context,
        provenance::recorded,
        records::{self, Log},
        share::Least,
    },
};

/// How many commits of each line we look at.
const MOST_COMMITS: usize = 200;

/// How many times we compare a record with a commit: either may be large.
const MOST_COMPARED: usize = 200;

/// Links the new commits of `rewrite` that are linked to no records yet to the records of those that they replace.
///
/// The same author, time and subject show which commit replaces which; where a commit was squashed or its message changed, its
/// content does.
pub(crate) fn link_unreported(context: &Context, rewrite: &Rewrite) -> Result<()> {
    let repo = &context.repo;
    let (Some(from), Some(log)) = (rewrite.from.commit_id(), Log::own(repo)?) else { return Ok(()) };
    let (left, mut new) = fork(repo, from, rewrite.to)?;
    // A rebase has made only these.
    if let Some(onto) = rewrite.onto.and_then(|onto| new.iter().position(|commit| *commit == onto)) {
        new.truncate(onto);
    }
    let (mut known, mut bare) = (BTreeSet::new(), Vec::new());
    for commit in new {
        let ids = log.of_commit(commit)?;
        // A commit that is linked already needs no more. One that only names records may lack some: git keeps a single message
        // when it squashes several commits. The first commits of a shallow clone have no parent to compare them with.
        let parent = repo.parent_and_time(commit)?.and_then(|(parent, _)| parent);
        if log.linked_to(commit)?.is_empty() && parent.map_or(Ok(true), |parent| repo.is_commit(parent))? {
            bare.push((commit, parent));
        }
        known.extend(ids);
    }
    let mut lost: BTreeMap<ObjectId, Vec<RecordId>> = BTreeMap::new();
    for commit in if bare.is_empty() { Vec::new() } else { left } {
        let mut ids = log.of_commit(commit)?;
        ids.retain(|id| !known.contains(id));
        if !ids.is_empty() {
            lost.insert(commit, ids);
        }
    }
    let mut links = Vec::new();
    for (old, new) in pairs(repo, lost.keys().copied(), bare.iter().map(|(commit, _)| *commit))? {
        links.extend(links_of(&log, old, new, How::Rebase)?);
    }
    let mut links = held(repo, links)?;
    known.extend(links.iter().map(|link| link.record));
    let mut compared = 0;
    for (old, ids) in &lost {
        for id in ids.iter().filter(|id| !known.contains(id)) {
            // A damaged record says nothing.
            let Some(record) = log.find(id).ok().flatten() else { continue };
            for (commit, parent) in &bare {
                context.check_interrupt()?;
                if records::is_older(repo, *commit, &record)? {
                    continue;
                }
                compared += 1;
                let least = if rewrite.onto.is_some() { Least::Any } else { Least::Half };
                if compared <= MOST_COMPARED && recorded::is_in(context, *parent, *commit, id, least)? {
                    let from = Some(*old);
                    links.extend(limited(
                        &log,
                        *old,
                        Link { record: *id, commit: *commit, from, how: How::Squash, only: Vec::new() },
                    )?);
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
            let found = repo.parent_and_time(commit)?;
            // It may be missing in a shallow clone.
            lines[at].extend(found.map(|_| commit));
            next[at] = found.and_then(|(parent, _)| parent);
        }
    }
    let is_all = next.iter().all(Option::is_none);
    let [left, new] = lines;
    Ok(if is_all { (left, new) } else { (Vec::new(), Vec::new()) })
}

/// Returns which of `new` replaces which of `left`, where stamps leave no doubt.
fn pairs(
    repo: &Repo,
    left: impl Iterator<Item = ObjectId>,
    new: impl Iterator<Item = ObjectId>,
) -> Result<Vec<(ObjectId, ObjectId)>> {
    let (left, new) = (by_stamp(repo, left)?, by_stamp(repo, new)?);
    let pair = |(stamp, old): (&Stamp, &Vec<ObjectId>)| match (&**old, new.get(stamp).map(Vec::as_slice)) {
        (&[old], Some(&[new])) => Some((old, new)),
        _ => None,
    };
    Ok(left.iter().filter_map(pair).collect())
}

fn by_stamp(repo: &Repo, commits: impl Iterator<Item = ObjectId>) -> Result<BTreeMap<Stamp, Vec<ObjectId>>> {
    let mut found: BTreeMap<Stamp, Vec<ObjectId>> = BTreeMap::new();
    for commit in commits {
        if let Some(stamp) = repo.stamp(commit)? {
            found.entry(stamp).or_default().push(commit);
        }
    }
    Ok(found)
}
