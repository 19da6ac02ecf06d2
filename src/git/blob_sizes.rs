//! The sizes of many blobs.

use gix::ObjectId;

use super::Repo;

impl Repo {
    /// Returns the size of each of `blobs` in bytes, in their order; none for a blob that is missing or damaged.
    ///
    /// Reading them in the order of packs, with a pack mapped a part at a time, took a third of the memory, but 250 ms more
    /// for 78,000 blobs.
    pub(super) fn blob_sizes(&self, blobs: &[ObjectId]) -> Vec<Option<u64>> {
        let size = |id: &ObjectId| self.inner.find_header(*id).ok().map(|header| header.size());
        blobs.iter().map(size).collect()
    }
}
