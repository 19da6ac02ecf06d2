//! The sizes of many blobs, read in the order in which packs hold them.
//!
//! Blobs of neighbouring paths lie far apart in a pack. Read in the order of paths, the sizes of a large worktree's blobs
//! would fault in nearly all pages of its packs, and all of them would stay mapped.

use gix::{ObjectId, odb::pack};

use super::Repo;

/// How much of a pack is mapped at once, in bytes.
const SPAN: u64 = 32 << 20;
/// Fewer blobs than this are looked up one by one.
const FEW: usize = 256;

impl Repo {
    /// Returns the size of each of `blobs` in bytes, in their order; none for a blob that is missing or damaged.
    pub(super) fn blob_sizes(&self, blobs: &[ObjectId]) -> Vec<Option<u64>> {
        let mut sizes = vec![None; blobs.len()];
        if blobs.len() >= FEW {
            let directory = self.inner.objects.store_ref().path().join("pack");
            let files = std::fs::read_dir(directory).into_iter().flatten().flatten().map(|file| file.path());
            for path in files.filter(|path| path.extension().is_some_and(|end| end == "idx")) {
                if let Ok(index) = pack::index::File::at(&path, self.object_hash()) {
                    self.read_sizes(&index, blobs, &mut sizes);
                }
            }
        }
        for (id, size) in blobs.iter().zip(&mut sizes).filter(|(_, size)| size.is_none()) {
            *size = self.inner.find_header(*id).ok().map(|header| header.size());
        }
        sizes
    }

    /// Fills in those of `sizes` that the pack of `index` knows.
    fn read_sizes(&self, index: &pack::index::File, blobs: &[ObjectId], sizes: &mut [Option<u64>]) {
        let missing = sizes.iter().enumerate().filter(|(_, size)| size.is_none()).map(|(at, _)| at);
        let offset = |at: usize| index.lookup(blobs[at]).map(|entry| (index.pack_offset_at_index(entry), at));
        let mut found: Vec<(u64, usize)> = missing.filter_map(offset).collect();
        found.sort_unstable();
        let mut inflate = gix::zlib::Inflate::default();
        for span in found.chunk_by(|(one, _), (other, _)| one / SPAN == other / SPAN) {
            // Mapped anew for each span, so that the pages of the span before are unmapped.
            let Ok(pack) = pack::data::File::at(index.path().with_extension("pack"), self.object_hash()) else {
                return;
            };
            for (offset, at) in span {
                let header =
                    pack.entry(*offset).and_then(|entry| pack.decode_header(entry, &mut inflate, &|_| Ok(None)));
                sizes[*at] = header.ok().map(|header| header.object_size);
            }
        }
    }
}
