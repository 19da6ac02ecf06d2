//! `worktree restore`: brings a removed worktree back, byte for byte.

use std::{
    collections::HashSet,
    ffi::OsStr,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use bstr::{BStr, BString, ByteSlice as _};
use gix::ObjectId;
use serde::Serialize;

use super::{
    super::{
        Context,
        chain::shadows::{latest, live},
    },
    aside, chains, head_again,
    in_use::{self, is_there},
    lock::lock_to_look,
    named::{registered, short},
    remove::note,
    validate, whereabouts,
    whose::{Whose, is_named, is_of_another, whose},
    worktree_lock::remove_left,
};
use crate::{
    error::{Error, Result},
    git::{registrations::Place, worktrees},
    model::{
        id_text, moment, path_text,
        refname::Base,
        removal::{HeadAgain, InPlace, Next, WhyDetached},
    },
    state::removed::Removed,
};

/// A worktree that can be restored. Serializes to an entry of what `worktree restore --list --json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Restorable {
    /// What `worktree restore` takes.
    pub(crate) id: String,
    /// Its root.
    #[serde(flatten, serialize_with = "path_text::serialize_fields")]
    pub(crate) path: BString,
    /// The branch that was checked out in it; none if HEAD was detached.
    pub(crate) branch: Option<String>,
    /// The commit at its HEAD.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub(crate) head: Option<ObjectId>,
    /// The checkpoint that was taken first; none if its directory was gone.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub(crate) checkpoint: Option<ObjectId>,
    /// When it was removed, in ISO 8601.
    pub(crate) removed: String,
    /// False if its directory was gone already when git forgot it.
    pub(crate) files: bool,
}

/// What `worktree restore --list --json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct RestorableList {
    /// The version of this shape.
    pub(crate) version: u32,
    /// The worktrees, the one removed last first.
    pub(crate) removed: Vec<Restorable>,
}

/// The worktree that is back. Serializes to what `worktree restore --json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Restored {
    /// The version of this shape.
    pub(crate) version: u32,
    /// Its root.
    #[serde(flatten, serialize_with = "path_text::serialize_fields")]
    pub(crate) path: BString,
    /// Git's id of it.
    pub(crate) id: String,
    /// The branch that it had.
    pub(crate) branch: Option<String>,
    /// The commit at its HEAD.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub(crate) head: Option<ObjectId>,
    /// True if the branch was made again.
    pub(crate) created: bool,
    /// Why HEAD is detached although it was on that branch; none if it is on it.
    pub(crate) detached: Option<WhyDetached>,
    /// The files of its checkpoint that are not there: they were deleted while it was removed.
    #[serde(serialize_with = "path_text::serialize_list")]
    pub(crate) missing: Vec<BString>,
    /// That checkpoint.
    #[serde(skip)]
    pub(crate) checkpoint: Option<ObjectId>,
    /// The common directory of the repository that its files named before, if not this one's.
    #[serde(skip)]
    pub(crate) was_of: Option<PathBuf>,
}

/// Returns the removed worktrees that can be restored.
pub(crate) fn restorable(context: &Context) -> Result<RestorableList> {
    let listed = |removed: Removed| Restorable {
        path: removed.path.as_os_str().as_bytes().into(),
        branch: removed.branch.as_ref().map(|branch| short(branch.as_bstr()).to_string()),
        head: removed.head,
        checkpoint: removed.checkpoint,
        removed: moment::iso(removed.seconds, 0),
        files: removed.tree.is_some(),
        id: removed.id,
    };
    Ok(RestorableList { version: 1, removed: whereabouts::restorable(context)?.into_iter().map(listed).collect() })
}

/// Returns the command that brings the removed worktree with git's id `worktree` back, which git made at the time `made` (none:
/// the last one with that id); none if there is none to restore.
pub(crate) fn restore_command(context: &Context, worktree: &BStr, made: Option<i64>) -> Option<String> {
    let all = whereabouts::restorable(context).ok()?;
    let is_it = |removed: &&Removed| {
        let is_made_then = made.is_none_or(|made| worktrees::made(&removed.admin()) == Some(made));
        removed.worktree == worktree && removed.tree.is_some() && is_made_then
    };
    let found = all.iter().find(is_it)?;
    Some(format!("git checkpoint worktree restore {}", found.id))
}

/// Brings a removed worktree back: its id, its branch, the name of its directory or the path of its root says which.
///
/// # Errors
/// [`Kind::User`](crate::error::Kind::User) if there is none, or several; [`Kind::Refused`](crate::error::Kind::Refused) if
/// something is in its place, or its commit is lost.
pub(crate) fn restore(context: &Context, name: &OsStr) -> Result<Restored> {
    context.repo.name_operation("worktree restore");
    context.emit_failure("worktree restore", try_restore(context, name))
}

fn try_restore(context: &Context, name: &OsStr) -> Result<Restored> {
    let _lock = lock_to_look(context)?;
    let removed = match find(&whereabouts::restorable(context)?, name) {
        Ok(removed) => removed,
        Err(error) => {
            let locked = find(&whereabouts::only_locked(context)?, name);
            return match locked {
                Ok(removed) => finish(context, &removed),
                Err(_) => Err(deleted(context, name).unwrap_or(error)),
            };
        }
    };
    let was_of = if let Whose::Moved(common) = whose(context, &removed) { Some(common) } else { None };
    if whereabouts::parts(context, &removed)?.next() == Next::PutBack && !is_of_another(context, &removed) {
        let head = aside::put_back_root(context, &removed)?;
        remove_left(&context.repo.git_dir_of(removed.worktree.as_bstr()));
        return Ok(Restored { was_of, ..Restored::new(context, &removed, head) });
    }
    aside::put_back_interrupted(context)?;
    let repo = &context.repo;
    let admin = repo.git_dir_of(removed.worktree.as_bstr());
    refuse_place(context, &removed, &admin)?;
    if is_there(&admin) {
        let all = repo.registrations()?;
        let other = all.iter().find(|it| it.id == removed.worktree);
        let other = other.map_or_else(|| admin.display().to_string(), |it| it.path.display().to_string());
        return Err(Error::refused(format!("git has given the id of the removed worktree to another one, '{other}'"))
            .with_hint(format!(
                "remove that one first: 'git checkpoint worktree remove {}'",
                path_text::shell_word(&other)
            )));
    }
    if let Some(head) = removed.head.filter(|head| !repo.can_read(*head)) {
        return Err(Error::corrupt(format!("the commit '{head}' of the removed worktree is lost"))
            .with_hint("'git fetch' may bring it back; nothing was changed"));
    }
    aside::admin_back(&removed, &admin)?;
    let head = head_again::put(context, &removed, &admin);
    let head = head.inspect_err(|_| drop(aside::back_aside(&removed, &admin)))?;
    chains::own_again(context, &removed);
    aside::tree_back(context, &removed, &admin).inspect_err(|_| head_again::take_back(context, &removed, head))?;
    note_restored(context, &removed);
    Ok(Restored { was_of, ..Restored::new(context, &removed, head) })
}

/// Ends the restore of a worktree that is back, and still locked. Others may have worked in it since: its HEAD is where it is.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if it is not in its place.
fn finish(context: &Context, removed: &Removed) -> Result<Restored> {
    let found = context.repo.registration(removed.worktree.as_bstr())?;
    let parts = whereabouts::parts(context, removed)?;
    let found = match (parts.next(), found) {
        (Next::InPlace, Some(found)) => found,
        _ if parts.in_place == InPlace::Other => return Err(validate::Code::Taken.error(&removed.path)),
        (Next::Half, _) => {
            return Err(validate::Code::Gone.error(&removed.path).with_hint(format!(
                "its file system may not be mounted; {}, then 'git checkpoint worktree prune'",
                whereabouts::unlock(removed)
            )));
        }
        _ => return Err(validate::Code::Gone.error(&removed.path)),
    };
    let why = match head_again::decide(context, removed)? {
        HeadAgain::NewBranch => Some(WhyDetached::NotMade),
        HeadAgain::Detached(why) => Some(why),
        HeadAgain::AsBefore => None,
    };
    aside::put_back(context, &found.git_dir, removed)?;
    note_restored(context, removed);
    let mut restored = Restored::new(context, removed, HeadAgain::AsBefore);
    restored.head = found.head.id;
    if let Some(branch) = &found.head.branch {
        restored.branch = Some(short(branch.as_bstr()).to_string());
    } else if why.is_some() {
        restored.detached = why;
    } else {
        restored.branch = None;
    }
    Ok(restored)
}

fn note_restored(context: &Context, removed: &Removed) {
    remove_left(&context.repo.git_dir_of(removed.worktree.as_bstr()));
    note(context, format!("'git checkpoint worktree remove {}' removes it again", in_use::word(&removed.path)));
}

impl Restored {
    fn new(context: &Context, removed: &Removed, head: HeadAgain) -> Self {
        Self {
            version: 1,
            path: removed.path.as_os_str().as_bytes().into(),
            id: path_text::escape(removed.worktree.as_bstr()),
            branch: removed.branch.as_ref().map(|branch| short(branch.as_bstr()).to_string()),
            head: removed.head,
            created: head == HeadAgain::NewBranch,
            detached: if let HeadAgain::Detached(why) = head { Some(why) } else { None },
            missing: missing(context, removed).unwrap_or_else(|error| {
                tracing::warn!(%error, "it is not known whether all files of the worktree are there");
                Vec::new()
            }),
            checkpoint: removed.checkpoint,
            was_of: None,
        }
    }
}

/// Returns the files of the checkpoint of the worktree, which is back, that are not there, and should be.
fn missing(context: &Context, removed: &Removed) -> Result<Vec<BString>> {
    let repo = &context.repo;
    let Some(checkpoint) = removed.checkpoint.filter(|id| repo.has_object(*id)) else { return Ok(Vec::new()) };
    let files = repo.diff_trees(repo.empty_tree_id(), repo.tree_of_commit(checkpoint)?)?;
    let is_gone = |path: &BString| !is_there(&removed.path.join(path.to_path_lossy()));
    let mut gone: Vec<_> = files.into_iter().map(|change| change.path).filter(is_gone).collect();
    if gone.is_empty() {
        return Ok(gone);
    }
    // Git leaves out what a sparse checkout does not have.
    let listed = repo.open_worktree(&removed.path)?.run_git(&["ls-files", "-t", "-z"], None)?;
    let skipped: HashSet<&[u8]> = listed.split_str("\0").filter_map(|line| line.strip_prefix(b"S ")).collect();
    gone.retain(|path| !skipped.contains(path.as_slice()));
    Ok(gone)
}

/// Returns the one of `all` that `name` stands for.
fn find(all: &[Removed], name: &OsStr) -> Result<Removed> {
    let text = name.as_bytes();
    if let Some(found) = all.iter().find(|it| it.id.as_bytes() == text) {
        return Ok(found.clone());
    }
    let path = where_it_was(Path::new(name));
    let is_named = |it: &&Removed| {
        it.branch.as_ref().is_some_and(|branch| *short(branch.as_bstr()) == *text)
            || it.path.as_os_str() == name
            || path.as_ref() == Some(&it.path)
            || it.path.file_name() == Some(name)
    };
    let mut named: Vec<&Removed> = all.iter().filter(is_named).collect();
    if named.is_empty() && text.len() >= LEAST_PREFIX {
        named.extend(all.iter().filter(|it| it.id.as_bytes().starts_with(text)));
    }
    match named[..] {
        [found] => Ok(found.clone()),
        [] => Err(aside::unknown(&name.display().to_string())),
        [..] => Err(Error::user(format!("'{}' stands for {} removed worktrees", name.display(), named.len()))
            .with_hint("'git checkpoint worktree restore --list' shows their ids")),
    }
}

/// Returns the error if `name` stands for a worktree whose directory another program has deleted: git still knows it, and its checkpoints
/// are there.
fn deleted(context: &Context, name: &OsStr) -> Option<Error> {
    let found = registered(context, Some(name)).ok().filter(|it| it.place == Place::Nothing)?;
    let chain = live(&context.repo, Base::of_head(found.head.id), found.id.as_bstr());
    let last = chain.and_then(|chain| latest(&context.repo, &chain)).ok().flatten();
    let last = last.map(|it| format!("its last checkpoint is {}; ", id_text::stored(&it.id))).unwrap_or_default();
    let message = format!("another program has deleted the directory of the worktree '{}'", name.display());
    Some(
        Error::user(message)
            .with_hint(format!("{last}'git checkpoint list --all-worktrees' shows what there is of it")),
    )
}

/// How many letters of an id name a removed worktree, as for git's ids.
const LEAST_PREFIX: usize = 4;

/// Returns the canonical path that `path` had while something was there: the directory that it was in is still there.
fn where_it_was(path: &Path) -> Option<PathBuf> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Some(std::fs::canonicalize(parent).ok()?.join(path.file_name()?))
}

/// Returns the error for a removed worktree whose files in `tree` are those of the repository `common`.
fn of_another(removed: &Removed, tree: &Path, common: Option<&Path>) -> Error {
    let tree = tree.display();
    match common {
        Some(common) => Error::refused(format!(
            "the files of the removed worktree, in '{tree}', are those of another repository, '{}'",
            common.display()
        ))
        .with_hint(format!("'git checkpoint worktree restore {}' there brings it back", removed.id)),
        None => Error::refused(format!("the files of the removed worktree, in '{tree}', name no repository"))
            .with_hint("the file '.git' there is missing or damaged"),
    }
}

/// Refuses if something is where the root was; if that was gone, only the root itself may be there again.
fn refuse_place(context: &Context, removed: &Removed, admin: &Path) -> Result<()> {
    let path = removed.path.display();
    validate::refuse_outside(context, &removed.path)?;
    let is_known = context.repo.registration_at(&removed.path)?.is_some_and(|it| it.place == Place::Worktree);
    match (&removed.tree, is_there(&removed.path)) {
        (Some(tree), _) if !is_there(tree) => {
            Err(Error::refused(format!("the files of the removed worktree are gone from '{}'", tree.display()))
                .with_hint("'git checkpoint worktree add <branch>' and 'git checkpoint restore <checkpoint>' bring back what was saved"))
        }
        (Some(tree), _) if let Whose::Another(common) = whose(context, removed) => {
            Err(of_another(removed, tree, common.as_deref()))
        }
        (Some(_), true) => Err(Error::refused(format!("'{path}' exists already"))
            .with_hint("move it away, or remove that worktree first: 'git checkpoint worktree list' shows it")),
        (None, false) => Err(Error::refused(format!("the directory of the worktree '{path}' was gone before it was pruned"))
            .with_hint("'git checkpoint worktree add <branch>' makes a new one, 'git checkpoint list --all-worktrees' shows what was saved \
                of the old one; once the directory is there again, run this again")),
        (None, true) if is_known => Err(Error::refused(format!("git has a worktree at '{path}' again"))
            .with_hint("'git checkpoint list --all-worktrees' shows what was saved of the one that was pruned")),
        (None, true) if !is_named(&removed.path, admin) => {
            Err(Error::refused(format!("'{path}' is no longer the worktree that was pruned"))
                .with_hint("'git worktree list' and the file '.git' there say what each takes it for"))
        }
        _ => Ok(()),
    }
}
