//! `remote remove`: takes back the consent, and forgets what was fetched from a remote, also from one that git no longer knows.

use std::collections::BTreeSet;

use gix::ObjectId;
use serde::Serialize;

use super::{follow::record_ids, known::read, tracking::is_unreadable};
use crate::{
    error::{Error, Result},
    git::{Repo, refs::RefUpdate},
    model::{
        record::RecordId,
        refname::{
            FETCHED, HISTORY, NOTES, called, fetched_carrier, fetched_log, fetched_ref, import_name, imported,
            tracking_ref,
        },
    },
    ops::{Context, records},
    state::{exchanges, shared_with},
};

/// What `remote remove` does, or has done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Removed {
    version: u32,
    /// The remote.
    pub(crate) name: String,
    /// Where git pushed to, without passwords.
    pub(crate) urls: Vec<String>,
    /// True if nothing was done.
    pub(crate) dry_run: bool,
    /// True if records could be sent there before.
    pub(crate) was_approved: bool,
    /// True if git no longer has this remote: it was one for records alone.
    pub(crate) was_added: bool,
    /// True if it is no remote, but what was imported from a file.
    pub(crate) imported: bool,
    /// The refs with what was fetched from it or sent to it, which go.
    pub(crate) refs: Vec<String>,
    /// How many records these have.
    pub(crate) records: usize,
    /// How many of them are neither in our own log nor in that of another remote.
    pub(crate) only_there: usize,
    #[serde(skip)]
    tips: Vec<(String, ObjectId)>,
}

/// Returns what is to be removed for the remote `name`.
///
/// # Errors
/// If nothing is known of it.
pub(crate) fn plan(context: &Context, name: &str) -> Result<Removed> {
    let repo = &context.repo;
    let was_approved = shared_with::read(repo.common_dir())?.contains_key(name);
    let is_known = repo.remote_names()?.iter().any(|known| known == name);
    let mut tips = fetched_from(repo, name)?;
    if !was_approved && !is_known && tips.is_empty() {
        let import = imported(name);
        tips = fetched_from(repo, &import)?;
        if !tips.is_empty() {
            return planned(repo, &import, (false, false), tips);
        }
    }
    if !was_approved && !is_known && tips.is_empty() {
        return Err(
            Error::user(format!("there is no remote '{name}'")).with_hint("'git checkpoint remote list' shows all")
        );
    }
    planned(repo, name, (was_approved, is_known), tips)
}

/// Returns what follows `remote` here.
fn fetched_from(repo: &Repo, remote: &str) -> Result<Vec<(String, ObjectId)>> {
    let mut refs = repo.sound_refs(FETCHED)?;
    refs.retain(|(name, _)| {
        fetched_log(name).is_some_and(|(of, _)| of == remote)
            || fetched_carrier(name).is_some_and(|of| of == remote)
            || fetched_ref(name).is_some_and(|(of, there)| of == remote && there == NOTES)
    });
    Ok(refs)
}

fn planned(
    repo: &Repo,
    name: &str,
    (was_approved, is_known): (bool, bool),
    tips: Vec<(String, ObjectId)>,
) -> Result<Removed> {
    let tracking = tracking_ref(name, HISTORY);
    let gone = records_of(repo, tips.iter().filter(|(name, _)| *name == tracking).map(|(_, id)| *id));
    let fetched = records::fetched(repo)?.into_iter().filter(|(name, _)| *name != tracking);
    let stays = records_of(repo, fetched.map(|(_, id)| id).chain(repo.find_sound_ref(HISTORY)?));
    Ok(Removed {
        version: 1,
        name: called(name).to_owned(),
        urls: if is_known { read(repo, name)?.urls } else { Vec::new() },
        dry_run: true,
        was_approved,
        was_added: is_known && repo.is_added_remote(name)?,
        imported: import_name(name).is_some(),
        refs: tips.iter().map(|(name, _)| name.clone()).collect(),
        records: gone.len(),
        only_there: gone.difference(&stays).count(),
        tips,
    })
}

/// Returns the records of the logs that end with `tips`, as far as they can be read.
fn records_of(repo: &Repo, tips: impl Iterator<Item = ObjectId>) -> BTreeSet<RecordId> {
    let readable = tips.filter(|tip| !is_unreadable(repo, *tip));
    readable.filter_map(|tip| record_ids(repo, [tip]).ok()).flatten().collect()
}

/// Does what `plan` says.
///
/// # Errors
/// [`Kind::Race`](crate::error::Kind::Race) if something was fetched meanwhile that the plan does not have.
pub(crate) fn remove(context: &Context, plan: Removed) -> Result<Removed> {
    let repo = &context.repo;
    shared_with::change(repo.common_dir(), |approved| drop(approved.remove(&plan.name)))?;
    exchanges::forget(repo.common_dir(), &plan.name)?;
    let gone = |(name, id): &(String, ObjectId)| RefUpdate { name: name.clone(), old: Some(*id), new: None };
    let updates: Vec<RefUpdate> = plan.tips.iter().map(gone).collect();
    repo.name_operation("remote remove");
    if !updates.is_empty() {
        repo.update_refs(&updates)?;
    }
    if plan.was_added {
        repo.remove_remote(&plan.name)?;
    }
    Ok(Removed { dry_run: false, ..plan })
}
