//! Finds the commits that git has rewritten in this clone, and writes the whole records that others need to read them.
//!
//! What counts is our own log: nothing that was fetched decides, or is sent as if it were ours. Each commit is looked at once, when its
//! link is new in the log. Those that no branch leads to have to wait, for a reset may bring them back; so have those of which not all is
//! here.

use std::collections::{BTreeSet, HashSet};

use gix::ObjectId;

use super::written::{is_needed, record_of, with_patch_ids, work_of};
use crate::{
    error::{Kind, Result},
    model::{
        record::{How, Record, ids_in_message},
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

/// Whether others know who wrote the lines of a commit.
enum Completion {
    /// They need no whole record, or it is not ours to write.
    NotNeeded,
    /// They need this record.
    Record(Box<NewRecord>),
    /// They need one, and not all that it takes is here.
    NotPossible,
}

/// Writes whole records for the commits that were linked to records of other commits since we last looked, if others need them. Returns
/// how many commits lack one because not all that it takes is here: the next call looks at them again.
///
/// # Errors
/// If the log cannot be read or written.
pub(crate) fn complete_rewritten(context: &Context) -> Result<usize> {
    let repo = &context.repo;
    let (Some(tip), Some(own)) = (repo.find_sound_ref(refname::HISTORY)?, Log::own(repo)?) else { return Ok(0) };
    let known = state::read(repo.common_dir())?;
    let is_new = known.log != Some(tip);
    if !is_new && known.waiting.is_empty() {
        return Ok(0);
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
    let mut incomplete = Vec::new();
    for commits in reachable.chunks(AT_ONCE) {
        incomplete.extend(complete(context, &own, commits)?);
    }
    let reachable: HashSet<ObjectId> = reachable.into_iter().collect();
    let unreachable = here.into_iter().filter(|commit| !reachable.contains(commit));
    let now = Rewritten { log: Some(tip), waiting: unreachable.chain(incomplete.iter().copied()).collect() };
    if now != known {
        state::write(repo.common_dir(), &now)?;
    }
    Ok(incomplete.len())
}

/// Returns the commits that `own` links to records of other commits, and did not when the log was at `since`.
fn rewritten_since(context: &Context, own: &Log<'_>, since: Option<ObjectId>) -> Result<BTreeSet<ObjectId>> {
    let mut found = BTreeSet::new();
    for (record, commit) in own.links_since(since)? {
        context.check_interrupt()?;
        // A damaged link says nothing.
        if own.own_link(&record, commit).ok().flatten().is_some_and(|link| link.how != How::Commit) {
            found.insert(commit);
        }
    }
    Ok(found)
}

/// Writes the whole records of `commits`. Returns the commits of which not all is here.
fn complete(context: &Context, own: &Log<'_>, commits: &[ObjectId]) -> Result<Vec<ObjectId>> {
    let repo = &context.repo;
    let mut reader = Reader::of_own_log(repo)?;
    reader.foresee(commits);
    let (mut new, mut incomplete) = (Vec::new(), Vec::new());
    for commit in commits {
        context.check_interrupt()?;
        match of_commit(context, own, &mut reader, *commit) {
            Ok(Completion::NotNeeded) => {}
            Ok(Completion::Record(record)) => new.push(*record),
            Ok(Completion::NotPossible) => incomplete.push(*commit),
            Err(error) if error.kind() == Kind::Corrupt => {
                tracing::warn!(%commit, %error, "no whole record");
                incomplete.push(*commit);
            }
            Err(error) => return Err(error),
        }
    }
    if !new.is_empty() {
        with_patch_ids(repo, &mut new)?;
        records::append(context, Additions { records: new, links: Vec::new() })?;
    }
    Ok(incomplete)
}

fn of_commit(context: &Context, own: &Log<'_>, reader: &mut Reader<'_>, commit: ObjectId) -> Result<Completion> {
    let repo = &context.repo;
    let mut ids = ids_in_message(repo.message_of(commit)?.as_bytes());
    ids.extend(own.linked_to(commit)?);
    let mut records: Vec<Record> = Vec::with_capacity(ids.len());
    for id in &ids {
        // What others have recorded is not ours to say, and may be for the remote alone that it was fetched from.
        let Some(record) = own.find(id)? else { return Ok(Completion::NotNeeded) };
        records.push(record);
    }
    for parent in repo.written_parents_of(commit)? {
        // A shallow clone begins here.
        if !repo.has_object(parent) {
            return Ok(Completion::NotPossible);
        }
    }
    if !is_needed(repo, commit, &records)? {
        return Ok(Completion::NotNeeded);
    }
    for (id, path, blob) in work_of(own, &ids)? {
        let only = own.limit(&id, commit)?.certain();
        if !repo.has_object(blob) && (only.is_empty() || only.contains(&path)) {
            return Ok(Completion::NotPossible);
        }
    }
    let found = reader.commit(commit, &mut |_| true)?;
    if !found.missing.is_empty() {
        return Ok(Completion::NotPossible);
    }
    // Another clone may have written the first record of that name.
    let all = Log::open(repo)?;
    let new = record_of(repo, all.as_ref().unwrap_or(own), &found, &reader.authors.list)?;
    Ok(Completion::Record(Box::new(new)))
}
