//! Whether what a program reports of a session may be taken here.

use bstr::ByteSlice as _;

use super::super::{
    Context,
    session_info::{SessionInfo, check_id, check_transcript, find_or_rebuild, prepare},
};
use crate::{
    error::{Error, Result},
    git::registrations::{Place, Registration},
    model::{path_text::shell_word, refname::decode_component},
    state::owner,
};

/// Checks what a program reports of the session `id` before anything is done.
///
/// # Errors
/// If the id or the transcript is invalid; [`Kind::Refused`](crate::error::Kind::Refused) if another worktree was made for the
/// session.
pub(super) fn admit(context: &Context, id: &str, info: &SessionInfo) -> Result<()> {
    check_id(id)?;
    check_transcript(info)?;
    prepare(context)?;
    refuse_bound_elsewhere(context, id)
}

/// Refuses an event of the session `id` that a program reports here, if another worktree was made for the session, and is there: the
/// session would leave that one, and the changes here would count as its own.
fn refuse_bound_elsewhere(context: &Context, id: &str) -> Result<()> {
    let Some(session) = find_or_rebuild(context, id)? else { return Ok(()) };
    if session.is_in(context.repo.worktree_id()) {
        return Ok(());
    }
    let Some(worktree) = decode_component(&session.worktree) else { return Ok(()) };
    let its = |it: &Registration| {
        it.place == Place::Worktree && owner::owner(&it.git_dir).is_some_and(|owner| owner == session.id)
    };
    let Some(found) = context.repo.registration(worktree.as_bstr())?.filter(its) else { return Ok(()) };
    let (there, here) = (found.path.display().to_string(), context.repo.worktree_root().display().to_string());
    let (id, directory) = (shell_word(id), shell_word(&there));
    Err(Error::refused(format!("the worktree '{there}' was made for the session '{}', and this one is '{here}'", session.id))
        .with_hint(format!(
            "run it there, with 'git -C {directory} checkpoint ...'; 'git checkpoint session adopt {id}' moves the session here"
        )))
}
