//! What is asked of a purge.

use bstr::BString;

use crate::error::Error;

/// What to remove, and how.
#[derive(Clone, Default)]
pub struct Options {
    /// The texts.
    pub texts: Vec<Vec<u8>>,
    /// Pathspecs (relative to the worktree's root) of files to remove from checkpoints.
    pub paths: Vec<BString>,
    /// Checkpoints to drop with all that only they have; with these, texts and paths do not count.
    pub checkpoints: Vec<String>,
    /// Remove them without asking.
    pub force: bool,
    /// Only report what would happen.
    pub dry_run: bool,
}

/// Returns the error for an answer that was no.
pub(super) fn no() -> Error {
    Error::refused("nothing was purged").with_hint("'--force' purges it without asking")
}
