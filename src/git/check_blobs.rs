//! Reads blobs before they are needed: whoever is about to write them must know that all of them are whole.

use std::sync::atomic::{AtomicUsize, Ordering};

use gix::{ObjectId, objs::Kind as ObjectKind};

use super::{Repo, objects::ReadAhead, readable::read_whole, threads};
use crate::error::{Error, Result};

/// More threads wait for the disk.
const MOST_THREADS: usize = 8;
/// Fewer blobs than this are not worth a thread.
const FEWEST: usize = 16;

impl Repo {
    /// Reads the blobs `ids`, and returns of them what fits into `room` bytes.
    ///
    /// # Errors
    /// What `lost` makes of the first that is gone or damaged. Else, if one may be whole and cannot be read now.
    pub(crate) fn check_blobs(
        &self,
        ids: &[ObjectId],
        room: usize,
        lost: impl FnOnce(ObjectId) -> Error,
    ) -> Result<ReadAhead> {
        let (shared, interrupt) = (self.inner.clone().into_sync(), &self.interrupt);
        let room = AtomicUsize::new(room);
        let read = |ids: &[ObjectId]| {
            let (repo, mut blobs) = (shared.to_thread_local(), Vec::new());
            for id in ids {
                interrupt.check()?;
                let Some((ObjectKind::Blob, data)) = read_whole(&repo, *id)? else { return Ok(Err(*id)) };
                let left = |room: usize| room.checked_sub(data.len());
                if room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left).is_ok() {
                    blobs.push((*id, data));
                }
            }
            Ok::<_, Error>(Ok(blobs))
        };
        let share = ids.len().div_ceil(threads::useful(MOST_THREADS)).max(FEWEST);
        let mut blobs = ReadAhead::new();
        for done in threads::each(ids.chunks(share).collect(), read)? {
            match done? {
                Ok(done) => blobs.extend(done),
                Err(id) => return Err(lost(id)),
            }
        }
        Ok(blobs)
    }
}
