//! The commits between the entries of a list.

use std::collections::HashMap;

use gix::ObjectId;

use super::entry::Commit;
use crate::{
    error::Result,
    git::Repo,
    model::{checkpoint::Checkpoint, refname::Base},
};

/// How many first parents of HEAD are looked at, and how many commits that were merged into these.
const MOST: usize = 512;

/// Walks down the history of HEAD, from the commit of one entry to that of the next.
pub(super) struct Commits<'r> {
    repo: &'r Repo,
    /// HEAD and its first parents, as far as they were needed.
    trail: Vec<ObjectId>,
    /// Where each of these is in `trail`.
    places: HashMap<ObjectId, usize>,
    /// The first parent of the last of them.
    next: Option<ObjectId>,
    /// The commits that merges brought in, each with the place of the earliest such merge; read once a commit is not in `trail`.
    merged: Option<HashMap<ObjectId, usize>>,
    /// How many commits of `trail` were given to an entry.
    passed: usize,
}

impl<'r> Commits<'r> {
    pub(super) fn since_head(repo: &'r Repo) -> Result<Self> {
        let (trail, places, next) = (Vec::new(), HashMap::new(), repo.head()?.id);
        Ok(Self { repo, trail, places, next, merged: None, passed: 0 })
    }

    /// Returns the commits of HEAD's history that came after `checkpoint`, the next entry, newest first, but none twice: those since
    /// its base. If that is not in the history, as after an amend or a rebase, those that are newer than the checkpoint.
    pub(super) fn down_to(&mut self, checkpoint: &Checkpoint) -> Vec<Commit> {
        let place = self.place(checkpoint.base).unwrap_or_else(|| self.place_by_time(checkpoint.seconds));
        if place <= self.passed {
            return Vec::new();
        }
        let since = std::mem::replace(&mut self.passed, place);
        let ids = &self.trail[since..place];
        ids.iter().map(|id| Commit { id: *id, subject: self.subject(*id) }).collect()
    }

    /// Returns how many commits of `trail` came after `base`; none if `base` is not in the history of HEAD, or too far down.
    fn place(&mut self, base: Base) -> Option<usize> {
        let id = base.commit_id();
        loop {
            let known = id.and_then(|id| self.places.get(&id).copied());
            if known.is_some() {
                return known;
            }
            if self.trail.len() >= MOST || !self.extend() {
                break;
            }
        }
        match id {
            Some(id) => self.merged().get(&id).map(|merge| merge + 1),
            None => self.next.is_none().then_some(self.trail.len()),
        }
    }

    /// Returns how many commits of `trail`, after those that were passed, are newer than `time` (in Unix seconds).
    fn place_by_time(&mut self, time: i64) -> usize {
        let mut place = self.passed;
        while place < self.trail.len() || (place < MOST && self.extend()) {
            let is_older = |(_, committed): (_, i64)| committed <= time;
            if self.repo.parent_and_time(self.trail[place]).ok().flatten().is_none_or(is_older) {
                break;
            }
            place += 1;
        }
        place
    }

    /// Reads one more commit of the trail. Returns false if there is none.
    fn extend(&mut self) -> bool {
        let Some(id) = self.next else { return false };
        self.places.insert(id, self.trail.len());
        self.trail.push(id);
        self.next = self.parents(id).first().copied();
        true
    }

    /// Returns the commits that merges of the trail brought in.
    fn merged(&mut self) -> &HashMap<ObjectId, usize> {
        if self.merged.is_none() {
            let (mut merged, mut left) = (HashMap::new(), MOST);
            for (place, id) in self.trail.iter().enumerate() {
                let mut next: Vec<_> = self.parents(*id).into_iter().skip(1).collect();
                while let Some(id) = next.pop().filter(|_| left > 0) {
                    // A later round is that of an earlier merge.
                    if !self.places.contains_key(&id) && merged.insert(id, place) != Some(place) {
                        left -= 1;
                        next.extend(self.parents(id));
                    }
                }
            }
            self.merged = Some(merged);
        }
        self.merged.get_or_insert_default()
    }

    /// Returns the parents of the commit `id`; for one that cannot be read, none.
    fn parents(&self, id: ObjectId) -> Vec<ObjectId> {
        self.repo.parents_of(id).unwrap_or_default()
    }

    fn subject(&self, id: ObjectId) -> String {
        let message = self.repo.message_of(id).unwrap_or_default();
        message.lines().next().unwrap_or_default().to_owned()
    }
}
