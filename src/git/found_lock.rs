//! A lock on one of git's files, as it is on disk.

use std::{path::PathBuf, time::SystemTime};

use crate::state::lock_note::Owner;

/// A lock on one of git's files, as found on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FoundLock {
    /// The lock itself.
    pub(crate) path: PathBuf,
    /// Whether the process that holds it lives, if that is a git-checkpoint.
    pub(crate) owner: Option<Owner>,
    /// When it was written last.
    pub(crate) time: SystemTime,
    /// Device and inode.
    pub(super) identity: (u64, u64),
}
