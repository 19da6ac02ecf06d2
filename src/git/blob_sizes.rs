//! The sizes of many blobs.

use std::{fs::File, os::unix::fs::FileExt as _, path::Path};

use flate2::{Decompress, FlushDecompress};
use gix::{
    ObjectId,
    odb::pack::{data, index},
};

use super::{Repo, threads};

/// Of fewer blobs, the object database is asked one by one.
const MANY: usize = 1000;

/// More threads than this do not help.
const MOST_THREADS: usize = 4;

/// How much of a pack is read at once.
const WINDOW: usize = 1 << 16;

/// The most that is needed of an entry: its header, and as much of a compressed delta as has the two sizes in it.
const HEAD: usize = 512;

impl Repo {
    /// Returns the size of each of `blobs` in bytes, in their order; none for a blob that is missing or damaged.
    ///
    /// Packs are read in windows, in the order of their entries, and not mapped: a pack that is mapped counts as memory in use.
    pub(super) fn blob_sizes(&self, blobs: &[ObjectId]) -> Vec<Option<u64>> {
        let mut sizes = vec![None; blobs.len()];
        let directory = self.inner.objects.store_ref().path().join("pack");
        for pack in Pack::all_in(&directory, self.object_hash()).take_while(|_| blobs.len() >= MANY) {
            for (at, size) in pack.sizes(blobs) {
                sizes[at] = Some(size);
            }
        }
        let one = |id: &ObjectId| self.inner.find_header(*id).ok().map(|header| header.size());
        sizes.into_iter().zip(blobs).map(|(size, id)| size.or_else(|| one(id))).collect()
    }
}

/// A pack, read at single places; gitformat-pack(5).
struct Pack {
    index: index::File,
    data: File,
    hash: gix::hash::Kind,
}

impl Pack {
    /// Returns those in `directory` that can be read; each is opened when its turn comes.
    fn all_in(directory: &Path, hash: gix::hash::Kind) -> impl Iterator<Item = Self> {
        let files = std::fs::read_dir(directory).into_iter().flatten().flatten().map(|file| file.path());
        let open = move |path: &Path| {
            let index = index::File::at(path, hash).ok()?;
            Some(Self { index, data: File::open(path.with_extension("pack")).ok()?, hash })
        };
        files.filter(|path| path.extension().is_some_and(|end| end == "idx")).filter_map(move |path| open(&path))
    }

    /// Returns the sizes of those of `blobs` that are here, each with its place in `blobs`.
    fn sizes(&self, blobs: &[ObjectId]) -> Vec<(usize, u64)> {
        let offset = |id: &ObjectId| Some(self.index.pack_offset_at_index(self.index.lookup(id)?));
        let mut wanted: Vec<_> = blobs.iter().enumerate().filter_map(|(at, id)| Some((offset(id)?, at))).collect();
        wanted.sort_unstable();
        let part = wanted.len().div_ceil(threads::useful(MOST_THREADS)).max(1);
        threads::each(wanted.chunks(part).collect(), |part| self.read(part)).unwrap_or_default().concat()
    }

    /// Returns the sizes of the blobs at the offsets `wanted`, which rise; each with its place.
    fn read(&self, wanted: &[(u64, usize)]) -> Vec<(usize, u64)> {
        let (mut window, mut start, mut length) = (vec![0; WINDOW], 0, 0);
        let mut inflate = Decompress::new(true);
        let mut sizes = Vec::with_capacity(wanted.len());
        for (offset, at) in wanted {
            if offset + HEAD as u64 > start + length as u64 {
                let Ok(read) = self.data.read_at(&mut window, *offset) else { break };
                (start, length) = (*offset, read);
            }
            let size = usize::try_from(offset - start).ok().and_then(|from| window[..length].get(from..));
            if let Some(size) = size.and_then(|entry| size_of_entry(entry, self.hash, &mut inflate)) {
                sizes.push((*at, size));
            }
        }
        sizes
    }
}

/// Returns the size of the blob whose entry in a pack begins like `bytes`.
fn size_of_entry(bytes: &[u8], hash: gix::hash::Kind, inflate: &mut Decompress) -> Option<u64> {
    let entry = data::Entry::from_bytes(bytes, 0, hash).ok()?;
    match entry.header {
        data::entry::Header::Blob => Some(entry.decompressed_size),
        data::entry::Header::OfsDelta { .. } | data::entry::Header::RefDelta { .. } => {
            inflate.reset(true);
            let compressed = bytes.get(usize::try_from(entry.data_offset).ok()?..)?;
            let mut delta = [0; 20];
            inflate.decompress(compressed, &mut delta, FlushDecompress::None).ok()?;
            let known = usize::try_from(inflate.total_out()).ok()?;
            sizes_of_delta(&delta[..known]).map(|(_, size)| size)
        }
        _ => None,
    }
}

/// Returns the sizes with which `delta` begins: of the object that it changes, and of what it makes of that.
fn sizes_of_delta(delta: &[u8]) -> Option<(u64, u64)> {
    let mut bytes = delta.iter();
    let mut number = || {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = bytes.next()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    };
    Some((number()?, number()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packs_say_what_git_says() -> Result<(), Box<dyn std::error::Error>> {
        let directory = tempfile::tempdir()?;
        gix::init(directory.path())?;
        let repo = Repo::open(directory.path())?;
        let mut stream = String::new();
        for number in 0..=MANY {
            // Blobs of many sizes; git stores most of them as deltas.
            let content = "the same line\n".repeat(number % 50 * 40) + &format!("{number}\n").repeat(number % 7 + 1);
            stream += &format!("blob\ndata {}\n{content}\n", content.len());
        }
        repo.run_git(&["fast-import", "--quiet"], Some(stream.as_bytes()))?;
        let arguments = ["cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objectsize) %(deltabase)"];
        let (mut ids, mut expected, mut deltas) = (Vec::new(), Vec::new(), 0);
        for line in repo.run_git(&arguments, None)?.to_string().lines() {
            let words: Vec<&str> = line.split(' ').collect();
            ids.push(ObjectId::from_hex(words[0].as_bytes())?);
            expected.push(Some(words[1].parse()?));
            deltas += usize::from(!words[2].bytes().all(|digit| digit == b'0'));
        }
        assert!(ids.len() > MANY && deltas > MANY / 2, "{} blobs, {deltas} deltas", ids.len());
        let packs = directory.path().join(".git/objects/pack");
        let pack = Pack::all_in(&packs, repo.object_hash()).next().ok_or("a pack")?;
        assert_eq!(pack.sizes(&ids).len(), ids.len());
        ids.push(ObjectId::null(repo.object_hash()));
        expected.push(None);
        assert_eq!(repo.blob_sizes(&ids), expected);
        Ok(())
    }

    #[rstest::rstest]
    #[case::small(&[5, 7], Some((5, 7)))]
    #[case::of_two_bytes(&[0x80, 1, 0xff, 0x7f, 9], Some((128, 16383)))]
    #[case::cut(&[5, 0x80], None)]
    #[case::empty(&[], None)]
    #[case::endless(&[0xff; 20], None)]
    fn deltas_begin_with_two_sizes(#[case] delta: &[u8], #[case] expected: Option<(u64, u64)>) {
        assert_eq!(sizes_of_delta(delta), expected);
    }
}
