//! What an interrupted restore has left beside the files it was about to change.

use bstr::{BStr, ByteSlice as _};

use super::{
    look::{Side, Site},
    snapshot::Snapshot,
};
use crate::{
    error::{Error, Result},
    git::{Repo, checkout::Stop, temporary_file::Held},
    model::{
        step::{Content, Step},
        verdict::Left,
    },
    state::journal::Journal,
};

/// Removes the temporary files of the restore that `journal` is about, which must not be at work any more.
///
/// One may hold what another program has saved, before or after the crash: only what the restore was about to write and what its
/// pre-restore checkpoint holds is deleted. The rest is kept under another name, and returned.
///
/// # Errors
/// If the checkpoints cannot be read.
pub(super) fn sweep(repo: &Repo, journal: &Journal) -> Result<Vec<Left>> {
    let (from, to) = (Snapshot::read(repo, journal.pre_restore)?, Snapshot::read(repo, journal.target)?);
    let mut site = Site::new(repo, &journal.nonce, (&from, &to), &journal.steps, &[])?;
    let mut kept = Vec::new();
    for (number, step) in journal.steps.iter().enumerate() {
        match sweep_step(&mut site, step, number) {
            Ok(()) => {}
            Err(Stop::Left(why)) if why.kept_as().is_some() => kept.push(Left { path: step.path.clone(), why }),
            Err(Stop::Left(why)) => tracing::debug!(path = %step.path, %why, "cannot look for temporary files"),
            Err(Stop::Failed(error)) => return Err(error),
        }
    }
    Ok(kept)
}

fn sweep_step(site: &mut Site<'_>, step: &Step, number: usize) -> std::result::Result<(), Stop> {
    let path = step.path.as_bstr();
    if site.checkout.leftovers(path, number)?.is_empty() {
        return Ok(());
    }
    let before = bytes(site, path, step.before, Side::Before)?;
    let after = bytes(site, path, step.after, Side::After)?;
    let now = site.checkout.stat(path)?;
    let mut is_written = false;
    match (&now, &before) {
        // It died between taking the old file away and putting the new one there.
        (None, Some(before)) if step.after.is_some() => site.checkout.bring_back(path, number, before)?,
        (Some(stat), _) => is_written = after.is_some() && site.checkout.read(path, stat).ok() == after,
        _ => {}
    }
    let is_known = |held: &Held| {
        let Some(bytes) = held.bytes.as_ref() else { return false };
        // While the new file is not at its name, a part of it may be all that was written.
        let is_new = |after: &Vec<u8>| after == bytes || !is_written && after.starts_with(bytes);
        before.as_ref() == Some(bytes) || after.as_ref().is_some_and(is_new)
    };
    site.checkout.settle(path, number, Ok(()), &is_known)
}

/// Returns the bytes of one side of a step; none if there are none, or if they cannot be made any more.
fn bytes(
    site: &mut Site<'_>,
    path: &BStr,
    content: Option<Content>,
    side: Side,
) -> std::result::Result<Option<Vec<u8>>, Error> {
    match content.map(|content| site.bytes(path, content, side)).transpose() {
        Ok(bytes) => Ok(bytes),
        Err(Stop::Left(_)) => Ok(None),
        Err(Stop::Failed(error)) => Err(error),
    }
}
