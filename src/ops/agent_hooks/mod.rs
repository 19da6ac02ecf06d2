//! Adds entries to the files of coding agents that make the agents call us. What an entry looks like depends on the
//! agent: the caller passes an [`Edit`]. This module reads and writes the files, and notes each one so that the entries
//! can be removed later.
//!
//! Everything else in a file stays byte for byte. A file that changed since it was read is not overwritten.

mod elsewhere;
mod exclude;
mod file;
mod install;
mod noted;
mod shared;
mod target;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use bstr::BString;

use super::{Context, hooks::Action};
use crate::{
    error::{Kind, Result},
    state::{self, installed::Installed, lock::Lock},
};

pub(crate) use crate::state::{agents::Seen, repositories::FILE as REPOSITORIES};
pub(crate) use elsewhere::Elsewhere;
pub(crate) use noted::{Noted, noted};
pub(crate) use shared::{leave, note_repository, other_repositories};
pub(crate) use target::{Edit, FileDone, Target};

/// The options of [`enable`] and [`disable`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// Only report what would be done.
    pub dry_run: bool,
    /// If a file cannot be changed, report that as a task for the user instead of failing.
    pub is_lenient: bool,
}

/// Adds our entries to the files of `targets`.
///
/// # Errors
/// If a file cannot be read, parsed or written; the files after it are unchanged.
pub(crate) fn enable(context: &Context, targets: &[Target], options: Options) -> Result<Vec<FileDone>> {
    each(context, targets, options, Action::Todo, install::enable)
}

/// Removes our entries from the files of `targets`; does not report files without entries.
///
/// # Errors
/// As for [`enable`].
pub(crate) fn disable(context: &Context, targets: &[Target], options: Options) -> Result<Vec<FileDone>> {
    each(context, targets, options, Action::Kept, install::disable)
}

type Step = fn(&Context, &Target, &mut Vec<Installed>, bool) -> Result<Option<FileDone>>;

fn each(
    context: &Context,
    targets: &[Target],
    options: Options,
    otherwise: Action,
    step: Step,
) -> Result<Vec<FileDone>> {
    let _lock = if options.dry_run || targets.is_empty() { None } else { Some(lock(context, targets)?) };
    let mut installed = state::installed::read(context.repo.common_dir())?;
    let mut done = Vec::new();
    for target in targets {
        context.check_interrupt()?;
        match step(context, target, &mut installed, options.dry_run) {
            Ok(file) => done.extend(file),
            Err(error) if options.is_lenient && error.kind() != Kind::Internal => {
                let causes = error.causes().into_iter().map(|cause| format!(": {cause}")).collect::<String>();
                done.push(FileDone { note: Some(format!("{error}{causes}")), ..target.done(otherwise) });
            }
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

fn lock(context: &Context, targets: &[Target]) -> Result<Lock> {
    let directory = state::ensure_directory(context.repo.common_dir())?;
    let go_on = || context.check_interrupt();
    context.repo.remove_dead_locks();
    let mut lock = Lock::acquire(&directory.join("agents.lock"), context.settings.lock_timeout, &go_on)?;
    if !lock.dead().is_empty() {
        state::temporary::sweep(&directory, lock.dead());
        let exclude = exclude::place(context).ok();
        for path in targets.iter().filter_map(|target| target.real().ok()).chain(exclude) {
            file::sweep(&path, lock.dead());
        }
        lock.forget_dead();
    }
    Ok(lock)
}

/// Lets git ignore `folders` of this worktree, in which nothing of ours is yet; if `all`, they are at the root of each worktree.
///
/// # Errors
/// [`Kind::Refused`] if one of them may have files that are not ours, or git would show it all the same.
pub(crate) fn exclude_folders(context: &Context, folders: &[BString], all: bool) -> Result<()> {
    let _lock = lock(context, &[])?;
    exclude::add_folders(context, folders, all)
}

/// Sees to it that git goes on to ignore `folder` of this worktree, in which only files of ours are.
///
/// # Errors
/// [`Kind::Refused`] if it cannot be so.
pub(crate) fn keep_folder_excluded(context: &Context, folder: &BString) -> Result<()> {
    let _lock = lock(context, &[])?;
    exclude::keep_folder(context, folder)
}

/// Returns the texts of those of `targets` that have entries of ours, each with its index in `targets`.
///
/// An unreadable file counts as one without entries.
pub(crate) fn find(targets: &[Target]) -> Vec<(usize, String)> {
    let text = |target: &Target| {
        // Most files do not exist, and to find out where they would be takes many system calls.
        target.path().exists().then_some(())?;
        let text = file::read(&target.real().ok()?).ok()??;
        target.edit.is_ours(&text).then_some(text)
    };
    targets.iter().enumerate().filter_map(|(at, target)| Some((at, text(target)?))).collect()
}

/// Returns true if `root` is that of another worktree of this repository, which is there.
pub(crate) fn is_other_worktree(context: &Context, root: &Path) -> bool {
    worktree_at(&context.repo.other_worktrees(), root).is_some()
}

/// Returns the id of that of `worktrees` which has the root `root`.
fn worktree_at(worktrees: &[(BString, PathBuf)], root: &Path) -> Option<BString> {
    let root = std::fs::canonicalize(root).ok()?;
    worktrees.iter().find(|(_, other)| *other == root).map(|(id, _)| id.clone())
}

/// Returns the agents that call us in another worktree, and are not among those that call us `here`. `calls` says whether
/// a file that was noted still does.
pub(crate) fn elsewhere(
    context: &Context,
    here: &BTreeSet<&str>,
    calls: impl Fn(&Noted) -> bool,
) -> Result<Vec<Elsewhere>> {
    let noted: Vec<Noted> = noted(context)?.into_iter().filter(|noted| noted.scope != "user").collect();
    if noted.is_empty() {
        return Ok(Vec::new());
    }
    let worktrees = context.repo.other_worktrees();
    let there = noted.into_iter().filter_map(|noted| Some((worktree_at(&worktrees, &noted.root)?, noted)));
    Ok(elsewhere::decide(there.filter(|(_, noted)| calls(noted)).collect(), here))
}

/// Returns the agents that call us in a worktree of the repository of `context`, and are not among those that call us in a copy of it,
/// which are `there`.
pub(crate) fn elsewhere_than_copy(
    context: &Context,
    there: &BTreeSet<&str>,
    calls: impl Fn(&Noted) -> bool,
) -> Result<Vec<Elsewhere>> {
    let mut worktrees = context.repo.other_worktrees();
    worktrees.push((context.repo.worktree_id().to_owned(), context.repo.worktree_root().to_owned()));
    let noted = noted(context)?.into_iter();
    let found = noted.filter_map(|noted| Some((worktree_at(&worktrees, &noted.root)?, noted)));
    Ok(elsewhere::decide(found.filter(|(_, noted)| calls(noted)).collect(), there))
}

/// Returns the last event of each agent in this repository.
pub(crate) fn seen(context: &Context) -> Result<Vec<Seen>> {
    state::agents::seen(context.repo.common_dir())
}
