//! Finds the session that people mean: by its id, the beginning of one, or the name of its agent.

use super::{super::Context, files::all};
use crate::{
    error::{Error, Result},
    model::session::Session,
};

/// How many candidates of an ambiguous beginning are listed.
const LISTED: usize = 10;

/// Returns the id of the session that `text` names, of those that have a file; none if that is nothing. Of several sessions of the
/// agent that `text` names, this is the one last seen in this worktree, or else anywhere.
///
/// # Errors
/// If `text` is the beginning of several ids.
pub(crate) fn find(context: &Context, text: &str) -> Result<Option<String>> {
    let mut sessions = all(context)?;
    if sessions.iter().any(|session| session.id == text) {
        return Ok(Some(text.to_owned()));
    }
    let is_meant = |session: &&Session| !text.is_empty() && session.id.starts_with(text);
    match sessions.iter().filter(is_meant).collect::<Vec<_>>()[..] {
        [] => {}
        [one] => return Ok(Some(one.id.clone())),
        ref several => return Err(ambiguous(text, several)),
    }
    sessions.retain(|session| session.agent.as_ref().is_some_and(|agent| agent.eq_ignore_ascii_case(text)));
    let here = context.repo.worktree_id();
    let last = sessions.into_iter().max_by_key(|session| (session.is_in(here), session.last_seen));
    Ok(last.map(|session| session.id))
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
