//! Records that commits name, and that a remote may have: known from what is here, without asking the remote.

use std::collections::BTreeSet;

use gix::ObjectId;
use serde::Serialize;

use super::known::{Approval, to_fetch_from};
use crate::{
    error::{Kind, Result},
    model::record::{RecordId, ids_in_message},
    ops::{Context, records::Log},
    state::not_there,
};

/// How many commits of HEAD, the newest ones, are looked at: `status` has to be fast.
const NEWEST: usize = 1_000;

/// Records that are not here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ToFetch {
    /// How many of the newest commits of HEAD name them.
    pub(crate) commits: usize,
    /// How many of them there are.
    pub(crate) records: usize,
    /// The remote that `fetch` asks without a name; none if several may have them.
    pub(crate) remote: Option<String>,
    /// True if our own records may be sent there.
    pub(crate) is_approved: bool,
}

/// Returns what may be fetched; none if the newest commits of HEAD name no record that is missing, if there is no remote, or if those
/// that are missing were not there when a remote was last asked. What is damaged says nothing: other checks name it.
pub(crate) fn to_fetch(context: &Context) -> Result<Option<ToFetch>> {
    let look = || {
        let Some(head) = context.repo.head()?.id else { return Ok(None) };
        let commits = context.repo.newest_commits(head, NEWEST)?;
        ToFetch::of(context, &missing(context, &commits)?)
    };
    match look() {
        Err(error) if error.kind() == Kind::Corrupt => Ok(None),
        found => found,
    }
}

impl ToFetch {
    /// Returns what of `missing`, commits and records that they name, may be fetched.
    ///
    /// # Errors
    /// If it cannot be read which remotes there are, or what they do not have.
    pub(crate) fn of(context: &Context, missing: &[(ObjectId, RecordId)]) -> Result<Option<Self>> {
        let repo = &context.repo;
        let asked = not_there::read(repo.common_dir())?;
        let missing = || missing.iter().filter(|(_, id)| !asked.contains(id));
        if missing().next().is_none() {
            return Ok(None);
        }
        let (remote, is_approved) = match to_fetch_from(context, None) {
            Ok(remote) => (Some(remote.name), remote.approval == Approval::Approved),
            Err(_) if repo.remote_names()?.is_empty() => return Ok(None),
            Err(_) => (None, false),
        };
        let records: BTreeSet<RecordId> = missing().map(|(_, id)| *id).collect();
        let commits: BTreeSet<ObjectId> = missing().map(|(commit, _)| *commit).collect();
        Ok(Some(Self { commits: commits.len(), records: records.len(), remote, is_approved }))
    }
}

/// Notes which records the newest commits name that are still not here, now that a remote was asked.
pub(super) fn note_asked(context: &Context) -> Result<()> {
    let repo = &context.repo;
    let commits = repo.head()?.id.map_or(Ok(Vec::new()), |head| repo.newest_commits(head, NEWEST))?;
    let missing = missing(context, &commits)?.into_iter().map(|(_, id)| id).collect();
    not_there::write(repo.common_dir(), &missing)
}

/// Returns which of `commits` name records that are not here.
fn missing(context: &Context, commits: &[ObjectId]) -> Result<Vec<(ObjectId, RecordId)>> {
    let repo = &context.repo;
    let mut named = Vec::new();
    for commit in commits {
        let ids = repo.with_commit(*commit, |commit| ids_in_message(commit.message))?;
        named.extend(ids.into_iter().map(|id| (*commit, id)));
    }
    if named.is_empty() {
        return Ok(named);
    }
    let log = match Log::open(repo) {
        // Which records there are is not known.
        Err(error) if error.kind() == Kind::Corrupt => return Ok(Vec::new()),
        log => log?,
    };
    let Some(log) = log else { return Ok(named) };
    let mut missing = Vec::new();
    for (commit, id) in named {
        match log.has(&id) {
            Ok(true) => {}
            Err(error) if error.kind() == Kind::Corrupt => {}
            has => missing.extend((!has?).then_some((commit, id))),
        }
    }
    Ok(missing)
}
