//! Takes the locks of all worktrees and of the records.

use std::{collections::HashSet, fs, path::PathBuf};

use gix::ObjectId;

use super::options::Options;
use crate::{
    error::{Error, Result},
    git::{Repo, git_at_work::Removing, remove_objects::Removal},
    ops::{Context, Worktree, enter::Purpose, records},
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
    /// The right to remove objects; none in a dry run.
    removing: Option<Removing<'c>>,
    others: Vec<Lock>,
    records: Lock,
}

impl<'c> Locks<'c> {
    pub(super) fn take(context: &'c Context, options: &Options) -> Result<Self> {
        // First what git may have for long: nothing is changed yet.
        let removing = if options.dry_run { None } else { Some(context.repo.lock_to_remove()?) };
        let worktree = Worktree::enter(context, Purpose::unless_dry(options.dry_run))?;
        let (git_dirs, others) = lock_others(context)?;
        let records = records::lock(context)?;
        for git_dir in &git_dirs {
            if Journal::read(git_dir)?.is_some_and(|journal| journal.progress == Progress::Applying) {
                return Err(Error::refused(format!("a restore was interrupted in '{}'", git_dir.display())).with_hint(
                    "'git checkpoint restore --continue' there finishes it, 'git checkpoint undo' reverses it",
                ));
            }
        }
        Ok(Self { worktree, git_dirs, removing, others, records })
    }
}

impl Locks<'_> {
    /// Releases the locks and removes those of the objects `ids` that nothing leads to but our commits `own`.
    ///
    /// Other processes do not wait while packs are written. A save meanwhile may find one of the objects stored. If its ref moves
    /// before the last look at what is held, that sees it. Otherwise the object is aside by then, and the save, which looks once
    /// more whether all is there that it found, writes it again.
    pub(super) fn release_and_remove(
        self,
        repo: &Repo,
        ids: &HashSet<ObjectId>,
        own: &HashSet<ObjectId>,
    ) -> Result<Removal> {
        let Self { worktree, git_dirs: _, removing, others, records } = self;
        drop((worktree, others, records));
        let removing = removing.ok_or_else(|| Error::internal("the objects are not locked"))?;
        repo.remove_objects(ids, own, &removing)
    }
}

/// Returns the git directories of all worktrees, that of `repo` first, then the others in order.
pub(super) fn git_dirs_of(repo: &Repo) -> Result<Vec<PathBuf>> {
    let real = |path: &PathBuf| fs::canonicalize(path).ok();
    let own = real(&repo.git_dir().to_owned());
    let mut others = repo.git_dirs()?;
    others.retain(|git_dir| real(git_dir) != own);
    others.sort();
    others.insert(0, repo.git_dir().to_owned());
    Ok(others)
}

/// Takes the locks of all other worktrees. Returns the git directories of all, this one included.
fn lock_others(context: &Context) -> Result<(Vec<PathBuf>, Vec<Lock>)> {
    let git_dirs = git_dirs_of(&context.repo)?;
    let mut locks = Vec::new();
    for git_dir in &git_dirs[1..] {
        let path = state::ensure_directory(git_dir)?.join("lock");
        locks.push(Lock::acquire(&path, context.settings.lock_timeout, &|| context.check_interrupt())?);
    }
    Ok((git_dirs, locks))
}
