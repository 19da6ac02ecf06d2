//! Where a removed worktree is, and in what state: every command that removes, restores or prunes asks this.

use std::{fs, path::Path};

use super::{
    super::Context,
    in_use::{REASON, is_there, word},
};
use crate::{
    error::Result,
    git::registrations::{Place, Registration},
    model::removal::{Admin, InPlace, Next, Parts, Root},
    state::removed::{self, Removed},
};

/// Returns the reason with which the worktree is locked that `removed` describes.
pub(super) fn reason(removed: &Removed) -> String {
    format!("{REASON}{}\n", removed.id)
}

/// Returns true if the worktree with the git directory `admin` is locked for `removed`; every other lock is the user's.
pub(super) fn is_held(admin: &Path, removed: &Removed) -> bool {
    fs::read_to_string(admin.join("locked")).is_ok_and(|text| text == reason(removed))
}

/// Returns true if a command of ours moves the worktree `found`, or was killed while it did.
pub(super) fn is_held_by_us(found: &Registration) -> bool {
    found.lock.as_ref().is_some_and(|reason| is_ours(reason))
}

/// Returns true if git locks a worktree for `reason` because a command of ours moves it.
pub(super) fn is_ours(reason: &[u8]) -> bool {
    reason.starts_with(REASON.as_bytes())
}

/// Returns what a user does about one that stays locked because its root is not seen.
pub(super) fn unlock(removed: &Removed) -> String {
    format!("if its files are gone for good, 'git worktree unlock {}'", word(&removed.path))
}

/// Returns where the parts of a removed worktree are.
pub(super) fn parts(context: &Context, removed: &Removed) -> Result<Parts> {
    let found = context.repo.registration(removed.worktree.as_ref())?;
    // Paths need not be the same: one of them may lead through links, or be relative to a directory that was moved.
    let found = found.filter(|it| removed.is_registered_in(&it.git_dir));
    let in_place = match &found {
        _ if !is_there(&removed.path) => InPlace::Nothing,
        Some(found) if found.place == Place::Worktree => InPlace::Worktree,
        _ => InPlace::Other,
    };
    let admin = match &found {
        _ if is_there(&removed.admin()) => Admin::Aside,
        Some(_) => Admin::InPlace,
        None => Admin::Gone,
    };
    let root = match &removed.tree {
        None => Root::WasGone,
        Some(tree) if is_there(tree) => Root::Aside,
        Some(_) if removed.is_tree_in_folder() => Root::NotAside,
        // No look at a file system decides that: a root is moved only while the worktree is locked.
        Some(_) if found.is_some_and(|found| admin == Admin::InPlace && !is_held(&found.git_dir, removed)) => {
            Root::NotAside
        }
        Some(_) => Root::NotSeen,
    };
    Ok(Parts { root, in_place, admin })
}

/// Returns the worktrees that are removed, and stay so.
pub(super) fn kept(context: &Context) -> Result<Vec<Removed>> {
    with(context, |_, parts| parts.next() == Next::Removed)
}

/// Returns the removed worktrees that can be restored, the last one first: also those of which only the root is aside.
pub(crate) fn restorable(context: &Context) -> Result<Vec<Removed>> {
    with(context, |_, parts| parts.is_restorable())
}

/// Returns those that are not aside, and still locked: a removal was killed before it moved anything, or a restore at its end.
pub(super) fn only_locked(context: &Context) -> Result<Vec<Removed>> {
    let is_locked = |removed: &Removed| is_held(&context.repo.git_dir_of(removed.worktree.as_ref()), removed);
    with(context, |removed, parts| !parts.is_restorable() && is_locked(removed))
}

fn with(context: &Context, wanted: impl Fn(&Removed, Parts) -> bool) -> Result<Vec<Removed>> {
    let mut all = Vec::new();
    for removed in removed::all(context.repo.common_dir())? {
        if wanted(&removed, parts(context, &removed)?) {
            all.push(removed);
        }
    }
    Ok(all)
}
