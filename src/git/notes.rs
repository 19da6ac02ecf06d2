//! Notes on commits, in a tree as git-notes(1) has it, in a ref of ours: `git log` shows them with `notes.displayRef`.
//!
//! The commits of the ref follow one another, so that it says who wrote a note, and when. Each name in the tree is the id of the commit
//! that the note is for, perhaps with slashes in it: all that git reads is read, and written is `<2 digits>/<the others>`.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use bstr::{BStr, BString, ByteSlice as _};
use gix::{ObjectId, objs::Kind as ObjectKind};

use super::{
    Repo,
    commit::{Identity, Moment, NewCommit},
    copied_commit::CommitCopy,
    edit_tree::{Edit, edit_tree},
    new_objects::NewObjects,
    refs::RefUpdate,
};
use crate::{
    error::{Kind, Result},
    model::{
        change::Mode,
        note::{self, CARRIED, MOST_BYTES, REMOVED, WRITTEN, joined},
        operation::Move,
        refname,
    },
};

/// All notes, as they are at one moment, with what is to be changed.
pub(crate) struct Notes<'r> {
    repo: &'r Repo,
    /// The ref.
    name: &'static str,
    /// What the ref points to.
    first: Option<ObjectId>,
    tip: Option<ObjectId>,
    tree_id: ObjectId,
    /// By what they are for: the path in the tree, and the blob.
    places: BTreeMap<ObjectId, (BString, ObjectId)>,
}

/// Who has written a note, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Writer {
    pub(crate) who: Identity,
    /// Unix seconds.
    pub(crate) seconds: i64,
    /// The offset from UTC, in seconds.
    pub(crate) offset: i32,
}

impl Writer {
    /// Returns what stands for one of whom nothing can be read.
    pub(crate) fn unknown() -> Self {
        Self { who: Identity::fallback(), seconds: 0, offset: 0 }
    }
}

/// What becomes of the note for a commit that another one replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoteFate {
    Stays,
    /// It is for this commit now.
    GoesTo(ObjectId),
    Goes,
}

impl Repo {
    /// Reads the notes.
    pub(crate) fn notes(&self) -> Result<Notes<'_>> {
        self.notes_of(refname::NOTES)
    }

    /// Reads what the ref `name` has in the form of notes.
    pub(crate) fn notes_of(&self, name: &'static str) -> Result<Notes<'_>> {
        Ok(Notes { name, ..Notes::at(self, self.find_sound_ref(name)?)? })
    }

    /// Reads the notes for what has another purpose: none, and a warning, if they cannot be read.
    pub(crate) fn readable_notes(&self) -> Result<Option<Notes<'_>>> {
        match self.notes() {
            Err(error) if error.kind() == Kind::Corrupt => {
                tracing::warn!(%error, "the notes cannot be read");
                if let Ok(mut skipped) = self.skipped_refs.lock() {
                    skipped.insert(format!("the notes in '{}' cannot be read, and stay as they are", refname::NOTES));
                }
                Ok(None)
            }
            notes => notes.map(Some),
        }
    }

    /// Returns how notes change between two commits of the ref `name`, each as the move of a ref that the note does not have
    /// ([`note::note_ref`]).
    pub(super) fn moves_of_notes(&self, name: &str, old: Option<ObjectId>, new: Option<ObjectId>) -> Result<Vec<Move>> {
        if old == new {
            return Ok(Vec::new());
        }
        let changes = self.changed_notes(tree_of(self, old)?, tree_of(self, new)?)?;
        let moved = |(id, (old, new))| Move { name: note::note_ref(name, id), old, new };
        Ok(changes.into_iter().map(moved).filter(|moved| moved.old != moved.new).collect())
    }

    /// Returns what differs between two trees of notes, by what the notes are for: the blobs before and after.
    fn changed_notes(&self, old: ObjectId, new: ObjectId) -> Result<BTreeMap<ObjectId, Ends>> {
        let mut changed: BTreeMap<ObjectId, Ends> = BTreeMap::new();
        for change in self.diff_trees(old, new)? {
            let Some(id) = noted(change.path.as_bstr(), self) else { continue };
            let ends = changed.entry(id).or_default();
            ends.0 = ends.0.or(change.before.map(|leaf| leaf.id));
            ends.1 = ends.1.or(change.after.map(|leaf| leaf.id));
        }
        Ok(changed)
    }
}

/// The blobs of a note before and after a change.
type Ends = (Option<ObjectId>, Option<ObjectId>);

fn tree_of(repo: &Repo, commit: Option<ObjectId>) -> Result<ObjectId> {
    commit.map_or(Ok(repo.empty_tree_id()), |id| repo.tree_of_commit(id))
}

/// Returns what the note at `path` is for; none if git knows no note by such a path.
fn noted(path: &BStr, repo: &Repo) -> Option<ObjectId> {
    let hex: Vec<u8> = path.iter().copied().filter(|byte| *byte != b'/').collect();
    (hex.len() == repo.object_hash().len_in_hex()).then(|| ObjectId::from_hex(&hex).ok()).flatten()
}

impl<'r> Notes<'r> {
    /// Reads the notes that the commit `tip` of the ref has.
    pub(crate) fn at(repo: &'r Repo, tip: Option<ObjectId>) -> Result<Self> {
        let tree_id = tree_of(repo, tip)?;
        let mut places = BTreeMap::new();
        collect(repo, tree_id, &BString::default(), &mut places)?;
        Ok(Self { repo, name: refname::NOTES, first: tip, tip, tree_id, places })
    }

    /// Returns what has a note, with the blobs.
    pub(crate) fn all(&self) -> impl Iterator<Item = (ObjectId, ObjectId)> {
        self.places.iter().map(|(id, (_, blob))| (*id, *blob))
    }

    /// Returns the blob of the note for `id`.
    pub(crate) fn blob(&self, id: &ObjectId) -> Option<ObjectId> {
        self.places.get(id).map(|(_, blob)| *blob)
    }

    /// Returns the note for `id`.
    pub(crate) fn text(&self, id: &ObjectId) -> Result<Option<String>> {
        let Some(blob) = self.blob(id) else { return Ok(None) };
        // We write no larger ones.
        if self.repo.object_size(blob)?.is_some_and(|size| size > MOST_BYTES) {
            return Ok(Some("(too large to be shown)\n".to_owned()));
        }
        Ok(Some(self.repo.read_blob(blob)?.to_str_lossy().into_owned()))
    }

    /// Returns who has written the notes for `wanted`, as far as that can be read.
    pub(crate) fn writers(&self, wanted: &BTreeSet<ObjectId>) -> Result<HashMap<ObjectId, Writer>> {
        let (mut found, mut next) = (HashMap::new(), self.tip);
        let mut wanted: BTreeSet<ObjectId> = wanted.iter().copied().filter(|id| self.places.contains_key(id)).collect();
        while let Some(id) = next.filter(|_| !wanted.is_empty()) {
            self.repo.check_interrupt()?;
            let step = self.repo.parents_of(id).and_then(|parents| {
                let parent = parents.first().copied();
                Ok((parent, self.repo.changed_notes(tree_of(self.repo, parent)?, tree_of(self.repo, Some(id))?)?))
            });
            let (parent, changed) = match step {
                // Of a damaged history, the later part.
                Err(error) if error.kind() == Kind::Corrupt => break,
                step => step?,
            };
            let here: Vec<ObjectId> = changed.into_keys().filter(|id| wanted.remove(id)).collect();
            if !here.is_empty() {
                let writer = writer_of(self.repo, id)?;
                found.extend(here.into_iter().map(|id| (id, writer.clone())));
            }
            next = parent;
        }
        Ok(found)
    }

    /// Makes `edits`, each of which is what has a note and the blob that this becomes (none: no note), in a commit of its own.
    pub(crate) fn edit(
        &mut self,
        edits: &[(ObjectId, Option<ObjectId>)],
        by: (Identity, Moment),
        subject: &str,
        objects: &mut NewObjects<'_>,
    ) -> Result<()> {
        let mut paths: Vec<(BString, Edit)> = Vec::new();
        for (id, blob) in edits {
            let new = canonical(id);
            if let Some((path, _)) = self.places.remove(id)
                && (path != new || blob.is_none())
            {
                paths.push((path, None));
            }
            if let Some(blob) = blob {
                paths.push((new.clone(), Some((*blob, Mode::File))));
                self.places.insert(*id, (new, *blob));
            }
        }
        let tree_id = edit_tree(self.tree_id, &paths, objects)?;
        if tree_id == self.tree_id {
            return Ok(());
        }
        let (author, time) = by;
        self.commit(tree_id, (author, self.repo.identity(), time), subject, objects)
    }

    /// Makes the note for `id` the `blob` that `writer` has written: who copies it leaves no trace.
    pub(crate) fn copy(
        &mut self,
        id: ObjectId,
        blob: ObjectId,
        writer: &Writer,
        objects: &mut NewObjects<'_>,
    ) -> Result<()> {
        let path = canonical(&id);
        let tree_id = edit_tree(self.tree_id, &[(path.clone(), Some((blob, Mode::File)))], objects)?;
        self.places.insert(id, (path, blob));
        let &Writer { ref who, seconds, offset } = writer;
        let time = Moment { seconds, micros: 0, offset };
        self.commit(tree_id, (who.clone(), who.clone(), time), WRITTEN, objects)
    }

    fn commit(
        &mut self,
        tree_id: ObjectId,
        (author, committer, time): (Identity, Identity, Moment),
        subject: &str,
        objects: &mut NewObjects<'_>,
    ) -> Result<()> {
        self.tree_id = tree_id;
        let parents = self.tip.into_iter().collect();
        let message = format!("{subject}\n");
        let commit = NewCommit { tree_id, parents, author, committer, time, message: &message };
        self.tip = Some(Repo::write_commit(&commit, objects)?);
        Ok(())
    }

    /// Lets the notes follow what they are for, as `fate` says. Who has written them, and when, stays.
    pub(crate) fn carry(&mut self, fate: impl Fn(ObjectId) -> NoteFate, objects: &mut NewObjects<'_>) -> Result<()> {
        let moving: Vec<(ObjectId, NoteFate)> = self.places.keys().map(|id| (*id, fate(*id))).collect();
        let own = (self.repo.identity(), self.repo.now());
        let gone: Vec<_> =
            moving.iter().filter(|(_, fate)| *fate == NoteFate::Goes).map(|(id, _)| (*id, None)).collect();
        let carried: Vec<(ObjectId, ObjectId)> = moving
            .iter()
            .filter_map(|(id, fate)| if let NoteFate::GoesTo(new) = fate { Some((*id, *new)) } else { None })
            .filter(|(id, new)| id != new)
            .collect();
        // The commits that say it are behind the tip that is read.
        let mut writers = self.writers(&carried.iter().map(|(id, _)| *id).collect())?;
        self.edit(&gone, own.clone(), REMOVED, objects)?;
        for (id, new) in carried {
            let Some(mut blob) = self.blob(&id) else { continue };
            if let Some(other) = self.blob(&new).filter(|other| *other != blob) {
                let both = joined(&self.repo.read_blob(other)?, &self.repo.read_blob(blob)?);
                blob = objects.add(ObjectKind::Blob, &both)?;
            }
            let by = writers.remove(&id).map_or_else(
                || own.clone(),
                |writer| {
                    let Writer { who, seconds, offset } = writer;
                    (who, Moment { seconds, micros: 0, offset })
                },
            );
            self.edit(&[(id, None), (new, Some(blob))], by, CARRIED, objects)?;
        }
        Ok(())
    }

    /// Writes the history of the notes anew, without the notes for `gone`. Returns the commits that others replace.
    pub(crate) fn forget(
        &mut self,
        gone: &HashSet<ObjectId>,
        objects: &mut NewObjects<'_>,
    ) -> Result<HashSet<ObjectId>> {
        let (mut new, mut work) =
            (HashMap::<ObjectId, ObjectId>::new(), Vec::from_iter(self.tip.map(|id| (id, false))));
        while let Some((id, are_parents_done)) = work.pop() {
            if new.contains_key(&id) {
                continue;
            }
            let parents = self.repo.parents_of(id)?;
            if !are_parents_done {
                work.push((id, true));
                work.extend(parents.into_iter().map(|id| (id, false)));
                continue;
            }
            let notes = Self::at(self.repo, Some(id))?;
            let edits: Vec<(BString, Edit)> = notes
                .places
                .into_iter()
                .filter(|(id, _)| gone.contains(id))
                .map(|(_, (path, _))| (path, None))
                .collect();
            let tree_id = edit_tree(notes.tree_id, &edits, objects)?;
            let new_parents: Vec<ObjectId> = parents.iter().map(|id| new.get(id).copied().unwrap_or(*id)).collect();
            let copy = if edits.is_empty() && new_parents == parents {
                id
            } else {
                let message = self.repo.message_of(id)?;
                self.repo.copy_commit(id, &CommitCopy { tree_id, parents: new_parents, message: &message }, objects)?
            };
            new.insert(id, copy);
        }
        let replaced = new.iter().filter(|(old, new)| old != new).map(|(old, _)| *old).collect();
        self.tip = self.tip.and_then(|id| new.get(&id).copied());
        self.places.retain(|id, _| !gone.contains(id));
        Ok(replaced)
    }

    /// Returns what makes the changes visible; none if there are none.
    pub(crate) fn update(&self) -> Option<RefUpdate> {
        let (old, new) = (self.first, self.tip);
        (old != new).then(|| RefUpdate { name: self.name.to_owned(), old, new })
    }

    /// Returns the latest commit, with the changes.
    pub(crate) fn tip(&self) -> Option<ObjectId> {
        self.tip
    }
}

fn canonical(id: &ObjectId) -> BString {
    let hex = id.to_string();
    let (shard, rest) = hex.split_at(2);
    format!("{shard}/{rest}").into()
}

/// Adds the notes of the tree, which is at `path`, to `places`.
fn collect(
    repo: &Repo,
    tree_id: ObjectId,
    path: &BString,
    places: &mut BTreeMap<ObjectId, (BString, ObjectId)>,
) -> Result<()> {
    if tree_id.is_empty_tree() {
        return Ok(());
    }
    for (name, mode, id) in repo.tree_modes(tree_id)? {
        let mut below = path.clone();
        if !below.is_empty() {
            below.push(b'/');
        }
        below.extend_from_slice(&name);
        let digits = below.iter().filter(|byte| **byte != b'/').count();
        // So that each level has two digits or more, as git has it, and there is an end.
        let is_name = name.len() >= 2 && name.iter().all(u8::is_ascii_hexdigit);
        if !is_name || digits > repo.object_hash().len_in_hex() {
            continue;
        }
        if mode.is_tree() {
            collect(repo, id, &below, places)?;
        } else if let Some(noted) = noted(below.as_bstr(), repo).filter(|_| mode.is_blob()) {
            places.insert(noted, (below, id));
        }
    }
    Ok(())
}

fn writer_of(repo: &Repo, commit: ObjectId) -> Result<Writer> {
    repo.with_commit(commit, |commit| {
        let author = commit.author().ok();
        let time = author.and_then(|author| author.time().ok()).unwrap_or_default();
        let who = author.map_or_else(Identity::fallback, |author| Identity {
            name: author.name.to_owned(),
            email: author.email.to_owned(),
        });
        Writer { who, seconds: time.seconds, offset: time.offset }
    })
}
