//! A log that others have, and what of it is new here.

use std::collections::{BTreeSet, HashSet};

use gix::ObjectId;

use super::shape::{LONGEST_LINE, beyond, check_log};
use crate::{
    error::{Error, Kind, Result},
    git::Repo,
    model::{log_place::Place, refname},
};

/// A log of a remote, or of a file, that is to be here.
pub(super) struct Wanted<'a> {
    pub(super) name: &'a str,
    pub(super) id: ObjectId,
    /// The logs of the same name that are here.
    pub(super) known: Vec<ObjectId>,
}

impl<'a> Wanted<'a> {
    /// Returns the logs `wanted`, by their names and ids, with those that are here.
    pub(super) fn all(repo: &Repo, wanted: &'a [(String, ObjectId)]) -> Result<Vec<Self>> {
        let fetched = repo.refs_below(refname::FETCHED)?;
        // Whatever name git has for the remote: the logs of one project have most in common.
        let known = |name: &str| -> Result<Vec<ObjectId>> {
            let tracked = fetched.iter().filter(|(tracking, _)| is_tracking(tracking, name)).map(|(_, id)| *id);
            let ids: BTreeSet<ObjectId> = repo.find_sound_ref(name)?.into_iter().chain(tracked).collect();
            Ok(ids.into_iter().filter(|id| is_readable(repo, *id)).collect())
        };
        wanted.iter().map(|(name, id)| Ok(Self { name, id: *id, known: known(name)? })).collect()
    }

    /// Returns true if a log that is here leads to it.
    pub(super) fn is_known(&self, repo: &Repo) -> bool {
        repo.has_object(self.id) && self.known.iter().any(|known| repo.leads_to(*known, self.id))
    }

    /// Checks what of the log in `seen` is in none of `known`; calls `each` for it.
    pub(super) fn check(&self, seen: &Repo, known: &[ObjectId], each: &mut dyn FnMut(ObjectId)) -> Result<()> {
        if known.contains(&self.id) {
            return Ok(());
        }
        if !seen.is_commit(self.id)? {
            return Err(Error::refused(format!("'{}' is no commit", self.id)));
        }
        let place = Place::of_ref(self.name).expect("only logs are wanted");
        check_log(seen, place, self.id, known, each)
    }

    /// Checks the log in `seen`, which has what has arrived and the objects of `repo`. Adds to `borrowed` what it needs of these that is
    /// in no log that is known.
    pub(super) fn borrowed(&self, repo: &Repo, seen: &Repo, borrowed: &mut HashSet<ObjectId>) -> Result<()> {
        let mut ours = HashSet::new();
        let mut note = |id| ours.extend(Some(id).filter(|id| repo.had_object(*id)));
        self.check(seen, &self.known, &mut note).or_else(|error| match error.kind() {
            // What was fetched from another remote may be damaged: then the whole log is looked at.
            Kind::Corrupt | Kind::Internal if !self.known.is_empty() => self.check(seen, &[], &mut note),
            _ => Err(error),
        })?;
        borrowed.extend(beyond(repo, &self.known, LONGEST_LINE, ours)?);
        Ok(())
    }

    pub(super) fn refused(&self, remote: &str, error: Error) -> Error {
        let message = format!("'{}' of '{remote}' is refused: {}", self.name, error.message());
        error.with_message(message)
    }
}

/// Returns true if `id` is a commit whose tree is here.
fn is_readable(repo: &Repo, id: ObjectId) -> bool {
    repo.is_commit(id).unwrap_or(false) && repo.tree_of_commit(id).is_ok_and(|tree| repo.has_object(tree))
}

/// Returns true if the ref `tracking` follows the log `name` of some remote.
fn is_tracking(tracking: &str, name: &str) -> bool {
    let log = tracking.strip_prefix(refname::FETCHED).and_then(|rest| rest.split_once('/'));
    log.is_some_and(|(_, log)| Some(log) == name.strip_prefix(refname::PREFIX))
}
