//! The names that the files of a commit had when its records were made.

use std::collections::{BTreeMap, HashMap, hash_map::Entry};

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::{commit::Reader, recorded::Recorded};
use crate::{
    error::Result,
    git::new_names::{By, Old},
    model::change::{Change, Leaf},
};

impl Reader<'_> {
    /// Returns the name that the file `path`, which `commit` makes or changes, had when `record` was made, if that is another one and
    /// `commit` has the file with other content: a revert, too, brings lines back in a file that was renamed since.
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

    /// Returns the names that files had when `record` was made, by those that they have in `commit`, which makes or changes them.
    fn renames_since(&mut self, commit: ObjectId, record: &Recorded) -> Result<&HashMap<BString, BString>> {
        let repo = self.repo;
        if let Entry::Vacant(entry) = self.renamed.entry((record.id, commit)) {
            let tree_id = repo.tree_of_commit(commit)?;
            let (mut old, mut now) = (Vec::new(), BTreeMap::new());
            for file in if record.commit == commit { &[] } else { record.files() } {
                let path = &file.ownership.path;
                let leaf = repo.find_leaf(tree_id, path.as_bstr())?;
                if let Some(blob) = file.blob.filter(|blob| leaf.is_none_or(|leaf| leaf.id != *blob)) {
                    old.push(Old::of_blob(path.clone(), blob));
                    now.extend(Change::between(path.clone(), None, leaf).map(|change| (path.clone(), change)));
                }
            }
            if !old.is_empty() {
                let parent = repo.parents_of(commit)?.first().copied();
                let parent_tree_id = parent.map_or_else(|| Ok(repo.empty_tree_id()), |id| repo.tree_of_commit(id))?;
                // What a file was before is a version of the same file.
                let made =
                    |change: Change| Some((change.path.clone(), Change::between(change.path, None, change.after)?));
                now.extend(repo.diff_trees(parent_tree_id, tree_id)?.into_iter().filter_map(made));
            }
            let now: Vec<Change> = now.into_values().collect();
            let found = repo.new_names(&old, &now, By::Git, |_| true)?.into_iter();
            entry.insert(found.filter_map(|it| Some((it.path, it.old_path?))).collect());
        }
        Ok(&self.renamed[&(record.id, commit)])
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
