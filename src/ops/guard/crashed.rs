//! Sessions whose process died in the middle of a turn: saves what they may have left.

use super::{super::Worktree, facts::is_gone};
use crate::{
    error::Result,
    model::{session::Session, turns::Entry},
    ops::{
        Context, author,
        enter::Purpose,
        save::{self, Author, Request, Saved},
        session_info::{self, find_or_rebuild},
        turn::{self, EndReason},
    },
};

/// Closes the turns of all sessions but `own` whose process is gone, and returns a note for the user about each.
///
/// If a tool of such a session was running, or a command in the background, or if it reports no tools, it or a human since may
/// have made the unsaved changes; otherwise, it was a human, and nothing is saved.
pub(crate) fn recover(worktree: &Worktree<'_>, own: &str) -> Result<Vec<String>> {
    let mut notes = Vec::new();
    for entry in worktree.turns().entries {
        if entry.id != own && is_gone(worktree, &entry) {
            let saved = close(worktree, &entry)?;
            notes.push(note(worktree, &entry.id, saved.as_ref()));
        }
    }
    Ok(notes)
}

/// Returns a note about each session whose unsaved changes [`recover`] would save first, if there are any.
pub(crate) fn would_be_saved(context: &Context) -> Vec<String> {
    let mut entries = context.turns().entries;
    entries.retain(|entry| is_gone(context, entry) && may_have_changed(context, entry));
    let note = |entry: Entry| interrupted(&entry.id, "what it may have left would be saved first");
    entries.into_iter().map(note).collect()
}

/// Returns true if the session of `entry`, whose process is gone, may have made the unsaved changes.
fn may_have_changed(context: &Context, entry: &Entry) -> bool {
    author::may_be_at_work(entry) || author::was_killed_in_silence(context, entry)
}

fn close(worktree: &Worktree<'_>, entry: &Entry) -> Result<Option<Saved>> {
    let has_turn = |session: &Session| session.under_way.is_some() && session.is_in(worktree.repo.worktree_id());
    let (author, turn_of) = (Author::Is(author::unknown()), Some(entry.id.clone()));
    let request = Request { author, turn_of, ends_turn: true, ..Request::default() };
    let saved = if may_have_changed(worktree, entry) {
        // Before a tool, the guard is asked before anything else is brought up to date.
        worktree.catch_up(Purpose::Change)?;
        Some(save::save_worktree(worktree, &request)?.saved)
    } else {
        None
    };
    match find_or_rebuild(worktree, &entry.id)?.filter(has_turn) {
        Some(mut session) => {
            turn::end(worktree, &mut session, EndReason::Crashed, None)?;
            session_info::store(worktree, &session)?;
        }
        None => worktree.edit_turns(|turns| turns.end(&entry.id)),
    }
    Ok(saved.filter(|saved| saved.created))
}

fn note(worktree: &Worktree<'_>, session: &str, saved: Option<&Saved>) -> String {
    let id = saved.and_then(|saved| saved.id);
    let work = match id {
        Some(id) => format!("what it may have left is the checkpoint {}", worktree.repo.short_id(&id)),
        None => "it left nothing unsaved".to_owned(),
    };
    interrupted(session, &work)
}

fn interrupted(session: &str, work: &str) -> String {
    format!("the session '{session}' was interrupted: its process is gone; {work}")
}
