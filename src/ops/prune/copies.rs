//! The copies in which isolated rounds have worked, once these have ended.

use std::os::unix::ffi::OsStrExt as _;

use bstr::BString;
use serde::Serialize;

use crate::{
    error::{Error, Result},
    model::{moment, path_text},
    ops::Context,
    state::rounds::{self, Aside},
};

/// How many are in a second.
const MICROSECONDS: i64 = 1_000_000;

/// A copy in which an isolated round has worked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Copy {
    /// The round.
    pub round: String,
    /// Where it was.
    #[serde(flatten, serialize_with = "path_text::serialize_fields")]
    pub path: BString,
    /// When the round ended, in ISO 8601.
    pub ended: String,
}

/// A copy that is due, and could not be deleted. Serializes to an entry of `copies_left`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftCopy {
    /// The round.
    pub round: String,
    /// Where it is.
    #[serde(flatten, serialize_with = "path_text::serialize_fields")]
    pub path: BString,
    /// Why it stays.
    pub why: String,
}

/// Returns the copies of isolated rounds that have ended before `oldest`, in Unix seconds, the oldest first.
pub(super) fn due(context: &Context, oldest: Option<i64>) -> Result<Vec<Aside>> {
    let Some(oldest) = oldest else { return Ok(Vec::new()) };
    let common = context.repo.common_dir();
    let (mut all, rounds) = (rounds::all_aside(common)?, rounds::all(common)?.sound);
    for aside in &mut all {
        // The clock may have been behind when the round ended: it has not ended before it began.
        let began = rounds.iter().find(|round| round.id == aside.round).map(|round| round.began / MICROSECONDS);
        aside.seconds = aside.seconds.max(began.unwrap_or_default());
    }
    all.retain(|aside| aside.seconds < oldest);
    Ok(all)
}

/// Deletes the copies `due`, or, if that is a dry run, none of them; returns these, and those that stay, for the next time.
pub(super) fn delete(context: &Context, due: Vec<Aside>, dry_run: bool) -> (Vec<Copy>, Vec<LeftCopy>) {
    let (mut deleted, mut left) = (Vec::new(), Vec::new());
    for aside in due {
        let path: BString = aside.path.as_os_str().as_bytes().into();
        // What is deleted by now is named, whatever stops the rest.
        let done = if dry_run {
            Ok(())
        } else {
            context.check_interrupt().and_then(|()| rounds::delete_aside(context.repo.common_dir(), &aside))
        };
        match done {
            Ok(()) => deleted.push(Copy { round: aside.round, path, ended: moment::iso(aside.seconds, 0) }),
            Err(error) => left.push(LeftCopy { round: aside.round, path, why: why(&error) }),
        }
    }
    (deleted, left)
}

/// Returns the reason of `error`, whose message has the path.
fn why(error: &Error) -> String {
    let causes = error.causes();
    if causes.is_empty() { error.message().to_owned() } else { causes.join(": ") }
}
