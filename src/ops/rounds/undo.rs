//! Takes back what a start that failed has made: no process knows of it yet.

use gix::ObjectId;

use super::{
    super::{
        Context,
        worktrees::{self, RemoveOptions},
    },
    copies::{self, directory},
    halves::{delete_unused, with_asides},
    options::Begun,
    workspace,
};
use crate::{
    error::{Error, Result},
    git::{Head, registrations::Registration},
    model::round::Mode,
    state::rounds::{self, Place, Round},
};

/// Removes the worktrees `made` of `round` with their branches, as `worktree remove` does, and forgets the round. Returns
/// `error`; if something is left, with a hint at that.
pub(super) fn undo(context: &Context, round: &mut Round, made: &Begun, error: Error) -> Error {
    let (mut is_left, mut aside, common) = (false, Vec::new(), context.repo.common_dir());
    for at in 0..round.places.len() {
        match undo_place(context, round, at, made) {
            Ok(()) => {
                // The next call makes it again.
                let place = &mut round.places[at];
                (place.path, place.claimed, place.worktree, place.mark) = (None, None, None, None);
                (place.base, place.head, place.scratch) = (None, None, None);
                place.brought = None;
                aside.extend(place.aside.take().filter(|aside| aside.is_dir()));
            }
            Err(again) => {
                tracing::warn!(error = %again, round = %round.id, "what a round has made cannot be removed");
                is_left = true;
            }
        }
    }
    let error = with_asides(error, &aside);
    if !is_left && round.forget(common).is_ok() {
        return error;
    }
    if let Err(again) = round.write(common) {
        tracing::warn!(error = %again, round = %round.id, "its file cannot be written");
    }
    let hint = format!("a part of the round is made: 'git checkpoint round show {}' shows it", round.id);
    error.with_hint(hint)
}

/// Removes the worktree that a killed start has made for `place`, and its branch.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if there is work in it, or it must not be removed for another reason.
pub(super) fn undo_killed(context: &Context, round: &Round, place: &Place) -> Result<()> {
    let id = &round.id;
    remove(context, place, &format!("'git checkpoint round end {id}' commits what is in it, and removes it"))
}

/// Moves the copy aside that a start has made for the place number `at` of `round`, or a part of it, and deletes the branch of the
/// round in this repository, if nothing was committed to it.
///
/// # Errors
/// If the copy cannot be moved.
pub(super) fn undo_copy(context: &Context, round: &mut Round, at: usize) -> Result<()> {
    copies::put_aside(context, round, at)?;
    let place = &round.places[at];
    let made_at = place.brought.as_ref().and_then(|id| ObjectId::from_hex(id.as_bytes()).ok());
    let Some((branch, commit)) = place.branch.as_deref().zip(made_at) else { return Ok(()) };
    context.repo.delete_made_branch(&directory(&context.repo)?, branch, commit)
}

fn undo_place(context: &Context, round: &mut Round, at: usize, made: &Begun) -> Result<()> {
    let place = &round.places[at];
    let Some(branch) = place.branch.as_deref() else { return Ok(()) };
    if place.mode == Mode::Workspace {
        // It is the user's own worktree, which stays.
        return workspace::undo(context, place, branch);
    }
    // Those that an earlier call has made are in use.
    let is_of_this_call = |path| made.worktrees.contains(path) || made.copies.contains(path);
    if !place.path.as_ref().is_none_or(is_of_this_call) {
        return Err(Error::refused("an earlier call has made it"));
    }
    match place.mode {
        Mode::Isolated => {
            if let Err(error) = delete_unused(context, place) {
                tracing::warn!(%error, round = %round.id, "its copy is moved aside");
            }
            undo_copy(context, round, at)
        }
        _ => remove(context, place, "look at what was committed there"),
    }
}

/// Removes the worktree that was made for `place`, as `worktree remove` does, and its branch: both only if the branch is where it
/// was made, and nothing has changed in the worktree. A worktree of that branch elsewhere is not ours.
fn remove(context: &Context, place: &Place, hint: &str) -> Result<()> {
    let (Some(branch), Some(claimed)) = (place.branch.as_deref(), place.claimed.as_deref()) else { return Ok(()) };
    let made_at = place.base.as_ref().and_then(|base| ObjectId::from_hex(base.as_bytes()).ok());
    let has_work = || {
        Error::refused(format!("a start was killed that had made '{}', and there is work in it", claimed.display()))
            .with_hint(hint)
    };
    let full = format!("refs/heads/{branch}");
    let registered = context.repo.registrations()?;
    // Another round may have a worktree there by now.
    let is_ours = |it: &Registration| rounds::mark(&it.git_dir).is_none_or(|mark| place.mark.as_ref() == Some(&mark));
    let is_its = |it: &&Registration| !it.is_main() && it.path == claimed && is_ours(it);
    if let Some(found) = registered.iter().find(is_its) {
        let head = Head { id: made_at, branch: Some(full.into()) };
        if found.head != head {
            return Err(has_work());
        }
        let name = found.path.clone().into();
        let options = RemoveOptions { name, force: false, no_teardown: true, head: Some(head) };
        let mut refuse = |_: &worktrees::Removal| Err(has_work());
        let mut none = |_: &worktrees::Step<'_>| Err(Error::internal("no command is to run"));
        worktrees::remove(context, &options, &mut refuse, &mut none)?;
    }
    match made_at.zip(registered.first().map(Registration::directory)) {
        Some((commit, main)) => context.repo.delete_made_branch(&main, branch, commit),
        None => Ok(()),
    }
}
