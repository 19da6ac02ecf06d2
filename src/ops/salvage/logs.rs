//! Mends operation logs that lead to objects that cannot be read: git would report the repository as broken.
//!
//! An entry that cannot be read ends its part of the log. The others are rewritten without the parents that lead to something
//! damaged: these operations can still be shown, but no longer undone.

use std::collections::HashMap;

use gix::ObjectId;

use super::survey::Survey;
use crate::{
    error::{Kind, Result},
    git::{
        Repo,
        new_objects::{NewObjects, Target},
        read_operations::Recorded,
        recorder::{FilesChanged, SessionFile},
        refs::RefUpdate,
    },
    model::{
        operation::{self, Role},
        refname,
    },
};

/// What to do instead of an undo of an operation of which it cannot be read any more what it did.
const INSTEAD: &str = "what it did cannot be read any more; 'git checkpoint restore <checkpoint>' puts files back, and \
                       'git checkpoint op undo <op>' takes another operation back";

/// A log that was mended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MendedLog {
    /// Its ref.
    pub(crate) name: String,
    /// How many entries it has now; zero: the ref is gone.
    pub(crate) entries: usize,
    /// True if earlier entries were cut off.
    pub(crate) is_cut: bool,
}

/// Mends the operation logs of all worktrees that lead to something damaged.
///
/// # Errors
/// If something may be whole, and cannot be read now.
pub(crate) fn mend_logs(repo: &Repo) -> Result<Vec<MendedLog>> {
    let _way = repo.on_the_way(operation::REPAIR);
    let (mut survey, mut mended) = (Survey::new(repo), Vec::new());
    for (name, tip) in repo.sound_refs(refname::OPERATIONS)? {
        mended.extend(mend_log(repo, &mut survey, name, tip)?);
    }
    Ok(mended)
}

/// What is left of an entry.
struct Kept {
    recorded: Recorded,
    held: Vec<ObjectId>,
    files: Option<Vec<u8>>,
    session_file: Option<SessionFile>,
}

fn mend_log(repo: &Repo, survey: &mut Survey<'_>, name: String, tip: ObjectId) -> Result<Option<MendedLog>> {
    let (mut kept, mut is_damaged, mut is_cut, mut next) = (Vec::new(), false, false, Some(tip));
    while let Some(id) = next {
        let read = if repo.is_whole(id)? { repo.operation(id).ok().flatten() } else { None };
        let Some(recorded) = read else {
            (is_damaged, is_cut) = (true, true);
            break;
        };
        next = recorded.before;
        let mut held = repo.parents_of(id)?;
        held.retain(|parent| Some(*parent) != recorded.before);
        let count = held.len();
        let mut whole = Vec::new();
        for parent in held {
            if survey.is_whole(parent)? {
                whole.push(parent);
            }
        }
        is_damaged |= whole.len() < count;
        let files = match repo.files_of(&recorded) {
            Err(error) if error.kind() != Kind::Corrupt => return Err(error),
            files => files.ok().flatten(),
        };
        is_damaged |= files.is_none() && (recorded.operation.has_files || !repo.is_whole(recorded.tree_id)?);
        let session_file = match repo.session_file_of(&recorded) {
            Err(error) if error.kind() != Kind::Corrupt => return Err(error),
            file => file.ok().flatten(),
        };
        is_damaged |= session_file.is_none() && recorded.operation.session_of_file.is_some();
        kept.push(Kept { recorded, held: whole, files, session_file });
    }
    if !is_damaged {
        return Ok(None);
    }
    let entries = kept.len();
    let mut objects = NewObjects::new(repo, Target::Loose);
    let (mut last, mut ids) = (None, HashMap::new());
    for (number, kept) in (1..).zip(kept.into_iter().rev()) {
        let id = write_anew(repo, number, &kept, last, &ids, &mut objects)?;
        ids.insert(kept.recorded.id, id);
        last = Some(id);
    }
    let written = objects.write()?;
    repo.update_refs(&[RefUpdate { name: name.clone(), old: Some(tip), new: last }])?;
    written.check_and_release()?;
    Ok(Some(MendedLog { name, entries, is_cut }))
}

/// Adds an entry to `objects`, after the entry `before`. `ids` has the new ids of the earlier entries that it may name.
fn write_anew(
    repo: &Repo,
    number: u64,
    kept: &Kept,
    before: Option<ObjectId>,
    ids: &HashMap<ObjectId, ObjectId>,
    objects: &mut NewObjects<'_>,
) -> Result<ObjectId> {
    let mut operation = kept.recorded.operation.clone();
    let now = |id: ObjectId| ids.get(&id).copied().unwrap_or(id);
    operation.role = match operation.role {
        Role::Plain => Role::Plain,
        Role::Undo(id) => Role::Undo(now(id)),
        Role::Redo(id) => Role::Redo(now(id)),
        Role::Continues(id) => Role::Continues(now(id)),
    };
    (operation.number, operation.has_files) = (number, kept.files.is_some());
    operation.session_of_file = kept.session_file.as_ref().map(|file| file.id.clone());
    let was = &kept.recorded.operation;
    if was.has_files && !operation.has_files || was.session_of_file.is_some() && kept.session_file.is_none() {
        operation.not_undone = Some(INSTEAD.to_owned());
    }
    let files = kept.files.clone().map(|text| FilesChanged { text, held: Vec::new() });
    let time = (kept.recorded.seconds, kept.recorded.offset);
    let texts = (files.as_ref(), kept.session_file.as_ref());
    repo.write_entry_anew(&operation, (before, &kept.held), texts, time, objects)
}
