//! Joins logs that were made on this machine, in a copy of this repository, into our own ones.

use gix::ObjectId;

use super::{shape::check_log, tracking::Joining};
use crate::{
    error::{Kind, Result},
    git::{Repo, refs::RefUpdate},
    model::{log_place::Place, refname},
    ops::{Context, records},
};

/// Returns the own logs of `repo`, transcripts first: the names of the refs, and what they point to.
///
/// # Errors
/// If the refs cannot be read.
pub(crate) fn own_logs(repo: &Repo) -> Result<Vec<(String, ObjectId)>> {
    let mut refs = repo.sound_refs(refname::PREFIX)?;
    refs.retain(|(name, _)| Place::of_ref(name).is_some());
    refs.sort_by_key(|(name, _)| (name == refname::HISTORY, name.clone()));
    Ok(refs)
}

/// Joins `logs`, whose objects are here, into our own ones. A log that is none of ours, or would bring back what was purged here, is
/// left out: returns why.
///
/// # Errors
/// [`Kind::Race`] if other processes append for too long.
pub(crate) fn join_own(context: &Context, logs: &[(String, ObjectId)]) -> Result<Option<String>> {
    let (repo, mut left_out) = (&context.repo, None);
    // Our own processes take it before they append.
    let _lock = records::lock(context)?;
    for (name, id) in logs {
        let Some(place) = Place::of_ref(name) else { continue };
        let own = repo.find_sound_ref(name)?;
        if own.is_some_and(|own| own == *id || repo.leads_to(own, *id)) {
            continue;
        }
        if let Err(error) = check_log(repo, place, *id, own.as_slice(), &mut |_| {}) {
            if error.kind() != Kind::Refused {
                return Err(error);
            }
            left_out = Some(format!("'{name}' of the copy is refused: {}", error.message()));
            continue;
        }
        let mut join = Joining::new(repo, place, own);
        join.add(Some(*id))?;
        if !join.differences.is_free_of_rewritten() {
            left_out = Some(format!("'{name}' of the copy has texts that were purged here"));
            continue;
        }
        repo.update_refs(&[RefUpdate { name: name.clone(), old: own, new: join.tip }]).map_err(|error| {
            let again = "run it again";
            if error.kind() == Kind::Race { error.with_hint(again) } else { error }
        })?;
        join.release()?;
    }
    Ok(left_out)
}
