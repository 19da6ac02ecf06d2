//! From which commits a file has come here, where several records have the same lines: rounds that try one task, for example, often
//! write partly equal files. The work of a record that is not in the history of these commits did not come with the file.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet, HashMap},
};

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::{
    earlier::beyond,
    left_lately::LeftLately,
    place::{FoundAt, Place},
};
use crate::{
    error::Result,
    git::Repo,
    model::record::{Record, RecordId},
    ops::records::{Log, evidence},
};

/// What is known of the commits that files have come from.
pub(super) struct BroughtFrom<'r> {
    repo: &'r Repo,
    log: &'r Log<'r>,
    head: Option<ObjectId>,
    /// By the commit from which a restore has put files here, the records of the commits that it leads to and HEAD does not have.
    restored: RefCell<HashMap<ObjectId, BTreeSet<RecordId>>>,
    /// By path, the records of the commits that have the file exactly as it is here, and of those that they build on; only of files of
    /// which several records have lines, and some of these are among them.
    exact: BTreeMap<BString, BTreeSet<RecordId>>,
}

impl<'r> BroughtFrom<'r> {
    /// Reads it for the files of the records `found` at `place`, to which `head` is the commit before.
    pub(super) fn read(
        repo: &'r Repo,
        log: &'r Log<'r>,
        head: Option<ObjectId>,
        place: Place,
        found: &[&FoundAt],
    ) -> Result<Self> {
        let mut known = Self { repo, log, head, restored: RefCell::default(), exact: BTreeMap::new() };
        let mut claims: BTreeMap<&BString, BTreeSet<RecordId>> = BTreeMap::new();
        for found in found {
            for path in &found.files {
                claims.entry(path).or_default().insert(found.id);
            }
        }
        claims.retain(|_, ids| ids.len() > 1);
        if !claims.is_empty() {
            known.exact = known.of_exact(place, claims)?;
        }
        Ok(known)
    }

    fn of_exact(
        &self,
        place: Place,
        claims: BTreeMap<&BString, BTreeSet<RecordId>>,
    ) -> Result<BTreeMap<BString, BTreeSet<RecordId>>> {
        let repo = self.repo;
        let mut tips: Vec<ObjectId> = repo.refs_below("refs/heads/")?.into_iter().map(|(_, id)| id).collect();
        tips.extend(LeftLately::read(repo)?.starts(|_| true));
        let commits = beyond(repo, self.head, tips)?;
        let leaves = place.leaves(repo, &claims.keys().map(|path| (*path).clone()).collect::<Vec<_>>())?;
        let mut exact = BTreeMap::new();
        for (path, ids) in claims {
            let Some(now) = leaves.get(path).copied().flatten() else { continue };
            let mut having = BTreeSet::new();
            for commit in &commits {
                if repo.find_leaf(repo.tree_of_commit(*commit)?, path.as_bstr())? == Some(now) {
                    having.insert(*commit);
                }
            }
            // A commit that has the file from another one, by a merge for example, says nothing more of it.
            let mut first = Vec::new();
            for commit in &having {
                let parents = repo.parents_of(*commit)?;
                first.extend((!parents.iter().any(|parent| having.contains(parent))).then_some(*commit));
            }
            let of_these = self.records_beyond(first)?;
            if !of_these.is_disjoint(&ids) {
                exact.insert(path.clone(), of_these);
            }
        }
        Ok(exact)
    }

    /// Returns the records of the commits `starts` and of those that they build on, without those that HEAD has.
    fn records_beyond(&self, starts: Vec<ObjectId>) -> Result<BTreeSet<RecordId>> {
        let mut ids = BTreeSet::new();
        for commit in beyond(self.repo, self.head, starts)? {
            ids.extend(self.log.of_commit(commit)?);
        }
        Ok(ids)
    }

    /// Returns true if the work of `record` in the file at `path` did not come here with the file, although it has the same lines. Without
    /// the file, `now` is none, and other files have its lines.
    pub(super) fn excludes(&self, record: &Record, path: &BString, now: Option<ObjectId>) -> bool {
        let after = record.files.iter().find(|file| file.path == *path).and_then(|file| file.after);
        let is_without = |ids: &BTreeSet<RecordId>| !ids.contains(&record.id);
        match now {
            Some(now) => after != Some(now) && self.exact.get(path).is_some_and(is_without),
            None => after.is_some() && !self.exact.is_empty() && self.exact.values().all(is_without),
        }
    }

    /// Returns true if a restore has put the file at `path` here from `commit`, and the work of `record` there is from elsewhere.
    pub(super) fn is_restored_without(&self, commit: ObjectId, record: &Record, path: &BString) -> Result<bool> {
        let known = self.restored.borrow().get(&commit).cloned();
        let ids = match known {
            Some(ids) => ids,
            None => {
                let ids = self.records_beyond(vec![commit])?;
                self.restored.borrow_mut().insert(commit, ids.clone());
                ids
            }
        };
        if ids.contains(&record.id) {
            return Ok(false);
        }
        let has_lines = |id: &RecordId| {
            // A damaged record is no evidence.
            let found = evidence::find(self.repo, id).ok().flatten();
            found.is_some_and(|it| it.files.iter().any(|file| file.path == *path && !file.sessions.is_empty()))
        };
        // Without a record of the file there, the work may have come to that commit from the other one.
        Ok(ids.iter().any(has_lines) && !self.repo.reaches(vec![commit], record.commit, 0).unwrap_or(true))
    }
}
