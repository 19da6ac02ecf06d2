//! Begins a turn, and collects notes for the user.

use super::{report::Report, unprotected};
use crate::{
    error::Result,
    ops::{
        Worktree,
        sessions::{Opening, begin_turn},
    },
};

/// Begins a turn of the session of `report`, and returns notes for the user. Work in the stash is noted only after the stash
/// has changed.
pub(super) fn begin(worktree: &Worktree<'_>, report: &Report, opening: Opening<'_>) -> Result<Vec<String>> {
    let stashes = worktree.turns().stashes;
    let mut prompted = begin_turn(worktree, &report.session, opening, &report.info)?;
    if worktree.turns().stashes == stashes {
        prompted.stashed.clear();
    }
    let mut notes = prompted.notes();
    notes.extend(unprotected::note(worktree, &prompted.skipped, &prompted.repositories));
    Ok(notes)
}
