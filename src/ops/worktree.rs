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
    /// Where the reflog ends, once records are up to date with HEAD.
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
    /// As [`Locked::new`].
    pub(super) fn new(context: &'c Context, lock: Lock) -> Result<Self> {
        let locked = Arc::new(Locked::new(&context.repo, lock)?);
        context.lock_by(&locked);
        Ok(Self { context, locked, reconciled: OnceCell::new(), is_followed: Cell::default() })
    }

    /// Returns the same worktree, under the same lock, for `context`, which was opened in another way.
    pub(super) fn seen_by<'o>(&self, context: &'o Context) -> Worktree<'o> {
        context.lock_by(&self.locked);
        let (reconciled, is_followed) = (self.reconciled.clone(), self.is_followed.clone());
        Worktree { context, locked: Arc::clone(&self.locked), reconciled, is_followed }
    }

    /// Returns when the lock was taken, by the clock of the file system, as the time since 1970.
    pub(super) fn taken_at(&self) -> Duration {
        self.locked.lock.taken_at()
    }

    /// Returns where the reflog ends, once records are up to date with HEAD.
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

    /// Notes where HEAD was when git-checkpoint last looked, as the file has it now.
    pub(super) fn note_known_head(&self, base: Base, end: Option<LogEnd>) {
        self.locked.note_head(Some(Some((base, end))));
    }

    /// Lets the file with that be read anew.
    pub(super) fn forget_known_head(&self) {
        self.locked.note_head(None);
    }

    /// Stores what is known of a session but its turn.
    pub(super) fn store_session(&self, session: &Session) -> Result<()> {
        self.locked.sessions.store(session)
    }

    /// Changes which turns are open in this worktree. The file is written by `turn::write`, or when the
    /// lock is released.
    pub(super) fn edit_turns<T>(&self, change: impl FnOnce(&mut Turns) -> T) -> T {
        self.locked.turns.edit(change)
    }

    /// Returns an error if it is not known which turns are open in this worktree.
    pub(super) fn check_turns(&self) -> Result<()> {
        self.locked.turns.check()
    }

    /// Writes which turns are open in this worktree, if that has changed. Returns the sessions whose turn has its first checkpoint
    /// since: what it began with may be released.
    pub(super) fn write_turns(&self) -> Result<Vec<String>> {
        self.locked.turns.write()
    }
}
