//! The verbs: what git-checkpoint does. They never print, never read the environment, never exit.

pub mod agent_hooks;
pub mod agents;
pub mod attribution;
pub mod blame;
pub mod commit;
pub mod compare;
pub mod doctor;
pub mod events;
pub mod explain;
pub mod follow;
pub mod guard;
pub mod history;
pub mod hooks;
pub mod lookup;
pub mod prune;
pub mod records;
pub mod reset;
pub mod restore;
pub mod rewrite;
pub mod salvage;
pub mod save;
pub mod sessions;
pub mod status;
mod tally;
pub mod verify;
pub mod why;

mod carry;
mod condense;
mod draft;
mod held;
mod onward;
mod recall;
mod recommit;
mod shadows;
mod show;
mod timeline;
mod turn;
mod undone;
mod work;

use std::{
    cell::RefCell,
    path::Path,
    sync::{Arc, atomic::AtomicBool},
};

use salvage::SetAside;

use crate::{config::Settings, error::Result, git::Repo, model::event::Event, state};

/// A repository with the settings that hold in it: what every operation works on.
pub struct Context {
    /// The repository.
    pub repo: Repo,
    /// The settings.
    pub settings: Settings,
    subscribers: Vec<Box<dyn Subscriber + Send + Sync>>,
    /// Broken chains that were set aside since the last `save` or `reset` began.
    broken: RefCell<Vec<SetAside>>,
}

/// Is told of every operation; for editors and orchestrators that embed this crate.
pub trait Subscriber {
    /// Called after the operation that `event` tells of, on its thread.
    fn event(&self, event: &Event);
}

impl Context {
    /// Opens the repository that `dir` is in with default settings, whatever the environment says.
    pub fn open(dir: &Path) -> Result<Self> {
        Ok(Self::new(Repo::open(dir)?, Settings::default()))
    }

    /// Returns the context of `repo` with `settings`.
    pub fn new(repo: Repo, settings: Settings) -> Self {
        Self { repo, settings, subscribers: Vec::new(), broken: RefCell::default() }
    }

    /// Lets `subscriber` know of every operation from now on.
    pub fn subscribe(&mut self, subscriber: Box<dyn Subscriber + Send + Sync>) {
        self.subscribers.push(subscriber);
    }

    /// Returns the broken chains that were set aside since the last `save` or `reset` began: something has gone on without them.
    pub fn broken(&self) -> Vec<SetAside> {
        self.broken.borrow().clone()
    }

    /// Forgets the chains that earlier operations have set aside: each is said once.
    pub(crate) fn forget_broken(&self) {
        self.broken.borrow_mut().clear();
    }

    pub(crate) fn note_broken(&self, set_aside: SetAside) {
        self.broken.borrow_mut().push(set_aside);
    }

    /// Lets long work end, with an error, once `flag` is raised; what it had begun stays resumable.
    pub fn interrupt_by(&mut self, flag: Arc<AtomicBool>) {
        self.repo.interrupt_by(flag);
    }

    /// Returns an error if somebody asked to end; for loops that take long, between two steps.
    pub(crate) fn check_interrupt(&self) -> Result<()> {
        self.repo.check_interrupt()
    }

    /// Passes `result` on; a failure is told as that of `operation`.
    pub(crate) fn tell_failure<T>(&self, operation: &str, result: Result<T>) -> Result<T> {
        if let Err(error) = &result {
            self.emit(&Event::Error {
                operation: operation.into(),
                kind: error.kind().as_str().into(),
                message: error.to_string(),
            });
        }
        result
    }

    /// Appends `event` to the log and tells the subscribers.
    pub(crate) fn emit(&self, event: &Event) {
        let worktree = self.repo.worktree_id().to_string();
        if let Err(error) = state::events::append(self.repo.common_dir(), &worktree, event) {
            // The operation is done; a log that cannot be written must not undo that.
            tracing::warn!(%error, "event not logged");
        }
        for subscriber in &self.subscribers {
            subscriber.event(event);
        }
    }
}
