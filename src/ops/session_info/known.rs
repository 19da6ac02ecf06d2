//! Finds a session: in its file, or in the checkpoints that name it when the file is lost.

use std::collections::BTreeMap;

use bstr::ByteSlice as _;

use super::{
    super::{
        Context, Worktree,
        chain::timeline::{Timeline, all_tips, live_tips},
        protected::refuse_protected,
    },
    files::{load, with_turn},
    info::SessionInfo,
};
use crate::{
    error::Result,
    model::{
        refname::decode_component,
        session::{Phase, Session, Transcript, Turn},
    },
    state::{
        self, process,
        sessions::{self, Found},
    },
};

/// Returns the real time in Unix seconds. `GIT_COMMITTER_DATE` does not apply: it sets the dates of commits.
pub(crate) fn clock() -> i64 {
    jiff::Timestamp::now().as_second()
}

/// Notes that `session` lives, and in which process.
pub(crate) fn sign_of_life(session: &mut Session) {
    (session.last_seen, session.process, session.is_interrupted) = (clock(), process::agent(), false);
}

/// Returns the session `id`, rebuilt from this worktree's live shadows and from its open turn if its file is lost or
/// damaged; none if the user had the session forgotten.
pub(crate) fn find_or_rebuild(context: &Context, id: &str) -> Result<Option<Session>> {
    let repo = &context.repo;
    let found = load(context, id)?;
    if found == Found::Absent && context.locked().is_some() {
        keep_turns_if_lost(context)?;
    }
    match found {
        Found::Session(session) => return Ok(Some(*session)),
        Found::Absent if sessions::is_forgotten(repo.common_dir(), id) => return Ok(None),
        Found::Absent => {}
        Found::Damaged(path) => {
            tracing::warn!(path = %path.display(), "set aside the damaged file of a session");
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
            session.turn.number = session.turn.number.max(Turn::sane(turn));
            session.started = session.started.min(seconds);
            session.last_seen = session.last_seen.max(seconds);
        }
    }
    if context.turns().find(id).is_some_and(|entry| entry.turn.is_some()) {
        // What it works on now may be in no checkpoint yet, and is its own all the same.
        let session = rebuilt.get_or_insert_with(|| Session {
            worktree_path: repo.worktree_root().display().to_string(),
            ..Session::new(id, &repo.worktree_id().to_owned(), clock())
        });
        let last = sessions::prompts(repo.common_dir(), id)?.last().map(|prompt| Turn::sane(prompt.turn));
        session.turn.number = session.turn.number.max(last.unwrap_or_default()).max(1);
    }
    Ok(rebuilt.map(|mut session| {
        session.turn.number = session.turn.number.max(sessions::last_turn(repo.common_dir(), id));
        with_turn(context, session)
    }))
}

/// Returns the session `id`, which [`find_or_rebuild`] has `found` or not: then it is a new one. Of a session
/// that was forgotten, or whose file was lost, the turns go on after those that it had.
pub(crate) fn found_or_new(worktree: &Worktree<'_>, id: &str, found: Option<Session>) -> Session {
    found.unwrap_or_else(|| {
        let now = jiff::Timestamp::now();
        let mut session = Session::new(id, &worktree.repo.worktree_id().to_owned(), now.as_second());
        session.started_nanos = now.subsec_nanosecond();
        session.turn.number = sessions::last_turn(worktree.repo.common_dir(), id);
        session
    })
}

/// If the files of all sessions are lost, notes the number of the last turn of each session that has checkpoints.
fn keep_turns_if_lost(context: &Context) -> Result<()> {
    let common_dir = context.repo.common_dir();
    if sessions::has_any(common_dir) {
        return Ok(());
    }
    let mut last: BTreeMap<String, u32> = BTreeMap::new();
    for (checkpoint, _) in Timeline::new(&context.repo, &all_tips(&context.repo, None)?)? {
        if let (Some(id), Some(turn)) = (checkpoint.origin.session, checkpoint.origin.turn) {
            let last = last.entry(id).or_default();
            *last = Turn::sane(turn).max(*last);
        }
    }
    last.into_iter().try_for_each(|(id, turn)| sessions::keep_last_turn(common_dir, &id, turn))
}

/// Updates `session` with what the caller reports about it.
pub(crate) fn add_info(session: &mut Session, info: &SessionInfo) {
    session.agent = info.agent.clone().or_else(|| session.agent.take());
    session.model = info.model.clone().or_else(|| session.model.take());
    if let Some(path) = &info.transcript
        && session.transcript.as_ref().is_none_or(|known| known.path != *path)
    {
        session.transcript = Some(Transcript { path: path.clone(), offset: 0 });
    }
}

/// Returns true if `session` has an open turn in another worktree that still exists.
pub(crate) fn is_elsewhere(context: &Context, session: &Session) -> bool {
    session.phase == Phase::Active && !session.is_in(context.repo.worktree_id()) && !has_lost_worktree(context, session)
}

/// Returns true if the worktree that `session` was last seen in does not exist any more.
pub(crate) fn has_lost_worktree(context: &Context, session: &Session) -> bool {
    decode_component(&session.worktree).is_none_or(|id| context.repo.has_lost_worktree(id.as_bstr()))
}

/// Checks that checkpoints may be taken here, and creates the directory of our files.
pub(crate) fn prepare(context: &Context) -> Result<()> {
    refuse_protected(context, false)?;
    state::ensure_directory(context.repo.git_dir()).map(drop)
}
