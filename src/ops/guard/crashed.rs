//! Sessions whose process died in the middle of a turn: attributes to them what they left unsaved.

use super::{super::Context, facts::is_claim_gone};
use crate::{
    error::Result,
    model::{
        checkpoint::Origin,
        claim::Claim,
        contributor::Contributor,
        session::{Phase, Session},
    },
    ops::{
        author::Over,
        closing::close_turn,
        save::{self, Demands, Saved},
        session_info::known,
        turn::{self, End},
    },
    state::{claims, lock::Lock, sessions},
};

/// Closes the turns of all sessions but `own` whose process is gone, and returns a note for the user about each.
///
/// Unsaved changes are attributed to such a session only if a tool of it was running; otherwise, a human may have made
/// them.
pub(crate) fn recover(context: &Context, own: &str, lock: &Lock) -> Result<Vec<String>> {
    let mut notes = Vec::new();
    for claim in claims::others(context.repo.git_dir(), own) {
        if is_claim_gone(context, &claim) {
            let saved = close(context, &claim, lock)?;
            notes.push(note(&claim, saved.as_ref()));
        }
    }
    Ok(notes)
}

fn close(context: &Context, claim: &Claim, lock: &Lock) -> Result<Option<Saved>> {
    let repo = &context.repo;
    let has_turn = |session: &Session| session.phase == Phase::Active && session.is_in(repo.worktree_id());
    let Some(mut session) = known(context, &claim.session)?.filter(has_turn) else {
        let origin =
            Origin { contributor: Contributor::Agent, session: Some(claim.session.clone()), ..Origin::default() };
        let options = save::Options { origin, ..save::Options::default() };
        let saved = if claim.calls.is_empty() {
            None
        } else {
            Some(save::save_under_lock(context, &options, &Demands::default(), lock)?.saved)
        };
        sessions::close_turn(repo.git_dir(), &claim.session)?;
        return Ok(saved.filter(|saved| saved.created));
    };
    let seen = if claim.calls.is_empty() { None } else { close_turn(context, &mut session, Over::Said, lock)? };
    turn::end(context, &mut session, End::Crashed, None)?;
    sessions::store(repo.common_dir(), &session)?;
    Ok(seen.filter(|seen| seen.created))
}

fn note(claim: &Claim, saved: Option<&Saved>) -> String {
    let id = saved.and_then(|saved| saved.id);
    let work = match id {
        Some(id) => format!("what it left is its checkpoint {}", id.to_hex_with_len(12)),
        None => "it left nothing unsaved".to_owned(),
    };
    format!("the session '{}' was interrupted: its process is gone; {work}", claim.session)
}
