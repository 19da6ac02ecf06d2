//! The verified checkpoint of a worktree: the one known to be good, marked by the user or a test run.

use std::{path::PathBuf, time::Duration};

use gix::ObjectId;
use serde::Serialize;

use super::{Context, lookup, save};
use crate::{
    error::{Context as _, Kind, Result},
    git::refs::RefUpdate,
    model::{event::Event, id_text, moment, refname},
    state,
};

/// How often a lost race for the ref is run again.
const ATTEMPTS: u32 = 5;

/// A verified checkpoint. Serializes to what `verify --json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verified {
    /// The version of the JSON format.
    pub version: u32,
    /// The checkpoint.
    #[serde(serialize_with = "id_text::serialize")]
    pub id: ObjectId,
    /// The one that was verified before, if it was another.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub previous: Option<ObjectId>,
    /// Its subject.
    pub subject: String,
    /// When it was taken, in ISO 8601.
    pub time: String,
}

/// The mark was taken away. Serializes to what `verify --reset --json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unverified {
    /// The version of the JSON format.
    pub version: u32,
    /// The checkpoint that was verified, if there was one.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub previous: Option<ObjectId>,
}

/// Marks the checkpoint that `text` names, or the latest of this worktree, as verified.
///
/// # Errors
/// As [`lookup::resolve`]; [`Kind::Race`] if others change the mark all the time.
pub fn verify(context: &Context, text: Option<&str>) -> Result<Verified> {
    let id = lookup::resolve(context, text.unwrap_or("@"))?;
    // A save that runs at the same time may look for the note of `reset`, or remove it.
    let _lock = save::lock_to_write(context)?;
    let mut verified = describe(context, id)?;
    let previous = context.tell_failure("verify", set(context, Some(id)))?;
    satisfied(context, Some(id))?;
    context.emit(&Event::Verify { id: Some(id.to_string()) });
    verified.previous = previous.filter(|previous| *previous != id);
    Ok(verified)
}

/// Returns the verified checkpoint of this worktree.
pub fn show(context: &Context) -> Result<Option<Verified>> {
    let name = refname::verified_ref(context.repo.worktree_id());
    context.repo.find_ref(&name)?.map(|id| describe(context, id)).transpose()
}

/// Takes the mark away, so that the next checkpoint becomes the verified one.
pub fn reset(context: &Context) -> Result<Unverified> {
    // A save in between would take the note for its own, and lose its mark.
    let _lock = save::lock_to_write(context)?;
    // The note first: after a crash between both, the next checkpoint is verified, as was asked for.
    state::replace_file(&marker(context), b"")?;
    let previous = context.tell_failure("verify", set(context, None))?;
    context.emit(&Event::Verify { id: None });
    Ok(Unverified { version: 1, previous })
}

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

/// Makes the checkpoint `id` the verified one, as the user wants it.
pub(crate) fn mark_by_hand(context: &Context, id: ObjectId) -> Result<()> {
    set(context, Some(id))?;
    satisfied(context, Some(id))?;
    context.emit(&Event::Verify { id: Some(id.to_string()) });
    Ok(())
}

/// Returns true if the user marked the verified checkpoint; false if it was the first of its shadow, or there is none.
pub(crate) fn is_marked_by_hand(context: &Context) -> Result<bool> {
    let Ok(text) = std::fs::read_to_string(hand(context)) else { return Ok(false) };
    let marked = context.repo.find_ref(&refname::verified_ref(context.repo.worktree_id()))?;
    Ok(marked.is_some() && marked == ObjectId::from_hex(text.trim().as_bytes()).ok())
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

fn marker(context: &Context) -> PathBuf {
    state::directory(context.repo.git_dir()).join("verify-next")
}

fn describe(context: &Context, id: ObjectId) -> Result<Verified> {
    let checkpoint = lookup::checkpoint(context, id)?;
    let time = moment::iso(checkpoint.seconds, checkpoint.offset);
    Ok(Verified { version: 1, id, previous: None, subject: checkpoint.subject, time })
}

/// Points the ref to `new`, or deletes it, and returns what it pointed to: compare and swap, run again if others won.
fn set(context: &Context, new: Option<ObjectId>) -> Result<Option<ObjectId>> {
    let name = refname::verified_ref(context.repo.worktree_id());
    let mut attempt = 0;
    loop {
        let old = context.repo.find_ref(&name)?;
        if old == new {
            return Ok(old);
        }
        attempt += 1;
        match context.repo.update_refs(&[RefUpdate { name: name.clone(), old, new }]) {
            Ok(()) => return Ok(old),
            Err(error) if error.kind() == Kind::Race && attempt < ATTEMPTS => {
                std::thread::sleep(Duration::from_millis(10 << attempt));
            }
            Err(error) => return Err(error),
        }
    }
}
