//! The names that the files of a commit had when its records were made.

use std::collections::{HashMap, hash_map::Entry};

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::{commit::Reader, recorded::Recorded};
use crate::{
    error::Result,
    git::new_names::{By, Old},
    model::change::{Change, Leaf},
};

impl Reader<'_> {
    /// Returns the name that the file `path`, new in `commit` or to `record`, had when that was made, if `commit` has it with other
    /// content.
    pub(super) fn renamed_from(
        &mut self,
        commit: ObjectId,
        record: &Recorded,
        path: &BString,
    ) -> Result<Option<BString>> {
        Ok(self.renames_since(commit, record)?.get(path).cloned())
    }

    /// Returns what `commit` has under the new name of the file that `record` calls `path`.
    pub(super) fn renamed_to(&mut self, commit: ObjectId, record: &Recorded, path: &BString) -> Result<Option<Leaf>> {
        let renames = self.renames_since(commit, record)?;
        let Some(name) = renames.iter().find(|(_, former)| *former == path).map(|(name, _)| name.clone()) else {
            return Ok(None);
        };
        self.repo.find_leaf(self.repo.tree_of_commit(commit)?, name.as_bstr())
    }

    /// Returns the names that files had when `record` was made, by those that they have in `commit`, where they are new.
    fn renames_since(&mut self, commit: ObjectId, record: &Recorded) -> Result<&HashMap<BString, BString>> {
        let repo = self.repo;
        if let Entry::Vacant(entry) = self.renamed.entry((record.id, commit)) {
            let tree_id = repo.tree_of_commit(commit)?;
            let mut left = Vec::new();
            for file in if record.commit == commit { &[] } else { record.files() } {
                let path = &file.ownership.path;
                if let Some(blob) = file.blob
                    && repo.find_leaf(tree_id, path.as_bstr())?.is_none_or(|leaf| leaf.id != blob)
                {
                    left.push(Old::of_blob(path.clone(), blob));
                }
            }
            let parent_tree_id = match repo.parents_of(commit)?.first() {
                Some(parent) => repo.tree_of_commit(*parent)?,
                None => repo.empty_tree_id(),
            };
            let changes = if left.is_empty() { Vec::new() } else { repo.diff_trees(parent_tree_id, tree_id)? };
            let mut changes = repo.detect_renames(changes)?;
            for change in &mut changes {
                let known = change.old_path.as_ref().unwrap_or(&change.path);
                change.before = change.before.filter(|_| !record.has_left(known));
            }
            let found = repo.new_names(&left, &changes, By::Git, |change| change.before.is_none())?.into_iter();
            entry.insert(found.filter_map(|it| Some((it.path, it.old_path?))).collect());
        }
        Ok(&self.renamed[&(record.id, commit)])
    }

    /// Returns the name that the file `path`, which `commit` changes, had when `record` was made, if it was renamed in between: a revert
    /// brings lines back in such a file.
    pub(super) fn changed_from(
        &mut self,
        commit: ObjectId,
        record: &Recorded,
        path: &BString,
    ) -> Result<Option<BString>> {
        let repo = self.repo;
        if let Entry::Vacant(entry) = self.changed.entry((record.id, commit)) {
            let tree_id = repo.tree_of_commit(commit)?;
            let mut gone = Vec::new();
            for file in if record.commit == commit { &[] } else { record.files() } {
                let path = &file.ownership.path;
                if let Some(blob) = file.blob.filter(|blob| repo.has_object(*blob))
                    && repo.find_leaf(tree_id, path.as_bstr())?.is_none()
                {
                    gone.push(Old::of_blob(path.clone(), blob));
                }
            }
            let parent = repo.parents_of(commit)?.first().copied().filter(|_| !gone.is_empty());
            let changes = match parent {
                Some(parent) => repo.diff_trees(repo.tree_of_commit(parent)?, tree_id)?,
                None => Vec::new(),
            };
            // What they were before is a version of the same file.
            let known = changes.into_iter().filter(|change| change.before.is_some());
            let known: Vec<Change> = known.map(|change| Change { before: None, ..change }).collect();
            let found = repo.new_names(&gone, &known, By::Git, |_| true)?.into_iter();
            entry.insert(found.filter_map(|it| Some((it.path, it.old_path?))).collect());
        }
        Ok(self.changed[&(record.id, commit)].get(path).cloned())
    }

    /// Returns the name that a file called one of `names` had when `record` was made, where git has carried the change from
    /// there to `commit` over a rename, as in a rebase.
    pub(super) fn former_name(
        &mut self,
        commit: ObjectId,
        record: &Recorded,
        names: &[BString],
    ) -> Result<Option<BString>> {
        let repo = self.repo;
        let (Some(from), Some(to)) = (record.parent, repo.parents_of(commit)?.first().copied()) else {
            return Ok(None);
        };
        if from == to {
            return Ok(None);
        }
        let key = (record.id, to);
        if let Entry::Vacant(entry) = self.renames.entry(key) {
            let renames = if record.is_renamed_in(repo, repo.tree_of_commit(to)?)? && repo.is_commit(from)? {
                let renames = repo
                    .diff_trees(repo.tree_of_commit(from)?, repo.tree_of_commit(to)?)
                    .and_then(|changes| repo.detect_renames(changes))
                    // A partial clone may lack what the record's parent leads to.
                    .unwrap_or_else(|error| {
                        tracing::debug!(%error, "cannot find the renames since a record was made");
                        Vec::new()
                    });
                repo.check_interrupt()?;
                renames.into_iter().filter_map(|it| Some((it.path, it.old_path?))).collect()
            } else {
                HashMap::new()
            };
            entry.insert(renames);
        }
        Ok(names.iter().find_map(|name| self.renames[&key].get(name).cloned()))
    }
}
