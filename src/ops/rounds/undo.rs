//! Takes back what a start that failed has made: no process knows of it yet.

use std::path::PathBuf;

use super::{
    super::{
        Context,
        worktrees::{self, RemoveOptions},
    },
    workspace,
};
use crate::{
    error::{Error, Result},
    git::registrations::Registration,
    model::round::Mode,
    state::rounds::{Place, Round},
};

/// Removes the worktrees `made` of `round` with their branches, as `worktree remove` does, and forgets the round. Returns
/// `error`; if something is left, with a hint at that.
pub(super) fn undo(context: &Context, round: &Round, made: &[PathBuf], error: Error) -> Error {
    let mut is_left = false;
    for place in &round.places {
        if let Err(again) = undo_place(context, place, made) {
            tracing::warn!(error = %again, round = %round.id, "what a round has made cannot be removed");
            is_left = true;
        }
    }
    if !is_left && round.forget(context.repo.common_dir()).is_ok() {
        return error;
    }
    let hint = format!("a part of the round is made: 'git checkpoint round show {}' shows it", round.id);
    error.with_hint(hint)
}

/// Removes the worktree that a killed start has made for `place`, and its branch, if that has a name by chance: no user has made it.
///
/// # Errors
/// If the worktree must not be removed.
pub(super) fn undo_killed(context: &Context, place: &Place, has_label: bool) -> Result<()> {
    let Some(branch) = place.branch.as_deref() else { return Ok(()) };
    remove(context, branch, &|_| true, !has_label)
}

fn undo_place(context: &Context, place: &Place, made: &[PathBuf]) -> Result<()> {
    let Some(branch) = place.branch.as_deref() else { return Ok(()) };
    if place.mode == Mode::Workspace {
        // It is the user's own worktree, which stays.
        return workspace::undo(context, place, branch);
    }
    // What `worktree add` has left has no path yet.
    remove(context, branch, &|path| made.contains(path) || place.path.is_none(), true)
}

/// Removes the worktree of `branch`, if there is one that `is_ours`, and the branch, if `with_branch`.
fn remove(context: &Context, branch: &str, is_ours: &dyn Fn(&PathBuf) -> bool, with_branch: bool) -> Result<()> {
    let full = format!("refs/heads/{branch}");
    let registered = context.repo.registrations()?;
    let mut found = registered.iter().filter(|it| it.head.branch.as_ref().is_some_and(|at| *at == full.as_str()));
    let Some(found) = found.next() else { return Ok(()) };
    if found.is_main() || !is_ours(&found.path) {
        return Err(Error::refused(format!("'{}' is on the branch '{branch}'", found.path.display())));
    }
    let options = RemoveOptions { name: found.path.clone().into(), force: false, no_teardown: true };
    let mut refuse = |_: &worktrees::Removal| Ok(false);
    let mut none = |_: &worktrees::Step<'_>| Err(Error::internal("no command is to run"));
    worktrees::remove(context, &options, &mut refuse, &mut none)?;
    let main = registered.first().map(Registration::directory);
    match found.head.id.zip(main).filter(|_| with_branch) {
        Some((commit, main)) => context.repo.delete_made_branch(&main, branch, commit),
        None => Ok(()),
    }
}
