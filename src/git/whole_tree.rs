//! Trees as lists of entries: reads them with their modes, and makes new ones.

use bstr::{BString, ByteSlice as _};
use gix::{
    ObjectId,
    objs::{Kind as ObjectKind, TreeRefIter},
};

use super::{
    Repo,
    new_objects::{NewObjects, id_of},
};
use crate::error::{Context as _, Kind, Result};

/// The mode of a directory.
pub(crate) const DIRECTORY: u32 = 0o40_000;
/// The mode of an ordinary file.
pub(crate) const FILE: u32 = 0o100_644;

/// An entry of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TreeEntry {
    pub(crate) name: BString,
    pub(crate) mode: u32,
    pub(crate) id: ObjectId,
}

impl TreeEntry {
    /// Returns an entry for the directory `id`.
    pub(crate) fn directory(name: impl Into<BString>, id: ObjectId) -> Self {
        Self { name: name.into(), mode: DIRECTORY, id }
    }

    /// Returns an entry for the ordinary file `id`.
    pub(crate) fn file(name: impl Into<BString>, id: ObjectId) -> Self {
        Self { name: name.into(), mode: FILE, id }
    }
}

impl Repo {
    /// Returns the entries of the tree `id`, in git's order.
    pub(crate) fn read_tree(&self, id: ObjectId) -> Result<Vec<TreeEntry>> {
        if id.is_empty_tree() {
            // Known without being stored.
            return Ok(Vec::new());
        }
        let mut buffer = Vec::new();
        let data = self.read_object(id, ObjectKind::Tree, &mut buffer)?;
        let entries = TreeRefIter::from_bytes(data, self.object_hash()).map(|entry| {
            let entry = entry.context(Kind::Corrupt, || format!("the tree '{id}' is malformed"))?;
            let (name, mode, id) = (entry.filename.to_owned(), u32::from(entry.mode.value()), entry.oid.to_owned());
            Ok(TreeEntry { name, mode, id })
        });
        entries.collect()
    }

    /// Returns the id that the tree of `entries`, in any order, has, and what it holds.
    pub(crate) fn tree_of(&self, mut entries: Vec<TreeEntry>) -> Result<(ObjectId, Vec<u8>)> {
        // Git sorts a directory as if its name ended in a slash.
        let key = |entry: &TreeEntry| {
            let mut key = entry.name.clone();
            key.extend((entry.mode == DIRECTORY).then_some(b'/'));
            key
        };
        entries.sort_by_cached_key(key);
        let mut data = Vec::new();
        for entry in entries {
            data.extend_from_slice(format!("{:o} ", entry.mode).as_bytes());
            data.extend_from_slice(entry.name.as_bytes());
            data.push(0);
            data.extend_from_slice(entry.id.as_slice());
        }
        Ok((id_of(ObjectKind::Tree, &data, self.object_hash())?, data))
    }
}

/// Adds the tree of `entries`, in any order, to `objects`, and returns its id.
pub(crate) fn add_tree(repo: &Repo, entries: Vec<TreeEntry>, objects: &mut NewObjects<'_>) -> Result<ObjectId> {
    let (id, data) = repo.tree_of(entries)?;
    objects.add_with_id(ObjectKind::Tree, &data, id)?;
    Ok(id)
}
