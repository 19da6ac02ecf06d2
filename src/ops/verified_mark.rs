//! The mark of the verified checkpoint of a worktree, and the notes about it.

use std::{path::PathBuf, time::Duration};

use gix::ObjectId;

use super::{Context, chain::shadows, holding::hold_when_left, restored_target::restored};
use crate::{
    error::{Context as _, Kind, Result},
    git::{Repo, refs::RefUpdate},
    model::{
        contributor::Contributor,
        event::Event,
        refname::{self, Base},
    },
    state,
};

/// How often a lost race for the ref is run again.
const ATTEMPTS: u32 = 5;

/// Returns true if the next save is to become the verified checkpoint.
pub(crate) fn wants_verification(context: &Context) -> Result<bool> {
    let marker = marker(context);
    marker.try_exists().context(Kind::Internal, || format!("cannot look for '{}'", marker.display()))
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

/// Returns the start, which counts as verified while nothing is marked: the state before the first change of an agent on this
/// base, be it a checkpoint or the base commit. As long as people have made all changes, it is their first checkpoint.
///
/// # Errors
/// [`Kind::Corrupt`] if a checkpoint on this base cannot be read.
pub(crate) fn start(repo: &Repo) -> Result<Option<ObjectId>> {
    let Some(tip) = shadows::latest_on(repo, Base::of_head(repo.head()?.id))? else { return Ok(None) };
    let (mut before_agents, mut first) = (None, None);
    for checkpoint in repo.chain_in_time(tip.id) {
        let checkpoint = checkpoint?;
        // What a restore has put back is the user's.
        if checkpoint.origin.contributor == Contributor::Agent && restored(&checkpoint.origin).is_none() {
            before_agents = Some(checkpoint.before_id());
        }
        first = Some(checkpoint.id);
    }
    Ok(before_agents.or(first))
}

/// Makes the checkpoint `id` the verified one, as the user wants it.
pub(crate) fn mark_by_hand(context: &Context, id: ObjectId) -> Result<()> {
    set(context, Some(id))?;
    satisfied(context)?;
    context.emit(&Event::Verify { id: Some(id.to_string()) });
    Ok(())
}

pub(super) fn marker(context: &Context) -> PathBuf {
    state::directory(context.repo.git_dir()).join("verify-next")
}

/// Points the ref to `new`, or deletes it, and returns its old value: compare and swap, with retries.
pub(super) fn set(context: &Context, new: Option<ObjectId>) -> Result<Option<ObjectId>> {
    let name = refname::verified_ref(context.repo.worktree_id());
    let mut attempt = 0;
    loop {
        let old = context.repo.find_ref(&name)?;
        if old == new {
            return Ok(old);
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
