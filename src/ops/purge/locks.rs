//! Takes the locks of all worktrees and of the records.

use std::{fs, path::PathBuf};

use super::options::Options;
use crate::{
    error::{Error, Result},
    git::Repo,
    ops::{Context, Worktree, follow::lock_and_follow, locking::lock, records},
    state::{
        self,
        journal::{Journal, Progress},
        lock::Lock,
    },
};

/// What a purge locks.
pub(super) struct Locks<'c> {
    pub(super) worktree: Worktree<'c>,
    /// The git directories of all worktrees.
    pub(super) git_dirs: Vec<PathBuf>,
    _others: Vec<Lock>,
    _records: Lock,
}

impl<'c> Locks<'c> {
    pub(super) fn take(context: &'c Context, options: &Options) -> Result<Self> {
        if !options.dry_run {
            context.repo.wait_for_git()?;
        }
        let worktree = if options.dry_run { lock(context)? } else { lock_and_follow(context)? };
        let (git_dirs, others) = lock_others(context)?;
        let records = records::lock(context)?;
        for git_dir in &git_dirs {
            if Journal::read(git_dir)?.is_some_and(|journal| journal.progress == Progress::Applying) {
                return Err(Error::refused(format!("a restore was interrupted in '{}'", git_dir.display())).with_hint(
                    "'git checkpoint restore --continue' there finishes it, 'git checkpoint undo' reverses it",
                ));
            }
        }
        Ok(Self { worktree, git_dirs, _others: others, _records: records })
    }
}

/// Returns the git directories of all worktrees, that of `repo` first.
pub(super) fn git_dirs_of(repo: &Repo) -> Vec<PathBuf> {
    let linked = fs::read_dir(repo.common_dir().join("worktrees")).into_iter().flatten().flatten();
    let others = linked.map(|entry| entry.path()).chain([repo.common_dir().to_owned()]);
    let real = |path: &PathBuf| fs::canonicalize(path).ok();
    let own = real(&repo.git_dir().to_owned());
    let others = others.filter(|git_dir| git_dir.is_dir() && real(git_dir) != own);
    [repo.git_dir().to_owned()].into_iter().chain(others).collect()
}

/// Takes the locks of all other worktrees. Returns the git directories of all, this one included.
fn lock_others(context: &Context) -> Result<(Vec<PathBuf>, Vec<Lock>)> {
    let git_dirs = git_dirs_of(&context.repo);
    let mut locks = Vec::new();
    for git_dir in &git_dirs[1..] {
        let path = state::ensure_directory(git_dir)?.join("lock");
        locks.push(Lock::acquire(&path, context.settings.lock_timeout, &|| context.check_interrupt())?);
    }
    Ok((git_dirs, locks))
}
