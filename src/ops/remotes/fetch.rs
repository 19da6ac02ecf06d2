//! `fetch`: brings the records of a remote beside our own. Our own log stays as it is; commands that read see both.

use std::collections::{BTreeSet, HashSet};

use gix::ObjectId;
use serde::Serialize;

use super::{
    fetch_shared::{FetchedCheckpoint, RefusedCheckpoint, fetch_shared},
    join::join_trees,
    known::{Remote, to_fetch_from},
    shape::{LONGEST_LINE, beyond, check_log},
    to_fetch::note_asked,
    tracking::{Joining, set_damaged_aside},
};
use crate::{
    error::{Error, Kind, Result},
    git::{
        Repo,
        exact_address::ExactAddress,
        new_objects::{NewObjects, Target},
        received::{Basis, Kept, Received},
        refs::RefUpdate,
    },
    model::{
        id_text,
        log_place::Place,
        record::RecordId,
        refname::{self, HISTORY, tracking_ref},
    },
    ops::{Context, records::Log},
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
    /// Refs with what was fetched before that could not be read, and were set aside.
    pub(crate) damaged: Vec<String>,
}

/// A log of a remote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct FetchedRef {
    /// Its name there.
    #[serde(rename = "ref")]
    pub(crate) name: String,
    /// What follows it here.
    pub(crate) tracking: String,
    /// What that was before.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub(crate) old: Option<ObjectId>,
    /// What that is now.
    #[serde(serialize_with = "id_text::serialize")]
    pub(crate) new: ObjectId,
    /// True if the remote lacks some of what was here before, so that both were joined.
    pub(crate) joined: bool,
}

/// How often the remote is asked anew because what it has listed is no longer there.
const ATTEMPTS: usize = 4;

/// Fetches the logs of a remote, and what else is asked for.
pub(crate) fn fetch(context: &Context, options: &FetchOptions) -> Result<Fetched> {
    let remote = to_fetch_from(context, options.remote.as_deref())?;
    let mut fetched = fetch_logs(context, &remote, options)?;
    if options.checkpoints {
        (fetched.checkpoints, fetched.refused) = fetch_shared(context, &remote, options.dry_run)?;
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
    let mut refs = Vec::new();
    for (name, new) in listed {
        let tracking = tracking_ref(&remote.name, name);
        let old = repo.find_sound_ref(&tracking)?;
        refs.push(FetchedRef { name: name.clone(), tracking, old, new: *new, joined: false });
    }
    let moved = |it: &&FetchedRef| it.old != Some(it.new);
    let new: Vec<_> = refs.iter().filter(moved).map(|it| (it.name.clone(), it.new)).collect();
    let _kept = bring(repo, remote, None, &new)?;
    let (mut joins, mut damaged) = (Vec::new(), Vec::new());
    for it in refs.iter_mut().filter(|it| it.old != Some(it.new)) {
        let place = Place::of_ref(&it.name).expect("only logs are listed");
        if let Some(own) = repo.find_sound_ref(&it.name)? {
            let mut objects = NewObjects::new(repo, Target::Memory);
            let trees = (repo.tree_of_commit(own)?, repo.tree_of_commit(it.new)?);
            join_trees(repo, place, trees.0, trees.1, &mut objects)?.1.refuse_rewritten(&remote.name, &it.name)?;
        }
        let mut join = Joining::new(repo, place, Some(it.new));
        if !join.add_tracked(it.old)? {
            damaged.push(it.tracking.clone());
        }
        join.differences.refuse_rewritten(&remote.name, &it.name)?;
        let tip = join.tip.unwrap_or(it.new);
        it.joined = tip != it.new;
        it.new = tip;
        joins.push(join);
    }
    let mut new_records = 0;
    if let Some(history) = refs.iter().filter(moved).find(|it| it.name == HISTORY) {
        let before = match record_ids(repo, history.old) {
            // Only without `dry_run` is it set aside.
            Err(error) if error.kind() == Kind::Corrupt => BTreeSet::new(),
            before => before?,
        };
        let (after, own) = (record_ids(repo, [history.new])?, record_ids(repo, repo.find_sound_ref(HISTORY)?)?);
        new_records = after.iter().filter(|id| !before.contains(id) && !own.contains(id)).count();
    }
    let updates: Vec<RefUpdate> = refs
        .iter()
        .filter(moved)
        .map(|it| RefUpdate { name: it.tracking.clone(), old: it.old, new: Some(it.new) })
        .collect();
    if !dry_run && !updates.is_empty() {
        repo.update_refs(&updates)?;
        joins.into_iter().try_for_each(Joining::release)?;
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
    let fetched = repo.refs_below(refname::FETCHED)?;
    // Whatever name git has for the remote: the logs of one project have most in common.
    let known = |name: &str| -> Result<Vec<ObjectId>> {
        let tracked = fetched.iter().filter(|(tracking, _)| is_tracking(tracking, name)).map(|(_, id)| *id);
        let ids: BTreeSet<ObjectId> = repo.find_sound_ref(name)?.into_iter().chain(tracked).collect();
        Ok(ids.into_iter().filter(|id| is_readable(repo, *id)).collect())
    };
    let logs = wanted.iter().map(|(name, id)| Ok(Wanted { name, id: *id, known: known(name)? }));
    let logs = logs.collect::<Result<Vec<Wanted<'_>>>>()?;
    let missing: Vec<&Wanted<'_>> = logs.iter().filter(|log| !log.is_known(repo)).collect();
    let ids: Vec<ObjectId> = missing.iter().map(|log| log.id).collect();
    let fetch = |basis: Basis<'_>| match address {
        _ if ids.is_empty() => Ok(Received::default()),
        Some(address) => address.fetch(repo, &ids, basis),
        None => repo.fetch_ids(&remote.name, &ids, basis),
    };
    for log in logs.iter().filter(|log| !ids.contains(&log.id)) {
        log.check(repo, &log.known, &mut |_| {}).map_err(|error| log.refused(remote, error))?;
    }
    let mut borrowed = HashSet::new();
    if !ids.iter().any(|id| repo.has_object(*id)) {
        let mut tips: Vec<ObjectId> = missing.iter().flat_map(|log| log.known.iter().copied()).collect();
        tips.sort_unstable();
        tips.dedup();
        let received = fetch(Basis::Ours(&tips))?;
        let beside = received.beside(repo)?;
        let mut check = |log: &&Wanted<'_>| log.borrowed(repo, beside.as_ref().unwrap_or(repo), &mut borrowed);
        match missing.iter().try_for_each(|log| check(log).map_err(|error| log.refused(remote, error))) {
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
            log.check(&seen, &[], &mut |_| {}).map_err(|error| log.refused(remote, error))?;
        }
    }
    received.adopt(repo)
}

/// A log of a remote that is to be here.
struct Wanted<'a> {
    name: &'a str,
    id: ObjectId,
    /// The logs of the same name that are here.
    known: Vec<ObjectId>,
}

impl Wanted<'_> {
    /// Returns true if a log that is here leads to it.
    fn is_known(&self, repo: &Repo) -> bool {
        repo.has_object(self.id) && self.known.iter().any(|known| repo.leads_to(*known, self.id))
    }

    /// Checks what of the log in `seen` is in none of `known`; calls `each` for it.
    fn check(&self, seen: &Repo, known: &[ObjectId], each: &mut dyn FnMut(ObjectId)) -> Result<()> {
        if known.contains(&self.id) {
            return Ok(());
        }
        if !seen.is_commit(self.id)? {
            return Err(Error::refused(format!("'{}' is no commit", self.id)));
        }
        let place = Place::of_ref(self.name).expect("only logs are wanted");
        check_log(seen, place, self.id, known, each)
    }

    /// Checks the log in `seen`, which has what has arrived and the objects of `repo`. Adds to `borrowed` what it needs of these that is
    /// in no log that is known.
    fn borrowed(&self, repo: &Repo, seen: &Repo, borrowed: &mut HashSet<ObjectId>) -> Result<()> {
        let mut ours = HashSet::new();
        let mut note = |id| ours.extend(Some(id).filter(|id| repo.had_object(*id)));
        self.check(seen, &self.known, &mut note).or_else(|error| match error.kind() {
            // What was fetched from another remote may be damaged: then the whole log is looked at.
            Kind::Corrupt | Kind::Internal if !self.known.is_empty() => self.check(seen, &[], &mut note),
            _ => Err(error),
        })?;
        borrowed.extend(beyond(repo, &self.known, LONGEST_LINE, ours)?);
        Ok(())
    }

    fn refused(&self, remote: &Remote, error: Error) -> Error {
        let message = format!("'{}' of '{}' is refused: {}", self.name, remote.name, error.message());
        error.with_message(message)
    }
}

/// Returns true if `id` is a commit whose tree is here.
fn is_readable(repo: &Repo, id: ObjectId) -> bool {
    repo.is_commit(id).unwrap_or(false) && repo.tree_of_commit(id).is_ok_and(|tree| repo.has_object(tree))
}

/// Returns true if the ref `tracking` follows the log `name` of some remote.
fn is_tracking(tracking: &str, name: &str) -> bool {
    let log = tracking.strip_prefix(refname::FETCHED).and_then(|rest| rest.split_once('/'));
    log.is_some_and(|(_, log)| Some(log) == name.strip_prefix(refname::PREFIX))
}

/// Returns the ids of all records in the logs that end with `tips`.
pub(super) fn record_ids(repo: &Repo, tips: impl IntoIterator<Item = ObjectId>) -> Result<BTreeSet<RecordId>> {
    let mut ids = BTreeSet::new();
    for tip in tips {
        ids.extend(Log::at(repo, repo.tree_of_commit(tip)?).all()?);
    }
    Ok(ids)
}
