//! A worktree whose checkpoints this process has locked.

use std::{
    cell::{Cell, OnceCell},
    ops::Deref,
    sync::Arc,
    time::Duration,
};

use super::{Context, locked::Locked};
use crate::{
    error::Result,
    model::{head_move::LogEnd, refname::Base, session::Session, turns::Turns},
    state::lock::Lock,
};

/// What every writing operation works on: a [`Context`] together with the lock of its worktree's checkpoints. The lock is
/// released when the last `Worktree` that shares it is dropped. `locking::lock` takes it.
#[must_use = "the lock is released when dropped"]
pub struct Worktree<'c> {
    context: &'c Context,
    locked: Arc<Locked>,
    /// Where HEAD's reflog ended when `reconcile` brought the records up to date; none if there is no reflog. Not set until it
    /// has run under this lock.
    reconciled: OnceCell<Option<LogEnd>>,
    /// True once the shadows are up to date with HEAD.
    is_followed: Cell<bool>,
}

impl Deref for Worktree<'_> {
    type Target = Context;

    fn deref(&self) -> &Context {
        self.context
    }
}

impl<'c> Worktree<'c> {
    /// Returns the worktree of `context`, whose lock is `lock`.
    ///
    /// # Errors
    /// If `turns.toml` cannot be read for a passing reason: an I/O error, or no memory or file descriptors left.
    pub(super) fn new(context: &'c Context, lock: Lock) -> Result<Self> {
        let locked = Arc::new(Locked::new(&context.repo, lock)?);
        context.lock_by(&locked);
        Ok(Self { context, locked, reconciled: OnceCell::new(), is_followed: Cell::default() })
    }

    /// Returns this worktree, under the same lock, with another `context`: while git commits from a temporary index, a context
    /// that reads the user's index.
    pub(super) fn with_context<'o>(&self, context: &'o Context) -> Worktree<'o> {
        context.lock_by(&self.locked);
        let (reconciled, is_followed) = (self.reconciled.clone(), self.is_followed.clone());
        Worktree { context, locked: Arc::clone(&self.locked), reconciled, is_followed }
    }

    /// Returns when the lock was taken, since the Unix epoch: by the clock of the file system, so that times of files compare
    /// with it.
    pub(super) fn taken_at(&self) -> Duration {
        self.locked.lock.taken_at()
    }

    /// Returns where HEAD's reflog ended when `reconcile` brought the records up to date; none before that.
    pub(super) fn reconciled_up_to(&self) -> Option<&Option<LogEnd>> {
        self.reconciled.get()
    }

    /// Notes that records are up to date with HEAD, whose reflog ends at `end`.
    pub(super) fn note_reconciled(&self, end: Option<LogEnd>) {
        self.reconciled.get_or_init(|| end);
    }

    /// Returns true once the shadows are up to date with HEAD.
    pub(super) fn has_followed_head(&self) -> bool {
        self.is_followed.get()
    }

    /// Notes that the shadows are up to date with HEAD.
    pub(super) fn note_head_followed(&self) {
        self.is_followed.set(true);
    }

    /// Caches what the file `base` says now: where HEAD was when we last looked, and where its reflog ended.
    pub(super) fn note_known_head(&self, base: Base, end: Option<LogEnd>) {
        self.locked.note_head(Some(Some((base, end))));
    }

    /// Drops this cache: the next access reads the file `base`.
    pub(super) fn forget_known_head(&self) {
        self.locked.note_head(None);
    }

    /// Writes the file of `session`. Its open turn is not in there, but in `turns.toml`.
    pub(super) fn store_session(&self, session: &Session) -> Result<()> {
        self.locked.sessions.store(session)
    }

    /// Changes what `turns.toml` holds: the open turns of this worktree and what belongs to them. `turn::write` writes it,
    /// or else the release of the lock does.
    pub(super) fn edit_turns<T>(&self, change: impl FnOnce(&mut Turns) -> T) -> T {
        self.locked.turns.edit(change)
    }

    /// Returns an error if `turns.toml` cannot be read: an event must not end a turn that it cannot see. A damaged file is no
    /// error: it was set aside.
    pub(super) fn check_turns(&self) -> Result<()> {
        self.locked.turns.check()
    }

    /// Writes `turns.toml` if its content has changed. Returns the sessions whose turn got its first checkpoint since the last
    /// write: the caller can now delete their pending refs.
    pub(super) fn write_turns(&self) -> Result<Vec<String>> {
        self.locked.turns.write()
    }
}
