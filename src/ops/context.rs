//! What every operation works on, and who hears of it.

use std::{
    cell::RefCell,
    path::Path,
    sync::{Arc, Weak, atomic::AtomicBool},
};

use bstr::BStr;

use super::locked::Locked;
use crate::{
    config::Settings,
    error::Result,
    git::{Repo, patience::Limits, recorder::PartLimits},
    model::{event::Event, review::Waits, set_aside::SetAside, turns::Turns},
    state::{
        self,
        commit_note::Prepared,
        turns::{is_known, peek},
    },
};

/// A repository with the settings that hold in it: what every operation works on.
pub struct Context {
    /// The repository.
    pub(crate) repo: Repo,
    /// The settings.
    pub settings: Settings,
    subscribers: Vec<Box<dyn Subscriber + Send + Sync>>,
    /// Broken chains that were set aside since the last `save` or `reset` began.
    broken: RefCell<Vec<SetAside>>,
    /// The refs of archived shadows that were found to be unreadable.
    unreadable: RefCell<Vec<String>>,
    /// What is known of this worktree while this process holds its lock.
    locked: RefCell<Weak<Locked>>,
    /// What of a review waits in this worktree.
    waits: state::reviews::Held,
}

/// Hears of every operation; for editors and orchestrators that embed this crate.
pub trait Subscriber {
    /// Called after the operation that `event` is about, on its thread.
    fn event(&self, event: &Event);
}

impl Context {
    /// Opens the repository that `dir` is in with default settings, whatever the environment says.
    pub fn open(dir: &Path) -> Result<Self> {
        Ok(Self::new(Repo::open(dir)?, Settings::default()))
    }

    /// Returns the context of `repo` with `settings`.
    pub(crate) fn new(repo: Repo, settings: Settings) -> Self {
        const DAY: i64 = 24 * 60 * 60;
        let days = settings.operations.keep_days.map(|days| i64::try_from(days).unwrap_or(i64::MAX));
        repo.limit_operations(PartLimits {
            count: settings.operations.keep_count,
            seconds: days.map(|days| days.saturating_mul(DAY)),
        });
        repo.limit_exchanges(Limits { time: settings.remote.timeout, bytes: settings.remote.max_fetch_size });
        let (broken, unreadable, locked) = (RefCell::default(), RefCell::default(), RefCell::default());
        let waits = state::reviews::Held::default();
        Self { repo, settings, subscribers: Vec::new(), broken, unreadable, locked, waits }
    }

    /// Returns the context of `repo`, another worktree that the same command works on, or the same one.
    pub(crate) fn with_repo(&self, mut repo: Repo) -> Self {
        repo.describe_operation_like(&self.repo);
        repo.note_damaged_like(&self.repo);
        Self::new(repo, self.settings.clone())
    }

    /// Returns the repository in the directory `path` of this worktree with the same settings; none if none is there in which to
    /// work.
    ///
    /// # Errors
    /// As [`Repo::repository_in`].
    pub(crate) fn below(&self, path: &BStr) -> Result<Option<Self>> {
        Ok(self.repo.repository_in(path)?.map(|repo| Self::new(repo, self.settings.clone())))
    }

    /// Calls `subscriber` after every operation from now on.
    pub fn subscribe(&mut self, subscriber: Box<dyn Subscriber + Send + Sync>) {
        self.subscribers.push(subscriber);
    }

    /// Returns the broken chains that were set aside since the last `save` or `reset` began.
    pub fn broken(&self) -> Vec<SetAside> {
        self.broken.borrow().clone()
    }

    /// Forgets the chains that earlier operations have set aside, so that each is reported once.
    pub(crate) fn forget_broken(&self) {
        self.broken.borrow_mut().clear();
    }

    pub(crate) fn note_broken(&self, set_aside: SetAside) {
        self.broken.borrow_mut().push(set_aside);
    }

    /// Returns the refs of archived shadows that were found to be unreadable.
    pub(crate) fn unreadable(&self) -> Vec<String> {
        self.unreadable.borrow().clone()
    }

    pub(crate) fn note_unreadable(&self, name: String) {
        let mut unreadable = self.unreadable.borrow_mut();
        if !unreadable.contains(&name) {
            unreadable.push(name);
        }
    }

    /// Lets [`locked`](Self::locked) return `locked` as long as that lives.
    pub(super) fn lock_by(&self, locked: &Arc<Locked>) {
        *self.locked.borrow_mut() = Arc::downgrade(locked);
        self.repo.see_head_by(&locked.head);
    }

    /// Returns what is known of this worktree while this process holds its lock; none if it does not.
    pub(super) fn locked(&self) -> Option<Arc<Locked>> {
        self.locked.borrow().upgrade()
    }

    /// Returns which turns are open in this worktree, and what belongs to them.
    pub(crate) fn turns(&self) -> Turns {
        self.locked().map_or_else(|| peek(self.repo.git_dir()), |locked| locked.turns.get())
    }

    /// Returns false if it is not known which turns are open in this worktree, or were when its lock was taken.
    pub(crate) fn are_turns_known(&self) -> bool {
        self.locked().map_or_else(|| is_known(self.repo.git_dir()), |locked| locked.turns.is_known())
    }

    /// Returns the notes of the commits that were prepared here.
    pub(super) fn prepared(&self) -> Result<Prepared> {
        let read = || Prepared::read(self.repo.git_dir());
        self.locked().map_or_else(read, |locked| locked.prepared(read))
    }

    /// Writes these notes.
    pub(super) fn write_prepared(&self, prepared: &Prepared) -> Result<()> {
        let written = prepared.write(self.repo.git_dir());
        if let Some(locked) = self.locked() {
            locked.note_prepared(written.is_ok().then(|| prepared.clone()));
        }
        written
    }

    /// Returns what of a review waits in this worktree.
    pub(crate) fn waits(&self) -> Waits {
        self.waits.read(self.repo.git_dir())
    }

    /// Writes what of a review waits; the caller holds the lock.
    pub(crate) fn write_waits(&self, waits: Waits) -> Result<()> {
        self.waits.write(self.repo.git_dir(), waits)
    }

    /// Makes long operations end with an error once `flag` is set. What they had begun can be resumed.
    pub fn interrupt_by(&mut self, flag: Arc<AtomicBool>) {
        self.repo.interrupt_by(flag);
    }

    /// Returns an error once the interrupt is raised. Loops that take long call it between two steps.
    pub(crate) fn check_interrupt(&self) -> Result<()> {
        self.repo.check_interrupt()
    }

    /// Returns `result`; emits an event if it is a failure of `operation`.
    pub(crate) fn emit_failure<T>(&self, operation: &str, result: Result<T>) -> Result<T> {
        if let Err(error) = &result {
            self.emit(&Event::Error {
                operation: operation.into(),
                kind: error.kind().as_str().into(),
                message: error.to_string(),
            });
        }
        result
    }

    /// Appends `event` to the log and calls the subscribers.
    pub(crate) fn emit(&self, event: &Event) {
        let worktree = self.repo.worktree_id().to_string();
        if let Err(error) = state::events::append(self.repo.common_dir(), &worktree, event) {
            // The operation is done; a log that cannot be written must not undo that.
            tracing::warn!(%error, "cannot log an event");
        }
        for subscriber in &self.subscribers {
            subscriber.event(event);
        }
    }
}
