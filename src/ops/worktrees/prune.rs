//! `worktree prune`: forgets worktrees whose directory is gone, and deletes those that were removed long ago.

use std::{
    collections::BTreeSet,
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::Path,
};

use bstr::BString;
use serde::Serialize;

use super::{
    super::{Context, session_info},
    aside, chains,
    in_use::{has_submodules, is_there},
    lock::{lock, lock_to_look},
    remove::note,
    whereabouts::{self, parts},
    whose::{Whose, whose},
};
use crate::{
    error::Result,
    git::registrations::{Place, Registration},
    model::{
        moment, path_text,
        process::Life,
        removal::{Admin, InPlace, Next, Parts, Root},
        session::Phase,
    },
    state::{
        process,
        removed::{self, Removed},
        removed_files::{Deletion, Hindrance, begun, has_others},
    },
};

/// Why a worktree whose directory is gone is not forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum WhyLeft {
    /// It is locked.
    Locked,
    /// The directory above is gone, too, or empty: its file system may not be mounted.
    NotMounted,
    /// Its directory is there, but has no `.git`.
    NoDotGit,
    /// A session works there, or a process in the files of a removed one.
    InUse,
    /// Its directory cannot be looked at.
    Unreadable,
    /// Only half of it was moved when a removal or a restore was killed, and something else is in its place.
    Half,
    /// Only half of it was moved when a removal or a restore was killed; the next command that is no dry run moves that back.
    Interrupted,
    /// Only its files were moved when a removal was killed, and git has forgotten it since.
    Forgotten,
    /// Git's directory of it is damaged: what it leads to cannot be kept.
    Damaged,
    /// Git's directory of it has repositories of submodules, and nothing else may have what is in them.
    Submodules,
    /// It was removed, and its files cannot be deleted; none of them is.
    NotDeleted,
    /// It was removed, and a part of its files cannot be deleted: the rest is gone.
    PartlyDeleted,
    /// It was removed, and a file system is mounted in its files.
    Mounted,
    /// It was removed, and its files are on a file system that is not mounted.
    FilesNotMounted,
    /// It was removed, and its files belong to another repository, of which this one is a copy.
    OfAnother,
    /// It was removed, and its files name a repository that is not there, or knows nothing of it: this one, if it was moved.
    RepositoryGone,
}

/// A worktree that git has forgotten. `worktree restore` lets git know it again once its directory is back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Forgotten {
    /// What `worktree restore` takes; none in a dry run.
    pub(crate) id: Option<String>,
    /// Where its root was.
    #[serde(flatten, serialize_with = "path_text::serialize_fields")]
    pub(crate) path: BString,
}

/// A worktree whose directory is gone, and that git still knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Left {
    /// Where its root was.
    #[serde(flatten, serialize_with = "path_text::serialize_fields")]
    pub(crate) path: BString,
    /// Why.
    pub(crate) why: WhyLeft,
    /// The session that works there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) session: Option<String>,
    /// The process that works there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) process: Option<u32>,
    /// Where its files are, if a killed command has moved only them; where the repositories of its submodules are.
    #[serde(serialize_with = "path_text::serialize_optional", skip_serializing_if = "Option::is_none")]
    pub(crate) files: Option<BString>,
}

impl Left {
    fn new(path: BString, why: WhyLeft) -> Self {
        Self { path, why, session: None, process: None, files: None }
    }

    /// Returns what is said of a removed worktree that must not be deleted now.
    fn hindered(path: BString, hindrance: Hindrance) -> Self {
        match hindrance {
            Hindrance::Mount => Self::new(path, WhyLeft::Mounted),
            Hindrance::Process(pid) => Self { process: Some(pid), ..Self::new(path, WhyLeft::InUse) },
        }
    }

    /// Returns what is said of one with repositories of submodules in git's directory `git_dir` of it.
    fn submodules(path: BString, git_dir: &Path) -> Self {
        let files = Some(git_dir.join("modules").into_os_string().into_vec().into());
        Self { files, ..Self::new(path, WhyLeft::Submodules) }
    }
}

/// A removed worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Old {
    /// What `worktree restore` took.
    pub(crate) id: String,
    /// Where its root was.
    #[serde(flatten, serialize_with = "path_text::serialize_fields")]
    pub(crate) path: BString,
    /// When it was removed, in ISO 8601.
    pub(crate) removed: String,
}

/// What was done. Serializes to what `worktree prune --json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Pruned {
    /// The version of this shape.
    pub(crate) version: u32,
    /// True if nothing was done.
    pub(crate) dry_run: bool,
    /// The worktrees that git has forgotten.
    pub(crate) forgotten: Vec<Forgotten>,
    /// Those that are gone as well, and that git still knows.
    pub(crate) left: Vec<Left>,
    /// The removed worktrees that were deleted.
    pub(crate) deleted: Vec<Old>,
    /// How many removed worktrees stay.
    pub(crate) kept: usize,
}

/// Lets git forget the worktrees whose directory is gone for good, and deletes what was removed longer ago than
/// `archive.keep-days`, or all that was removed, with `removed`.
pub(crate) fn prune(context: &Context, removed: bool, dry_run: bool) -> Result<Pruned> {
    context.repo.name_operation("worktree prune");
    context.emit_failure("worktree prune", try_prune(context, removed, dry_run))
}

fn try_prune(context: &Context, all_removed: bool, dry_run: bool) -> Result<Pruned> {
    const DAY: i64 = 24 * 60 * 60;
    let _lock = if dry_run { lock_to_look(context) } else { lock(context) }?;
    let repo = &context.repo;
    let mut pruned =
        Pruned { version: 1, dry_run, forgotten: Vec::new(), left: Vec::new(), deleted: Vec::new(), kept: 0 };
    let days = context.settings.archive.keep_days.map(|days| i64::try_from(days).unwrap_or(i64::MAX));
    let oldest = days.map(|days| jiff::Timestamp::now().as_second().saturating_sub(days.saturating_mul(DAY)));
    for begun in begun(repo.common_dir()) {
        match begun {
            Ok(old) => match why_begun_stays(context, &old) {
                Some(why) => pruned.left.push(Left::new(path_of(&old), why)),
                None => delete(context, old, &mut pruned)?,
            },
            Err(folder) => pruned.left.push(Left::new(folder.into_os_string().into_vec().into(), WhyLeft::NotDeleted)),
        }
    }
    let mut half = BTreeSet::new();
    for old in removed::all(repo.common_dir())? {
        let parts = parts(context, &old)?;
        match parts.next() {
            // A command that moved it was killed.
            Next::PutBack | Next::Half => {
                half.insert(old.worktree.clone());
                let why = why_half(parts);
                let files = old.tree.as_ref().filter(|_| why == WhyLeft::Forgotten);
                let files = files.map(|tree| tree.as_os_str().as_bytes().into());
                pruned.left.push(Left { files, ..Left::new(path_of(&old), why) });
            }
            Next::Removed if all_removed || oldest.is_some_and(|oldest| old.seconds <= oldest) => {
                match why_kept(context, &old, parts) {
                    Some(WhyLeft::Submodules) => pruned.left.push(Left::submodules(path_of(&old), &old.admin())),
                    Some(why) => pruned.left.push(Left::new(path_of(&old), why)),
                    None => delete(context, old, &mut pruned)?,
                }
            }
            Next::Removed | Next::InPlace | Next::Gone => {}
        }
    }
    for found in repo
        .registrations()?
        .iter()
        .filter(|it| !it.is_main() && matches!(it.place, Place::Nothing | Place::Unreadable))
    {
        let path = BString::from(found.path.as_os_str().as_bytes());
        // That was said of its record.
        if half.contains(&found.id) {
            continue;
        }
        let session = session_in(context, found)?;
        if let Some(why) = why_left(found, session.is_some()) {
            pruned.left.push(match why {
                WhyLeft::InUse => Left { session, ..Left::new(path, why) },
                WhyLeft::Submodules => Left::submodules(path, &found.git_dir),
                why => Left::new(path, why),
            });
            continue;
        }
        let mut id = None;
        if !dry_run {
            let mut removed = Removed::new(repo.common_dir(), found.id.clone(), found.path.clone(), &found.git_dir)?;
            (removed.branch, removed.head) = (found.head.branch.clone(), found.head.id);
            removed.refs = chains::of_worktree(repo, found.id.as_ref())?;
            if let Err(error) = aside::move_registration(context, found, &mut removed) {
                context.check_interrupt()?;
                tracing::warn!(%error, "a worktree cannot be forgotten");
                pruned.left.push(Left::new(path, WhyLeft::Damaged));
                continue;
            }
            id = Some(removed.id);
        }
        pruned.forgotten.push(Forgotten { id, path });
    }
    let would_go = |old: &Removed| pruned.deleted.iter().any(|deleted| deleted.id == old.id);
    pruned.kept = whereabouts::kept(context)?.iter().filter(|old| !would_go(old)).count();
    let is_idle = pruned.forgotten.is_empty() && pruned.deleted.is_empty();
    if !dry_run && !is_idle {
        note(context, "'git checkpoint worktree restore --list' shows what can be restored".to_owned());
    }
    Ok(pruned)
}

fn path_of(old: &Removed) -> BString {
    old.path.as_os_str().as_bytes().into()
}

/// Deletes the removed worktree, but for a dry run, and notes what became of it.
fn delete(context: &Context, old: Removed, pruned: &mut Pruned) -> Result<()> {
    context.check_interrupt()?;
    let deletion = if pruned.dry_run {
        Ok(old.hindrance().map_or(Deletion::Whole, Deletion::Hindered))
    } else {
        aside::delete(context, &old)
    };
    let path = path_of(&old);
    match deletion {
        Ok(Deletion::Whole) => {
            pruned.deleted.push(Old { id: old.id, path, removed: moment::iso(old.seconds, 0) });
        }
        Ok(Deletion::Hindered(hindrance)) => pruned.left.push(Left::hindered(path, hindrance)),
        Ok(Deletion::Part(error)) => {
            tracing::warn!(%error, "the next 'git checkpoint worktree prune' goes on with it");
            pruned.left.push(Left::new(path, WhyLeft::PartlyDeleted));
        }
        Err(error) => {
            tracing::warn!(%error, "a removed worktree cannot be deleted");
            pruned.left.push(Left::new(path, WhyLeft::NotDeleted));
        }
    }
    Ok(())
}

/// Returns why the deletion of the removed worktree, which has begun, may not go on.
fn why_begun_stays(context: &Context, old: &Removed) -> Option<WhyLeft> {
    let outside = old.tree_outside()?;
    if !is_there(outside) {
        return (!has_others(outside)).then_some(WhyLeft::FilesNotMounted);
    }
    // Its `.git` may be deleted.
    matches!(whose(context, old), Whose::Another(Some(_))).then_some(WhyLeft::OfAnother)
}

/// Returns why only half of a removed worktree is aside.
fn why_half(parts: Parts) -> WhyLeft {
    match parts {
        _ if parts.next() == Next::PutBack => WhyLeft::Interrupted,
        Parts { root: Root::Aside, admin: Admin::Gone, .. } => WhyLeft::Forgotten,
        Parts { root: Root::NotSeen, in_place: InPlace::Nothing, .. } => WhyLeft::FilesNotMounted,
        _ => WhyLeft::Half,
    }
}

/// Returns why the removed worktree may not be deleted.
fn why_kept(context: &Context, old: &Removed, parts: Parts) -> Option<WhyLeft> {
    if has_submodules(&old.admin()).unwrap_or(true) {
        return Some(WhyLeft::Submodules);
    }
    match parts.root {
        Root::NotSeen => Some(WhyLeft::FilesNotMounted),
        Root::Aside => match whose(context, old) {
            Whose::This => None,
            Whose::Moved(_) => Some(WhyLeft::RepositoryGone),
            Whose::Another(_) => Some(WhyLeft::OfAnother),
        },
        Root::WasGone | Root::NotAside => None,
    }
}

/// Returns the session that works in the worktree `found`.
fn session_in(context: &Context, found: &Registration) -> Result<Option<String>> {
    let is_alive = |life| life == Life::Alive;
    let mut here = session_info::all(context)?.into_iter();
    let works = here.find(|it| {
        session_info::is_there(&context.repo, it, found.id.as_ref())
            && it.phase != Phase::Ended
            && is_alive(process::life(it.process.as_ref()))
    });
    Ok(works.map(|session| session.id))
}

/// Returns why git should still know the worktree `found`, whose directory is gone, and where a session works if it is `in_use`.
fn why_left(found: &Registration, in_use: bool) -> Option<WhyLeft> {
    let gone = Gone {
        is_locked: found.lock.is_some(),
        is_unreadable: found.place == Place::Unreadable,
        is_there: is_there(&found.path),
        has_others: has_others(&found.path),
        in_use,
        has_submodules: has_submodules(&found.git_dir).unwrap_or(true),
    };
    gone.why_left()
}

/// What is known of a worktree whose `.git` is gone.
#[derive(Clone, Copy, Debug)]
struct Gone {
    is_locked: bool,
    /// Its root cannot be looked at, or into.
    is_unreadable: bool,
    /// Its root is there.
    is_there: bool,
    /// The directory above has something in it.
    has_others: bool,
    in_use: bool,
    /// Git's directory of it has repositories of submodules.
    has_submodules: bool,
}

impl Gone {
    /// Decides why git should still know it; none: it is gone for good.
    fn why_left(self) -> Option<WhyLeft> {
        match self {
            Self { is_locked: true, .. } => Some(WhyLeft::Locked),
            Self { is_unreadable: true, .. } => Some(WhyLeft::Unreadable),
            Self { is_there: true, .. } => Some(WhyLeft::NoDotGit),
            Self { has_others: false, .. } => Some(WhyLeft::NotMounted),
            Self { in_use: true, .. } => Some(WhyLeft::InUse),
            Self { has_submodules: true, .. } => Some(WhyLeft::Submodules),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::gone([false, false, true, false], None)]
    #[case::locked([true, false, true, false], Some(WhyLeft::Locked))]
    #[case::locked_and_not_mounted([true, false, false, false], Some(WhyLeft::Locked))]
    #[case::not_mounted([false, false, false, false], Some(WhyLeft::NotMounted))]
    #[case::without_dot_git([false, true, true, false], Some(WhyLeft::NoDotGit))]
    #[case::in_use([false, false, true, true], Some(WhyLeft::InUse))]
    fn only_what_is_gone_for_good_is_forgotten(#[case] facts: [bool; 4], #[case] expected: Option<WhyLeft>) {
        let [is_locked, is_there, has_others, in_use] = facts;
        let gone = Gone { is_locked, is_unreadable: false, is_there, has_others, in_use, has_submodules: false };
        assert_eq!(gone.why_left(), expected);
    }
}
