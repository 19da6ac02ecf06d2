//! Finds out what is not whole behind many chains.

use std::collections::{BTreeSet, HashSet};

use gix::ObjectId;

use crate::{
    error::Result,
    git::{Repo, readable::Reader},
};

/// Looks at many chains, and reads each object once.
pub(crate) struct Survey<'r> {
    repo: &'r Repo,
    reader: Reader<'r>,
    sound: HashSet<ObjectId>,
}

/// What is not whole behind a checkpoint, and was not found behind those that were looked at before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Damage {
    /// Objects that are gone or damaged; where all of them were known before, a tree that leads to some.
    pub(crate) lost: Vec<ObjectId>,
    /// Objects of which only the end of the file is damaged.
    pub(crate) damaged_ends: BTreeSet<ObjectId>,
}

impl<'r> Survey<'r> {
    pub(crate) fn new(repo: &'r Repo) -> Self {
        Self { repo, reader: Reader::new(repo), sound: HashSet::new() }
    }

    /// Returns true if the commit `tip` and all checkpoints that it leads to are here, with their files.
    ///
    /// # Errors
    /// If something may be whole, and cannot be read now.
    pub(crate) fn is_whole(&mut self, tip: ObjectId) -> Result<bool> {
        let repo = self.repo;
        let (mut passed, mut work) = (HashSet::new(), vec![tip]);
        while let Some(id) = work.pop() {
            if self.sound.contains(&id) || !passed.insert(id) {
                continue;
            }
            if self.reader.read(id)?.is_none() {
                return Ok(false);
            }
            let Ok(Some(checkpoint)) = repo.checkpoint(id) else { continue };
            let base = checkpoint.base.commit_id().and_then(|id| repo.tree_of_commit(id).ok());
            if !self.reader.is_checkpoint_whole(&checkpoint, base.unwrap_or_else(|| repo.empty_tree_id()))? {
                return Ok(false);
            }
            work.extend(repo.links_of(&checkpoint).unwrap_or_default());
        }
        self.sound.extend(passed);
        Ok(true)
    }

    /// Returns what is not whole behind the checkpoint `tip`.
    ///
    /// # Errors
    /// If something may be whole, and cannot be read now.
    pub(crate) fn damage_behind(&mut self, tip: ObjectId) -> Result<Damage> {
        let repo = self.repo;
        let (lost, damaged_ends) = (self.reader.lost.clone(), self.reader.damaged_ends.clone());
        let (mut passed, mut work, mut broken) = (HashSet::new(), vec![tip], None);
        while let Some(id) = work.pop() {
            if self.sound.contains(&id) || !passed.insert(id) {
                continue;
            }
            self.reader.read(id)?;
            // `git rev-list` reports commits.
            let Ok(Some(checkpoint)) = repo.checkpoint(id) else { continue };
            let base = checkpoint.base.commit_id().and_then(|id| repo.tree_of_commit(id).ok());
            let base = base.unwrap_or_else(|| repo.empty_tree_id());
            if !self.reader.is_checkpoint_whole(&checkpoint, base)? {
                broken.get_or_insert(checkpoint.tree_id);
            }
            work.extend(repo.links_of(&checkpoint).unwrap_or_default());
        }
        let damaged_ends = self.reader.damaged_ends.difference(&damaged_ends).copied().collect();
        let Some(tree_id) = broken else {
            self.sound.extend(passed);
            return Ok(Damage { lost: Vec::new(), damaged_ends });
        };
        let mut lost: Vec<ObjectId> = self.reader.lost.difference(&lost).copied().collect();
        if lost.is_empty() {
            lost.push(tree_id);
        }
        Ok(Damage { lost, damaged_ends })
    }
}
