//! The locks of one worktree: while it is set up, and while it is removed.

use std::{
    fs, io,
    os::fd::{AsFd as _, BorrowedFd},
    path::{Path, PathBuf},
};

use bstr::ByteSlice as _;

use super::super::Context;
use crate::{
    error::{Context as _, Error, Kind, Result},
    git::registrations::Registration,
    state::{
        self,
        lock::{Lock, REMOVAL_LOCK, SETUP_LOCK, is_held, remove_free},
    },
};

/// The lock under which a worktree is removed or set up. Its file goes with it.
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
    for name in [REMOVAL_LOCK, SETUP_LOCK] {
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
        Kind::Race => {
            Error::race(format!("another process is about to remove the worktree '{}'", found.path.display()))
                .with_hint("try again when it is done; it may wait for the answer to a question")
        }
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
    Ok(WorktreeLock::new(lock, path))
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
    Error::race(format!("another process sets up the worktree '{}'", found.path.display()))
        .with_hint("try again when it has ended, and what is left of a set-up that was interrupted")
}
