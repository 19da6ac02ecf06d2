//! The commits between the entries of a list.

use gix::ObjectId;

use super::entry::Commit;
use crate::{error::Result, git::Repo, model::refname::Base};

/// How many commits are looked at between two entries.
const MOST: usize = 64;

/// Walks down from HEAD, from the commit of one entry to that of the next.
pub(super) struct Commits<'r> {
    repo: &'r Repo,
    at: Option<ObjectId>,
}

impl<'r> Commits<'r> {
    pub(super) fn since_head(repo: &'r Repo) -> Result<Self> {
        Ok(Self { repo, at: repo.head()?.id })
    }

    /// Returns the commits since `base`, on which the next entry was taken, newest first. If HEAD came from there in another way
    /// than by commits, this is only the last one.
    pub(super) fn down_to(&mut self, base: Base) -> Result<Vec<Commit>> {
        let mut ids = Vec::new();
        let mut next = self.at;
        while let Some(id) = next.filter(|id| Some(*id) != base.commit_id() && ids.len() < MOST) {
            ids.push(id);
            next = self.repo.parent_and_time(id)?.and_then(|(parent, _)| parent);
        }
        if next != base.commit_id() {
            ids.truncate(1);
        }
        self.at = base.commit_id();
        Ok(ids.into_iter().map(|id| Commit { id, subject: self.subject(id) }).collect())
    }

    fn subject(&self, id: ObjectId) -> String {
        let message = self.repo.message_of(id).unwrap_or_default();
        message.lines().next().unwrap_or_default().to_owned()
    }
}
