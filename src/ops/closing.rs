//! Ends a turn: saves its unsaved work, and then removes the turn from `turns.toml`.
//!
//! [`close_turn`] does both. It runs when the agent stops, when its session ends or continues under another id or in another
//! process, at the next prompt after a turn that never stopped, and for `git checkpoint reset --session`. The order matters:
//! the author of unsaved work can be inferred only while the turn is in `turns.toml`.

use crate::{
    error::Result,
    model::{session::Session, turns::EndEvidence},
    ops::{
        Worktree, author,
        save::{self, Author, Request, Saved},
        turn::{self, EndReason, leaves_out_the_same},
    },
};

/// Returns an error if `turns.toml` cannot be read: the caller's event then changes no turn.
///
/// If `turns.toml` cannot be read or was damaged, first saves the worktree with an unknown author. The agent may report no
/// further event, so this may be the last chance to save its work.
pub(crate) fn save_unless_turns_are_known(worktree: &Worktree<'_>) -> Result<()> {
    if !worktree.are_turns_known() {
        let request = Request { author: Author::Is(author::unknown()), ..Request::default() };
        let saved = save::save_worktree(worktree, &request);
        drop(worktree.emit_failure("save", saved));
    }
    worktree.check_turns()
}

/// Takes a checkpoint of what the turn of `session` left unsaved, and ends the turn.
///
/// Returns the result of the save, even if nothing was unsaved. If the turn is in another worktree, saves nothing and returns
/// none.
pub(crate) fn close_turn(
    worktree: &Worktree<'_>,
    session: &mut Session,
    evidence: EndEvidence,
) -> Result<Option<Saved>> {
    let (mut saved, mut now_tree_id) = (None, None);
    if session.is_in(worktree.repo.worktree_id()) {
        let author = Author::Is(author::at_turn_end(worktree, session, evidence)?);
        let request = Request { author, turn_of: Some(session.id.clone()), ends_turn: true, ..Request::default() };
        let last = save::save_worktree(worktree, &request)?.saved;
        now_tree_id = leaves_out_the_same(worktree, &session.id, &last)?.then_some(last.tree);
        saved = Some(last);
    }
    turn::end(worktree, session, EndReason::Stopped, now_tree_id)?;
    Ok(saved)
}
