//! Start of a session.

use serde::Serialize;

use super::{
    super::session_info::{self, SessionInfo, add_info, clock, find_or_rebuild, found_or_new, sign_of_life},
    super::{Context, Worktree, author, enter::Purpose, turn},
    admit::admit,
    elsewhere::leave_if_gone,
    events::close_interrupted,
    state::State,
    warning::{self, Question},
};
use crate::{
    error::Result,
    model::{
        refname::Base,
        session::{Action, Phase, Session, SessionEvent, transition},
    },
};

/// The result of a start. Serializes to what `session start --json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Started {
    /// The version of this shape.
    pub version: u32,
    /// The session.
    pub session: State,
    /// True if it had ended, and is resumed.
    pub resumed: bool,
}

/// Registers the session `id`, or resumes it.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if another session has uncommitted work here and `info` or `ask` says
/// to cancel; nothing has changed then.
pub fn start(
    context: &Context,
    id: &str,
    info: &SessionInfo,
    ask: &mut dyn FnMut(&Question) -> Result<bool>,
) -> Result<Started> {
    let started = admit(context, id, info)
        .and_then(|()| warning::check(context, id, info.on_multisession, ask))
        .and_then(|has_agreed| {
            // The session must be able to start although its old process has left another worktree damaged.
            drop(context.emit_failure("session start", leave_if_gone(context, id)));
            let worktree = Worktree::enter(context, Purpose::Change)?;
            worktree.check_turns()?;
            let started = begin(&worktree, id, info)?;
            if has_agreed {
                warning::note_agreed(&worktree, id);
            }
            turn::write(&worktree).map(|()| started)
        });
    context.emit_failure("session start", started)
}

/// Makes the session `id` known. The caller has ended its turn in another worktree, and asked the user what there is to ask.
pub(crate) fn begin(worktree: &Worktree<'_>, id: &str, info: &SessionInfo) -> Result<Started> {
    let mut found = find_or_rebuild(worktree, id)?;
    // Another process goes on with the session. It has not made the changes since the old one died.
    let is_interrupted = |session: &&mut Session| {
        session.phase == Phase::Active && session.is_in(worktree.repo.worktree_id()) && author::is_gone(worktree, id)
    };
    if let Some(session) = found.as_mut().filter(is_interrupted) {
        close_interrupted(worktree, session)?;
    }
    let step = transition(found.as_ref().map(|session| session.phase), SessionEvent::Start);
    let mut session = found_or_new(worktree, id, found);
    add_info(&mut session, info);
    session.phase = step.phase.unwrap_or(session.phase);
    seen_here(worktree, &mut session)?;
    sign_of_life(&mut session);
    session_info::store(worktree, &session)?;
    let resumed = step.actions.contains(&Action::Resume);
    Ok(Started { version: 1, session: State::from(&session), resumed })
}

/// Notes where a session was seen.
pub(crate) fn seen_here(context: &Context, session: &mut Session) -> Result<()> {
    let repo = &context.repo;
    // A turn under way stays where it began.
    if session.phase != Phase::Active {
        session_info::set_here(context, session);
        session.base = Base::of_head(repo.head()?.id).to_string();
    }
    session.last_seen = clock();
    Ok(())
}
