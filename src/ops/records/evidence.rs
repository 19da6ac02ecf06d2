//! Who wrote the lines of a commit that is rewritten here, also if another clone recorded it: see the rule in [`log`](super::log).

use gix::ObjectId;

use super::log::Log;
use crate::{
    error::Result,
    git::Repo,
    model::record::{Record, RecordId},
};

/// Returns the records of exactly `commit`, which git rewrites, copies, squashes or removes here: those that its message names, and
/// those that are linked to it.
///
/// Of a commit that HEAD's reflog says was made here, our own log knows the records. A record of others that names it says nothing,
/// unless the message of the commit names the record.
pub(crate) fn of_commit(repo: &Repo, commit: ObjectId) -> Result<Vec<RecordId>> {
    let Some(log) = Log::open(repo)? else { return Ok(Vec::new()) };
    let mut ids = log.of_commit(commit)?;
    if ids.is_empty() || !log.is_with_fetched() || !repo.was_made_here(commit) {
        return Ok(ids);
    }
    let mut known = log.named_by(commit)?;
    known.extend(super::of_commit(repo, commit)?);
    ids.retain(|id| known.contains(id));
    Ok(ids)
}

/// Returns those of the records that [`of_commit`] returns that our own log does not have: it can have no link to them.
pub(crate) fn of_others(repo: &Repo, commit: ObjectId) -> Result<Vec<RecordId>> {
    let mut ids = of_commit(repo, commit)?;
    if !ids.is_empty()
        && let Some(own) = Log::own(repo)?
    {
        let mut others = Vec::with_capacity(ids.len());
        for id in ids {
            others.extend((!own.has(&id)?).then_some(id));
        }
        ids = others;
    }
    Ok(ids)
}

/// Returns the records for the trailers of a copy of `commit`: those that its message names, and those of others that have it. Our
/// own log will link the copy to our own records.
pub(crate) fn of_copied(repo: &Repo, commit: ObjectId) -> Result<Vec<RecordId>> {
    let mut ids = named_by(repo, commit)?;
    let others = of_others(repo, commit)?.into_iter();
    ids.extend(others.filter(|id| !ids.contains(id)).collect::<Vec<_>>());
    Ok(ids)
}

/// Returns those of `ids` that are for the trailers of a commit whose message names `named`: not our own whole records. The records that
/// these were made from have trailers, and our own log will link the commit to all of them.
pub(crate) fn without_own_whole(repo: &Repo, ids: Vec<RecordId>, named: &[RecordId]) -> Result<Vec<RecordId>> {
    let Some(own) = Log::own(repo)? else { return Ok(ids) };
    // A damaged record is no reason to refuse a commit.
    let is_whole = |id: &RecordId| own.find(id).ok().flatten().is_some_and(|record| record.is_whole);
    let (kept, whole): (Vec<_>, Vec<_>) = ids.into_iter().partition(|id| named.contains(id) || !is_whole(id));
    Ok(if kept.is_empty() { whole } else { kept })
}

/// Returns the records that the message of `commit` names.
pub(crate) fn named_by(repo: &Repo, commit: ObjectId) -> Result<Vec<RecordId>> {
    match Log::open(repo)? {
        Some(log) => log.named_by(commit),
        None => Ok(Vec::new()),
    }
}

/// Returns the record `id`, which our own log or [`of_commit`] has named; our own version comes first.
///
/// # Errors
/// If the stored record is damaged, or of an unknown version.
pub(crate) fn find(repo: &Repo, id: &RecordId) -> Result<Option<Record>> {
    match Log::open(repo)? {
        Some(log) => log.find(id),
        None => Ok(None),
    }
}

/// Returns the attribution of the record `id` as it is stored, from the log where [`find`] finds the record.
pub(crate) fn attribution(repo: &Repo, id: &RecordId) -> Result<Option<Vec<u8>>> {
    match Log::open(repo)? {
        Some(log) => log.attribution(id),
        None => Ok(None),
    }
}
