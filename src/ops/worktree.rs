//! A worktree whose checkpoints this process has locked.

use std::{cell::Cell, ops::Deref, rc::Rc, sync::Arc, time::Duration};

use super::Context;
use crate::{
    error::Result,
    model::{refname::Base, turns::Turns},
    state::{lock::Lock, turns::Held},
};

/// What every writing operation works on: a [`Context`] together with the lock of its worktree's checkpoints. The lock is
/// released when the last `Worktree` that shares it is dropped. `locking::lock` takes it.
#[must_use = "the lock is released when dropped"]
pub struct Worktree<'c> {
    context: &'c Context,
    held: Rc<Locked>,
    /// The HEAD that the checkpoints are known to be up to date with.
    followed: Cell<Option<Base>>,
}

/// What is only used under the lock. Fields are dropped in this order, so the turns are written before others can read them.
struct Locked {
    turns: Arc<Held>,
    lock: Lock,
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
    /// As [`Held::read`].
    pub(super) fn new(context: &'c Context, lock: Lock) -> Result<Self> {
        let turns = Arc::new(Held::read(context.repo.git_dir())?);
        context.hold_turns(&turns);
        Ok(Self { context, held: Rc::new(Locked { turns, lock }), followed: Cell::default() })
    }

    /// Returns the same worktree, under the same lock, for `context`, which was opened in another way.
    pub(super) fn seen_by<'o>(&self, context: &'o Context) -> Worktree<'o> {
        context.hold_turns(&self.held.turns);
        Worktree { context, held: Rc::clone(&self.held), followed: self.followed.clone() }
    }

    /// Returns when the lock was taken, by the clock of the file system, as the time since 1970.
    pub(super) fn taken_at(&self) -> Duration {
        self.held.lock.taken_at()
    }

    /// Returns the HEAD that the checkpoints are known to be up to date with.
    pub(super) fn followed(&self) -> Option<Base> {
        self.followed.get()
    }

    /// Notes that the checkpoints are up to date with `head`.
    pub(super) fn note_followed(&self, head: Base) {
        self.followed.set(Some(head));
    }

    /// Changes which turns are open in this worktree. The file is written by [`write_turns`](Self::write_turns), or when the
    /// lock is released.
    pub(super) fn edit_turns<T>(&self, change: impl FnOnce(&mut Turns) -> T) -> T {
        self.held.turns.edit(change)
    }

    /// Returns an error if it is not known which turns are open in this worktree.
    pub(super) fn check_turns(&self) -> Result<()> {
        self.held.turns.check()
    }

    /// Returns false if it is not known which turns were open in this worktree when the lock was taken.
    pub(super) fn are_turns_known(&self) -> bool {
        self.held.turns.is_known()
    }

    /// Writes which turns are open in this worktree, if that has changed.
    pub(super) fn write_turns(&self) -> Result<()> {
        self.held.turns.write()
    }
}
