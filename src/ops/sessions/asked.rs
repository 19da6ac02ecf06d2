//! Lists sessions with their last prompts, by which people recognize them.

use super::super::Context;
use crate::{error::Result, model::session::Session, state::sessions};

/// A session with its last prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    /// The session.
    pub(crate) id: String,
    /// The agent, if it is known.
    pub(crate) agent: Option<String>,
    /// When it was last seen, in Unix seconds.
    pub(crate) last_seen: i64,
    /// Its last prompt, if prompts are stored.
    pub(crate) prompt: Option<String>,
}

/// Returns the sessions of all worktrees whose ids begin with `prefix`, latest first, at most `most`.
///
/// Reads only the files of these sessions, no checkpoints: a shell asks for the sessions while the user types.
pub(crate) fn asked(context: &Context, prefix: &str, most: usize) -> Result<Vec<Asked>> {
    let common_dir = context.repo.common_dir();
    let known = sessions::beginning_with(common_dir, prefix)?.into_iter();
    let asked = |session: Session| {
        let prompts = sessions::prompts(common_dir, &session.id).unwrap_or_default();
        let prompt = prompts.into_iter().next_back().map(|prompt| prompt.text);
        Asked { id: session.id, agent: session.agent, last_seen: session.last_seen, prompt }
    };
    Ok(known.take(most).map(asked).collect())
}
