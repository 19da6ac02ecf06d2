//! Keeps what agents do in changes of jj, if the setting `jj` is `manage`: while the tools of a session run, `@` is a temporary change
//! on top of the user's; then what they have done goes to the change of the session, below the user's.
//!
//! Which lines are whose is in the checkpoints all the same; this is for the history that jj shows.

use super::super::{Context, Worktree};
use crate::{
    config::Jj,
    error::Result,
    git::jj::{Answer, Change},
    model::marks,
};

/// Begins the temporary change of `session`, unless `@` is one already, or something is staged: jj would empty the index.
///
/// # Errors
/// If jj fails: then the tool works in the user's change.
pub(crate) fn begin(worktree: &Worktree<'_>, session: &str) -> Result<()> {
    let Some(at) = at(worktree, session)? else { return Ok(()) };
    if marks::is_workspace_of(&at.description, session) || has_staged(worktree)? {
        return Ok(());
    }
    worktree.repo.jj_begin(&marks::workspace_message(session))
}

/// Ends the temporary change of `session`, if `@` is one and no tool of the session runs.
///
/// # Errors
/// If jj fails: then what was done stays in the change that it was done in.
pub(crate) fn end(worktree: &Worktree<'_>, session: &str, agent: &str) -> Result<()> {
    let Some(at) = at(worktree, session)? else { return Ok(()) };
    if !marks::is_workspace_of(&at.description, session) || runs_a_tool(worktree, session) {
        return Ok(());
    }
    let trailer = marks::change_trailer(session);
    let title = if agent == "claude-code" { "Claude Code Session" } else { "Session" };
    let folded = worktree.repo.jj_fold(
        &|message| marks::is_workspace_of(message, session),
        &format!("description(substring:\"{trailer}\")"),
        &|message| marks::is_change_of(message, session),
        &format!("{title} {session}\n\n{trailer}\n"),
    )?;
    tracing::debug!(session, ?folded, "the work of the agent is in a change of its own");
    Ok(())
}

/// Returns the change at `@`; none if jj's changes are not to be changed, or cannot be. While git has an operation under way, they are
/// not: whenever jj moves HEAD, it deletes what git goes on by (`clear_operation_state()` in git.rs of jj-lib).
fn at(context: &Context, session: &str) -> Result<Option<Change>> {
    // It becomes part of a revset.
    let is_plain = session.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    if context.settings.jj != Jj::Manage || !is_plain || !context.repo.is_colocated() || context.repo.is_under_way() {
        return Ok(None);
    }
    let Answer::Changes(changes) = context.repo.jj_changes(None)? else { return Ok(None) };
    Ok(changes.into_iter().find(|change| change.is_at))
}

/// Returns true if the index has something else than HEAD.
fn has_staged(context: &Context) -> Result<bool> {
    let words = ["diff", "--cached", "--quiet", "--no-ext-diff"];
    Ok(context.repo.try_git(&words, None)?.status.code() == Some(1))
}

/// Returns true if a tool of `session` that may change files has begun here, and has not ended. The user may have refused one that
/// another one has overtaken.
fn runs_a_tool(worktree: &Worktree<'_>, session: &str) -> bool {
    let turns = worktree.turns();
    let calls = turns.find(session).map(|entry| &entry.calls[..]).unwrap_or_default();
    let changes_nothing = |paths: &Option<Vec<String>>| paths.as_ref().is_some_and(Vec::is_empty);
    calls.iter().any(|call| !call.is_background && !call.is_overtaken && !changes_nothing(&call.paths))
}
