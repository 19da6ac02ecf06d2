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
    in_use::{has_submodules, is_there, word},
    lock::{lock, lock_to_look},
    remove::note,
    whereabouts::{self, parts},
    whose::{Whose, is_of_another, whose},
    why_left::{Left, WhyLeft, why_left},
};
use crate::{
    error::{Error, Result},
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
        removed_files::{Deletion, begun},
    },
};

/// A worktree that git has forgotten. `worktree restore` lets git know it again once its directory is back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Forgotten {
    /// What `worktree restore` takes; none in a dry run.
    pub(crate) id: Option<String>,
    /// Where its root was.
    #[serde(flatten, serialize_with = "path_text::serialize_fields")]
    pub(crate) path: BString,
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

impl Pruned {
    fn new(dry_run: bool) -> Self {
        Self { version: 1, dry_run, forgotten: Vec::new(), left: Vec::new(), deleted: Vec::new(), kept: 0 }
    }
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
    let mut pruned = Pruned::new(dry_run);
    let days = context.settings.archive.keep_days.map(|days| i64::try_from(days).unwrap_or(i64::MAX));
    let oldest = days.map(|days| jiff::Timestamp::now().as_second().saturating_sub(days.saturating_mul(DAY)));
    for begun in begun(repo.common_dir()) {
        match begun {
            Ok(old) => match why_begun_stays(context, &old) {
                Some((why, hint)) => pruned.left.push(Left { hint, ..Left::new(path_of(&old), why) }),
                None => delete(context, old, &mut pruned)?,
            },
            Err(folder) => {
                let hint = Some(format!("its record is missing or damaged: {}", rest(&[&folder])));
                let path = folder.into_os_string().into_vec().into();
                pruned.left.push(Left { hint, ..Left::new(path, WhyLeft::NotDeleted) });
            }
        }
    }
    let mut half = BTreeSet::new();
    for old in removed::all(repo.common_dir())? {
        let parts = parts(context, &old)?;
        match parts.next() {
            // A command that moved it was killed.
            Next::PutBack | Next::Half => {
                half.insert(old.worktree.clone());
                let (why, hint) = why_half(context, &old, parts);
                let files = old.tree.as_ref().filter(|_| why == WhyLeft::Forgotten);
                let files = files.map(|tree| tree.as_os_str().as_bytes().into());
                pruned.left.push(Left { files, hint, ..Left::new(path_of(&old), why) });
            }
            Next::Removed if all_removed || oldest.is_some_and(|oldest| old.seconds <= oldest) => {
                match why_kept(context, &old, parts) {
                    Some(WhyLeft::Submodules) => pruned.left.push(Left::submodules(path_of(&old), &old.admin())),
                    Some(why) => {
                        let hint = (why == WhyLeft::RepositoryGone).then(|| {
                            format!(
                                "if this one was there, 'git checkpoint worktree restore {}' lets them name it",
                                old.id
                            )
                        });
                        pruned.left.push(Left { hint, ..Left::new(path_of(&old), why) });
                    }
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

/// Deletes what was removed as `id`, as [`prune`] does: this process has made it, and needs it no more.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if it stays among the removed ones, as a whole or in part.
pub(crate) fn delete_removed(context: &Context, id: &str) -> Result<()> {
    let _lock = lock(context)?;
    let old = removed::all(context.repo.common_dir())?.into_iter().find(|old| old.id == id);
    // Restored meanwhile, it is another one's.
    let Some(old) = old else { return Ok(()) };
    let mut pruned = Pruned::new(false);
    let parts = parts(context, &old)?;
    if parts.next() == Next::Removed && why_kept(context, &old, parts).is_none() {
        delete(context, old, &mut pruned)?;
    }
    if !pruned.deleted.is_empty() {
        return Ok(());
    }
    // What was deleted in part cannot be restored.
    let what = match pruned.left.first() {
        Some(left) if left.why == WhyLeft::PartlyDeleted => {
            "a part of its files could not be deleted: 'git checkpoint worktree prune' goes on".to_owned()
        }
        _ => format!("its files are kept: 'git checkpoint worktree restore {id}' brings it back"),
    };
    Err(Error::refused(what))
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

/// Returns what a person does to delete what is left at `paths`.
fn rest(paths: &[&Path]) -> String {
    let words: Vec<_> = paths.iter().map(|path| word(path)).collect();
    format!("'rm -r {}' deletes what is left", words.join(" "))
}

/// Returns why the deletion of the removed worktree, which has begun, may not go on, and what a person can do about it.
fn why_begun_stays(context: &Context, old: &Removed) -> Option<(WhyLeft, Option<String>)> {
    let root = old.tree_outside()?;
    if !is_there(root) {
        return Some((WhyLeft::FilesNotMounted, Some(if_gone(old))));
    }
    match whose(context, old) {
        Whose::Another(Some(_)) => Some((WhyLeft::OfAnother, None)),
        Whose::Moved(_) => {
            let hint = format!("if no repository needs them, {}", rest(&[root, old.folder()]));
            Some((WhyLeft::RepositoryGone, Some(hint)))
        }
        // Its `.git` may be deleted.
        Whose::This | Whose::Another(None) => None,
    }
}

fn if_gone(old: &Removed) -> String {
    format!("if they are gone for good, {}", rest(&[old.folder()]))
}

/// Returns why only half of a removed worktree is aside, and what a person can do about it.
fn why_half(context: &Context, old: &Removed, parts: Parts) -> (WhyLeft, Option<String>) {
    match parts {
        _ if parts.next() == Next::PutBack && is_of_another(context, old) => (WhyLeft::OfAnother, None),
        _ if parts.next() == Next::PutBack => (WhyLeft::Interrupted, None),
        Parts { root: Root::Aside, admin: Admin::Gone, .. } => (WhyLeft::Forgotten, None),
        Parts { root: Root::NotSeen, in_place: InPlace::Nothing, admin } => {
            let unlock = || format!("{}, then run this again", whereabouts::unlock(old));
            (WhyLeft::FilesNotMounted, Some(if admin == Admin::Gone { if_gone(old) } else { unlock() }))
        }
        Parts { root: Root::NotSeen, admin: Admin::InPlace, .. } => {
            let path = word(&old.path);
            (
                WhyLeft::Half,
                Some(format!(
                    "if it is the worktree, and the repository was moved, 'git worktree repair {path}' lets it name this one"
                )),
            )
        }
        _ => (WhyLeft::Half, None),
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
