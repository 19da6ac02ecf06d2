//! The mark of the verified checkpoint of a worktree, and the notes about it.

use std::{path::PathBuf, time::Duration};

use gix::ObjectId;

use super::{Context, holding::hold_when_left};
use crate::{
    error::{Context as _, Kind, Result},
    git::{Repo, refs::RefUpdate},
    model::{event::Event, refname},
    state,
};

/// How often a lost race for the ref is run again.
const ATTEMPTS: u32 = 5;

/// Returns true if the next save is to become the verified checkpoint.
pub(crate) fn wants_verification(context: &Context) -> Result<bool> {
    let marker = marker(context);
    marker.try_exists().context(Kind::Internal, || format!("cannot look for '{}'", marker.display()))
}

/// Lets the next save become the verified checkpoint, or not.
pub(crate) fn set_marker(context: &Context, wanted: bool) -> Result<()> {
    context.repo.note_marker(wants_verification(context)?, wanted);
    if wanted { state::replace_file(&marker(context), b"") } else { satisfied(context) }
}

/// Notes that a checkpoint was marked.
pub(crate) fn satisfied(context: &Context) -> Result<()> {
    match std::fs::remove_file(marker(context)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).context(Kind::Internal, || "cannot remove the mark of the next verified checkpoint".into())
        }
        _ => Ok(()),
    }
}

/// Returns the checkpoint that is marked in this worktree.
pub(crate) fn marked(repo: &Repo) -> Result<Option<ObjectId>> {
    repo.find_sound_ref(&refname::verified_ref(repo.worktree_id()))
}

/// Makes the checkpoint `id` the verified one, as the user wants it. Returns the one that was verified before.
pub(crate) fn mark_by_hand(context: &Context, id: ObjectId) -> Result<Option<ObjectId>> {
    context.repo.note_marker(wants_verification(context)?, false);
    let previous = set(context, Some(id))?;
    satisfied(context)?;
    context.emit(&Event::Verify { id: Some(id.to_string()) });
    Ok(previous)
}

fn marker(context: &Context) -> PathBuf {
    state::directory(context.repo.git_dir()).join("verify-next")
}

/// Points the ref to `new`, or deletes it, and returns its old value: compare and swap, with retries.
pub(super) fn set(context: &Context, new: Option<ObjectId>) -> Result<Option<ObjectId>> {
    let name = refname::verified_ref(context.repo.worktree_id());
    let mut attempt = 0;
    loop {
        let old = context.repo.find_ref(&name)?;
        if old == new {
            // The note about the next checkpoint may have changed.
            return context.repo.update_refs(&[]).map(|()| old);
        }
        attempt += 1;
        let held = old.map_or(Ok(None), |left| hold_when_left(&context.repo, left, &name))?;
        let moved = RefUpdate { name: name.clone(), old, new };
        match context.repo.update_refs(&held.into_iter().chain([moved]).collect::<Vec<_>>()) {
            Ok(()) => return Ok(old),
            Err(error) if error.kind() == Kind::Race && attempt < ATTEMPTS => {
                std::thread::sleep(Duration::from_millis(10 << attempt));
            }
            Err(error) => return Err(error),
        }
    }
}
