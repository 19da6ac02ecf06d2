//! The indices of the logs of records: by commit, by first parent, and by what a commit changes.

use bstr::ByteSlice as _;
use gix::ObjectId;

use super::log::{COMMITS, Log, unless_of_others};
use crate::{
    error::Result,
    model::record::{self, RecordId},
};

impl Log<'_> {
    /// Returns the trees of the index, with the names of their logs.
    pub(super) fn index_trees(&self, index: &'static str) -> Result<Vec<(String, ObjectId)>> {
        if let Some(known) = self.indices.borrow().get(index) {
            return Ok(known.clone());
        }
        let mut found = Vec::new();
        for (name, tree_id) in &self.trees {
            let entry = unless_of_others(name, self.repo.find_entry(*tree_id, index.into()))?;
            found.extend(entry.and_then(|(mode, id)| (mode == 0o40_000).then(|| (name.clone(), id))));
        }
        self.indices.borrow_mut().insert(index, found.clone());
        Ok(found)
    }

    pub(super) fn index(&self, index: &'static str, key: ObjectId) -> Result<Vec<RecordId>> {
        let path = index_path(index, key);
        let mut ids = Vec::new();
        for (name, tree_id) in self.index_trees(index)? {
            let entry = self.repo.find_entry(tree_id, path[index.len() + 1..].into());
            let text = entry.and_then(|entry| self.read_entry(entry, &path));
            let text = unless_of_others(&name, text)?.unwrap_or_default();
            let found = text.lines().filter_map(|line| RecordId::parse(line.to_str().ok()?));
            ids.extend(found.filter(|id| !ids.contains(id)).collect::<Vec<_>>());
        }
        Ok(ids)
    }

    /// Returns the records of `commit`: those that its message names, then those that are linked to it; no doubles.
    pub(crate) fn of_commit(&self, commit: ObjectId) -> Result<Vec<RecordId>> {
        let mut ids = self.named_by(commit)?;
        let linked = self.linked_to(commit)?;
        ids.extend(linked.into_iter().filter(|id| !ids.contains(id)).collect::<Vec<_>>());
        Ok(ids)
    }

    /// Returns the records of `commit`; if there are none, those of commits that make the same change: it has been rewritten,
    /// and nothing links it to the original.
    pub(crate) fn of_commit_or_change(&self, commit: ObjectId) -> Result<Vec<RecordId>> {
        let ids = self.of_commit(commit)?;
        if ids.is_empty() { Ok(self.of_change(commit)?.copied) } else { Ok(ids) }
    }

    /// Returns the records that the message of `commit` names; none if this repository does not have the commit.
    pub(crate) fn named_by(&self, commit: ObjectId) -> Result<Vec<RecordId>> {
        let mut ids = Vec::new();
        if self.repo.is_commit(commit)? {
            for id in self.repo.with_commit(commit, |commit| record::ids_in_message(commit.message))? {
                if self.has(&id)? {
                    ids.push(id);
                }
            }
        }
        Ok(ids)
    }

    /// Returns the records that are linked to `commit`.
    pub(crate) fn linked_to(&self, commit: ObjectId) -> Result<Vec<RecordId>> {
        self.index(COMMITS, commit)
    }
}

pub(super) fn index_path(index: &str, key: ObjectId) -> String {
    let hex = key.to_string();
    let (shard, rest) = hex.split_at(2);
    format!("{index}/{shard}/{rest}")
}
