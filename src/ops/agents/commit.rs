//! Commits that no hook of git reported, noticed at the next event of an agent.

use super::super::{Worktree, condense};
use crate::error::Result;

/// Makes the records of commits that no hook of git reported.
pub(super) fn look_for_unseen(worktree: &Worktree<'_>) -> Result<()> {
    let looked = condense::commits_unseen(worktree);
    if looked.is_err() {
        worktree.check_interrupt()?;
    }
    // The work stays where it is, and the event is handled all the same.
    worktree.emit_failure("condense", looked).or(Ok(()))
}
