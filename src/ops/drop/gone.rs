//! Checkpoints of worktrees that are gone for good: no command can run there, so that any other worktree may drop them.

use std::fs;

use bstr::BStr;

use super::super::Context;
use crate::{
    error::{Error, Result},
    model::path_text,
    state::removed,
};

/// Refuses to drop the checkpoint `name` of the worktree `id`, another one than this, if that is there or can be restored.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if so; if it cannot be found out.
pub(super) fn refuse_of_another(context: &Context, id: &BStr, name: &str) -> Result<()> {
    let shown = path_text::printable(id);
    let belongs = || Error::refused(format!("'{name}' belongs to the worktree '{shown}'"));
    if context.repo.registrations()?.iter().any(|it| it.id == id) {
        return Err(belongs().with_hint("run it there"));
    }
    let common = context.repo.common_dir();
    let all = removed::all(common)?;
    if let Some(found) = all.iter().find(|it| it.worktree == id) {
        return Err(Error::refused(format!("'{name}' belongs to the removed worktree '{shown}'")).with_hint(format!(
            "'git checkpoint worktree restore {}' brings that back: run it there; or 'git checkpoint worktree prune --removed' \
             deletes it for good",
            found.id
        )));
    }
    // A record that cannot be read may be of this one.
    let folders = fs::read_dir(removed::folder(common)).map_or(0, Iterator::count);
    if folders != all.len() {
        return Err(belongs().with_hint("it may be a removed one: the record of one cannot be read"));
    }
    Ok(())
}

/// Returns true if no command can run any more in the worktree `id`.
///
/// # Errors
/// If it cannot be found out.
pub(super) fn is_gone(context: &Context, id: &BStr) -> Result<bool> {
    match refuse_of_another(context, id, "") {
        Err(error) if error.kind() == crate::error::Kind::Refused => Ok(false),
        answer => answer.map(|()| true),
    }
}
