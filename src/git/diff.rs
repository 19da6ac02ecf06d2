//! Compares two trees by ids alone: no blob is read, so it works in partial clones.
//!
//! `renames` finds renames, and `line_edits` compares lines.

use gix::{
    ObjectId,
    diff::tree::{Recorder, recorder},
    objs::{Data, Find, Kind as ObjectKind, TreeRefIter},
};

use super::{Repo, new_objects::NewObjects, objects::look_again};
use crate::{
    error::{Context as _, Error, Kind, Result},
    model::change::{Change, Leaf, Mode},
};

impl Repo {
    /// Returns the changes from the tree `old` to the tree `new`, sorted by path; submodules are leaves, and renames
    /// are not detected.
    ///
    /// Not gix's `diff_tree_to_tree`: that reads the user's index and tracks renames.
    pub fn diff_trees(&self, old: ObjectId, new: ObjectId) -> Result<Vec<Change>> {
        look_again(|| diff_trees_in(&self.inner.objects, old, new), Result::is_ok)
    }

    /// As [`diff_trees`](Self::diff_trees). Where trees were found to be damaged, it takes directories of `old` that cannot be
    /// read for empty, so that all that `new` has there counts as added.
    pub(crate) fn diff_trees_if_damaged(&self, old: ObjectId, new: ObjectId) -> Result<Vec<Change>> {
        or_as_far_as_readable(self, &self.inner.objects, (old, new), self.diff_trees(old, new))
    }
}

/// Returns what was `found` to differ between two trees; if one is damaged, how the second differs from what can be read of the
/// first.
fn or_as_far_as_readable(
    repo: &Repo,
    objects: &impl Find,
    (old, new): (ObjectId, ObjectId),
    found: Result<Vec<Change>>,
) -> Result<Vec<Change>> {
    match found {
        Err(error) if error.kind() == Kind::Corrupt && repo.distrusts_objects() => {
            // What is new must be there.
            diff_trees_in(objects, ObjectId::empty_tree(new.kind()), new).map_err(|_| error)?;
            diff_trees_in(&OrEmpty(objects), old, new)
        }
        found => found,
    }
}

/// Takes what cannot be read for the empty tree.
struct OrEmpty<'o, T>(&'o T);

impl<T: Find> Find for OrEmpty<'_, T> {
    fn try_find<'a>(&self, id: &gix::oid, buffer: &'a mut Vec<u8>) -> gix::Result<Option<Data<'a>>> {
        let length = match self.0.try_find(id, buffer) {
            Ok(Some(data)) if data.kind == ObjectKind::Tree => data.data.len(),
            _ => 0,
        };
        Ok(Some(Data { kind: ObjectKind::Tree, object_hash: id.kind(), data: &buffer[..length] }))
    }
}

impl NewObjects<'_> {
    /// As [`Repo::diff_trees_if_damaged`], with trees that are not written yet.
    pub(crate) fn changes_of_trees(&self, old: ObjectId, new: ObjectId) -> Result<Vec<Change>> {
        or_as_far_as_readable(self.repo(), self, (old, new), diff_trees_in(self, old, new))
    }
}

fn diff_trees_in(objects: &impl Find, old: ObjectId, new: ObjectId) -> Result<Vec<Change>> {
    if old == new {
        return Ok(Vec::new());
    }
    let (mut old_buffer, mut new_buffer) = (Vec::new(), Vec::new());
    let old_tree = TreeRefIter::from_bytes(read_tree(objects, old, &mut old_buffer)?, old.kind());
    let new_tree = TreeRefIter::from_bytes(read_tree(objects, new, &mut new_buffer)?, new.kind());
    let mut recorder = Recorder::default();
    let state = gix::diff::tree::State::default();
    gix::diff::tree(old_tree, new_tree, state, objects, &mut recorder)
        .context(Kind::Corrupt, || format!("cannot compare the trees '{old}' and '{new}'"))?;
    let mut changes: Vec<Change> = recorder.records.into_iter().filter_map(changes_of).collect();
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    merge_sides(&mut changes);
    Ok(changes)
}

/// Git knows the empty tree even if it is not stored.
pub(super) fn read_tree<'b>(objects: &impl Find, id: ObjectId, buffer: &'b mut Vec<u8>) -> Result<&'b [u8]> {
    if id.is_empty_tree() {
        return Ok(&[]);
    }
    let what = || format!("cannot read the tree '{id}'");
    match objects.try_find(&id, buffer).context(Kind::Corrupt, what)? {
        Some(data) if data.kind == ObjectKind::Tree => Ok(data.data),
        _ => Err(Error::corrupt(what())),
    }
}

/// Returns the change of one record. A leaf that replaces a directory (or the reverse) comes as two records.
fn changes_of(record: recorder::Change) -> Option<Change> {
    let leaf =
        |mode: gix::objs::tree::EntryMode, id| Mode::from_bits(u32::from(mode.value())).map(|mode| Leaf { id, mode });
    match record {
        recorder::Change::Addition { entry_mode, oid, path, .. } => Change::between(path, None, leaf(entry_mode, oid)),
        recorder::Change::Deletion { entry_mode, oid, path, .. } => Change::between(path, leaf(entry_mode, oid), None),
        recorder::Change::Modification { previous_entry_mode, previous_oid, entry_mode, oid, path } => {
            Change::between(path, leaf(previous_entry_mode, previous_oid), leaf(entry_mode, oid))
        }
    }
}

/// Joins a deletion and an addition of the same path, which the order of trees may have separated.
fn merge_sides(changes: &mut Vec<Change>) {
    if changes.windows(2).all(|pair| pair[0].path != pair[1].path) {
        return;
    }
    let mut merged: Vec<Change> = Vec::with_capacity(changes.len());
    for change in changes.drain(..) {
        match merged.last() {
            Some(last) if last.path == change.path => {
                let last = merged.pop().expect("it was looked at");
                let (before, after) = (last.before.or(change.before), last.after.or(change.after));
                merged.extend(Change::between(change.path, before, after));
            }
            _ => merged.push(change),
        }
    }
    *changes = merged;
}
