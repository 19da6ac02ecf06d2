//! The mark of the verified checkpoint of a worktree, and the notes about it.

use std::{path::PathBuf, time::Duration};

use gix::ObjectId;

use super::{Context, holding::hold_when_left};
use crate::{
    error::{Context as _, Kind, Result},
    git::refs::RefUpdate,
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

/// Notes that a verified checkpoint was saved; `by_hand` is its id if the user asked for the mark.
pub(crate) fn satisfied(context: &Context, by_hand: Option<ObjectId>) -> Result<()> {
    let what = || "cannot remove the mark of the next verified checkpoint".into();
    match std::fs::remove_file(marker(context)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error).context(Kind::Internal, what)?,
        _ => {}
    }
    match by_hand {
        Some(id) => state::replace_file(&hand(context), id.to_string().as_bytes()),
        None => Ok(()),
    }
}

/// Returns true if the user marked the verified checkpoint; false if it is marked as the first of its shadow, or none
/// is.
pub(crate) fn is_marked_by_hand(context: &Context) -> Result<bool> {
    let Ok(text) = std::fs::read_to_string(hand(context)) else { return Ok(false) };
    let marked = context.repo.find_ref(&refname::verified_ref(context.repo.worktree_id()))?;
    Ok(marked.is_some() && marked == ObjectId::from_hex(text.trim().as_bytes()).ok())
}

/// Makes the checkpoint `id` the verified one, as the user wants it.
pub(crate) fn mark_by_hand(context: &Context, id: ObjectId) -> Result<()> {
    set(context, Some(id))?;
    satisfied(context, Some(id))?;
    context.emit(&Event::Verify { id: Some(id.to_string()) });
    Ok(())
}

/// Keeps the mark of the user where the verified checkpoint is now a copy, one of `copies`, each after what it is one of.
pub(crate) fn follow(context: &Context, copies: &[(ObjectId, ObjectId)]) -> Result<()> {
    let Ok(text) = std::fs::read_to_string(hand(context)) else { return Ok(()) };
    let marked = ObjectId::from_hex(text.trim().as_bytes()).ok();
    match copies.iter().find(|(of, _)| Some(*of) == marked) {
        Some((_, copy)) => state::replace_file(&hand(context), copy.to_string().as_bytes()),
        None => Ok(()),
    }
}

fn hand(context: &Context) -> PathBuf {
    state::directory(context.repo.git_dir()).join("verified-by-hand")
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
