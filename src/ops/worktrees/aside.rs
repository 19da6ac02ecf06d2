//! Moves a worktree aside, and back: its root first, then git's directory of it.
//!
//! While only the root is aside, the worktree is locked, so that no `git worktree prune` forgets it. The next command that takes
//! the lock of the worktrees finds that, and moves the root back: a killed command has removed all of a worktree, or nothing.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::Write as _,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use gix::ObjectId;

use super::{
    super::Context,
    chains, head_again,
    in_use::{self, is_there},
    whereabouts::{is_held, parts, reason},
    whose::{is_of_another, names},
};
use crate::{
    error::{Context as _, Error, Kind, Result},
    git::registrations::{Place, Registration},
    model::{
        refname,
        removal::{HeadAgain, Next},
    },
    state::{
        failpoint,
        removed::{self, Removed, move_directory},
        removed_files::Deletion,
        replace_file,
    },
};

/// Locks the worktree with the git directory `admin` for `removed`; git-worktree(1) says what that means.
///
/// # Errors
/// [`Kind::Refused`] if it is locked.
fn hold(admin: &Path, removed: &Removed) -> Result<()> {
    let path = admin.join("locked");
    let what = || format!("cannot lock '{}'", removed.path.display());
    if is_there(&path) {
        return Err(in_use::locked(&removed.path, b"".into()));
    }
    // Writes the whole reason before git can see the lock. A lock without its reason, after a power failure, could not be
    // distinguished from one of the user.
    let beside = admin.join(format!("locked.{}", removed.id));
    let written = File::create(&beside)
        .and_then(|mut file| file.write_all(reason(removed).as_bytes()).and_then(|()| file.sync_all()))
        .context(Kind::Internal, what)
        .and_then(|()| move_directory(&beside, &path));
    written.map_err(|error| {
        drop(fs::remove_file(&beside));
        if is_there(&path) { in_use::locked(&removed.path, b"".into()) } else { error }
    })?;
    // After a power failure, a root that is aside without its lock would count as gone while its file system is not mounted.
    File::open(admin).and_then(|directory| directory.sync_all()).context(Kind::Internal, what)
}

/// Takes that lock back.
fn release(admin: &Path, removed: &Removed) -> Result<()> {
    if !is_held(admin, removed) {
        return Ok(());
    }
    fs::remove_file(admin.join("locked"))
        .context(Kind::Internal, || format!("cannot unlock '{}'", removed.path.display()))
}

/// Moves the worktree `found` aside, if nothing in it has changed since `since`, and it is not in use.
///
/// # Errors
/// If it cannot be moved, or it is in use. It then stays where it was.
pub(super) fn move_aside(
    context: &Context,
    found: &Registration,
    removed: &mut Removed,
    since: Duration,
) -> Result<()> {
    // Before, too: a worktree in use must not vanish, even for a moment.
    let tree = record(context, removed, since).inspect_err(|_| drop(removed.forget()))?;
    failpoint::hit("worktree:after-record");
    hold(&found.git_dir, removed).inspect_err(|_| drop(removed.forget()))?;
    failpoint::hit("worktree:after-lock");
    let moved = hold_objects(context, found, removed).and_then(|known| {
        let tree = move_root(context, removed, tree)?;
        failpoint::hit("worktree:after-tree");
        // Processes before HEAD: one that has just ended may have moved it.
        in_use::refuse(context, found, &tree)?;
        in_use::refuse_changed(context, &tree, &removed.path, since)?;
        in_use::refuse_moved_head(context, found)?;
        in_use::refuse_submodules(found)?;
        if context.repo.known_to_worktree(&found.git_dir, found.head.id)? != known {
            return Err(in_use::just_changed(&removed.path));
        }
        move_admin(found, removed)
    });
    if let Err(error) = moved {
        return Err(match put_back(context, &found.git_dir, removed) {
            Ok(()) => error,
            Err(again) => again.with_cause(error),
        });
    }
    if let Err(error) = release(&removed.admin(), removed) {
        tracing::warn!(%error, "the removed worktree is still locked; a restore unlocks it");
    }
    // With the last one, git's directory of them goes, as git has it.
    drop(found.git_dir.parent().map(fs::remove_dir));
    Ok(())
}

/// Writes down that the worktree is to be removed, if nothing in it has changed. Returns where its root goes.
fn record(context: &Context, removed: &mut Removed, since: Duration) -> Result<PathBuf> {
    in_use::refuse_changed(context, &removed.path, &removed.path, since)?;
    let tree = removed.place_for_tree()?;
    if tree == removed.beside() {
        refuse_in_another(context, removed)?;
    }
    removed.tree = Some(tree.clone());
    removed.write()?;
    Ok(tree)
}

/// Refuses if the place beside the root is inside another worktree: there, a removed one is a directory like any other, which
/// `git clean` deletes and `git add` stages.
fn refuse_in_another(context: &Context, removed: &Removed) -> Result<()> {
    let all = context.repo.registrations()?.into_iter();
    let mut roots = all.filter(|it| it.place == Place::Worktree).filter_map(|it| fs::canonicalize(it.path).ok());
    let above = roots.find(|root| removed.path != *root && removed.path.starts_with(root));
    let Some(above) = above else { return Ok(()) };
    let path = removed.path.display();
    Err(Error::refused(format!(
        "'{path}' is on another file system than the repository and inside the worktree '{}', where 'git clean' would delete \
         what is kept of it",
        above.display()
    ))
    .with_hint(format!(
        "a checkpoint has its files that are not ignored: 'git worktree remove --force {}' removes it for good; \
         the setting 'worktree.dir' says where others are made",
        in_use::word(&removed.path)
    )))
}

/// Moves the root to `tree`, or beside its place if that is not possible. Returns where it is.
fn move_root(context: &Context, removed: &mut Removed, tree: PathBuf) -> Result<PathBuf> {
    match move_directory(&removed.path, &tree) {
        Err(error) if removed::is_of_two_mounts(&error) => {
            refuse_in_another(context, removed)?;
            let beside = removed.beside();
            removed.tree = Some(beside.clone());
            removed.write()?;
            move_directory(&removed.path, &beside).map(|()| beside)
        }
        moved => moved.map(|()| tree),
    }
}

/// Lets a ref lead to what only git's directory of the worktree leads to: while it is aside, git does not look into it. Returns
/// what that is.
fn hold_objects(context: &Context, found: &Registration, removed: &Removed) -> Result<BTreeSet<ObjectId>> {
    let known = context.repo.known_to_worktree(&found.git_dir, found.head.id)?;
    context.repo.hold(&known, &refname::removed_worktree_ref(&removed.id))?;
    Ok(known)
}

/// Forgets it: nothing of it is aside. Git knows again what its directory leads to.
fn forget(context: &Context, removed: &Removed) -> Result<()> {
    removed.forget()?;
    context.repo.no_longer_hold(&refname::removed_worktree_ref(&removed.id))
}

/// Deletes it with all its files.
///
/// # Errors
/// If nothing is deleted.
pub(super) fn delete(context: &Context, removed: &Removed) -> Result<Deletion> {
    let deletion = removed.delete()?;
    if !matches!(deletion, Deletion::Hindered(_))
        && let Err(error) = context.repo.no_longer_hold(&refname::removed_worktree_ref(&removed.id))
    {
        tracing::warn!(%error, "the next command that makes, moves or removes worktrees deletes the ref");
    }
    Ok(deletion)
}

/// Deletes the refs of removed worktrees that are no more.
fn sweep_refs(context: &Context) -> Result<()> {
    for (name, _) in context.repo.refs_below(refname::REMOVED_WORKTREES)? {
        let id = name.trim_start_matches(refname::REMOVED_WORKTREES);
        if !is_there(&removed::folder(context.repo.common_dir()).join(id)) {
            context.repo.no_longer_hold(&name)?;
        }
    }
    Ok(())
}

/// Moves git's directory of a worktree aside whose root is gone already.
pub(super) fn move_registration(context: &Context, found: &Registration, removed: &mut Removed) -> Result<()> {
    removed.write()?;
    failpoint::hit("worktree:after-record");
    let moved = hold_objects(context, found, removed).and_then(|_| move_admin(found, removed));
    moved.inspect_err(|_| drop(forget(context, removed)))?;
    drop(found.git_dir.parent().map(fs::remove_dir));
    Ok(())
}

fn move_admin(found: &Registration, removed: &Removed) -> Result<()> {
    move_directory(&found.git_dir, &removed.admin())?;
    failpoint::hit("worktree:after-admin");
    // Both names of each are in directories that may be lost after a power failure, but never only one.
    if let Some(folder) = removed.admin().parent() {
        drop(File::open(folder).and_then(|folder| folder.sync_all()));
    }
    Ok(())
}

/// Moves the root of a worktree back, unless it is back, whose git directory is in its place, and forgets that it was to be
/// removed.
pub(super) fn put_back(context: &Context, admin: &Path, removed: &Removed) -> Result<()> {
    if let Some(tree) = removed.tree.as_ref().filter(|tree| is_there(tree)) {
        if let Some(parent) = removed.path.parent() {
            fs::create_dir_all(parent).context(Kind::User, || format!("cannot create '{}'", parent.display()))?;
        }
        // Before: no command may find it in its place and be killed before git works there.
        let_name(tree, removed, admin)?;
        move_directory(tree, &removed.path).map_err(|error| {
            error.with_hint(format!(
                "its files are in '{}'; once nothing is in the way, 'git checkpoint worktree restore {}' brings it back",
                tree.display(),
                removed.id
            ))
        })?;
    }
    failpoint::hit("worktree:after-tree-back");
    release(admin, removed)?;
    forget(context, removed)
}

/// Lets the root of a removed worktree, which is at `tree`, name the git directory `admin`: the repository may have been moved.
fn let_name(tree: &Path, removed: &Removed, admin: &Path) -> Result<()> {
    let admin = fs::canonicalize(admin).context(Kind::Internal, || format!("cannot find '{}'", admin.display()))?;
    if names(tree, &removed.path, &admin) {
        return Ok(());
    }
    let text = [b"gitdir: ", admin.as_os_str().as_bytes(), b"\n"].concat();
    replace_file(&tree.join(".git"), &text)
}

/// Moves git's directory of a removed worktree back, locked, so that it can be changed before the root is there.
pub(super) fn admin_back(removed: &Removed, to: &Path) -> Result<()> {
    let folder = to.parent().unwrap_or(to);
    fs::create_dir_all(folder).context(Kind::Internal, || format!("cannot create '{}'", folder.display()))?;
    hold(&removed.admin(), removed)
        .or_else(|error| if is_held(&removed.admin(), removed) { Ok(()) } else { Err(error) })?;
    move_directory(&removed.admin(), to)?;
    failpoint::hit("worktree:after-admin-back");
    Ok(())
}

/// Moves the root back after that, and forgets that the worktree was removed. If it cannot be moved, the worktree is removed as
/// before.
pub(super) fn tree_back(context: &Context, removed: &Removed, admin: &Path) -> Result<()> {
    let Err(error) = put_back(context, admin, removed) else { return Ok(()) };
    back_aside(removed, admin).map_err(|again| again.with_cause(error.message().to_owned()))?;
    Err(error)
}

/// Moves git's directory aside again if the root still is.
pub(super) fn back_aside(removed: &Removed, admin: &Path) -> Result<()> {
    let is_aside = removed.tree.as_ref().is_none_or(|tree| is_there(tree));
    if is_aside && !is_there(&removed.admin()) {
        move_directory(admin, &removed.admin())?;
        release(&removed.admin(), removed)?;
        drop(admin.parent().map(fs::remove_dir));
    }
    Ok(())
}

/// Moves the roots back of which a killed command has moved only the root, and forgets what it had only written down. One that
/// cannot be put back does not keep others from it.
pub(super) fn put_back_interrupted(context: &Context) -> Result<()> {
    for removed in removed::all(context.repo.common_dir())? {
        context.check_interrupt()?;
        if let Err(error) = put_back_one(context, &removed) {
            tracing::warn!(%error, id = %removed.id, "a worktree that was being moved cannot be put back");
        }
    }
    removed::sweep_empty(context.repo.common_dir());
    sweep_refs(context)
}

fn put_back_one(context: &Context, removed: &Removed) -> Result<()> {
    match parts(context, removed)?.next() {
        Next::Removed | Next::Half => Ok(()),
        Next::PutBack if is_of_another(context, removed) => Ok(()),
        Next::PutBack => put_back_root(context, removed).map(drop),
        Next::InPlace => put_back(context, &context.repo.git_dir_of(removed.worktree.as_ref()), removed),
        Next::Gone => {
            release(&context.repo.git_dir_of(removed.worktree.as_ref()), removed)?;
            forget(context, removed)
        }
    }
}

/// Moves the root back of which a killed command has moved only the root. Returns where HEAD is.
pub(super) fn put_back_root(context: &Context, removed: &Removed) -> Result<HeadAgain> {
    let admin = context.repo.git_dir_of(removed.worktree.as_ref());
    let head = head_again::put(context, removed, &admin)?;
    chains::own_again(context, removed);
    put_back(context, &admin, removed)?;
    Ok(head)
}

/// Returns the error if the removed worktree cannot be found.
pub(super) fn unknown(name: &str) -> Error {
    Error::user(format!("no removed worktree matches '{name}'"))
        .with_hint("'git checkpoint worktree restore --list' shows those that can be restored")
}
