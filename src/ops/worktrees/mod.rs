//! `worktree`: the worktrees that git has registered, for people and for programs that give one to each agent.

mod add;
mod approval;
mod aside;
mod branch;
mod chains;
mod door;
mod files;
mod head_again;
mod in_use;
mod include;
mod listing;
mod lock;
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

pub(crate) use add::{Added, add, left};
pub(crate) use approval::{OfProject, Purpose, approve, of_project, revoke};
pub(crate) use branch::AddOptions;
pub(crate) use door::open;
pub(crate) use files::{FileKind, FileList, cat as cat_file, context_in, find as find_files, list as list_files};
pub(crate) use include::NotCopied;
pub(crate) use listing::{Listed, list, show};
pub(crate) use named::{by_id, find, find_root, registered};
pub(crate) use prune::{Pruned, prune};
pub(crate) use relocate::relocate;
pub(crate) use remove::{Removal, RemoveOptions, remove};
pub(crate) use restore::{Restorable, RestorableList, restorable, restore, restore_command};
pub(crate) use setup::{FailedCommand, Ran, Step, set_up, variables};
pub(crate) use validate::{Code, validate};
pub(crate) use why_left::WhyLeft;

use crate::{
    git::{Repo, digest},
    model::worktree_name,
};

/// Returns the port for servers in the worktree of `branch`.
fn port(repo: &Repo, branch: &BStr) -> u16 {
    // The directory that all worktrees share is the same in each of them.
    let common = std::fs::canonicalize(repo.common_dir()).unwrap_or_else(|_| repo.common_dir().to_owned());
    worktree_name::port(&digest::sha256(&[common.as_os_str().as_bytes(), b"\0", branch]))
}
