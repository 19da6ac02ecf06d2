//! Decides which checkpoints are one entry of a list.

use gix::ObjectId;

use super::entry::Entry;
use crate::{
    git::Repo,
    model::checkpoint::Checkpoint,
    ops::{chain::carry_forward::before_carried, restored_target},
};

/// An entry, and the earliest checkpoint that it represents.
pub(super) struct Group {
    pub(super) entry: Entry,
    earliest: Checkpoint,
    /// The checkpoint that carried the start of the work forward, if this entry carries it.
    start: Option<ObjectId>,
}

impl Group {
    pub(super) fn new(repo: &Repo, entry: Entry) -> Self {
        Self { earliest: entry.checkpoint.clone(), start: start_before(repo, &entry.checkpoint), entry }
    }

    /// Returns true if earlier checkpoints may belong to this entry.
    pub(super) fn may_take_more(&self) -> bool {
        self.entry.restored.is_some()
            || self.entry.checkpoint.origin.turn.is_some()
            || self.earliest.origin.carried.is_some()
    }

    /// Returns true if `entry`, the next one of the timeline, belongs to this one. What the user has marked stands alone.
    pub(super) fn takes(&self, repo: &Repo, entry: &Entry) -> bool {
        let earlier = &entry.checkpoint;
        let is_marked = entry.verified || entry.start || !entry.tags.is_empty() || entry.note.is_some();
        !is_marked
            && (self.is_carried(repo, earlier)
                || self.start == Some(earlier.id)
                || self.is_before_restore(earlier)
                || self.is_of_turn(entry))
    }

    /// Returns true if the same state was carried from `earlier` to another commit.
    fn is_carried(&self, repo: &Repo, earlier: &Checkpoint) -> bool {
        let source = self.earliest.origin.carried;
        source == Some(earlier.id) && source.and_then(|id| repo.tree_of_commit(id).ok()) == Some(self.earliest.tree_id)
    }

    /// Returns true if `earlier` was only taken for the sake of this restore.
    fn is_before_restore(&self, earlier: &Checkpoint) -> bool {
        restored_target::restored(&self.earliest.origin).is_some()
            && self.earliest.before_id() == earlier.id
            && restored_target::is_before_restore(&earlier.subject)
    }

    /// Returns true if `entry` is of the same turn, and HEAD was at the same commit.
    fn is_of_turn(&self, entry: &Entry) -> bool {
        let (later, earlier) = (&self.entry.checkpoint.origin, &entry.checkpoint.origin);
        let has_turn = later.turn.is_some() && later.session.is_some();
        let is_by_restore = self.entry.restored.is_some() || entry.restored.is_some();
        let is_on_same_commit = self.earliest.base == entry.checkpoint.base;
        has_turn
            && !is_by_restore
            && is_on_same_commit
            && (later.turn, &later.session) == (earlier.turn, &earlier.session)
    }

    pub(super) fn fold(&mut self, repo: &Repo, entry: Entry) {
        self.entry.folded += 1;
        // What comes right before it in the same turn is the same contributor's, too. If a filter has passed over what is between
        // the two, or work was carried to another commit, it may be another one's.
        if self.is_of_turn(&entry)
            && self.entry.before == entry.checkpoint.id
            && self.entry.before == self.earliest.before_id()
        {
            self.entry.before = entry.checkpoint.before_id();
        }
        if let (Some(paths), Some(more)) = (&mut self.entry.paths, entry.paths) {
            paths.extend(more);
            paths.sort();
            paths.dedup();
        }
        // What was carried comes after the start.
        if self.start != Some(entry.checkpoint.id) {
            self.start = start_before(repo, &entry.checkpoint).or(self.start);
            self.earliest = entry.checkpoint;
        }
    }
}

/// Returns the checkpoint before `checkpoint` if that carries the start of the same work forward.
fn start_before(repo: &Repo, checkpoint: &Checkpoint) -> Option<ObjectId> {
    let before_id = checkpoint.before_id();
    before_carried(repo, checkpoint).is_ok_and(|id| id != before_id).then_some(before_id)
}
