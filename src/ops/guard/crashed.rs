//! Sessions whose process died in the middle of a turn: attributes to them what they left unsaved.

use super::{super::Worktree, facts::is_gone};
use crate::{
    error::Result,
    model::{
        checkpoint::Origin,
        contributor::Contributor,
        session::Session,
        turns::{Entry, Over},
    },
    ops::{
        closing::close_turn,
        save::{self, Author, Request, Saved},
        session_info::{self, known},
        turn::{self, End},
    },
};

/// Closes the turns of all sessions but `own` whose process is gone, and returns a note for the user about each.
///
/// Unsaved changes are attributed to such a session only if a tool of it was running; otherwise, a human may have made
/// them.
pub(crate) fn recover(worktree: &Worktree<'_>, own: &str) -> Result<Vec<String>> {
    let mut notes = Vec::new();
    for entry in worktree.turns().entries {
        if entry.id != own && is_gone(worktree, &entry) {
            let saved = close(worktree, &entry)?;
            notes.push(note(&entry.id, saved.as_ref()));
        }
    }
    Ok(notes)
}

fn close(worktree: &Worktree<'_>, entry: &Entry) -> Result<Option<Saved>> {
    let has_turn = |session: &Session| session.under_way.is_some() && session.is_in(worktree.repo.worktree_id());
    let Some(mut session) = known(worktree, &entry.id)?.filter(has_turn) else {
        let origin = Origin { contributor: Contributor::Agent, session: Some(entry.id.clone()), ..Origin::default() };
        let request = Request { author: Author::Is(origin), ..Request::default() };
        let saved = if entry.is_at_work() { Some(save::save_worktree(worktree, &request)?.saved) } else { None };
        worktree.edit_turns(|turns| turns.end(&entry.id));
        return Ok(saved.filter(|saved| saved.created));
    };
    let seen = if entry.is_at_work() { close_turn(worktree, &mut session, Over::Said)? } else { None };
    turn::end(worktree, &mut session, End::Crashed, None)?;
    session_info::store(worktree, &session)?;
    Ok(seen.filter(|seen| seen.created))
}

fn note(session: &str, saved: Option<&Saved>) -> String {
    let id = saved.and_then(|saved| saved.id);
    let work = match id {
        Some(id) => format!("what it left is its checkpoint {}", id.to_hex_with_len(12)),
        None => "it left nothing unsaved".to_owned(),
    };
    format!("the session '{session}' was interrupted: its process is gone; {work}")
}
