//! Ends a turn, and checkpoints what it has left unsaved.

use crate::{
    error::Result,
    model::session::Session,
    ops::{
        Context,
        author::{self, Over},
        save::{self, Saved},
        turn::{self, End, leaves_out_the_same},
    },
    state::lock::Lock,
};

/// Checkpoints what the turn of `session` has left unsaved, and ends the turn.
///
/// Returns what was seen, whether there was anything to save or not. For a turn that belongs to another worktree, it looks at
/// nothing.
pub(crate) fn close_turn(context: &Context, session: &mut Session, over: Over, lock: &Lock) -> Result<Option<Saved>> {
    let repo = &context.repo;
    let (mut seen, mut now_tree_id) = (None, None);
    if session.is_in(repo.worktree_id()) {
        let origin = author::gap(context, session, over)?;
        let options = save::Options { origin, ..save::Options::default() };
        let demands = save::Demands { turn_of: Some(session.id.clone()), ..save::Demands::default() };
        let taken = save::save_under_lock(context, &options, &demands, lock)?.saved;
        now_tree_id = leaves_out_the_same(context, &session.id, &taken)?.then_some(taken.tree);
        seen = Some(taken);
    }
    turn::end(context, session, End::Stopped, now_tree_id)?;
    Ok(seen)
}
