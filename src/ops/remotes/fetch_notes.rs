//! Notes of checkpoints that follow those of a remote. Our own are in another ref, and stay.
//!
//! Each counts for itself: one that is refused keeps none of the others away, and nothing of it becomes part of the repository.

use std::collections::BTreeMap;

use gix::ObjectId;
use serde::Serialize;

use super::{known::Remote, shape::check_log};
use crate::{
    error::{Error, Kind, Result},
    git::{Repo, notes::Notes, received::Basis, refs::RefUpdate},
    model::{
        id_text,
        log_place::Place,
        refname::{self, tracking_ref},
    },
};

/// A note that was fetched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct FetchedNote {
    /// The checkpoint that it is for.
    #[serde(serialize_with = "id_text::serialize")]
    pub(crate) id: ObjectId,
    /// The ref that leads to it here.
    #[serde(rename = "ref")]
    pub(crate) name: String,
    /// The commit that had it before.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub(crate) old: Option<ObjectId>,
    /// The commit that has it; none if the remote no longer has it.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub(crate) new: Option<ObjectId>,
    /// Why it is refused; none if it is not.
    pub(crate) refused: Option<String>,
}

/// Returns how the notes of `remote` move, which has `listed` its refs. Notes for checkpoints of this clone are our own.
pub(super) fn moves(repo: &Repo, remote: &str, listed: &[(String, ObjectId)]) -> Result<Vec<FetchedNote>> {
    let mut ends: BTreeMap<ObjectId, (Option<ObjectId>, Option<ObjectId>)> = BTreeMap::new();
    for (name, commit) in repo.sound_refs(&tracking_ref(remote, refname::SHARED_NOTES))? {
        let id = refname::fetched_ref(&name).and_then(|(_, there)| refname::shared_note_id(&there));
        ends.extend(id.map(|id| (id, (Some(commit), None))));
    }
    for (name, commit) in listed {
        let id = refname::shared_note_id(name).filter(|id| id.kind() == repo.object_hash());
        // The remote has a copy of what is written here, or of what was.
        let Some(id) = id.filter(|id| !repo.has_object(*id)) else { continue };
        ends.entry(id).or_default().1 = Some(*commit);
    }
    let moved = ends.into_iter().filter(|(_, (old, new))| old != new);
    Ok(moved
        .map(|(id, (old, new))| {
            let name = tracking_ref(remote, &refname::shared_note_ref(id));
            FetchedNote { id, name, old, new, refused: None }
        })
        .collect())
}

/// Fetches the notes of `remote` that are new in `moves`, and lets our refs follow.
pub(super) fn fetch(repo: &Repo, remote: &Remote, moves: &mut [FetchedNote]) -> Result<()> {
    loop {
        let sound: Vec<&FetchedNote> = moves.iter().filter(|it| it.refused.is_none()).collect();
        let ids: Vec<ObjectId> = sound.iter().filter_map(|it| it.new).collect();
        let updates: Vec<RefUpdate> =
            sound.iter().map(|it| RefUpdate { name: it.name.clone(), old: it.old, new: it.new }).collect();
        if ids.is_empty() {
            return if updates.is_empty() { Ok(()) } else { repo.update_refs(&updates) };
        }
        // With nothing of ours: a note cannot name an object that is only here.
        let received = repo.fetch_ids(&remote.name, &ids, Basis::Nothing)?;
        let beside = received.beside(repo)?;
        let seen = beside.as_ref().unwrap_or(repo);
        let mut are_all_sound = true;
        for it in moves.iter_mut().filter(|it| it.refused.is_none()) {
            let Some(commit) = it.new else { continue };
            repo.check_interrupt()?;
            if let Err(error) = check(seen, commit, it.id) {
                (it.refused, are_all_sound) = (Some(error.message().to_owned()), false);
            }
        }
        // Anew without the others: nothing of these is to come in.
        if are_all_sound {
            let _kept = received.adopt(repo)?;
            return repo.update_refs(&updates);
        }
    }
}

/// Checks that the commit `commit` has the note for the checkpoint `id`, and nothing else.
fn check(seen: &Repo, commit: ObjectId, id: ObjectId) -> Result<()> {
    let foreign = || Error::refused(format!("'{commit}' does not have the note for {id}"));
    if !seen.is_commit(commit)? || !seen.parents_of(commit)?.is_empty() {
        return Err(foreign());
    }
    check_log(seen, Place::Notes, commit, &[], &mut |_| {}).map_err(|error| match error.kind() {
        Kind::Refused => error,
        _ => foreign(),
    })?;
    let notes: Vec<ObjectId> = Notes::at(seen, Some(commit))?.all().map(|(id, _)| id).collect();
    if notes == [id] { Ok(()) } else { Err(foreign()) }
}
