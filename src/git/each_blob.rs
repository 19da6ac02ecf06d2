//! Reads many blobs on all available threads, and lets each thread work on what it has read.

use gix::ObjectId;

use super::{Repo, objects::read_blob, threads};
use crate::error::Result;

/// More threads wait for the disk.
const MOST_THREADS: usize = 8;
/// Fewer blobs than this are not worth a thread.
const FEWEST: usize = 256;
/// How many parts each thread gets, so that none waits long for the others.
const PARTS: usize = 4;

impl Repo {
    /// Returns what `work` makes of each of the blobs `ids`, in order: of its place in the list, and of its content.
    ///
    /// # Errors
    /// If the operation is interrupted.
    pub(crate) fn each_blob<T: Send>(
        &self,
        ids: &[ObjectId],
        work: impl Fn(usize, Result<Vec<u8>>) -> T + Sync,
    ) -> Result<Vec<T>> {
        let length = ids.len().div_ceil(threads::useful(MOST_THREADS) * PARTS).max(FEWEST);
        let (shared, interrupt) = (self.inner.clone().into_sync(), self.interrupt.clone());
        let parts: Vec<(usize, &[ObjectId])> =
            ids.chunks(length).enumerate().map(|(at, ids)| (at * length, ids)).collect();
        let work_on = |(first, ids): (usize, &[ObjectId])| {
            let repo = shared.to_thread_local();
            let one = |(at, id): (usize, &ObjectId)| {
                interrupt.check()?;
                Ok(work(first + at, read_blob(&repo, *id)))
            };
            ids.iter().enumerate().map(one).collect::<Result<Vec<T>>>()
        };
        let done = threads::each(parts, work_on)?;
        let mut all = Vec::with_capacity(ids.len());
        for part in done {
            all.extend(part?);
        }
        Ok(all)
    }
}
