//! The packs whose objects `git gc` considers as old as the file: touching a pack makes all of its objects new.

use std::{
    cell::Cell,
    path::Path,
    time::{Duration, Instant, SystemTime},
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

    /// Touches the pack as [`touch`] does; unless `always`, not if that was done a moment ago. Returns false on failure, for
    /// example if the pack was deleted.
    pub(super) fn touch(&self, always: bool, time: Option<Duration>) -> bool {
        const MOMENT: Duration = Duration::from_secs(1);
        if !always && self.touched.get().is_some_and(|time| time.elapsed() < MOMENT) {
            return true;
        }
        let is_touched = touch(&self.index.path().with_extension("pack"), time);
        self.touched.set(is_touched.then(Instant::now));
        is_touched
    }
}

/// Sets the time of the file `path` to now, or to `time` (since 1970) if it is older; returns false on failure.
///
/// With a `time`, a later one shows that another process relies on what is in the file.
pub(super) fn touch(path: &Path, time: Option<Duration>) -> bool {
    if time.is_some_and(|time| changed(path).is_some_and(|changed| changed >= time)) {
        return true;
    }
    let now = rustix::fs::Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_NOW };
    let time = time.and_then(|time| time.try_into().ok()).unwrap_or(now);
    let times = rustix::fs::Timestamps { last_access: time, last_modification: time };
    rustix::fs::utimensat(rustix::fs::CWD, path, &times, rustix::fs::AtFlags::empty()).is_ok()
}

/// Returns when the file `path` was last written or touched, since 1970; none if it is not there.
pub(super) fn changed(path: &Path) -> Option<Duration> {
    let modified = std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok()?;
    Some(modified.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default())
}
