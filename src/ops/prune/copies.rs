//! The copies in which isolated rounds have worked, once these have ended.

use std::os::unix::ffi::OsStrExt as _;

use bstr::BString;
use serde::Serialize;

use crate::{
    error::Result,
    model::{moment, path_text},
    ops::Context,
    state::rounds,
};

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

/// Deletes the copies of isolated rounds that have ended before `oldest`, in Unix seconds. One that cannot be deleted stays, for the next
/// time.
pub(super) fn prune_copies(context: &Context, oldest: Option<i64>, dry_run: bool) -> Result<Vec<Copy>> {
    let mut copies = Vec::new();
    let Some(oldest) = oldest else { return Ok(copies) };
    for aside in rounds::all_aside(context.repo.common_dir())?.into_iter().filter(|it| it.seconds < oldest) {
        context.check_interrupt()?;
        if !dry_run && let Err(error) = rounds::delete_aside(&aside) {
            tracing::warn!(%error, "a copy cannot be deleted");
            continue;
        }
        let path = aside.path.as_os_str().as_bytes().into();
        copies.push(Copy { round: aside.round, path, ended: moment::iso(aside.seconds, 0) });
    }
    Ok(copies)
}
