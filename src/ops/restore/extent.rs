//! How far an attempt of a restore goes, and in which order attempts are made.

use super::restored::Restored;
use crate::error::{Error, Result};

/// How far one attempt of a restore goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// It takes no checkpoint and changes nothing. It looks whether the content of the target is there, and reads none of it.
    DryRun,
    /// The same, but it also reads that content: what cannot be read is refused before anything is saved.
    Rehearsal,
    /// If something is unsaved, and it cannot be said without reading files that something is to be done, it takes no checkpoint
    /// and returns no result. Otherwise, it is the same as `Full`. If the restore cannot be done, it fails and takes no checkpoint.
    IfChanged,
    /// It takes a checkpoint of the worktree and restores.
    Full,
}

impl Extent {
    /// Returns true if nothing is changed.
    pub(super) fn is_dry(self) -> bool {
        matches!(self, Self::DryRun | Self::Rehearsal)
    }
}

/// Calls `attempt` up to three times, so that a restore that is refused, or has nothing to do, takes no checkpoint: it decides
/// first, saves then, and writes then. The first attempt trusts the plan. If that does not say that there is something to do, a dry
/// run also reads the files. If they are to be changed, the third attempt does it.
pub(super) fn attempt_if_needed(attempt: impl Fn(Extent) -> Result<Option<Restored>>) -> Result<Restored> {
    if let Some(restored) = attempt(Extent::IfChanged)? {
        return Ok(restored);
    }
    let looked = expect_result(attempt(Extent::Rehearsal)?)?;
    if looked.is_idle() { Ok(Restored { dry_run: false, ..looked }) } else { expect_result(attempt(Extent::Full)?) }
}

/// Returns the result of an attempt that always returns one.
pub(super) fn expect_result(restored: Option<Restored>) -> Result<Restored> {
    restored.ok_or_else(|| Error::internal("the worktree was not saved"))
}
