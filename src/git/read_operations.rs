//! Reads the operation log.

use bstr::BStr;
use gix::ObjectId;

use super::{Repo, recorder::FILES};
use crate::{
    error::{Error, Result},
    model::{operation::Operation, refname},
};

/// An entry of the operation log.
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    pub(crate) id: ObjectId,
    pub(crate) operation: Operation,
    /// Unix seconds.
    pub(crate) seconds: i64,
    /// Seconds east of UTC.
    pub(crate) offset: i32,
    /// The entry before it, in the same part of the log.
    pub(crate) before: Option<ObjectId>,
    pub(crate) tree_id: ObjectId,
}

/// The entries of a log, newest first. After one that cannot be read, those of the older part follow.
pub(crate) struct Operations<'r> {
    repo: &'r Repo,
    next: Option<ObjectId>,
    older: Option<String>,
}

impl Repo {
    /// Returns the entries of the operation log of `worktree`, newest first.
    pub(crate) fn operations(&self, worktree: &BStr) -> Result<Operations<'_>> {
        let next = self.find_sound_ref(&refname::operations_ref(worktree))?;
        Ok(Operations { repo: self, next, older: Some(refname::older_operations_ref(worktree)) })
    }

    /// Returns the entry `id` of an operation log; none if the commit is no entry.
    pub(crate) fn operation(&self, id: ObjectId) -> Result<Option<Recorded>> {
        self.with_commit(id, |commit| {
            let operation = Operation::parse(commit.message)?;
            let time = commit.time().ok()?;
            let before = commit.parents().next().filter(|_| operation.number > 1);
            Some(Recorded { id, operation, seconds: time.seconds, offset: time.offset, before, tree_id: commit.tree() })
        })
    }

    /// Returns what the entry says about the files that the operation changed; none if it changed none.
    pub(crate) fn files_of(&self, recorded: &Recorded) -> Result<Option<Vec<u8>>> {
        if !recorded.operation.has_files {
            return Ok(None);
        }
        let found = self.find_entry(recorded.tree_id, FILES.into())?;
        found.map(|(_, id)| self.read_blob(id)).transpose()
    }
}

impl Repo {
    /// Returns the refs below our prefix, except the operation logs, which hold what other refs pointed to before.
    pub(crate) fn refs_of_checkpoints(&self) -> Result<Vec<(String, ObjectId)>> {
        let mut refs = self.refs_below(refname::PREFIX)?;
        refs.retain(|(name, _)| refname::is_recorded(name));
        Ok(refs)
    }
}

impl Iterator for Operations<'_> {
    type Item = Result<Recorded>;

    fn next(&mut self) -> Option<Self::Item> {
        let Some(id) = self.next.take() else {
            let older = self.older.take()?;
            self.next = match self.repo.find_sound_ref(&older) {
                Ok(found) => Some(found?),
                Err(error) => return Some(Err(error)),
            };
            return self.next();
        };
        let read = self.repo.operation(id).and_then(|recorded| {
            recorded.ok_or_else(|| Error::corrupt(format!("'{id}' in the operation log is not an operation")))
        });
        if let Ok(recorded) = &read {
            self.next = recorded.before;
        }
        Some(read)
    }
}

/// Returns true if `id` begins with `hex`.
pub(crate) fn begins_with(id: ObjectId, hex: &str) -> bool {
    id.to_string().as_bytes().starts_with(hex.to_ascii_lowercase().as_bytes())
}
