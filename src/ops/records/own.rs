//! What this clone has recorded, for commands that write: see the rule in [`log`](super::log).

use gix::ObjectId;

use super::log::{Log, PARENTS};
use crate::{
    error::Result,
    git::Repo,
    model::record::{Record, RecordId},
};

/// Returns the record `id` of our own log.
///
/// # Errors
/// If the stored record is damaged, or of an unknown version.
pub fn find(repo: &Repo, id: &RecordId) -> Result<Option<Record>> {
    match Log::own(repo)? {
        Some(log) => log.find(id),
        None => Ok(None),
    }
}

/// Returns the records of `commit` in our own log: those that its message names, then those that are linked to it; no doubles.
pub fn of_commit(repo: &Repo, commit: ObjectId) -> Result<Vec<RecordId>> {
    match Log::own(repo)? {
        Some(log) => log.of_commit(commit),
        None => Ok(Vec::new()),
    }
}

/// Returns the records of our own log of commits whose first parent is `parent`; the null id means a root commit.
pub fn of_parent(repo: &Repo, parent: ObjectId) -> Result<Vec<RecordId>> {
    match Log::own(repo)? {
        Some(log) => log.index(PARENTS, parent),
        None => Ok(Vec::new()),
    }
}
