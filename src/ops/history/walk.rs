//! Walks the checkpoints that a list is made of, newest first.

use std::collections::HashSet;

use gix::ObjectId;

use super::{
    entry::Entry,
    filter::{Filter, ListOptions},
    marks::Marks,
};
use crate::{
    error::{Error, Kind, Result},
    git::Repo,
    model::{checkpoint::Checkpoint, refname::Base},
    ops::chain::timeline::{self, Numbers, Timeline, Tip},
};

/// The checkpoints of this worktree, or of all, that pass a filter.
pub(super) struct Walk<'r> {
    repo: &'r Repo,
    options: &'r ListOptions,
    tips: Vec<Tip>,
    timeline: Timeline<'r>,
    numbers: Numbers,
    base: Base,
}

impl<'r> Walk<'r> {
    pub(super) fn new(repo: &'r Repo, options: &'r ListOptions) -> Result<Self> {
        let worktree = (!options.all_worktrees).then(|| repo.worktree_id());
        Self::of(repo, options, timeline::all_tips(repo, worktree)?)
    }

    /// Returns one that reads no checkpoint.
    pub(super) fn empty(repo: &'r Repo, options: &'r ListOptions) -> Result<Self> {
        Self::of(repo, options, Vec::new())
    }

    fn of(repo: &'r Repo, options: &'r ListOptions, tips: Vec<Tip>) -> Result<Self> {
        let base = Base::of_head(repo.head()?.id);
        let (timeline, numbers) = (Timeline::new(repo, &tips)?, Numbers::of(&tips));
        Ok(Self { repo, options, tips, timeline, numbers, base })
    }

    /// Returns the next entry that passes `filter`.
    pub(super) fn next(&mut self, filter: &mut Filter<'_>, marks: &mut Marks<'_>) -> Result<Option<Entry>> {
        while let Some((checkpoint, archived)) = self.timeline.next() {
            let number = self.numbers.next(checkpoint.id, archived);
            if (archived && self.options.live) || (!archived && self.options.archived) {
                continue;
            }
            let marked = |checkpoint: &Checkpoint| marks.of(checkpoint, self.timeline.read());
            let Some(mut entry) = filter.entry(checkpoint, archived, marked)? else { continue };
            let is_of_one = !self.options.all_worktrees;
            entry.undone = number.is_none();
            entry.number = number.filter(|_| is_of_one);
            // A commit moves HEAD on from the checkpoints that it sets aside.
            let is_here = is_of_one && entry.checkpoint.base == self.base;
            entry.is_set_aside = archived && is_here && !(entry.undone || self.options.archived);
            return Ok(Some(entry));
        }
        Ok(None)
    }

    /// Returns those of `ids` that pass `filter` and that only other refs hold than the chains that are walked: a tag keeps what a
    /// prune has dropped from the archive.
    pub(super) fn beside(
        &self,
        ids: &HashSet<ObjectId>,
        filter: &mut Filter<'_>,
        marks: &mut Marks<'_>,
    ) -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        if self.options.live || self.options.archived {
            return Ok(entries);
        }
        let tips: Vec<ObjectId> = self.tips.iter().map(|tip| tip.id).collect();
        for id in ids {
            if self.repo.reaches(tips.clone(), *id, 0).unwrap_or(false) {
                continue;
            }
            match self.repo.find_checkpoint(*id) {
                Ok(Some(it)) if !self.options.all_worktrees && it.worktree != self.repo.worktree_id() => {}
                Ok(Some(it)) => entries.extend(filter.entry(it, false, |it| marks.of(it, &HashSet::new()))?),
                Ok(None) => {}
                Err(error) if error.kind() == Kind::Corrupt => filter.broken.push(error),
                Err(error) => return Err(error),
            }
        }
        Ok(entries)
    }

    /// Returns the errors that have ended chains early so far.
    pub(super) fn broken(&self) -> &[Error] {
        &self.timeline.broken
    }

    /// Returns the errors that ended chains early.
    pub(super) fn into_broken(self) -> Vec<Error> {
        self.timeline.broken
    }
}
