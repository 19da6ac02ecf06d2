//! A lock on one of git's files, or on one of ours beside them, as it is on disk.

use std::{path::PathBuf, time::SystemTime};

use crate::state::lock_note::Owner;

/// A lock on one of git's files, as found on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FoundLock {
    /// The lock itself.
    pub(crate) path: PathBuf,
    /// Whether the process that holds it lives, if that is a git-checkpoint.
    pub(crate) owner: Option<Owner>,
    /// True if it is in our directory of a linked worktree: it is an OS lock, and means nothing while no process holds it.
    pub(crate) is_own: bool,
    /// When it was written last.
    pub(crate) time: SystemTime,
    /// Device and inode.
    pub(super) identity: (u64, u64),
}
