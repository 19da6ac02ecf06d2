//! Restores by a person of files that a session works on: its agent reads them again at its next prompt.

use std::collections::BTreeSet;

use bstr::BString;

use super::super::{Context, Worktree, enter::Purpose, restore::Restored, session_info, sessions};
use crate::{
    error::Result,
    model::{path_text::StoredPath, review::Changed, session::Phase},
};

/// The most files that are named of a restore.
const MOST_NAMED: usize = 20;
/// The most restores that wait.
const MOST: usize = 20;

/// Notes for the agents of sessions in this worktree that have not ended which of their files `restored` has changed. One whose tool is
/// in use may have done that itself.
///
/// # Errors
/// If it cannot be noted; the restore is done all the same.
pub(crate) fn note_changed(context: &Context, command: &str, restored: &Restored) -> Result<()> {
    if restored.dry_run {
        return Ok(());
    }
    let changed: BTreeSet<&BString> = restored.written.iter().chain(&restored.deleted).collect();
    if changed.is_empty() {
        return Ok(());
    }
    let turns = context.turns();
    let mut new = Vec::new();
    for session in session_info::all(context)? {
        let is_busy = turns.calls().any(|(id, _)| id == session.id);
        if is_busy || session.phase == Phase::Ended || !session.is_in(context.repo.worktree_id()) {
            continue;
        }
        let shown = sessions::show(context, Some(&session.id))?;
        // A file that the restore has brought back to what HEAD has is none of its uncommitted work any more.
        let of_turns = shown.turns.iter().flat_map(|turn| &turn.files);
        let files: BTreeSet<&BString> = shown.session.files.iter().chain(of_turns).collect();
        let its: Vec<&BString> = files.into_iter().filter(|path| changed.contains(path)).collect();
        if !its.is_empty() {
            new.push(Changed {
                command: command.to_owned(),
                changed: its.iter().take(MOST_NAMED).map(|path| StoredPath::from(*path)).collect(),
                more: its.len().saturating_sub(MOST_NAMED),
                sessions: vec![session.id],
            });
        }
    }
    if new.is_empty() {
        return Ok(());
    }
    let _worktree = Worktree::enter(context, Purpose::Change)?;
    let mut waits = context.waits();
    waits.changed.retain(|known| !new.contains(known));
    waits.changed.extend(new);
    let excess = waits.changed.len().saturating_sub(MOST);
    waits.changed.drain(..excess);
    context.write_waits(waits)
}
