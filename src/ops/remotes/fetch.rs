//! `fetch`: brings the records of a remote beside our own. Our own log stays as it is; commands that read see both.

use std::collections::HashSet;

use gix::ObjectId;
use serde::Serialize;

use super::{
    fetch_notes::FetchedNote,
    fetch_shared::{FetchedCheckpoint, RefusedCheckpoint, fetch_shared},
    fetch_tags::FetchedTag,
    follow::{FetchedRef, following, join_followed, updates},
    known::{Remote, to_fetch_from},
    to_fetch::note_asked,
    tracking::set_damaged_aside,
    wanted::Wanted,
};
use crate::{
    error::{Error, Kind, Result},
    git::{
        Repo,
        exact_address::ExactAddress,
        received::{Basis, Kept, Received},
    },
    model::{
        log_place::Place,
        refname::{self, HISTORY},
    },
    ops::Context,
};

/// What to fetch.
#[derive(Clone, Debug, Default)]
pub(crate) struct FetchOptions {
    /// The name of a configured remote.
    pub(crate) remote: Option<String>,
    /// Transcripts, too.
    pub(crate) transcripts: bool,
    /// Checkpoints that others have shared, too.
    pub(crate) checkpoints: bool,
    /// Move no ref.
    pub(crate) dry_run: bool,
}

/// What was fetched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Fetched {
    version: u32,
    pub(crate) remote: String,
    pub(crate) dry_run: bool,
    /// The logs that the remote has.
    pub(crate) refs: Vec<FetchedRef>,
    /// How many records are here that were not before.
    pub(crate) new_records: usize,
    /// The checkpoints that were fetched.
    pub(crate) checkpoints: Vec<FetchedCheckpoint>,
    /// The checkpoints that were not.
    pub(crate) refused: Vec<RefusedCheckpoint>,
    /// The tags of shared checkpoints that are new here, lead to something else, or are gone.
    pub(crate) tags: Vec<FetchedTag>,
    /// The notes of shared checkpoints that are new here, have another text, are gone, or refused.
    pub(crate) notes: Vec<FetchedNote>,
    /// Refs with what was fetched before that could not be read, and were set aside.
    pub(crate) damaged: Vec<String>,
}

/// How often the remote is asked anew because what it has listed is no longer there.
const ATTEMPTS: usize = 4;

/// Fetches the logs of a remote, and what else is asked for.
pub(crate) fn fetch(context: &Context, options: &FetchOptions) -> Result<Fetched> {
    let remote = to_fetch_from(context, options.remote.as_deref())?;
    let mut fetched = fetch_logs(context, &remote, options)?;
    if options.checkpoints {
        let shared = fetch_shared(context, &remote, options.dry_run)?;
        let (checkpoints, refused, tags, notes) = (shared.checkpoints, shared.refused, shared.tags, shared.notes);
        fetched = Fetched { checkpoints, refused, tags, notes, ..fetched };
    }
    Ok(fetched)
}

fn fetch_logs(context: &Context, remote: &Remote, options: &FetchOptions) -> Result<Fetched> {
    let mut damaged = Vec::new();
    if !options.dry_run {
        damaged = set_damaged_aside(&context.repo, &remote.name)?;
    }
    let mut listed = list(&context.repo, remote, None, options.transcripts)?;
    for _ in 1..ATTEMPTS {
        match fetch_listed(context, remote, &listed, options.dry_run) {
            // Servers of the older protocol give only what they list at that moment, and a push may have come between.
            Err(error) => {
                let now = list(&context.repo, remote, None, options.transcripts)?;
                if now == listed {
                    return Err(error);
                }
                listed = now;
            }
            Ok(fetched) => return Ok(with_damaged(fetched, damaged)),
        }
    }
    Ok(with_damaged(fetch_listed(context, remote, &listed, options.dry_run)?, damaged))
}

fn with_damaged(mut fetched: Fetched, mut damaged: Vec<String>) -> Fetched {
    damaged.append(&mut fetched.damaged);
    Fetched { damaged, ..fetched }
}

/// Returns true if `name` is that of a log, a full name.
pub(crate) fn is_log(name: &str) -> bool {
    Place::of_ref(name).is_some()
}

/// Returns the logs that `remote` has, or one of its addresses, transcripts first.
///
/// # Errors
/// If its objects have ids of another kind.
pub(crate) fn list(
    repo: &Repo,
    remote: &Remote,
    address: Option<&ExactAddress>,
    transcripts: bool,
) -> Result<Vec<(String, ObjectId)>> {
    let mut listed = match address {
        Some(address) => address.list(repo, refname::PREFIX)?,
        None => repo.list_remote(&remote.name, refname::PREFIX)?,
    };
    listed.retain(|(name, _)| Place::of_ref(name).is_some() && (transcripts || name == HISTORY));
    listed.sort_by_key(|(name, _)| (name == HISTORY, name.clone()));
    if let Some((_, id)) = listed.iter().find(|(_, id)| id.kind() != repo.object_hash()) {
        return Err(Error::user(format!(
            "the objects of '{}' have ids of {}, and those of this repository of {}: they cannot be exchanged",
            remote.name,
            id.kind(),
            repo.object_hash()
        )));
    }
    Ok(listed)
}

/// Fetches `listed` logs of `remote`, checks them, and lets our refs follow them. What these have already stays, whatever the remote has
/// lost. Our own log does not change.
///
/// # Errors
/// [`Kind::Refused`] if a log is none of ours, or if it would bring back what was purged here.
pub(super) fn fetch_listed(
    context: &Context,
    remote: &Remote,
    listed: &[(String, ObjectId)],
    dry_run: bool,
) -> Result<Fetched> {
    let repo = &context.repo;
    let mut refs = following(repo, &remote.name, listed)?;
    let new: Vec<_> = refs.iter().filter(|it| it.is_moved()).map(|it| (it.name.clone(), it.new)).collect();
    let _kept = bring(repo, remote, None, &new)?;
    let followed = join_followed(repo, repo, &remote.name, &mut refs)?;
    let (new_records, damaged) = (followed.new_records, followed.damaged.clone());
    let updates = updates(&refs);
    if !dry_run && !updates.is_empty() {
        repo.update_refs(&updates)?;
        followed.release()?;
    }
    if !dry_run {
        note_asked(context)?;
    }
    Ok(Fetched {
        version: 1,
        remote: remote.name.clone(),
        dry_run,
        refs,
        new_records,
        checkpoints: Vec::new(),
        refused: Vec::new(),
        tags: Vec::new(),
        notes: Vec::new(),
        damaged,
    })
}

/// Makes sure that the logs `wanted` of `remote`, or of one of its addresses, are here as a whole and are of our format. No ref
/// moves: git keeps them while the result exists. What is refused does not become part of the repository.
///
/// What is here, and in no log that we know, does not count: the other side must have sent it. Else it could name objects of ours that
/// were sent nowhere, such as a file of the user whose id is in a record, and we would send them to it as parts of its own log.
pub(crate) fn bring(
    repo: &Repo,
    remote: &Remote,
    address: Option<&ExactAddress>,
    wanted: &[(String, ObjectId)],
) -> Result<Kept> {
    let logs = Wanted::all(repo, wanted)?;
    let missing: Vec<&Wanted<'_>> = logs.iter().filter(|log| !log.is_known(repo)).collect();
    let ids: Vec<ObjectId> = missing.iter().map(|log| log.id).collect();
    let fetch = |basis: Basis<'_>| match address {
        _ if ids.is_empty() => Ok(Received::default()),
        Some(address) => address.fetch(repo, &ids, basis),
        None => repo.fetch_ids(&remote.name, &ids, basis),
    };
    for log in logs.iter().filter(|log| !ids.contains(&log.id)) {
        log.check(repo, &log.known, &mut |_| {}).map_err(|error| log.refused(&remote.name, error))?;
    }
    let mut borrowed = HashSet::new();
    if !ids.iter().any(|id| repo.has_object(*id)) {
        let mut tips: Vec<ObjectId> = missing.iter().flat_map(|log| log.known.iter().copied()).collect();
        tips.sort_unstable();
        tips.dedup();
        let received = fetch(Basis::Ours(&tips))?;
        let beside = received.beside(repo)?;
        let mut check = |log: &&Wanted<'_>| log.borrowed(repo, beside.as_ref().unwrap_or(repo), &mut borrowed);
        match missing.iter().try_for_each(|log| check(log).map_err(|error| log.refused(&remote.name, error))) {
            Ok(()) if borrowed.is_empty() => return received.adopt(repo),
            Err(error) if !matches!(error.kind(), Kind::Corrupt | Kind::Internal) => return Err(error),
            // It may have been fetched before under another name, or what is here may be damaged.
            Ok(()) | Err(_) => {}
        }
    }
    let received = fetch(Basis::Nothing).map_err(|error| {
        let is_named = |id: &&ObjectId| error.causes().iter().any(|cause| cause.contains(&id.to_string()));
        let Some(id) = borrowed.iter().find(is_named) else { return error };
        let name = &remote.name;
        Error::refused(format!("a log of '{name}' is refused: it needs '{id}', which '{name}' has not sent"))
            .with_cause(error)
    })?;
    if let Some(seen) = received.beside(repo)? {
        for log in &missing {
            log.check(&seen, &[], &mut |_| {}).map_err(|error| log.refused(&remote.name, error))?;
        }
    }
    received.adopt(repo)
}
