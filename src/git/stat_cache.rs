//! The private index of a worktree: the stat of each file when it was last captured, so that only changed files are
//! read.
//!
//! The format is our own (`stat_cache/file.rs`): git's cannot store the tree of the entries, the identity of the user's
//! index, and the exact bytes together with them.

mod file;

use std::sync::Arc;

use bstr::{BStr, BString, ByteSlice as _};
use gix::ObjectId;

use super::user_index::IndexIdentity;
use crate::model::change::Mode;

/// The identity of a file's content as the file system reports it; sizes and inodes modulo 2^32, as in git's index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stat {
    /// Modification time, seconds and nanoseconds.
    pub(crate) mtime: (i64, u32),
    /// Change time, seconds and nanoseconds.
    pub(crate) ctime: (i64, u32),
    /// Bytes.
    pub(crate) size: u32,
    /// Inode number.
    pub(crate) inode: u32,
}

impl Stat {
    /// Returns the relevant part of `stat`.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "modulo 2^32, as git's index has it")]
    pub(crate) fn of(stat: &rustix::fs::Stat) -> Self {
        Self {
            mtime: (stat.st_mtime, stat.st_mtime_nsec as u32),
            ctime: (stat.st_ctime, stat.st_ctime_nsec as u32),
            size: stat.st_size as u32,
            inode: stat.st_ino as u32,
        }
    }

    /// Returns the stat of an entry of the user's index.
    pub(crate) fn of_index(stat: &gix::index::entry::Stat) -> Self {
        Self {
            mtime: (i64::from(stat.mtime.secs), stat.mtime.nsecs),
            ctime: (i64::from(stat.ctime.secs), stat.ctime.nsecs),
            size: stat.size,
            inode: stat.ino,
        }
    }

    /// Returns true if the file may have changed at or after `time` without a change of its times.
    pub(crate) fn is_racy(&self, time: (i64, u32)) -> bool {
        // On file systems with coarse times, a time without nanoseconds may be up to two seconds too old.
        let is_coarse = self.mtime.1 == 0 && self.mtime.0 + 2 >= time.0;
        is_coarse || self.mtime >= time || self.ctime >= time
    }
}

/// One path of the worktree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// Where the path begins in `paths`.
    start: u32,
    end: u32,
    /// The file's stat when it was captured.
    pub(crate) stat: Stat,
    /// The blob; null if git tracks the path, but its file is absent or was never captured.
    pub(crate) id: ObjectId,
    /// The position of its exact bytes in `raw_ids`, counted from one; 0: none.
    raw: u32,
    /// The kind of file.
    pub(crate) mode: Mode,
    /// In the user's index: captured whatever the ignore rules say.
    pub(crate) is_tracked: bool,
    /// True for a path that sparse checkout leaves out: unless its file exists, it stays as in the user's index.
    pub(crate) skips_worktree: bool,
    /// To be read again whatever the stat says.
    pub(crate) is_racy: bool,
    /// True if a filter failed, so that the blob has the exact bytes.
    pub(crate) is_unfiltered: bool,
}

impl Entry {
    /// Returns true if git tracks the path, and the last capture found no file there, or none came yet.
    pub(crate) fn is_known_absent(&self) -> bool {
        self.is_tracked && self.id.is_null()
    }
}

/// What is known about a path, to be put into a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) stat: Stat,
    pub(crate) id: ObjectId,
    pub(crate) raw_id: Option<ObjectId>,
    pub(crate) mode: Mode,
    pub(crate) is_tracked: bool,
    pub(crate) skips_worktree: bool,
    pub(crate) is_racy: bool,
    pub(crate) is_unfiltered: bool,
}

impl Known {
    /// Returns what a tree has at the path; none if there is nothing to put into it.
    pub(crate) fn leaf(&self) -> Option<(ObjectId, Mode)> {
        (!self.id.is_null()).then_some((self.id, self.mode))
    }

    /// Returns the same path without its file.
    pub(crate) fn absent(self) -> Self {
        let id = ObjectId::null(self.id.kind());
        Self { stat: Stat::default(), id, raw_id: None, is_racy: true, is_unfiltered: false, ..self }
    }
}

/// A change of the cache: none removes the path.
pub(crate) type CacheChange = (BString, Option<Known>);

/// The file that a cache was read from.
#[derive(Clone, Copy, Debug)]
struct Stored {
    inode: u64,
    /// The length of the whole file; none if a part is damaged.
    length: Option<usize>,
    /// The length up to the first section.
    first: usize,
}

/// All captured paths of a worktree, sorted by their bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct StatCache {
    /// Shared, because a pass without changes returns the cache it was given.
    paths: Arc<Vec<u8>>,
    entries: Arc<Vec<Entry>>,
    /// The blobs with the exact bytes of files that do not survive a round trip through their conversions.
    raw_ids: Arc<Vec<ObjectId>>,
    /// The tree of all entries with an id; none if unknown.
    pub(crate) tree_id: Option<ObjectId>,
    /// The user's index that the flags come from.
    pub(crate) index: IndexIdentity,
    /// The tree of that index; none if it must be read again: it has unmerged or intent-to-add entries, or a submodule in the
    /// place of a file, or the reverse.
    pub(crate) index_tree_id: Option<ObjectId>,
    /// The checkpoint that holds the stored content; none: HEAD holds it.
    pub(crate) anchor: Option<ObjectId>,
    /// Checksums of the filter settings; see [`filter_settings`](crate::git::Repo::filter_settings).
    pub(crate) filters: (u32, u32),
    /// The file that it was read from.
    stored: Option<Stored>,
    /// What has changed since.
    pending: Vec<CacheChange>,
}

impl StatCache {
    /// Appends `path`, which must sort after all before it.
    pub(crate) fn push(&mut self, path: &BStr, known: Known) {
        debug_assert!(self.entries.last().is_none_or(|last| self.path(last) < path), "paths come in order");
        let place = self.add_path(path);
        let entry = self.entry(place, known);
        Arc::make_mut(&mut self.entries).push(entry);
    }

    /// Appends `path` to the paths, and returns its range.
    fn add_path(&mut self, path: &BStr) -> (u32, u32) {
        let offset = |length: usize| u32::try_from(length).expect("paths take less than 4 GiB");
        let start = offset(self.paths.len());
        let paths = Arc::make_mut(&mut self.paths);
        paths.extend_from_slice(path);
        (start, offset(paths.len()))
    }

    fn entry(&mut self, (start, end): (u32, u32), known: Known) -> Entry {
        let Known { stat, id, raw_id, mode, is_tracked, skips_worktree, is_racy, is_unfiltered } = known;
        let raw = raw_id.map_or(0, |id| {
            let raw_ids = Arc::make_mut(&mut self.raw_ids);
            raw_ids.push(id);
            u32::try_from(raw_ids.len()).expect("fewer than 4 billion paths")
        });
        Entry { start, end, stat, id, raw, mode, is_tracked, skips_worktree, is_racy, is_unfiltered }
    }

    /// Returns the path of `entry`, which must be of this cache.
    pub(crate) fn path(&self, entry: &Entry) -> &BStr {
        self.paths[entry.start as usize..entry.end as usize].as_bstr()
    }

    /// Returns all entries, in the order of their paths.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the position of `path`, if it is known.
    pub(crate) fn position(&self, path: &BStr) -> Option<usize> {
        self.entries.binary_search_by(|entry| self.path(entry).cmp(path)).ok()
    }

    /// Returns the entry of `path`.
    pub(crate) fn find(&self, path: &BStr) -> Option<&Entry> {
        self.position(path).map(|at| &self.entries[at])
    }

    /// Returns the positions of all paths below `directory` (which ends in `/`).
    pub(crate) fn below(&self, directory: &BStr) -> std::ops::Range<usize> {
        let start = self.entries.partition_point(|entry| self.path(entry) < directory);
        let length = self.entries[start..].partition_point(|entry| self.path(entry).starts_with(directory));
        start..start + length
    }

    /// Returns true if exact bytes of any file are kept, or recently were.
    pub(crate) fn may_have_raw(&self) -> bool {
        !self.raw_ids.is_empty()
    }

    /// Returns the blob with the exact bytes of `entry`, if its blob does not convert back to them.
    pub(crate) fn raw_id(&self, entry: &Entry) -> Option<ObjectId> {
        let at = (entry.raw as usize).checked_sub(1)?;
        self.raw_ids.get(at).copied()
    }

    /// Returns `entry` without its path.
    pub(crate) fn known(&self, entry: &Entry) -> Known {
        let Entry { stat, id, mode, is_tracked, skips_worktree, is_racy, is_unfiltered, .. } = *entry;
        Known { stat, id, raw_id: self.raw_id(entry), mode, is_tracked, skips_worktree, is_racy, is_unfiltered }
    }

    /// Applies `changes`, sorted by path.
    pub(crate) fn apply(&mut self, mut changes: Vec<CacheChange>) {
        self.put(&changes);
        self.pending.append(&mut changes);
    }

    fn put(&mut self, changes: &[CacheChange]) {
        let positions: Vec<_> = changes.iter().map(|(path, _)| self.position(path.as_bstr())).collect();
        let stays = |(at, (_, known)): (&Option<usize>, &CacheChange)| at.is_some() && known.is_some();
        if !positions.iter().zip(changes).all(stays) {
            return self.merge(changes);
        }
        for (at, (_, known)) in positions.into_iter().zip(changes) {
            let (Some(at), Some(known)) = (at, known) else { continue };
            let place = (self.entries[at].start, self.entries[at].end);
            let entry = self.entry(place, *known);
            Arc::make_mut(&mut self.entries)[at] = entry;
        }
    }

    fn merge(&mut self, changes: &[CacheChange]) {
        let old = Arc::clone(&self.entries);
        let mut merged = Vec::with_capacity(old.len() + changes.len());
        let mut taken = 0;
        for (path, known) in changes {
            let at = old.partition_point(|entry| self.path(entry) < path.as_bstr());
            let same = old.get(at).filter(|entry| self.path(entry) == path.as_bstr());
            merged.extend_from_slice(&old[taken..at]);
            taken = at + usize::from(same.is_some());
            if let Some(known) = known {
                let place = same.map_or_else(|| self.add_path(path.as_bstr()), |entry| (entry.start, entry.end));
                merged.push(self.entry(place, *known));
            }
        }
        merged.extend_from_slice(&old[taken..]);
        self.entries = Arc::new(merged);
    }
}

#[cfg(test)]
pub(super) use file::{decode, parse_section};
#[cfg(test)]
pub(super) use tests::{sample_bytes, sample_section};

#[cfg(test)]
mod tests;
