//! `worktree`: the worktrees that git has registered, for people and for programs that give one to each agent.

mod add;
mod approval;
mod aside;
mod branch;
mod chains;
mod claimed;
mod copies;
mod door;
mod files;
mod head_again;
mod in_use;
mod include;
mod listing;
mod lock;
mod merge;
mod merge_changed;
mod merge_in_way;
mod merge_sides;
mod merge_words;
mod merged;
mod mounts;
mod named;
mod prune;
mod relocate;
mod remove;
mod restore;
mod setup;
mod validate;
mod whereabouts;
mod whose;
mod why_left;
mod worktree_lock;

use std::os::unix::ffi::OsStrExt as _;

use bstr::BStr;

pub(crate) use add::{Added, add, add_noted, fill_from_checkpoint, fill_with, left};
pub(crate) use approval::{OfProject, Purpose, approve, of_project, revoke};
pub(crate) use branch::{AddOptions, commit_of_base, pinned_base};
pub(crate) use claimed::claim;
pub(crate) use copies::{copy_at, refuse_copy_in_use, tear_down_copy};
pub(crate) use door::open;
pub(crate) use files::{FileKind, FileList, cat as cat_file, context_in, find as find_files, list as list_files};
pub(crate) use head_again::has_checked_out;
pub(crate) use in_use::{refuse_open_turn, refuse_submodules};
pub(crate) use include::NotCopied;
pub(crate) use listing::{Listed, list, show};
pub(crate) use merge::{MergeOptions, merge};
pub(crate) use merged::{How, Merged, Outcome};
pub(crate) use mounts::{MountOptions, mounts};
pub(crate) use named::{by_id, checked, find, find_root, registered};
pub(crate) use prune::{Pruned, delete_removed, prune};
pub(crate) use relocate::relocate;
pub(crate) use remove::{Removal, RemoveOptions, remove};
pub(crate) use restore::{Restorable, RestorableList, restorable, restore, restore_command};
pub(crate) use setup::{FailedCommand, Ran, Run, Step, is_due, note_due, set_up, variables};
pub(crate) use validate::{Code, validate};
pub(crate) use whereabouts::restorable as restorable_records;
pub(crate) use why_left::WhyLeft;

use super::Context;
use crate::{
    error::Result,
    git::{Repo, digest, registrations::Registration},
    model::worktree_name,
};

/// Puts back what a removal or a restore has moved that was killed.
///
/// # Errors
/// [`Kind::Race`](crate::error::Kind::Race) if another process makes, moves or removes a worktree for too long.
pub(crate) fn put_back(context: &Context) -> Result<()> {
    lock::lock(context).map(drop)
}

/// Refuses if the worktree `found` must not be removed now: it is in use or locked.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if so.
pub(crate) fn refuse_in_use(context: &Context, found: &Registration) -> Result<()> {
    in_use::refuse_kind(found)?;
    in_use::refuse(context, found, &found.path)
}

/// Returns the port for servers in the worktree of `branch`.
fn port(repo: &Repo, branch: &BStr) -> u16 {
    // The directory that all worktrees share is the same in each of them.
    let common = std::fs::canonicalize(repo.common_dir()).unwrap_or_else(|_| repo.common_dir().to_owned());
    worktree_name::port(&digest::sha256(&[common.as_os_str().as_bytes(), b"\0", branch]))
}
