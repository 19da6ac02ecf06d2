//! Which objects a tree brings in beside another, and how many bytes objects take on disk.

use std::collections::HashSet;

use bstr::{BString, ByteSlice as _};
use gix::{
    ObjectId,
    diff::tree::{Recorder, recorder},
    objs::{TreeRefIter, tree::EntryMode},
};

use super::{Repo, diff::read_tree};
use crate::error::{Context as _, Kind, Result};

impl Repo {
    /// Adds to `found` the trees and blobs that the tree `new` has where `old` has something else, `new` included.
    pub(crate) fn collect_new_objects(
        &self,
        old: ObjectId,
        new: ObjectId,
        found: &mut HashSet<ObjectId>,
    ) -> Result<()> {
        if old == new || !found.insert(new) {
            return Ok(());
        }
        let (mut old_buffer, mut new_buffer) = (Vec::new(), Vec::new());
        let old_tree =
            TreeRefIter::from_bytes(read_tree(&self.inner.objects, old, &mut old_buffer)?, self.object_hash());
        let new_tree =
            TreeRefIter::from_bytes(read_tree(&self.inner.objects, new, &mut new_buffer)?, self.object_hash());
        let mut recorder = Recorder::default().track_location(None);
        let state = gix::diff::tree::State::default();
        gix::diff::tree(old_tree, new_tree, state, &self.inner.objects, &mut recorder)
            .context(Kind::Corrupt, || format!("cannot compare the trees '{old}' and '{new}'"))?;
        found.extend(recorder.records.into_iter().filter_map(|record| match record {
            recorder::Change::Addition { entry_mode, oid, .. }
            | recorder::Change::Modification { entry_mode, oid, .. }
                if !entry_mode.is_commit() =>
            {
                Some(oid)
            }
            _ => None,
        }));
        Ok(())
    }

    /// Returns name, whether it is a directory, and id of the entries of the tree `id`.
    pub(crate) fn tree_entries(&self, id: ObjectId) -> Result<Vec<(BString, bool, ObjectId)>> {
        let entries = self.tree_modes(id)?.into_iter();
        Ok(entries.map(|(name, mode, id)| (name, mode.is_tree(), id)).collect())
    }

    /// Returns name, mode and id of the entries of the tree `id`.
    pub(super) fn tree_modes(&self, id: ObjectId) -> Result<Vec<(BString, EntryMode, ObjectId)>> {
        let mut buffer = Vec::new();
        let data = read_tree(&self.inner.objects, id, &mut buffer)?;
        TreeRefIter::from_bytes(data, self.object_hash())
            .map(|entry| entry.map(|entry| (entry.filename.to_owned(), entry.mode, entry.oid.to_owned())))
            .collect::<std::result::Result<_, _>>()
            .context(Kind::Corrupt, || format!("the tree '{id}' is malformed"))
    }

    /// Returns how many bytes the objects `ids` use on disk, compressed and as deltas; missing objects count as zero.
    pub(crate) fn disk_size(&self, ids: impl IntoIterator<Item = ObjectId>) -> Result<u64> {
        let mut input = String::new();
        for id in ids {
            input.push_str(&format!("{id}\n"));
        }
        if input.is_empty() {
            return Ok(0);
        }
        let output =
            self.run_git(&["cat-file", "--buffer", "--batch-check=%(objectsize:disk)"], Some(input.as_bytes()))?;
        Ok(output.lines().filter_map(|line| line.to_str().ok()?.parse::<u64>().ok()).sum())
    }
}
