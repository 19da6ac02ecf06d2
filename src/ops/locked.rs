//! What is known of a worktree while this process holds the lock of its checkpoints: nothing else changes it meanwhile.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::{
    error::Result,
    git::{Repo, SeenHead},
    model::{head_move::LogEnd, refname::Base},
    state::{commit_note::Prepared, lock::Lock, sessions, turns},
};

/// Where HEAD was when git-checkpoint last looked, and the end of the reflog then, if it was noted.
pub(super) type KnownHead = Option<(Base, Option<LogEnd>)>;

/// The lock, and what is only used under it. Fields are dropped in this order, so the turns are written before others can read
/// them.
#[derive(Debug)]
pub(super) struct Locked {
    /// Which turns are open.
    pub(super) turns: turns::Held,
    /// The files of sessions.
    pub(super) sessions: sessions::Held,
    /// HEAD, as all that is done under the lock sees it.
    pub(super) head: Arc<SeenHead>,
    known_head: Mutex<Option<KnownHead>>,
    prepared: Mutex<Option<Prepared>>,
    pub(super) lock: Lock,
}

impl Locked {
    /// Returns what is known of the worktree of `repo`, whose lock is `lock`.
    ///
    /// # Errors
    /// As [`turns::Held::read`].
    pub(super) fn new(repo: &Repo, lock: Lock) -> Result<Self> {
        let (turns, sessions) = (turns::Held::read(repo.git_dir())?, sessions::Held::new(repo.common_dir()));
        Ok(Self {
            turns,
            sessions,
            head: Arc::default(),
            known_head: Mutex::default(),
            prepared: Mutex::default(),
            lock,
        })
    }

    /// Returns where HEAD was when git-checkpoint last looked; `read` reads it.
    pub(super) fn known_head(&self, read: impl FnOnce() -> KnownHead) -> KnownHead {
        *lock(&self.known_head).get_or_insert_with(read)
    }

    /// Notes that the file has `known` now; none: that is not known.
    pub(super) fn note_head(&self, known: Option<KnownHead>) {
        *lock(&self.known_head) = known;
    }

    /// Returns the notes of commits that were prepared; `read` reads them.
    ///
    /// # Errors
    /// As `read`.
    pub(super) fn prepared(&self, read: impl FnOnce() -> Result<Prepared>) -> Result<Prepared> {
        let mut known = lock(&self.prepared);
        if known.is_none() {
            *known = Some(read()?);
        }
        Ok(known.clone().unwrap_or_default())
    }

    /// Notes that the file has these notes now; none: that is not known.
    pub(super) fn note_prepared(&self, prepared: Option<Prepared>) {
        *lock(&self.prepared) = prepared;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
