//! The worktree that a writing command works on, while the command holds the lock of its checkpoints.
//!
//! [`Worktree`] is a [`Context`] plus that lock, not a directory. [`Worktree::enter`] makes one, and each writing command passes
//! it on. Under the lock, the files `turns.toml`, `base` and `commit.toml` are read once and cached. What has changed in
//! `turns.toml` is written when a caller asks for it, and at the latest when the lock is released.

use std::{ops::Deref, sync::Arc, time::Duration};

use super::{Context, locked::Locked};
use crate::{
    error::Result,
    model::{head_move::LogEnd, refname::Base, session::Session, turns::Turns},
    state::lock::Lock,
};

/// A [`Context`] together with the lock of its worktree's checkpoints. The lock is released when the last `Worktree` that
/// shares it is dropped.
#[must_use = "the lock is released when dropped"]
pub struct Worktree<'c> {
    context: &'c Context,
    locked: Arc<Locked>,
}

impl Deref for Worktree<'_> {
    type Target = Context;

    fn deref(&self) -> &Context {
        self.context
    }
}

impl<'c> Worktree<'c> {
    /// Returns the worktree of `context`, whose lock is `lock`. Only for [`enter`](Self::enter).
    ///
    /// # Errors
    /// If `turns.toml` cannot be read for a passing reason: an I/O error, or no memory or file descriptors left.
    pub(super) fn with_lock(context: &'c Context, lock: Lock) -> Result<Self> {
        context.repo.next_operation();
        let locked = Arc::new(Locked::new(&context.repo, lock)?);
        context.lock_by(&locked);
        Ok(Self { context, locked })
    }

    /// Returns the worktree of `context` under the lock that the caller holds already; none if it holds none. Only for
    /// [`enter`](Self::enter).
    pub(super) fn held(context: &'c Context) -> Option<Self> {
        context.locked().map(|locked| Self { context, locked })
    }

    /// Returns this worktree, under the same lock, with another `context`. For example, `git commit <path>` runs its hooks with
    /// a temporary index; the other context then reads the user's index.
    pub(super) fn with_context<'o>(&self, context: &'o Context) -> Worktree<'o> {
        context.lock_by(&self.locked);
        Worktree { context, locked: Arc::clone(&self.locked) }
    }

    /// Returns when the lock was taken, since the Unix epoch. The time is from the clock of the file system, so it compares
    /// with the times of files.
    pub(super) fn taken_at(&self) -> Duration {
        self.locked.lock.taken_at()
    }

    /// Caches the content of the file `base`: where HEAD was when git-checkpoint last looked, and where its reflog ended.
    pub(super) fn note_known_head(&self, base: Base, end: Option<LogEnd>) {
        self.locked.note_head(Some(Some((base, end))));
    }

    /// Drops the cached content: the next access reads the file `base` again.
    pub(super) fn forget_known_head(&self) {
        self.locked.note_head(None);
    }

    /// Writes the file of `session`. Its open turn is not part of that file: `turns.toml` has it.
    pub(super) fn store_session(&self, session: &Session) -> Result<()> {
        self.locked.sessions.store(session)
    }

    /// Changes the content of `turns.toml` in memory: the open turns of this worktree, their tool calls, and all else that is
    /// listed in [`Turns`]. `turn::write` writes the file, or else the release of the lock does.
    pub(super) fn edit_turns<T>(&self, change: impl FnOnce(&mut Turns) -> T) -> T {
        self.locked.turns.edit(change)
    }

    /// Returns an error if `turns.toml` cannot be read: then an event must not begin or end a turn. A damaged file is no error:
    /// it was renamed to `turns.bad`, and nothing counts as open.
    pub(super) fn check_turns(&self) -> Result<()> {
        self.locked.turns.check()
    }

    /// Writes `turns.toml` if its content has changed. Returns the sessions whose turn got its first checkpoint since the last
    /// write. The caller can now delete the pending refs of these turns.
    pub(super) fn write_turns(&self) -> Result<Vec<String>> {
        self.locked.turns.write()
    }
}
