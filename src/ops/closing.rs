//! Ends a turn, and checkpoints what it has left unsaved.

use crate::{
    error::Result,
    model::{session::Session, turns::EndEvidence},
    ops::{
        Worktree, author,
        save::{self, Author, Request, Saved},
        turn::{self, EndReason, leaves_out_the_same},
    },
};

/// Returns an error if `turns.toml` cannot be read. Then, and if a damaged one was set aside, first saves the worktree with an
/// unknown author: this event may be the last one.
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
/// Returns the result of the save, also if there was nothing to save; none for a turn in another worktree, which is
/// neither read nor saved.
pub(crate) fn close_turn(
    worktree: &Worktree<'_>,
    session: &mut Session,
    evidence: EndEvidence,
) -> Result<Option<Saved>> {
    let repo = &worktree.repo;
    let (mut seen, mut now_tree_id) = (None, None);
    if session.is_in(repo.worktree_id()) {
        let author = Author::Is(author::at_turn_end(worktree, session, evidence)?);
        let request = Request { author, turn_of: Some(session.id.clone()), ends_turn: true, ..Request::default() };
        let taken = save::save_worktree(worktree, &request)?.saved;
        now_tree_id = leaves_out_the_same(worktree, &session.id, &taken)?.then_some(taken.tree);
        seen = Some(taken);
    }
    turn::end(worktree, session, EndReason::Stopped, now_tree_id)?;
    Ok(seen)
}
