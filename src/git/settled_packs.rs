//! The packs whose objects `git gc` considers as old as the file: touching a pack makes all of its objects new.

use std::{
    cell::Cell,
    path::Path,
    time::{Duration, Instant},
};

use gix::ObjectId;

use super::presence::may_exist;

/// A pack that git may collect object by object.
pub(super) struct SettledPack {
    index: gix::odb::pack::index::File,
    touched: Cell<Option<Instant>>,
}

impl SettledPack {
    /// Returns the packs in `directory`, except cruft packs, which have a list of the ages of their objects.
    pub(super) fn all_in(directory: &Path, hash: gix::hash::Kind) -> Vec<Self> {
        let files = std::fs::read_dir(directory).into_iter().flatten().flatten().map(|file| file.path());
        let indices = files.filter(|path| path.extension().is_some_and(|end| end == "idx"));
        let indices = indices.filter(|path| !may_exist(&path.with_extension("mtimes")));
        let indices = indices.filter_map(|path| gix::odb::pack::index::File::at(&path, hash).ok());
        indices.map(|index| Self { index, touched: Cell::new(None) }).collect()
    }

    /// Returns true if the object `id` is in the pack.
    pub(super) fn holds(&self, id: ObjectId) -> bool {
        self.index.lookup(id).is_some()
    }

    /// Touches the pack; unless `always`, not if that was done a moment ago. Returns false on failure, for example if the
    /// pack was deleted.
    pub(super) fn touch(&self, always: bool) -> bool {
        const MOMENT: Duration = Duration::from_secs(1);
        if !always && self.touched.get().is_some_and(|time| time.elapsed() < MOMENT) {
            return true;
        }
        let is_touched = touch(&self.index.path().with_extension("pack"));
        self.touched.set(is_touched.then(Instant::now));
        is_touched
    }
}

/// Sets the time of the file `path` to now; returns false on failure.
pub(super) fn touch(path: &Path) -> bool {
    let now = rustix::fs::Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_NOW };
    let times = rustix::fs::Timestamps { last_access: now, last_modification: now };
    rustix::fs::utimensat(rustix::fs::CWD, path, &times, rustix::fs::AtFlags::empty()).is_ok()
}
