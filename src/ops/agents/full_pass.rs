//! When a save has last made a full pass: has looked at the whole worktree. `turns.toml` notes the time.

use super::super::{Context, Worktree};

/// Notes that a save has just made a full pass: it has looked at the whole worktree.
pub(super) fn note(worktree: &Worktree<'_>) {
    worktree.edit_turns(|turns| turns.scanned = milliseconds());
}

/// Returns true if the last full pass is longer ago than the setting `agents.pre-tool-scan`.
pub(super) fn is_due(context: &Context) -> bool {
    let since = milliseconds() - context.turns().scanned;
    let least = i64::try_from(context.settings.agents.pre_tool_scan.as_millis()).unwrap_or(i64::MAX);
    // If the clock was set back, the time of the last pass means nothing.
    since < 0 || since >= least
}

/// Returns the time now.
pub(super) fn milliseconds() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}
