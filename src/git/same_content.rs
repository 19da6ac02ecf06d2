//! Finds files of the worktree by their whole content, byte for byte. Only files of a fitting size are read, and no filter runs.

use std::{
    collections::{BTreeSet, HashSet},
    fs::File,
    io::Read as _,
    os::fd::AsFd,
};

use bstr::{BStr, BString, ByteSlice as _};
use gix::{ObjectId, objs::Kind as ObjectKind};
use rustix::fs::OFlags;

use super::{
    Repo, beneath,
    limits::{Limits, open_root},
    new_objects::{NewObjects, Target, id_of},
    scan::scan,
    seed::seed,
    stat_cache::Stat,
    untracked::collect,
};
use crate::{
    error::Result,
    model::change::{Leaf, Mode},
};

impl Repo {
    /// Returns the files of the worktree that have the content of one of `blobs`, in the order of their paths: of the tracked ones, and
    /// of the untracked ones that a save would take within `limits`.
    ///
    /// A file that git converts (line ends, filters) is compared as it is on the disk.
    pub(crate) fn files_with_content(
        &self,
        blobs: &BTreeSet<ObjectId>,
        limits: &Limits,
    ) -> Result<Vec<(BString, Leaf)>> {
        let ids: Vec<ObjectId> = blobs.iter().copied().collect();
        let sizes = self.blob_sizes(&ids).into_iter().flatten().filter_map(|size| u32::try_from(size).ok());
        let sizes: HashSet<u32> = sizes.collect();
        let (index, modes) = (self.user_index()?, self.modes());
        let mut objects = NewObjects::new(self, Target::Memory);
        let (cache, _) = seed(self, index.as_deref(), self.user_index_identity(), None, &mut objects)?;
        let found = scan(self, &cache, modes)?;
        let untracked = collect(self, &cache, None, &found, limits)?;
        let changed: HashSet<usize> = found.candidates.iter().filter_map(|candidate| candidate.position).collect();
        let changed: HashSet<usize> = changed.into_iter().chain(found.removed).collect();
        let is_file = |mode: Mode| matches!(mode, Mode::File | Mode::Executable);
        let as_staged = cache.entries().iter().enumerate().filter(|(position, entry)| {
            blobs.contains(&entry.id) && is_file(entry.mode) && !entry.skips_worktree && !changed.contains(position)
        });
        let mut files: Vec<(BString, Leaf)> = as_staged
            .map(|(_, entry)| (cache.path(entry).to_owned(), Leaf { id: entry.id, mode: entry.mode }))
            .collect();
        let root = open_root(self.worktree_root())?;
        let to_read = found.candidates.into_iter().chain(untracked.candidates);
        for file in to_read.filter(|file| is_file(file.mode) && sizes.contains(&file.stat.size)) {
            self.check_interrupt()?;
            let before = file.position.map(|position| cache.entries()[position].mode);
            let Some(bytes) = bytes_of(&root, file.path.as_bstr(), file.stat) else { continue };
            let id = id_of(ObjectKind::Blob, &bytes, self.object_hash())?;
            if blobs.contains(&id) {
                files.push((file.path, Leaf { id, mode: modes.stored(file.mode, before) }));
            }
        }
        files.sort_by(|one, other| one.0.cmp(&other.0));
        Ok(files)
    }
}

/// Returns the bytes of the file `path` below `root`, if it still has `stat` and can be read.
fn bytes_of(root: impl AsFd, path: &BStr, stat: Stat) -> Option<Vec<u8>> {
    // Without NONBLOCK, opening a FIFO that replaced the file would block.
    let file = beneath::open(root, path, OFlags::RDONLY | OFlags::NONBLOCK).ok()?;
    if Stat::of(&rustix::fs::fstat(&file).ok()?) != stat {
        return None;
    }
    let (mut file, mut bytes) = (File::from(file), Vec::new());
    file.read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
