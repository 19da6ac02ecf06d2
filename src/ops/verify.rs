//! The verified checkpoint of a worktree: the one known to be good, marked by the user or a test run.

use gix::ObjectId;
use serde::Serialize;

use super::{
    Context, Worktree,
    called::called,
    enter::Purpose,
    lookup,
    start::start,
    verified_mark::{mark_by_hand, marked, set, set_marker},
};
use crate::{
    error::Result,
    model::{event::Event, id_text, moment},
};

/// A verified checkpoint. Serializes to what `verify --json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
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
    /// What it is called for people.
    #[serde(skip)]
    pub called: String,
    /// When it was taken, in ISO 8601.
    pub time: String,
    /// True if no checkpoint is marked, and this is the start: the state before the first change of an agent.
    pub start: bool,
}

/// The mark was taken away. Serializes to what `verify --reset --json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unverified {
    /// The version of the JSON format.
    pub version: u32,
    /// The checkpoint that was verified before.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub previous: Option<ObjectId>,
}

/// Marks the checkpoint that `text` names, or the latest of this worktree, as verified.
///
/// # Errors
/// As [`lookup::resolve`]; [`Kind::Race`](crate::error::Kind::Race) if other processes keep changing the mark.
pub fn verify(context: &Context, text: Option<&str>) -> Result<Verified> {
    let resolve = || lookup::resolve(context, text.unwrap_or("@"));
    // An unreadable checkpoint is an error that names the damage. Entering would set it aside.
    describe(context, resolve()?)?;
    // A save that runs at the same time may look for the note of `reset`, or remove it. If HEAD has moved, `@` is another
    // checkpoint than before.
    context.repo.name_operation("verify");
    let _worktree = Worktree::enter(context, Purpose::Change)?;
    let id = resolve()?;
    let mut verified = describe(context, id)?;
    let previous = context.emit_failure("verify", mark_by_hand(context, id))?;
    verified.previous = previous.filter(|previous| *previous != id);
    Ok(verified)
}

/// Returns the verified checkpoint of this worktree; if none is marked, the start.
pub fn show(context: &Context) -> Result<Option<Verified>> {
    if let Some(id) = marked(&context.repo)? {
        return describe(context, id).map(Some);
    }
    start(&context.repo)?.map(|id| describe_start(context, id)).transpose()
}

/// Takes the mark away, so that the next checkpoint that a person saves becomes the verified one.
pub fn reset(context: &Context) -> Result<Unverified> {
    context.repo.name_operation("verify");
    // A save in between would take the note for its own, and lose its mark.
    let _worktree = Worktree::enter(context, Purpose::Change)?;
    // The note first: after a crash between both, the next checkpoint is verified, as was asked for.
    set_marker(context, true)?;
    let previous = context.emit_failure("verify", set(context, None))?;
    context.emit(&Event::Verify { id: None });
    Ok(Unverified { version: 1, previous })
}

/// The start may be a commit.
fn describe_start(context: &Context, id: ObjectId) -> Result<Verified> {
    let repo = &context.repo;
    if repo.find_checkpoint(id)?.is_some() {
        return describe(context, id).map(|verified| Verified { start: true, ..verified });
    }
    let message = repo.message_of(id)?;
    let subject = message.lines().next().unwrap_or_default().to_owned();
    let seconds = repo.parent_and_time(id)?.map_or(0, |(_, seconds)| seconds);
    let called = subject.clone();
    Ok(Verified { version: 1, id, previous: None, subject, called, time: moment::iso(seconds, 0), start: true })
}

fn describe(context: &Context, id: ObjectId) -> Result<Verified> {
    let checkpoint = lookup::checkpoint(context, id)?;
    lookup::refuse_without_files(&context.repo, id)?;
    let time = moment::iso(checkpoint.seconds, checkpoint.offset);
    let called = called(&context.repo, &checkpoint);
    Ok(Verified { version: 1, id, previous: None, subject: checkpoint.subject, called, time, start: false })
}
