//! Finds the commits of records again after tools that run no hook.
//!
//! The surest sign comes first, and the next is only tried for records that it did not find: the trailer; the same tree on
//! a parent with the same tree; the same patch; the same blobs at the same paths. Last come commits without a record that make
//! the same change as one with a record, even if another ref still leads to that one.

use std::collections::{BTreeMap, HashSet};

use bstr::{BStr, BString, ByteSlice as _};
use gix::ObjectId;

use super::survey::{MOST_COMMITS, Survey, excluded};
use crate::{
    error::Result,
    git::Repo,
    model::record::{How, Link, Record, RecordId},
    ops::{
        Context,
        found_again::{Relinked, by_patch, by_tree},
        provenance::recorded::{files_in, is_in},
        records::{self, Additions, Log},
        share::Least,
    },
};

/// As many commits, the newest, have their patches or changes compared.
const MOST_PATCHES: usize = 20_000;

/// Looks for the commits of lost records.
type Search = fn(&Context, &Survey, &[&Record]) -> Result<Vec<Relinked>>;

/// Links what it finds, and says what that is.
pub(super) fn relink(context: &Context, survey: &Survey) -> Result<Vec<Relinked>> {
    let repo = &context.repo;
    let mut found = by_trailer(survey);
    let mut lost: Vec<&Record> = survey.lost.iter().filter_map(|id| survey.records.get(id)).collect();
    let searches: [Search; 3] = [
        |context, survey, lost| by_tree(&context.repo, &survey.reachable, lost),
        |context, _, lost| by_patch(&context.repo, &candidates(&context.repo, lost)?, lost),
        by_blob,
    ];
    for search in searches {
        lost.retain(|record| !found.iter().any(|relinked| relinked.record == record.id));
        context.check_interrupt()?;
        if !lost.is_empty() {
            for relinked in search(context, survey, &lost)? {
                // The same change may have been made before.
                let is_older = records::is_older(repo, relinked.commit, &survey.records[&relinked.record])?;
                found.extend((!is_older).then_some(relinked));
            }
        }
    }
    found.extend(by_change(context, survey, &found)?);
    let mut links = Vec::with_capacity(found.len());
    for relinked in &found {
        let from = survey.records.get(&relinked.record).map(|record| record.commit);
        let link = |only| Link { record: relinked.record, commit: relinked.commit, from, how: How::Relink, only };
        links.extend(only_of(context, relinked)?.map(link));
    }
    records::append(context, Additions { records: Vec::new(), links })?;
    Ok(found)
}

/// Returns the only files of the record whose work the commit has, empty: all; none if that is not known.
fn only_of(context: &Context, relinked: &Relinked) -> Result<Option<Vec<BString>>> {
    let Relinked { record, commit, by } = relinked;
    match (*by, Log::own(&context.repo)?) {
        ("trailer", Some(log)) => {
            let limit = log.limit(record, *commit)?;
            Ok((!limit.is_doubtful).then_some(limit.files))
        }
        ("blob", _) => {
            let parent = context.repo.parents_of(*commit)?.first().copied();
            files_in(context, parent, *commit, record, Least::Half)
        }
        _ => Ok(Some(Vec::new())),
    }
}

/// Commits that name a record but are not linked to it.
fn by_trailer(survey: &Survey) -> Vec<Relinked> {
    let is_new = |(commit, id): &&(ObjectId, RecordId)| {
        survey.links.get(id).is_some_and(|links| links.iter().all(|link| link.commit != *commit))
    };
    let relinked =
        |(commit, record): &(ObjectId, RecordId)| Relinked { record: *record, commit: *commit, by: "trailer" };
    survey.named.iter().filter(is_new).map(relinked).collect()
}

/// Returns the commits that touch the files of any of `lost`.
fn candidates(repo: &Repo, lost: &[&Record]) -> Result<Vec<ObjectId>> {
    let mut paths: Vec<&BStr> = lost.iter().flat_map(|record| &record.files).map(|file| file.path.as_bstr()).collect();
    paths.sort_unstable();
    paths.dedup();
    if paths.is_empty() {
        Ok(Vec::new())
    } else {
        repo.commits_touching(&paths, &[], &excluded(), MOST_PATCHES.min(MOST_COMMITS))
    }
}

/// The commit that has most of the files of a record as they were, if it has half of the agents' work in one of them.
fn by_blob(context: &Context, _: &Survey, lost: &[&Record]) -> Result<Vec<Relinked>> {
    let repo = &context.repo;
    let steps = repo.steps_of(&candidates(repo, lost)?)?;
    let mut found = Vec::new();
    for record in lost {
        let is_wanted = |path: &BStr, after: Option<ObjectId>| {
            let mut files = record.files.iter().filter(|file| !file.sessions.is_empty() && file.after.is_some());
            files.any(|file| file.path == path && file.after == after)
        };
        let mut matches: BTreeMap<usize, usize> = BTreeMap::new();
        let mut order: Vec<ObjectId> = Vec::new();
        for step in &steps {
            if order.last() != Some(&step.commit) {
                order.push(step.commit);
            }
            if is_wanted(step.path.as_bstr(), step.after) {
                *matches.entry(order.len() - 1).or_default() += 1;
            }
        }
        // The newest commits come first: of equals, the oldest brought the content in.
        let best = matches.into_iter().max_by_key(|(at, count)| (*count, *at));
        let Some(commit) = best.map(|(at, _)| order[at]) else { continue };
        let parent = repo.parents_of(commit)?.first().copied();
        // The first commits of a shallow clone have no parent to compare them with.
        let is_here = parent.map_or(Ok(true), |parent| repo.is_commit(parent))?;
        if is_here && is_in(context, parent, commit, &record.id, Least::Half)? {
            found.push(Relinked { record: record.id, commit, by: "blob" });
        }
    }
    Ok(found)
}

/// Commits without a record, not even in `found`, that change the same paths from and to the same blobs as a recorded one: a copy
/// of it whose original another ref still leads to.
fn by_change(context: &Context, survey: &Survey, found: &[Relinked]) -> Result<Vec<Relinked>> {
    let Some(log) = Log::own(&context.repo)? else { return Ok(Vec::new()) };
    let mut known: HashSet<ObjectId> = survey.links.values().flatten().map(|link| link.commit).collect();
    known.extend(survey.named.iter().map(|(commit, _)| *commit));
    known.extend(found.iter().map(|relinked| relinked.commit));
    let mut more = Vec::new();
    for commit in survey.reachable.iter().filter(|commit| !known.contains(&commit.id)).take(MOST_PATCHES) {
        context.check_interrupt()?;
        let ids = log.of_change(commit.id)?.copied.into_iter();
        more.extend(ids.map(|record| Relinked { record, commit: commit.id, by: "change" }));
    }
    Ok(more)
}
