//! `ci relink`: writes the records of commits that a forge has made of others, by its buttons for a squash or a rebase: no hook of ours
//! has run there, and the commits that they were made of are gone soon.
//!
//! Each record is in our own log, so that `push` sends it; it is of the commit alone. Records of others stay as they are: our own log
//! links only its own.

use std::collections::BTreeSet;

use gix::ObjectId;
use serde::Serialize;

use crate::{
    error::{Error, Result},
    git::revision::Reachable,
    model::{
        id_text,
        record::{How, Link, Parts, Record, RecordId},
    },
    ops::{
        Context,
        attribution::Reader,
        records::{self, Additions, Log},
        shallow::whole_range,
        sources::{Search, Source, without_merges},
        whole::{is_needed, record_of, with_patch_ids, work_of},
    },
};

/// Which commits to look at.
#[derive(Clone, Debug, Default)]
pub(crate) struct RelinkOptions {
    /// A range, as git takes it.
    pub(crate) range: String,
    /// The last of the commits that the forge has merged, if it is known.
    pub(crate) merged: Option<ObjectId>,
    /// Write nothing.
    pub(crate) dry_run: bool,
}

/// What `ci relink --json` prints.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Relinked {
    version: u32,
    pub(crate) range: String,
    pub(crate) dry_run: bool,
    /// The commits, newest first, without merges.
    pub(crate) commits: Vec<OfCommit>,
}

/// What is known of a commit now.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct OfCommit {
    #[serde(serialize_with = "id_text::serialize")]
    pub(crate) commit: ObjectId,
    pub(crate) state: State,
    /// The record that was made for it.
    pub(crate) record: Option<RecordId>,
    /// The records of the commits that it was made from.
    pub(crate) sources: Vec<Found>,
    /// Those of them whose content is not here.
    pub(crate) lacking: Vec<RecordId>,
}

/// A record, and by what it was found.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Found {
    pub(crate) record: RecordId,
    pub(crate) by: &'static str,
}

/// Whether a commit has a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum State {
    /// It has one of its own.
    Recorded,
    /// Its trailers or links name records of which it has the content.
    Found,
    /// Its record was written.
    Written,
    /// It was made of commits with records, and their content is not here.
    Incomplete,
    /// No record was found.
    None,
}

/// Writes the records of the commits of a range that were made of others.
pub(crate) fn relink(context: &Context, options: &RelinkOptions) -> Result<Relinked> {
    let repo = &context.repo;
    let ids = whole_range(repo, &options.range)?;
    let ids = ids.ok_or_else(|| Error::user(format!("no commit matches '{}'", options.range)))?;
    let mut relinked = Relinked {
        version: 1,
        range: options.range.clone(),
        dry_run: options.dry_run,
        commits: Vec::with_capacity(ids.len()),
    };
    let Some(log) = Log::open(repo)? else {
        return Err(Error::user("there are no records in this repository")
            .with_hint("'git checkpoint fetch' gets the records of 'origin'; a clone does not have them"));
    };
    let commits = without_merges(repo, &ids)?;
    let search = Search::new(context, &log, &commits, options.merged)?;
    let mut reader = Reader::new(context)?;
    let mut additions = Additions::default();
    for commit in &commits {
        context.check_interrupt()?;
        let found = one(context, &log, &search, &mut reader, commit, &mut additions)?;
        relinked.commits.push(found);
    }
    if !options.dry_run && !additions.records.is_empty() {
        with_patch_ids(repo, &mut additions.records)?;
        records::append(context, additions)?;
    }
    Ok(relinked)
}

fn one(
    context: &Context,
    log: &Log<'_>,
    search: &Search<'_>,
    reader: &mut Reader<'_>,
    commit: &Reachable,
    additions: &mut Additions,
) -> Result<OfCommit> {
    let repo = &context.repo;
    let state = |state, record, sources: &[Source], lacking| {
        let sources = sources.iter().map(|it| Found { record: it.record, by: it.by }).collect();
        Ok(OfCommit { commit: commit.id, state, record, sources, lacking })
    };
    for id in log.of_commit(commit.id)? {
        if log.find(&id).ok().flatten().is_some_and(|record| record.commit == commit.id) {
            return state(State::Recorded, Some(id), &[], Vec::new());
        }
    }
    let sources = search.of(commit)?;
    if sources.is_empty() {
        return state(State::None, None, &[], Vec::new());
    }
    let ids: Vec<RecordId> = sources.iter().map(|it| it.record).collect();
    let only = sources.iter().filter(|it| !it.only.is_empty());
    let parts: Parts = only.map(|it| (it.record, it.only.clone())).collect();
    let mut work = work_of(log, &ids)?;
    work.retain(|(id, path, _)| parts.get(id).is_none_or(|files| files.contains(path)));
    let lacking: BTreeSet<RecordId> =
        work.iter().filter(|(.., blob)| !repo.has_object(*blob)).map(|(id, ..)| *id).collect();
    if !lacking.is_empty() {
        return state(State::Incomplete, None, &sources, lacking.into_iter().collect());
    }
    let is_named = |source: &Source| matches!(source.by, "trailer" | "link");
    let known: Vec<Record> = ids.iter().filter_map(|id| log.find(id).ok().flatten()).collect();
    if sources.iter().all(is_named) && !is_needed(repo, commit.id, &known)? {
        return state(State::Found, None, &sources, Vec::new());
    }
    reader.add_records(commit.id, ids, parts);
    let found = reader.commit(commit.id, &mut |_| true)?;
    if !found.missing.is_empty() {
        return state(State::Incomplete, None, &sources, found.missing);
    }
    let new = record_of(repo, log, &found, &reader.authors.list)?;
    let id = new.record.id;
    additions.records.push(new);
    // Those of others are left out.
    additions.links.extend(sources.iter().filter(|source| !is_named(source)).map(|source| Link {
        record: source.record,
        commit: commit.id,
        from: log.find(&source.record).ok().flatten().map(|record| record.commit),
        how: How::Relink,
        only: source.only.clone(),
    }));
    state(State::Written, Some(id), &sources, Vec::new())
}
