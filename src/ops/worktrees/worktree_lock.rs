//! The locks of one worktree: while it is set up, while its branch is merged or something is merged into it, and while it is removed.

use std::{
    fs, io,
    os::fd::{AsFd as _, BorrowedFd},
    path::{Path, PathBuf},
};

use bstr::ByteSlice as _;

use super::{super::Context, named};
use crate::{
    error::{Context as _, Error, Kind, Result},
    git::registrations::Registration,
    state::{
        self,
        lock::{Lock, MERGE_LOCK, REMOVAL_LOCK, SETUP_LOCK, holders, is_held, left_to, remove_free},
    },
};

/// The lock under which a worktree is removed or set up, or merged. Its file goes with it.
pub(super) struct WorktreeLock {
    /// None once it was left to others.
    lock: Option<Lock>,
    path: PathBuf,
}

impl WorktreeLock {
    /// Returns the lock on the file `path`.
    pub(super) fn new(lock: Lock, path: PathBuf) -> Self {
        Self { lock: Some(lock), path }
    }

    /// Releases the lock of a removal; git's directory of the worktree is at `admin` by now.
    pub(super) fn end(mut self, admin: &Path) {
        self.path = state::directory(admin).join(REMOVAL_LOCK);
    }

    /// Returns the file, for processes that hold the lock as well, as long as any of them lives.
    pub(super) fn file(&self) -> BorrowedFd<'_> {
        self.lock.as_ref().expect("it is held").as_fd()
    }

    /// Leaves out the processes that have the file: what a command that has succeeded leaves behind does not hold the lock.
    pub(super) fn renew(&mut self) {
        if let Some(lock) = &mut self.lock
            && let Err(error) = lock.renew(&self.path)
        {
            // Then it is held for longer, if a signal comes.
            tracing::warn!(%error, path = %self.path.display(), "cannot make a lock anew");
        }
    }

    /// Releases the lock here; processes that have the file hold it on.
    pub(super) fn leave(mut self) {
        self.lock.take().expect("it is held").leave();
        remove_free(&self.path);
    }
}

impl Drop for WorktreeLock {
    fn drop(&mut self) {
        if let Some(lock) = &self.lock {
            lock.remove_file(&self.path);
        }
    }
}

/// Removes the locks that killed processes have left in git's directory `admin` of a worktree that was removed.
pub(super) fn remove_left(admin: &Path) {
    for name in [REMOVAL_LOCK, SETUP_LOCK, MERGE_LOCK] {
        remove_free(&state::directory(admin).join(name));
    }
}

/// Takes the lock under which the worktree `found` is removed, from the first look at it to the end: of removals at once, each
/// would find that the others read its files, and leave it alone.
///
/// # Errors
/// [`Kind::User`] if another process has removed it; [`Kind::Race`] if another process holds the lock for too long.
pub(super) fn lock_removal(context: &Context, found: &Registration) -> Result<WorktreeLock> {
    let directory = state::directory(&found.git_dir);
    // Never with the directories above: they are gone if another process has just removed the worktree.
    let made = match fs::create_dir(&directory) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made.context(Kind::Internal, || format!("cannot create '{}'", directory.display())),
    };
    let go_on = || context.check_interrupt();
    let path = directory.join(REMOVAL_LOCK);
    let take = || Lock::acquire(&path, context.settings.lock_timeout, &go_on);
    let lock = made.and_then(|()| take()).map(|lock| WorktreeLock::new(lock, path.clone()));
    if context.repo.registration(found.id.as_bstr())?.is_none_or(|now| now.path != found.path) {
        return Err(gone(found));
    }
    lock.map_err(|error| match error.kind() {
        Kind::Race => being_removed(found),
        _ => error,
    })
}

/// Takes the lock under which the commands that set up the worktree `found` run.
///
/// # Errors
/// [`Kind::User`] if another process has removed it; [`Kind::Race`] if another process holds the lock for too long.
pub(super) fn lock_set_up(context: &Context, found: &Registration) -> Result<WorktreeLock> {
    let path = state::ensure_directory_of_linked(&found.git_dir)?.join(SETUP_LOCK);
    let go_on = || context.check_interrupt();
    let lock = Lock::acquire(&path, context.settings.lock_timeout, &go_on).map_err(|error| match error.kind() {
        Kind::Race => being_set_up(found),
        _ => error,
    })?;
    let lock = WorktreeLock::new(lock, path);
    // A removal looks at this lock after it has taken its own.
    if is_held(&state::directory(&found.git_dir).join(REMOVAL_LOCK)) {
        return Err(being_removed(found));
    }
    Ok(lock)
}

/// Takes the locks under which the branch of the worktree `source` is merged into the one of this worktree: git would refuse the
/// second of two merges, and a rebase that is under way is another process's.
///
/// # Errors
/// [`Kind::User`] if another process has removed a worktree; [`Kind::Race`] if one holds a lock for too long.
pub(super) fn lock_merge(context: &Context, source: &Registration) -> Result<Vec<WorktreeLock>> {
    let mut both = vec![named::registered(context, None)?, source.clone()];
    // All take the locks in the same order: no two wait for each other.
    both.sort_by(|one, other| one.id.cmp(&other.id));
    both.dedup_by(|one, other| one.id == other.id);
    let go_on = || context.check_interrupt();
    let mut locks = Vec::new();
    for found in &both {
        let directory = if found.is_main() {
            state::ensure_directory(&found.git_dir)
        } else {
            state::ensure_directory_of_linked(&found.git_dir)
        }?;
        let path = directory.join(MERGE_LOCK);
        let lock = Lock::acquire(&path, context.settings.lock_timeout, &go_on).map_err(|error| match error.kind() {
            Kind::Race => being_merged(found),
            _ => error,
        })?;
        locks.push(WorktreeLock::new(lock, path));
        // A removal looks at this lock after it has taken its own.
        if is_held(&state::directory(&found.git_dir).join(REMOVAL_LOCK)) {
            return Err(being_removed(found));
        }
    }
    Ok(locks)
}

/// Refuses if the branch of the worktree `found` is merged, or something is merged into it.
pub(super) fn refuse_merge(found: &Registration) -> Result<()> {
    if is_held(&state::directory(&found.git_dir).join(MERGE_LOCK)) {
        return Err(being_merged(found));
    }
    Ok(())
}

/// Refuses if the commands that set up the worktree `found` run.
pub(super) fn refuse_set_up(found: &Registration) -> Result<()> {
    if is_held(&state::directory(&found.git_dir).join(SETUP_LOCK)) {
        return Err(being_set_up(found));
    }
    Ok(())
}

/// Returns the error for a worktree that another process has removed.
pub(super) fn gone(found: &Registration) -> Error {
    Error::user(format!("another process has removed the worktree '{}'", found.path.display()))
        .with_hint("'git checkpoint worktree list' shows the worktrees of this repository")
}

fn being_set_up(found: &Registration) -> Error {
    let path = found.path.display();
    held(
        &state::directory(&found.git_dir).join(SETUP_LOCK),
        (&format!("another process sets up the worktree '{path}'"), ""),
        &format!("a set-up of the worktree '{path}' was interrupted, and what it has started still runs"),
    )
}

fn being_merged(found: &Registration) -> Error {
    let what = format!("another process merges the branch of '{}', or something into it", found.path.display());
    held(&state::directory(&found.git_dir).join(MERGE_LOCK), (&what, ""), &what)
}

fn being_removed(found: &Registration) -> Error {
    let path = found.path.display();
    held(
        &state::directory(&found.git_dir).join(REMOVAL_LOCK),
        (
            &format!("another process is about to remove the worktree '{path}'"),
            "; it may wait for the answer to a question",
        ),
        &format!("a removal of the worktree '{path}' was interrupted, and what its teardown has started still runs"),
    )
}

/// Returns the error for a lock on the file `path` that others hold: a process is at work, with more for the hint, or was
/// interrupted. The hint names them.
fn held(path: &Path, at_work: (&str, &str), interrupted: &str) -> Error {
    /// How many are named.
    const NAMED: usize = 8;
    let ((what, also), pids) = match left_to(path) {
        Some(pids) => ((interrupted, ""), pids),
        None => (at_work, holders(path)),
    };
    let named = pids.iter().take(NAMED).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let more = if pids.len() > NAMED { ", ..." } else { "" };
    Error::race(what).with_hint(match pids.len() {
        0 => format!("try again when it is done{also}"),
        1 => format!("try again when this process has ended: {named}{also}"),
        _ => format!("try again when these processes have ended: {named}{more}{also}"),
    })
}
