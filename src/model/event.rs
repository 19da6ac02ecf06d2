//! The events that operations emit.

use serde::Serialize;

/// One line of `events.jsonl`, and what a subscriber receives. Numbers of paths are counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Event {
    /// A shadow was begun.
    Initialize {
        /// The worktree's id.
        worktree: String,
        /// Its base commit, or `unborn`.
        base: String,
        /// True if this worktree had no checkpoint before.
        created: bool,
        /// How long it took.
        duration_ms: u64,
    },
    /// A checkpoint was taken.
    Checkpoint {
        /// The checkpoint or base commit before it.
        from: String,
        /// The new checkpoint.
        to: String,
        /// Who made the change.
        contributor: String,
        /// The agent's session.
        session: Option<String>,
        /// How many paths changed.
        paths: usize,
        /// True if it is now the verified checkpoint.
        verified: bool,
        /// How long it took.
        duration_ms: u64,
    },
    /// A checkpoint was put back.
    Restore {
        /// The checkpoint put back.
        to: String,
        /// How many paths were written.
        written: usize,
        /// How many were deleted.
        deleted: usize,
        /// How many were left alone because the checkpoint may not change them.
        kept: usize,
        /// How many were left alone because they changed meanwhile, or another file is in the way.
        conflicts: usize,
        /// How long it took.
        duration_ms: u64,
    },
    /// A shadow was set aside.
    Reset {
        /// Where it is now.
        archive: String,
        /// Its last checkpoint.
        tip: String,
        /// How many checkpoints it holds.
        checkpoints: usize,
    },
    /// A broken shadow was archived as far as it can be read.
    Broken {
        /// Where it was.
        shadow: String,
        /// The archived part; none if nothing can be read.
        archive: Option<String>,
        /// What it pointed to.
        tip: String,
        /// How many checkpoints can be read.
        checkpoints: usize,
        /// Unreadable objects, at most five.
        unreadable: Vec<String>,
    },
    /// What a ref led to was found again, and the archive holds it.
    Recovered {
        /// The ref.
        r#ref: String,
        /// Where it is now; none if nothing is known of what the ref led to.
        archive: Option<String>,
        /// Where the file of the ref is now, if it had no id.
        file: Option<String>,
    },
    /// A shadow was brought back from the archive.
    RestoreArchived {
        /// Where it was.
        archive: String,
        /// Its last checkpoint.
        tip: String,
        /// How many checkpoints it holds.
        checkpoints: usize,
    },
    /// A checkpoint became the verified one, or the mark was removed.
    Verify {
        /// The checkpoint; none if the mark was removed.
        id: Option<String>,
    },
    /// Paths were left out of a checkpoint.
    Skip {
        /// How many.
        paths: usize,
        /// The checkpoint.
        to: Option<String>,
    },
    /// A turn began: does its work continue the shadow?
    Overlap {
        /// The session.
        session: String,
        /// True if the first checkpoint of the turn sets the shadow aside.
        should_reset: bool,
        /// How many paths differed from HEAD.
        dirty: usize,
        /// How many of them the shadow touches.
        overlap: usize,
    },
    /// A commit became a record.
    Condense {
        /// The record.
        record: String,
        /// The commit.
        commit: String,
        /// How many sessions had a part in it.
        sessions: usize,
        /// How many paths.
        paths: usize,
    },
    /// Archived shadows were dropped.
    Prune {
        /// How many.
        dropped: usize,
    },
    /// Checkpoints were dropped.
    Drop {
        /// Their ids.
        ids: Vec<String>,
        /// How many checkpoints after them were written anew.
        rewritten: usize,
    },
    /// A text was removed from what we store.
    Purge {
        /// How many checkpoints had it.
        checkpoints: usize,
        /// How many checkpoints were written anew.
        rewritten: usize,
        /// How many objects were removed.
        objects: usize,
    },
    /// Records were exchanged with a remote after `git push`.
    Exchange {
        /// The remote.
        remote: String,
        /// How many records were sent.
        sent_records: usize,
        /// How many were fetched.
        new_records: usize,
        /// Why it has failed; none if it has not.
        failure: Option<String>,
        /// How long it took.
        duration_ms: u64,
    },
    /// An operation failed.
    Error {
        /// Which.
        operation: String,
        /// Who has to act: `user` and `refused` are answers to a request, all other kinds are failures.
        kind: String,
        /// Why.
        message: String,
    },
}
