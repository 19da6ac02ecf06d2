//! `push --checkpoint`: the notes of checkpoints go along, each in a ref of its own that has the checkpoint's id.
//!
//! Only the clone that has taken a checkpoint writes its note, so that no two clones want the same ref. The commit has no parent: what the
//! note said earlier stays here.

use std::collections::BTreeSet;

use gix::ObjectId;
use serde::Serialize;

use super::outgoing::{self, Scan};
use crate::{
    error::Result,
    git::{
        Repo,
        exact_address::ExactAddress,
        new_objects::{NewObjects, Target},
        notes::{Notes, Writer},
        transfer::Outcome,
    },
    model::{id_text, log_place::Place, refname},
};

/// A note that was sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct SharedNote {
    /// The checkpoint that it is for.
    #[serde(serialize_with = "id_text::serialize")]
    pub(crate) id: ObjectId,
    /// The ref that leads to it there.
    #[serde(rename = "ref")]
    pub(crate) name: String,
    /// What became of it.
    #[serde(flatten)]
    pub(crate) fate: NoteFate,
}

/// What became of a note.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "lowercase")]
pub(crate) enum NoteFate {
    /// It was sent.
    Sent,
    /// It was there already.
    Same,
    /// There is none here any more, and now none there.
    Removed,
    /// It could not be sent.
    Refused {
        /// Why.
        why: String,
    },
}

/// How often a remote is asked which notes it has, if others change some meanwhile.
const ATTEMPTS: usize = 3;

type Move = (String, Option<ObjectId>, Option<ObjectId>);

/// Returns how the ref `name` is to move that has the note `new`, and what becomes of that, if the remote has the refs `listed`. None
/// if there is a note neither here nor there.
fn plan(name: &str, new: Option<ObjectId>, listed: &[(String, ObjectId)]) -> Option<(Move, NoteFate)> {
    let old = listed.iter().find(|(known, _)| known == name).map(|(_, id)| *id);
    let fate = match (old, new) {
        (None, None) => return None,
        (old, new) if old == new => NoteFate::Same,
        (_, Some(_)) => NoteFate::Sent,
        (_, None) => NoteFate::Removed,
    };
    Some(((name.to_owned(), old, new), fate))
}

/// Returns the checkpoints of this clone that the remote has, which has `listed` its refs.
pub(super) fn ours_of(repo: &Repo, listed: &[(String, ObjectId)]) -> Result<Vec<ObjectId>> {
    let mut ids = Vec::new();
    for id in listed.iter().filter_map(|(name, _)| refname::shared_id(name)) {
        let is_ours = repo.can_read(id) && repo.find_checkpoint(id)?.is_some();
        ids.extend(is_ours.then_some(id));
    }
    Ok(ids)
}

/// Sends the notes of the checkpoints `ids` to the remote, which has `listed` its refs, or only says what would be sent (`dry_run`). Adds
/// what the server's hooks print to `said`.
///
/// # Errors
/// That of `scan`: then nothing was sent.
pub(super) fn send(
    repo: &Repo,
    address: &ExactAddress,
    ids: &[ObjectId],
    listed: &[(String, ObjectId)],
    (scan, dry_run): (&Scan, bool),
    said: &mut Vec<String>,
) -> Result<Vec<SharedNote>> {
    let ours = repo.notes()?;
    let mut writers = ours.writers(&ids.iter().copied().collect::<BTreeSet<_>>())?;
    let mut objects = NewObjects::new(repo, Target::Loose);
    let mut notes = Vec::new();
    for id in ids {
        let mut note = Notes::at(repo, None)?;
        if let Some(blob) = ours.blob(id) {
            let writer = writers.remove(id).unwrap_or_else(Writer::unknown);
            note.copy(*id, blob, &writer, &mut objects)?;
        }
        notes.push((*id, note.tip()));
    }
    let written = objects.write_together()?;
    for tip in notes.iter().filter_map(|(_, tip)| *tip) {
        outgoing::check(repo, Place::Notes, tip, &[], scan)?;
    }
    let mut listed = listed.to_vec();
    let mut sent: Vec<SharedNote> = Vec::new();
    for attempt in 1..=ATTEMPTS {
        let mut moves = Vec::new();
        for (id, tip) in &notes {
            let Some((moved, fate)) = plan(&refname::shared_note_ref(*id), *tip, &listed) else { continue };
            let known = sent.iter().position(|it| it.id == *id);
            // What was sent in an earlier attempt is there now.
            if known.is_none() || fate != NoteFate::Same {
                sent.retain(|it| it.id != *id);
                sent.push(SharedNote { id: *id, name: moved.0.clone(), fate: fate.clone() });
            }
            moves.extend((fate != NoteFate::Same).then_some(moved));
        }
        if dry_run || moves.is_empty() {
            break;
        }
        let report = address.push_moves(repo, &moves)?;
        let mut is_refused = false;
        for it in &report.refs {
            let Outcome::Refused(why) = &it.outcome else { continue };
            let why = format!("{why}\n{}", report.errors).trim_end().to_owned();
            for note in sent.iter_mut().filter(|note| note.name == it.name) {
                (note.fate, is_refused) = (NoteFate::Refused { why: why.clone() }, true);
            }
        }
        said.extend(report.said);
        if !is_refused || attempt == ATTEMPTS {
            break;
        }
        let now = address.list(repo, refname::SHARED_NOTES)?;
        // A server that refuses what no other clone has changed is not asked again.
        let is_raced = |(name, old, _): &Move| {
            let there = now.iter().find(|(known, _)| known == name).map(|(_, id)| *id);
            sent.iter().any(|it| it.name == *name && matches!(it.fate, NoteFate::Refused { .. })) && there != *old
        };
        if !moves.iter().any(is_raced) {
            break;
        }
        listed = now;
    }
    written.check_and_release()?;
    Ok(sent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_goes_where_another_one_is_and_goes_with_its_own() {
        let id = |digit: char| ObjectId::from_hex(digit.to_string().repeat(40).as_bytes()).expect("an id");
        let listed = [("there".to_owned(), id('1'))];
        let fate = |name: &str, new: Option<char>| plan(name, new.map(id), &listed).map(|(_, fate)| fate);
        assert_eq!(fate("there", Some('1')), Some(NoteFate::Same));
        assert_eq!(fate("there", Some('2')), Some(NoteFate::Sent));
        assert_eq!(fate("there", None), Some(NoteFate::Removed));
        assert_eq!(fate("other", Some('1')), Some(NoteFate::Sent));
        assert_eq!(fate("other", None), None);
    }
}
