//! An event that changes nothing still says that its session is alive.

use super::report::Report;
use crate::{
    error::Result,
    ops::{
        Worktree,
        session_info::{self, add_info, find_or_rebuild},
    },
};

/// Stores that the session of `report` is alive, and the information that the report has about it.
pub(super) fn note(worktree: &Worktree<'_>, report: &Report) -> Result<()> {
    let Some(mut session) = find_or_rebuild(worktree, &report.session)? else { return Ok(()) };
    add_info(&mut session, &report.info);
    session_info::sign_of_life(&mut session);
    session_info::store(worktree, &session)
}
