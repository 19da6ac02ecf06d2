//! Writes trees again with other leaves; reads only the directories that may have such leaves.

use std::collections::HashMap;

use bstr::{BStr, BString, ByteSlice as _};
use gix::{
    ObjectId,
    objs::{Kind as ObjectKind, Tree, TreeRef, WriteTo as _},
};

use super::{Repo, new_objects::NewObjects};
use crate::error::{Context as _, Kind, Result};

/// What becomes of a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NewLeaf {
    /// It stays.
    Same,
    /// It is another blob.
    Is(ObjectId),
}

/// What becomes of the leaves of trees.
pub(crate) trait Leaves {
    /// Returns false if no leaf below the tree `id` changes.
    fn may_change(&self, id: ObjectId) -> bool;

    /// Returns true if the path of a leaf matters, and not only its name.
    fn needs_paths(&self) -> bool;

    /// Returns what becomes of the blob `id` at `path`, or with the name that `path` ends in if paths do not matter.
    ///
    /// # Errors
    /// If the blob cannot be read or written.
    fn leaf(&mut self, path: &BStr, id: ObjectId, objects: &mut NewObjects<'_>) -> Result<NewLeaf>;
}

/// The trees that were mapped.
#[derive(Debug, Default)]
pub(crate) struct TreeMap {
    /// By tree, and the path of it if paths matter: the new tree; none if nothing is left of it.
    known: HashMap<(ObjectId, BString), Option<ObjectId>>,
}

impl TreeMap {
    /// Returns the trees that are others now.
    pub(crate) fn changed(&self) -> impl Iterator<Item = ObjectId> {
        self.known.iter().filter(|((id, _), new)| **new != Some(*id)).map(|((id, _), _)| *id)
    }

    /// Returns the tree `id` with other leaves; its new trees are added to `objects`. An empty tree stays one.
    ///
    /// # Errors
    /// [`Kind::Corrupt`] if a tree that may change cannot be read.
    pub(crate) fn map(
        &mut self,
        repo: &Repo,
        id: ObjectId,
        leaves: &mut dyn Leaves,
        objects: &mut NewObjects<'_>,
    ) -> Result<ObjectId> {
        match self.map_below(repo, id, &BString::default(), leaves, objects)? {
            Some(new) => Ok(new),
            None => objects.add(ObjectKind::Tree, b""),
        }
    }

    fn map_below(
        &mut self,
        repo: &Repo,
        id: ObjectId,
        path: &BString,
        leaves: &mut dyn Leaves,
        objects: &mut NewObjects<'_>,
    ) -> Result<Option<ObjectId>> {
        if id.is_empty_tree() || !leaves.may_change(id) {
            return Ok(Some(id));
        }
        let key = (id, if leaves.needs_paths() { path.clone() } else { BString::default() });
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        repo.check_interrupt()?;
        let what = || format!("cannot read the tree '{id}'");
        let mut buffer = Vec::new();
        let data = repo.read_object(id, ObjectKind::Tree, &mut buffer)?;
        let mut tree: Tree = TreeRef::from_bytes(data, id.kind()).context(Kind::Corrupt, what)?.into_owned();
        let mut entries = Vec::with_capacity(tree.entries.len());
        let mut is_changed = false;
        for mut entry in std::mem::take(&mut tree.entries) {
            let mut place = path.clone();
            if !place.is_empty() {
                place.push(b'/');
            }
            place.extend_from_slice(&entry.filename);
            let new = if entry.mode.is_tree() {
                self.map_below(repo, entry.oid, &place, leaves, objects)?
            } else if entry.mode.is_commit() {
                Some(entry.oid)
            } else {
                match leaves.leaf(place.as_bstr(), entry.oid, objects)? {
                    NewLeaf::Same => Some(entry.oid),
                    NewLeaf::Is(id) => Some(id),
                }
            };
            is_changed |= new != Some(entry.oid);
            if let Some(new) = new {
                entry.oid = new;
                entries.push(entry);
            }
        }
        tree.entries = entries;
        let new = if !is_changed {
            Some(id)
        } else if tree.entries.is_empty() {
            None
        } else {
            let mut data = Vec::new();
            tree.write_to(&mut data).context(Kind::Internal, || "cannot encode a tree".into())?;
            Some(objects.add(ObjectKind::Tree, &data)?)
        };
        self.known.insert(key, new);
        Ok(new)
    }
}
