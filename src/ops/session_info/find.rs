//! Finds the session that people mean: by its id, the name of its agent, or the beginning of its id.

use super::{
    super::{
        Context,
        chain::timeline::{Timeline, all_tips},
    },
    files::{all, peek},
    id::check_id,
};
use crate::{
    error::{Error, Result},
    model::{likely, session::Session},
};

/// How many candidates of an ambiguous beginning are listed.
const LISTED: usize = 10;

/// Returns the id of the session that `text` names; none if there is no such session.
///
/// A full id is also that of a session whose file is gone and which is only in checkpoints. Then comes the name of an agent: of its
/// sessions, the one last seen in this worktree is meant, or else the one last seen anywhere. Then comes the beginning of an id.
///
/// # Errors
/// If `text` is the beginning of several ids.
pub(crate) fn find(context: &Context, text: &str) -> Result<Option<String>> {
    // Whole ids are usual, and take no look at other sessions.
    if peek(context, text).is_some() || is_in_checkpoints(context, text)? {
        return Ok(Some(text.to_owned()));
    }
    let sessions = all(context)?;
    let is_of_agent = |session: &&Session| session.agent.as_ref().is_some_and(|agent| agent.eq_ignore_ascii_case(text));
    let here = context.repo.worktree_id();
    let last = sessions.iter().filter(is_of_agent).max_by_key(|session| (session.is_in(here), session.last_seen));
    if let Some(session) = last {
        return Ok(Some(session.id.clone()));
    }
    let begins = |session: &&Session| !text.is_empty() && session.id.starts_with(text);
    match sessions.iter().filter(begins).collect::<Vec<_>>()[..] {
        [] => Ok(None),
        [one] => Ok(Some(one.id.clone())),
        ref several => Err(ambiguous(text, several)),
    }
}

/// Returns the id of the session that `text` names, as [`find`] does; `text` itself if it is none, for the caller to say so.
///
/// # Errors
/// If `text` cannot be an id, or is the beginning of several.
pub(crate) fn named(context: &Context, text: &str) -> Result<String> {
    check_id(text)?;
    Ok(find(context, text)?.unwrap_or_else(|| text.to_owned()))
}

/// Returns `text`, unless it is only the beginning of an id, or the name of an agent: commands that change a session take its
/// whole id. The id of a session that was forgotten may begin the id of another one.
///
/// # Errors
/// If `text` cannot be an id, or names a session in another way; the hint has its id.
pub(crate) fn whole_id(context: &Context, text: &str) -> Result<String> {
    check_id(text)?;
    let Some(id) = find(context, text)?.filter(|id| id != text) else { return Ok(text.to_owned()) };
    let how = if id.starts_with(text) {
        format!("'{id}' begins with it")
    } else {
        format!("'{text}' is an agent whose last session is '{id}'")
    };
    Err(Error::refused(format!("no session has the id '{text}'")).with_hint(format!("{how}: type the whole id")))
}

/// Returns true if a checkpoint, also one in the archive, is of the session `id`.
fn is_in_checkpoints(context: &Context, id: &str) -> Result<bool> {
    let mut timeline = Timeline::new(&context.repo, &all_tips(&context.repo, None)?)?;
    Ok(timeline.any(|(checkpoint, _)| checkpoint.origin.session.as_deref() == Some(id)))
}

/// Returns that there is no session `text`, with what may have been meant.
pub(crate) fn unknown(context: &Context, text: &str) -> Error {
    const LIST: &str = "'git checkpoint session list --all' shows those that are known";
    Error::refused(format!("no session '{text}'")).with_hint(likely::hint(meant(context, text).as_deref(), LIST))
}

/// Returns the id of a session, or the name of an agent that has one, that `text` was probably meant to be.
pub(crate) fn meant(context: &Context, text: &str) -> Option<String> {
    let sessions = all(context).ok()?;
    let agents = sessions.iter().filter_map(|session| session.agent.as_deref());
    likely::most_similar(text, agents)
        .or_else(|| likely::most_similar_beginning(text, sessions.iter().map(|session| session.id.as_str())))
        .map(str::to_owned)
}

fn ambiguous(text: &str, candidates: &[&Session]) -> Error {
    let mut hint = "the candidates are:".to_owned();
    for candidate in candidates.iter().take(LISTED) {
        hint.push_str(&format!("\n  {}", candidate.id));
    }
    if candidates.len() > LISTED {
        hint.push_str(&format!("\n  and {} more", candidates.len() - LISTED));
    }
    Error::user(format!("'{text}' is ambiguous: {} sessions match", candidates.len())).with_hint(hint)
}
