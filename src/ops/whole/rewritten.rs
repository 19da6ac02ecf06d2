//! Finds the commits that git has rewritten in this clone, and writes the whole records that others need to read them.
//!
//! What counts is our own log, and the trailers of the commits: nothing that was fetched decides. Each commit is looked at once, when its
//! link is new in the log; those that no branch leads to have to wait, for a reset may bring them back.

use std::collections::{BTreeSet, HashSet};

use gix::ObjectId;

use super::written::{is_needed, record_of, with_patch_ids, work_of};
use crate::{
    error::{Kind, Result},
    model::{
        record::{How, Record, RecordId},
        refname,
    },
    ops::{
        Context,
        attribution::Reader,
        records::{self, Additions, Log, NewRecord},
    },
    state::rewritten::{self as state, Rewritten},
};

/// How many commits are prepared for, and written, at once.
const AT_ONCE: usize = 200;

/// Writes whole records for the commits that were linked to records of other commits since we last looked, if others need them.
///
/// # Errors
/// If the log cannot be read or written. A commit that cannot be read is left out.
pub(crate) fn complete_rewritten(context: &Context) -> Result<()> {
    let repo = &context.repo;
    let (Some(tip), Some(own)) = (repo.find_sound_ref(refname::HISTORY)?, Log::own(repo)?) else { return Ok(()) };
    let known = state::read(repo.common_dir())?;
    let is_new = known.log != Some(tip);
    if !is_new && known.waiting.is_empty() {
        return Ok(());
    }
    let mut candidates = known.waiting.clone();
    if is_new {
        candidates.extend(rewritten_since(context, &own, known.log)?);
    }
    let mut here = Vec::with_capacity(candidates.len());
    for commit in candidates {
        here.extend(repo.is_commit(commit)?.then_some(commit));
    }
    let reachable = repo.reachable_of(&here)?;
    for commits in reachable.chunks(AT_ONCE) {
        complete(context, &own, commits)?;
    }
    let reachable: HashSet<ObjectId> = reachable.into_iter().collect();
    let waiting = here.into_iter().filter(|commit| !reachable.contains(commit)).collect();
    let now = Rewritten { log: Some(tip), waiting };
    if now == known { Ok(()) } else { state::write(repo.common_dir(), &now) }
}

/// Returns the commits that `own` links to records of other commits, and did not when the log was at `since`.
fn rewritten_since(context: &Context, own: &Log<'_>, since: Option<ObjectId>) -> Result<BTreeSet<ObjectId>> {
    let mut found = BTreeSet::new();
    for (record, commit) in own.links_since(since)? {
        context.check_interrupt()?;
        // A damaged link says nothing.
        if own.link(&record, commit).ok().flatten().is_some_and(|link| link.how != How::Commit) {
            found.insert(commit);
        }
    }
    Ok(found)
}

fn complete(context: &Context, own: &Log<'_>, commits: &[ObjectId]) -> Result<()> {
    let repo = &context.repo;
    let Some(all) = Log::open(repo)? else { return Ok(()) };
    let mut reader = Reader::of_own_links(repo)?;
    reader.foresee(commits);
    let mut new = Vec::new();
    for commit in commits {
        context.check_interrupt()?;
        match of_commit(context, own, &all, &mut reader, *commit) {
            Ok(record) => new.extend(record),
            Err(error) if error.kind() == Kind::Corrupt => tracing::warn!(%commit, %error, "no whole record"),
            Err(error) => return Err(error),
        }
    }
    if new.is_empty() {
        return Ok(());
    }
    with_patch_ids(repo, &mut new)?;
    records::append(context, Additions { records: new, links: Vec::new() })
}

/// Returns the whole record of `commit`; none if others do not need it, or if not all that it takes is here.
fn of_commit(
    context: &Context,
    own: &Log<'_>,
    all: &Log<'_>,
    reader: &mut Reader<'_>,
    commit: ObjectId,
) -> Result<Option<NewRecord>> {
    let repo = &context.repo;
    for parent in repo.written_parents_of(commit)? {
        // A shallow clone begins here.
        if !repo.has_object(parent) {
            return Ok(None);
        }
    }
    let mut ids: Vec<RecordId> = all.named_by(commit)?;
    ids.extend(own.linked_to(commit)?);
    let records: Vec<Record> = ids.iter().filter_map(|id| all.find(id).transpose()).collect::<Result<_>>()?;
    if !is_needed(repo, commit, &records)? || !work_of(all, &ids)?.iter().all(|(.., blob)| repo.has_object(*blob)) {
        return Ok(None);
    }
    let found = reader.commit(commit, &mut |_| true)?;
    if !found.missing.is_empty() {
        return Ok(None);
    }
    record_of(repo, all, &found, &reader.authors.list).map(Some)
}
