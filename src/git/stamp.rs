//! What of a commit survives a rebase.

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::Repo;
use crate::error::Result;

/// Who wrote a commit and when, and its subject: all of this survives a rebase.
pub(crate) type Stamp = (BString, BString, i64, BString);

impl Repo {
    /// Returns the stamp of `commit`; none if its author cannot be read.
    pub(crate) fn stamp(&self, commit: ObjectId) -> Result<Option<Stamp>> {
        self.with_commit(commit, |commit| {
            let author = commit.author().ok()?;
            let subject = commit.message.lines().next().unwrap_or_default();
            Some((author.name.to_owned(), author.email.to_owned(), author.seconds(), subject.into()))
        })
    }
}
