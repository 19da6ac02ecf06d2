//! The one way in: each command that writes calls [`Worktree::enter`] first.
//!
//! It takes the lock of the worktree's checkpoints, finishes what a crash left, and brings records and shadows up to date with
//! HEAD. No hook of git has to run for that: the file `base` says where HEAD was at the last look. [`Purpose`] says what each
//! command leaves out of this, and why.
//!
//! The order matters. First, `reconcile` makes records of the commits since the last look, and takes their work out of the
//! shadows, the chains of checkpoints on a commit. Then, `follow` carries forward the other work that the worktree still has.
//! Each step writes the file `base` last, so after a crash the next command repeats the step.

mod follow;
mod reconcile;
mod reset_content;

use std::time::{Duration, Instant};

use self::{
    follow::follow,
    reconcile::{before_commit, commit_made, reconcile},
};
use super::{
    Context, Worktree,
    inherited::{note_seen, set_inherited_aside},
    known_base::{known_head, note_base},
    salvage::{Look, set_broken_aside},
    session_info::open_turns,
};
use crate::{
    error::{Error, Result},
    model::{operation, refname::Base},
    state::{self, failpoint, lock::Lock},
};

/// What a command enters a worktree for.
///
/// | | waits for the lock | removes leftovers of killed processes | sets broken shadows aside | makes records | carries work |
/// |---|---|---|---|---|---|
/// | `Change` | `lock-timeout` | yes | yes | outside a rebase | outside a rebase |
/// | `Event` | `lock-timeout` | yes | yes | yes | outside a rebase |
/// | `ToolBegins` | `lock-timeout` | yes | yes | by `catch_up`: yes | by `catch_up`: outside a rebase |
/// | `CommitBegins` | 2 seconds | only locks | yes | if some were missed | by `catch_up`: outside a rebase |
/// | `CommitMade` | `lock-timeout` | yes | yes | yes | if git and agents are done |
/// | `DryRun`, `Repair` | `lock-timeout` | yes | no | no | no |
///
/// All of them set aside what a removed worktree of the same name has left: also a dry run must not report what that would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To change something: most commands. During a rebase, the records of its commits wait for its end, because the rebase may
    /// still drop or rewrite these commits.
    Change,
    /// An agent reports an event. The commits since the last one are judged even during a rebase, as long as it is known which
    /// tools are in use.
    Event,
    /// An agent asks whether a tool may begin. If the guard denies it, nothing has changed; otherwise, the caller goes on with
    /// `Worktree::catch_up`. If it is not known which turns are open, that cannot wait, because the caller saves first.
    ToolBegins,
    /// Git prepares a commit in a hook, and waits for us. The commit does not exist yet, so all that can wait is left to
    /// `CommitMade`. A caller that saves something first calls `Worktree::catch_up`, because earlier commits may have moved the
    /// shadow that the checkpoint belongs to.
    CommitBegins,
    /// Git reports in a hook that it has made a commit. During a turn, what an agent's tool does is known when it ends; and of
    /// several commits that git picks or reverts, the last one is followed. Until then, the work stays where it is.
    CommitMade,
    /// To report what a command would change. Leaves all refs of this worktree alone, broken shadows included.
    DryRun,
    /// To mend a repository that may be damaged. The caller sets broken shadows aside itself, and reports each one.
    Repair,
}

impl Purpose {
    /// Returns the purpose of a command that changes something, unless it is a dry run.
    pub(crate) fn unless_dry(is_dry: bool) -> Self {
        if is_dry { Self::DryRun } else { Self::Change }
    }

    /// Returns true if records are made during a rebase, too.
    fn judges_rebase(self) -> bool {
        matches!(self, Self::Event | Self::ToolBegins)
    }
}

impl<'c> Worktree<'c> {
    /// Takes the lock of the checkpoints of the worktree of `context`, and brings them up to date, as far as `purpose` says. A
    /// caller that has entered with this context already shares its lock: a command of several steps keeps it from the first to
    /// the last one, so that no other command comes in between.
    ///
    /// A failure to make a record or to carry work forward is only an event, except after a commit: what the caller wants to save
    /// must not be lost for that. The work stays on its old base, and the next command tries again.
    ///
    /// # Errors
    /// [`Kind::Race`](crate::error::Kind::Race) if another process holds the lock for too long.
    pub fn enter(context: &'c Context, purpose: Purpose) -> Result<Self> {
        let worktree = match Self::held(context) {
            Some(held) => held,
            None => Self::with_lock(context, take_lock(context, purpose)?)?,
        };
        if let Err(error) = set_inherited_aside(&worktree) {
            // What the caller wants to save must not be lost for that.
            worktree.leave_for_later("inherited", error)?;
        }
        if matches!(purpose, Purpose::DryRun | Purpose::Repair) {
            return Ok(worktree);
        }
        // New checkpoints must not build on missing objects.
        set_broken_aside(&worktree, Look::AtTip)?;
        match purpose {
            Purpose::Change | Purpose::Event => worktree.catch_up(purpose)?,
            Purpose::ToolBegins if !worktree.are_turns_known() => worktree.catch_up(purpose)?,
            Purpose::DryRun | Purpose::Repair | Purpose::ToolBegins => {}
            Purpose::CommitBegins => {
                context.emit_failure("condense", before_commit(&worktree)).unwrap_or_default();
            }
            Purpose::CommitMade => {
                context.emit_failure("condense", commit_made(&worktree))?;
                if open_turns(context)?.is_empty() && !context.repo.has_more_to_pick() {
                    worktree.catch_up(purpose)?;
                }
            }
        }
        Ok(worktree)
    }

    /// Brings records and shadows up to date with HEAD, for a caller that has entered with a `purpose` that leaves this to it.
    /// Does nothing if they are up to date.
    pub(crate) fn catch_up(&self, purpose: Purpose) -> Result<()> {
        let repo = &self.repo;
        note_seen(self)?;
        // A rebase moves HEAD to commits that no work is based on. Until the rebase ends, the work stays on its old base.
        let is_rebasing = repo.is_rebasing();
        if is_rebasing && !purpose.judges_rebase() {
            return Ok(());
        }
        let _way = repo.on_the_way(operation::FOLLOW);
        let now = Base::of_head(repo.head()?.id);
        let end = match reconcile(self) {
            Ok(end) => end,
            Err(error) => return self.leave_for_later("condense", error),
        };
        let known = known_head(self);
        if is_rebasing || known == Some((now, end)) {
            return Ok(());
        }
        if let Some(known) = known {
            if let Err(error) = follow(self, known) {
                return self.leave_for_later("follow", error);
            }
            failpoint::hit("follow:before-base");
        }
        note_base(self, now, end)
    }

    /// Reports that `operation` has failed. The next command tries again.
    ///
    /// # Errors
    /// If the user has interrupted it.
    fn leave_for_later(&self, operation: &str, error: Error) -> Result<()> {
        self.check_interrupt()?;
        self.emit_failure(operation, Err(error)).or(Ok(()))
    }
}

/// Takes the lock, and removes what killed processes left: their locks of git's files, and the temporary files of those that held
/// our lock. While a commit waits, leaves temporary files where they are.
fn take_lock(context: &Context, purpose: Purpose) -> Result<Lock> {
    const LONGEST_IN_COMMIT: Duration = Duration::from_secs(2);
    let is_awaited = purpose == Purpose::CommitBegins;
    let (directory, start) = (state::ensure_directory(context.repo.git_dir())?, Instant::now());
    if is_awaited {
        context.repo.remove_dead_locks();
    }
    let longest = if is_awaited { LONGEST_IN_COMMIT } else { context.settings.lock_timeout };
    let mut lock = Lock::acquire(&directory.join("lock"), longest, &|| context.check_interrupt())?;
    tracing::debug!(took = ?start.elapsed(), "lock: taken");
    if is_awaited {
        return Ok(lock);
    }
    if !lock.dead().is_empty() {
        context.repo.sweep(lock.dead());
        lock.forget_dead();
    }
    if let Err(error) = context.repo.put_objects_back() {
        // They may be of another user. What is missing without them is noticed later; a turn that is not recorded now is lost.
        tracing::warn!(%error, "cannot put back the objects that a purge moved aside; see 'git checkpoint doctor'");
    }
    context.repo.remove_dead_locks();
    Ok(lock)
}
