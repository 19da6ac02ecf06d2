//! Finds a session: in its file, or in the checkpoints that name it when the file is lost.

use super::super::{Context, timeline::live_tips};
use crate::{
    error::Result,
    model::session::Session,
    state::{
        process,
        sessions::{self, Found},
    },
};

/// Returns the time of now in Unix seconds: git's fixed dates are those of commits, not of people.
pub(crate) fn clock() -> i64 {
    jiff::Timestamp::now().as_second()
}

/// Notes that `session` lives, and in which process.
pub(crate) fn sign_of_life(session: &mut Session) {
    (session.last_seen, session.process, session.is_interrupted) = (clock(), process::agent(), false);
}

/// Returns the session `id`, rebuilt from this worktree's live shadows if its file is lost or damaged; none if it was
/// forgotten, whatever checkpoints there are.
pub(crate) fn known(context: &Context, id: &str) -> Result<Option<Session>> {
    let repo = &context.repo;
    match sessions::load(repo.common_dir(), id)? {
        Found::Session(session) => return Ok(Some(*session)),
        Found::Absent if sessions::is_forgotten(repo.common_dir(), id) => return Ok(None),
        Found::Absent => {}
        Found::Damaged(path) => {
            tracing::warn!(path = %path.display(), "the file of a session was damaged, and is set aside");
        }
    }
    let mut rebuilt: Option<Session> = None;
    for tip in live_tips(repo, Some(repo.worktree_id()))? {
        for checkpoint in repo.chain(tip.id) {
            // A broken shadow is `status`' matter, and is set aside by the next prompt.
            let Ok(checkpoint) = checkpoint else { break };
            if checkpoint.origin.session.as_deref() != Some(id) {
                continue;
            }
            let (seconds, turn) = (checkpoint.seconds, checkpoint.origin.turn.unwrap_or_default());
            let session = rebuilt.get_or_insert_with(|| Session {
                agent: checkpoint.origin.agent.clone(),
                model: checkpoint.origin.model.clone(),
                worktree_path: repo.worktree_root().display().to_string(),
                base: checkpoint.base.to_string(),
                ..Session::new(id, &repo.worktree_id().to_owned(), seconds)
            });
            session.turn.number = session.turn.number.max(turn);
            session.started = session.started.min(seconds);
            session.last_seen = session.last_seen.max(seconds);
        }
    }
    Ok(rebuilt)
}
