//! Decides whether a commit was made before git-checkpoint was in use if the history of records is not here.

use std::collections::HashSet;

use gix::ObjectId;

use super::commit::OfCommit;
use crate::{error::Result, git::Repo, model::record::ids_in_message, ops::records};

/// Looks at the messages of ancestors.
pub(super) struct Ancestors<'r> {
    repo: &'r Repo,
    /// True if the history of records is here.
    pub(super) has_history: bool,
    /// Commits that name no record, and whose ancestors do not either.
    silent: HashSet<ObjectId>,
}

impl<'r> Ancestors<'r> {
    pub(super) fn new(repo: &'r Repo) -> Result<Self> {
        let has_history = records::are_here(repo)?;
        Ok(Self { repo, has_history, silent: HashSet::new() })
    }

    /// Clears `is_earlier` of `commit` if an ancestor's message names a record, as in a clone without the records.
    pub(super) fn correct(&mut self, commit: &mut OfCommit) {
        if commit.is_earlier && !self.has_history {
            commit.is_earlier = !self.name_a_record(commit.id);
        }
    }

    fn name_a_record(&mut self, commit: ObjectId) -> bool {
        let (mut next, mut seen) = (vec![commit], HashSet::new());
        while let Some(id) = next.pop() {
            if self.silent.contains(&id) || !seen.insert(id) {
                continue;
            }
            let read = self.repo.with_commit(id, |it| (ids_in_message(it.message), it.parents().collect::<Vec<_>>()));
            // A shallow clone does not have all of them.
            let Ok((named, parents)) = read else { continue };
            if !named.is_empty() {
                return true;
            }
            next.extend(parents);
        }
        self.silent.extend(seen);
        false
    }
}
