//! Moves a worktree aside, and back: its root first, then git's directory of it.
//!
//! While only the root is aside, the worktree is locked, so that no `git worktree prune` forgets it. The next command that takes
//! the lock of the worktrees finds that, and moves the root back: a killed command has removed all of a worktree, or nothing.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

use super::{
    super::Context,
    in_use::{self, is_there},
};
use crate::{
    error::{Context as _, Error, Kind, Result},
    git::{Repo, registrations::Registration},
    model::removal::{Next, Parts},
    state::{
        failpoint,
        removed::{self, Removed, move_directory},
    },
};

/// How the reason begins with which we lock a worktree meanwhile.
const REASON: &str = "git-checkpoint moves it, ";

fn reason(removed: &Removed) -> String {
    format!("{REASON}{}\n", removed.id)
}

/// Locks the worktree with the git directory `admin` for `removed`; git-worktree(1) says what that means.
///
/// # Errors
/// [`Kind::Refused`] if it is locked.
fn hold(admin: &Path, removed: &Removed) -> Result<()> {
    let path = admin.join("locked");
    let what = || format!("cannot lock '{}'", removed.path.display());
    let mut file = match OpenOptions::new().write(true).create_new(true).open(&path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(in_use::locked(&removed.path, b"".into()));
        }
        file => file.context(Kind::Internal, what)?,
    };
    file.write_all(reason(removed).as_bytes()).and_then(|()| file.sync_all()).context(Kind::Internal, what)
}

/// Returns true if the worktree with the git directory `admin` is locked for `removed`.
fn is_held(admin: &Path, removed: &Removed) -> bool {
    fs::read_to_string(admin.join("locked")).is_ok_and(|text| text == reason(removed))
}

/// Takes that lock back.
fn release(admin: &Path, removed: &Removed) -> Result<()> {
    if !is_held(admin, removed) {
        return Ok(());
    }
    fs::remove_file(admin.join("locked"))
        .context(Kind::Internal, || format!("cannot unlock '{}'", removed.path.display()))
}

/// Moves the worktree `found` aside, if nothing in it has changed since `since`, and nobody works in it.
///
/// # Errors
/// If it cannot be moved, or somebody works in it: it is where it was then.
pub(super) fn move_aside(
    context: &Context,
    found: &Registration,
    removed: &mut Removed,
    since: Duration,
) -> Result<()> {
    // Before, too: it should not go away and come back while somebody works there.
    in_use::refuse_changed(context, &removed.path, &removed.path, since).inspect_err(|_| drop(removed.forget()))?;
    let tree = removed.place_for_tree().inspect_err(|_| drop(removed.forget()))?;
    removed.tree = Some(tree.clone());
    removed.write().inspect_err(|_| drop(removed.forget()))?;
    failpoint::hit("worktree:after-record");
    hold(&found.git_dir, removed).inspect_err(|_| drop(removed.forget()))?;
    failpoint::hit("worktree:after-lock");
    let moved = move_directory(&removed.path, &tree).and_then(|()| {
        failpoint::hit("worktree:after-tree");
        in_use::refuse_moved_head(context, found)?;
        in_use::refuse(context, found, &tree)?;
        in_use::refuse_changed(context, &tree, &removed.path, since)?;
        move_admin(found, removed)
    });
    if let Err(error) = moved {
        return Err(match put_back(&found.git_dir, removed) {
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

/// Moves git's directory of a worktree aside whose root is gone already.
pub(super) fn move_registration(found: &Registration, removed: &mut Removed) -> Result<()> {
    removed.write()?;
    failpoint::hit("worktree:after-record");
    move_admin(found, removed).inspect_err(|_| drop(removed.forget()))?;
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

/// Moves the root of a worktree back whose git directory is in its place, and forgets that it was to be removed.
fn put_back(admin: &Path, removed: &Removed) -> Result<()> {
    if let Some(tree) = removed.tree.as_ref().filter(|tree| is_there(tree)) {
        move_directory(tree, &removed.path).map_err(|error| {
            let hint =
                format!("its files are in '{}'; 'git checkpoint worktree restore {}'", tree.display(), removed.id);
            error.with_hint(hint)
        })?;
    }
    failpoint::hit("worktree:after-tree-back");
    release(admin, removed)?;
    removed.forget()
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

/// Moves the root back after that, and forgets that the worktree was removed.
pub(super) fn tree_back(removed: &Removed, admin: &Path) -> Result<()> {
    if let Some(parent) = removed.path.parent() {
        fs::create_dir_all(parent).context(Kind::User, || format!("cannot create '{}'", parent.display()))?;
    }
    put_back(admin, removed)
}

/// Lets HEAD of a worktree whose root is about to come back point to the commit that its files are from, if its branch has
/// another one by now.
fn head_back(context: &Context, removed: &Removed, admin: &Path) -> Result<()> {
    let now = context.repo.registration(removed.worktree.as_ref())?.and_then(|found| found.head.id);
    match removed.head.filter(|head| now != Some(*head)) {
        Some(head) => Repo::detach_head(context.repo.common_dir(), admin, head),
        None => Ok(()),
    }
}

/// Moves the roots back of which a killed command has moved only the root, and forgets what it had only written down.
pub(super) fn put_back_interrupted(context: &Context) -> Result<()> {
    for removed in removed::all(context.repo.common_dir())? {
        let admin: PathBuf = context.repo.git_dir_of(removed.worktree.as_ref());
        let parts = Parts {
            has_tree: removed.tree.is_some(),
            tree_is_aside: removed.tree.as_ref().is_some_and(|tree| is_there(tree)),
            admin_is_aside: is_there(&removed.admin()),
            is_held: is_held(&admin, &removed),
            is_free: !is_there(&removed.path),
        };
        match parts.next() {
            Next::Leave => {}
            Next::PutBack => {
                head_back(context, &removed, &admin)?;
                put_back(&admin, &removed)?;
            }
            Next::Forget => {
                release(&admin, &removed)?;
                removed.forget()?;
            }
        }
    }
    Ok(())
}

/// Returns the removed worktrees that can be restored, the last one first.
pub(super) fn restorable(context: &Context) -> Result<Vec<Removed>> {
    let all = removed::all(context.repo.common_dir())?;
    Ok(all.into_iter().filter(|removed| is_there(&removed.admin())).collect())
}

/// Returns the error if the removed worktree cannot be found.
pub(super) fn unknown(name: &str) -> Error {
    Error::user(format!("no removed worktree matches '{name}'"))
        .with_hint("'git checkpoint worktree restore --list' shows those that can be restored")
}
