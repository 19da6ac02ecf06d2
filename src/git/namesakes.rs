//! Finds objects whose ids begin with the same digits.
//!
//! The library can do it, too, and lists a directory of loose objects for each id; lists of ours have thousands of ids.

use std::{
    path::{Path, PathBuf},
    sync::OnceLock,
};

use gix::{ObjectId, hash::Prefix, odb::pack::index};

/// The ids of all objects that this repository has or borrows.
pub(super) struct Namesakes {
    packs: Vec<index::File>,
    directories: Vec<PathBuf>,
    hash: gix::hash::Kind,
    /// The ids of loose objects, by their first byte; those of each are listed when they are first asked for.
    loose: Vec<OnceLock<Vec<ObjectId>>>,
}

impl Namesakes {
    /// Returns those of `objects`. Leaves out what cannot be read.
    pub(super) fn new(objects: &gix::odb::Store) -> Self {
        let hash = objects.object_hash();
        let mut directories = vec![objects.path().to_owned()];
        directories.extend(objects.alternate_db_paths().unwrap_or_default());
        let packs = directories.iter().flat_map(|directory| files_in(&directory.join("pack")));
        // Git keeps them beside an index of several packs.
        let packs = packs.filter(|path| path.extension().is_some_and(|end| end == "idx"));
        let packs = packs.filter_map(|path| index::File::at(path, hash).ok()).collect();
        Self { packs, directories, hash, loose: vec![OnceLock::new(); 256] }
    }

    /// Returns true if there is an object that is not `id` and begins with as many as `digits` of its digits, at least four.
    pub(super) fn has_other(&self, id: ObjectId, digits: usize) -> bool {
        let Ok(prefix) = Prefix::new(&id, digits) else { return false };
        let is_packed = |pack: &index::File| match pack.lookup_prefix(prefix, None) {
            Some(Ok(at)) => pack.oid_at_index(at) != id,
            found => found.is_some(),
        };
        let is_loose = |other: &ObjectId| *other != id && prefix.cmp_oid(other).is_eq();
        self.packs.iter().any(is_packed) || self.loose(id.as_slice()[0]).iter().any(is_loose)
    }

    /// Returns the loose objects whose ids begin with `first`.
    fn loose(&self, first: u8) -> &[ObjectId] {
        self.loose[usize::from(first)].get_or_init(|| {
            let start = format!("{first:02x}");
            let id = |path: PathBuf| {
                let hex = [start.as_bytes(), path.file_name()?.as_encoded_bytes()].concat();
                ObjectId::from_hex(&hex).ok().filter(|id| id.kind() == self.hash)
            };
            self.directories.iter().flat_map(|directory| files_in(&directory.join(&start))).filter_map(id).collect()
        })
    }
}

fn files_in(directory: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    std::fs::read_dir(directory).into_iter().flatten().flatten().map(|file| file.path())
}
