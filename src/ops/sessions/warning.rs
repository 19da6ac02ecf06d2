//! Warns, where the user wants that, before a session joins one that has uncommitted work.

use bstr::BString;
use serde::Serialize;

use super::{
    super::session_info::{self, OnMultisession},
    super::{
        Context, Worktree,
        chain::{Shadow, carry_forward::base_tree},
        stats::{Part, Stats},
    },
};
use crate::{
    config::Storage,
    error::{Error, Kind, Result},
    model::path_text,
    state::sessions::Found,
};

/// Another session with uncommitted work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Other {
    /// Its id.
    pub id: String,
    /// The agent's name.
    pub agent: Option<String>,
    /// When it was last seen, in Unix seconds.
    pub last_seen: i64,
    /// How many checkpoints it has taken here.
    pub checkpoints: usize,
    /// The paths that it changed.
    #[serde(serialize_with = "path_text::serialize_list")]
    pub files: Vec<BString>,
}

/// What the user is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Question {
    /// The sessions with uncommitted work, latest first.
    pub others: Vec<Other>,
}

/// Asks whether the session `id` shall join those with uncommitted work here, if the setting is on, there are any, and the
/// user has not agreed before. Returns true if the user has agreed now, with an answer or by [`OnMultisession::Continue`].
pub(super) fn check(
    context: &Context,
    id: &str,
    on_multisession: OnMultisession,
    ask: &mut dyn FnMut(&Question) -> Result<bool>,
) -> Result<bool> {
    if on_multisession == OnMultisession::Continue {
        return Ok(true);
    }
    if on_multisession == OnMultisession::Ask && context.turns().asked.iter().any(|asked| asked == id) {
        return Ok(false);
    }
    let Some(question) = question(context, id)? else { return Ok(false) };
    let names = question.others.iter().map(|other| format!("'{}'", other.id)).collect::<Vec<_>>().join(", ");
    let goes_on = on_multisession == OnMultisession::Ask && ask(&question)?;
    if goes_on {
        return Ok(true);
    }
    Err(Error::refused(format!("cancelled: {names} has uncommitted work on this base"))
        .with_hint("commit that work first, or continue with '--on-multisession=continue'"))
}

/// Notes that the user has agreed that the session `id` joins others here.
pub(super) fn note_agreed(worktree: &Worktree<'_>, id: &str) {
    if worktree.settings.enable_multisession_warning && !worktree.turns().asked.iter().any(|asked| asked == id) {
        worktree.edit_turns(|turns| turns.asked.push(id.to_owned()));
    }
}

/// Returns what is to be asked before the session `id` joins those with uncommitted work here; none if the setting is off
/// or there are none.
pub(crate) fn question(context: &Context, id: &str) -> Result<Option<Question>> {
    // A session with a shadow of its own joins no other.
    if !context.settings.enable_multisession_warning || context.settings.storage == Storage::Session {
        return Ok(None);
    }
    // A session that has work here itself has been asked before.
    let others = match others(context, id) {
        // What cannot be read will be set aside, and nothing is merged with it.
        Err(error) if error.kind() == Kind::Corrupt => None,
        others => others?.filter(|others| !others.is_empty()),
    };
    Ok(others.map(|others| Question { others }))
}

/// Returns the other sessions with checkpoints on the live shadow; none if `id` is among those that have.
fn others(context: &Context, id: &str) -> Result<Option<Vec<Other>>> {
    let repo = &context.repo;
    let shadow = Shadow::read(repo)?;
    let Some(tip) = shadow.tip else { return Ok(Some(Vec::new())) };
    let touched: Vec<BString> =
        repo.diff_trees(base_tree(repo, &tip)?, tip.tree_id)?.into_iter().map(|change| change.path).collect();
    let stats = Stats::of_chain(repo, tip.id)?;
    if stats.sessions.iter().any(|part| part.id == id) {
        return Ok(None);
    }
    let as_other = |part: Part| Other {
        files: part.files(&touched),
        id: part.id,
        agent: part.agent,
        last_seen: part.last_seen,
        checkpoints: part.checkpoints,
    };
    let mut others: Vec<Other> = stats.sessions.into_iter().map(as_other).collect();
    for other in &mut others {
        if let Found::Session(session) = session_info::load(context, &other.id)? {
            other.last_seen = other.last_seen.max(session.last_seen);
        }
    }
    // What was all taken back is no work.
    others.retain(|other| !other.files.is_empty());
    others.sort_by_key(|other| std::cmp::Reverse(other.last_seen));
    Ok(Some(others))
}
