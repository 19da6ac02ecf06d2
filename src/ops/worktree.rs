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
    /// The end of the reflog that records are up to date with. Not set until `reconcile` has run under this lock; none if there
    /// is no reflog.
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
    /// If the system fails to read `turns.toml`, for example for lack of memory or open files.
    pub(super) fn new(context: &'c Context, lock: Lock) -> Result<Self> {
        let locked = Arc::new(Locked::new(&context.repo, lock)?);
        context.lock_by(&locked);
        Ok(Self { context, locked, reconciled: OnceCell::new(), is_followed: Cell::default() })
    }

    /// Returns this worktree, under the same lock, for another `context` of it: while git commits from a temporary index, one
    /// that has the user's.
    pub(super) fn seen_by<'o>(&self, context: &'o Context) -> Worktree<'o> {
        context.lock_by(&self.locked);
        let (reconciled, is_followed) = (self.reconciled.clone(), self.is_followed.clone());
        Worktree { context, locked: Arc::clone(&self.locked), reconciled, is_followed }
    }

    /// Returns when the lock was taken, since the Unix epoch: by the clock of the file system, so that times of files compare
    /// with it.
    pub(super) fn taken_at(&self) -> Duration {
        self.locked.lock.taken_at()
    }

    /// Returns the end of the reflog that records are up to date with; none before `reconcile` has run.
    pub(super) fn reconciled(&self) -> Option<&Option<LogEnd>> {
        self.reconciled.get()
    }

    /// Notes that records are up to date with HEAD, whose reflog ends at `end`.
    pub(super) fn note_reconciled(&self, end: Option<LogEnd>) {
        self.reconciled.get_or_init(|| end);
    }

    /// Returns true once the shadows are up to date with HEAD.
    pub(super) fn is_followed(&self) -> bool {
        self.is_followed.get()
    }

    /// Notes that the shadows are up to date with HEAD.
    pub(super) fn note_followed(&self) {
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

    /// Changes which turns are open in this worktree. The file is written by `turn::write`, or when the
    /// lock is released.
    pub(super) fn edit_turns<T>(&self, change: impl FnOnce(&mut Turns) -> T) -> T {
        self.locked.turns.edit(change)
    }

    /// Returns an error if `turns.toml` cannot be read: an event must not end a turn that it cannot see. A damaged file is no
    /// error: it was set aside.
    pub(super) fn check_turns(&self) -> Result<()> {
        self.locked.turns.check()
    }

    /// Writes which turns are open in this worktree, if that has changed. Returns the sessions whose turn got its first
    /// checkpoint since the last write: the caller can now delete their pending refs.
    pub(super) fn write_turns(&self) -> Result<Vec<String>> {
        self.locked.turns.write()
    }
}
