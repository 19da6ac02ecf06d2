//! The private index of a worktree: what each file was when it was last captured, so that only changed files are read.
//!
//! A format of our own, as git's has no room for what must be known together with the entries: the tree they make
//! up, the user's index they follow, the bytes kept beside. Little-endian: header, fixed-size records, raw ids, paths,
//! and a CRC-32 of all that; a file that is torn or of another version is as good as none.

use std::{path::Path, sync::Arc};

use bstr::{BStr, BString, ByteSlice as _};
use gix::ObjectId;

use super::user_index::IndexIdentity;
use crate::model::change::Mode;

/// The identity of a file's content as the file system tells it; sizes and inodes modulo 2^32, as in git's index.
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
    /// Returns the part of `stat` that matters.
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

    /// Returns true if the file may have changed at or after `time` without its times telling.
    pub(crate) fn is_racy(&self, time: (i64, u32)) -> bool {
        // File systems with coarse times: what has no nanoseconds may be up to two seconds younger than it says.
        let is_coarse = self.mtime.1 == 0 && self.mtime.0 + 2 >= time.0;
        is_coarse || self.mtime >= time || self.ctime >= time
    }
}

/// One path of the worktree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// Where the path is in the cache's paths.
    start: u32,
    end: u32,
    /// What the file was.
    pub(crate) stat: Stat,
    /// The blob; null if the path is known but was never captured.
    pub(crate) id: ObjectId,
    /// The blob with the exact bytes, if the stored ones do not come back as they were.
    pub(crate) raw_id: Option<ObjectId>,
    /// The kind of file.
    pub(crate) mode: Mode,
    /// In the user's index: captured whatever the ignore rules say.
    pub(crate) is_tracked: bool,
    /// To be left as the user's index has it (sparse checkout) unless the file is there.
    pub(crate) skips_worktree: bool,
    /// To be read again whatever the stat says.
    pub(crate) is_racy: bool,
}

/// A path and what is known of it, to be put into a cache.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    pub(crate) stat: Stat,
    pub(crate) id: ObjectId,
    pub(crate) raw_id: Option<ObjectId>,
    pub(crate) mode: Mode,
    pub(crate) is_tracked: bool,
    pub(crate) skips_worktree: bool,
    pub(crate) is_racy: bool,
}

/// All captured paths of a worktree, sorted by their bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct StatCache {
    /// Shared, as a pass that finds nothing hands on what it was given.
    paths: Arc<Vec<u8>>,
    entries: Arc<Vec<Entry>>,
    /// The tree that all entries with an id make up; none: not known.
    pub(crate) tree_id: Option<ObjectId>,
    /// The user's index that the flags come from.
    pub(crate) index: IndexIdentity,
    /// The tree of that index; none if it holds unmerged or intent-to-add entries, so that it must be read again.
    pub(crate) index_tree_id: Option<ObjectId>,
    /// The checkpoint that holds what was stored; none: HEAD does.
    pub(crate) anchor: Option<ObjectId>,
    /// What tells the settings that convert files from others.
    pub(crate) conversions: u32,
}

impl StatCache {
    /// Appends `path`, which must sort after all before it.
    pub(crate) fn push(&mut self, path: &BStr, known: Known) {
        debug_assert!(self.entries.last().is_none_or(|last| self.path(last) < path), "paths come in order");
        let offset = |length: usize| u32::try_from(length).expect("paths take less than 4 GiB");
        let start = offset(self.paths.len());
        Arc::make_mut(&mut self.paths).extend_from_slice(path);
        let Known { stat, id, raw_id, mode, is_tracked, skips_worktree, is_racy } = known;
        let end = offset(self.paths.len());
        Arc::make_mut(&mut self.entries).push(Entry {
            start,
            end,
            stat,
            id,
            raw_id,
            mode,
            is_tracked,
            skips_worktree,
            is_racy,
        });
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

    /// Returns what is known of `path`.
    pub(crate) fn find(&self, path: &BStr) -> Option<&Entry> {
        self.position(path).map(|at| &self.entries[at])
    }

    /// Returns the positions of all paths below `directory` (which ends in `/`).
    pub(crate) fn below(&self, directory: &BStr) -> std::ops::Range<usize> {
        let start = self.entries.partition_point(|entry| self.path(entry) < directory);
        let length = self.entries[start..].partition_point(|entry| self.path(entry).starts_with(directory));
        start..start + length
    }

    /// Returns this cache with `changes` (sorted by path) applied: none removes the path.
    pub(crate) fn merged(&self, changes: &[(BString, Option<Known>)]) -> Self {
        let mut merged = Self {
            paths: Arc::new(Vec::with_capacity(self.paths.len())),
            entries: Arc::new(Vec::with_capacity(self.entries.len() + changes.len())),
            ..Self {
                tree_id: self.tree_id,
                index: self.index,
                index_tree_id: self.index_tree_id,
                conversions: self.conversions,
                anchor: self.anchor,
                ..Self::default()
            }
        };
        let mut changes = changes.iter().peekable();
        let apply = |merged: &mut Self, (path, known): &(BString, Option<Known>)| {
            if let Some(known) = known {
                merged.push(path.as_bstr(), *known);
            }
        };
        for entry in self.entries.iter() {
            let path = self.path(entry);
            while let Some(change) = changes.next_if(|(changed, _)| changed.as_bstr() < path) {
                apply(&mut merged, change);
            }
            match changes.next_if(|(changed, _)| changed.as_bstr() == path) {
                Some(change) => apply(&mut merged, change),
                None => merged.push(path, entry.known()),
            }
        }
        changes.for_each(|change| apply(&mut merged, change));
        merged
    }
}

impl Entry {
    /// Returns what is known, without the path.
    pub(crate) fn known(&self) -> Known {
        let Self { stat, id, raw_id, mode, is_tracked, skips_worktree, is_racy, .. } = *self;
        Known { stat, id, raw_id, mode, is_tracked, skips_worktree, is_racy }
    }
}

const MAGIC: [u8; 8] = *b"GCPSTAT\x02";
const TRACKED: u8 = 1;
const SKIPS_WORKTREE: u8 = 2;
const RACY: u8 = 4;
const RAW: u8 = 8;
const NO_RAW: Option<ObjectId> = None;

impl StatCache {
    /// Returns the cache in the file `path`; none if there is none, or none that can be used.
    pub(crate) fn load(path: &Path, hash: gix::hash::Kind) -> Option<Self> {
        let bytes = std::fs::read(path).ok()?;
        let (body, crc) = bytes.split_last_chunk::<4>()?;
        let mut sum = flate2::Crc::new();
        sum.update(body);
        if sum.sum() != u32::from_le_bytes(*crc) {
            return None;
        }
        decode(body, hash)
    }

    /// Writes the cache to the file `path`, replacing it.
    pub(crate) fn store(&self, path: &Path, hash: gix::hash::Kind) -> crate::error::Result<()> {
        let mut out = encode(self, hash);
        let mut sum = flate2::Crc::new();
        sum.update(&out);
        out.extend_from_slice(&sum.sum().to_le_bytes());
        crate::state::replace_file(path, &out)
    }
}

fn encode(cache: &StatCache, hash: gix::hash::Kind) -> Vec<u8> {
    let id_length = hash.len_in_bytes();
    let mut out = Vec::with_capacity(128 + cache.entries.len() * (42 + id_length) + cache.paths.len());
    let id = |out: &mut Vec<u8>, id: Option<ObjectId>| {
        out.extend_from_slice(id.unwrap_or_else(|| ObjectId::null(hash)).as_slice());
    };
    out.extend_from_slice(&MAGIC);
    out.push(u8::try_from(id_length).expect("20 or 32"));
    id(&mut out, cache.tree_id);
    id(&mut out, cache.index_tree_id);
    id(&mut out, cache.anchor);
    for (seconds, nanoseconds) in [cache.index.mtime, cache.index.ctime] {
        out.extend_from_slice(&seconds.to_le_bytes());
        out.extend_from_slice(&nanoseconds.to_le_bytes());
    }
    out.extend_from_slice(&cache.index.size.to_le_bytes());
    out.extend_from_slice(&cache.index.inode.to_le_bytes());
    out.extend_from_slice(&cache.conversions.to_le_bytes());
    out.extend_from_slice(&u32::try_from(cache.entries.len()).expect("fewer than 4 billion paths").to_le_bytes());
    for entry in cache.entries.iter() {
        for (seconds, nanoseconds) in [entry.stat.mtime, entry.stat.ctime] {
            out.extend_from_slice(&seconds.to_le_bytes());
            out.extend_from_slice(&nanoseconds.to_le_bytes());
        }
        out.extend_from_slice(&entry.stat.size.to_le_bytes());
        out.extend_from_slice(&entry.stat.inode.to_le_bytes());
        out.extend_from_slice(&(entry.end - entry.start).to_le_bytes());
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        out.push(
            flag(entry.is_tracked, TRACKED)
                | flag(entry.skips_worktree, SKIPS_WORKTREE)
                | flag(entry.is_racy, RACY)
                | flag(entry.raw_id.is_some(), RAW),
        );
        out.push(match entry.mode {
            Mode::File => 0,
            Mode::Executable => 1,
            Mode::Link => 2,
            Mode::Gitlink => 3,
        });
        out.extend_from_slice(entry.id.as_slice());
    }
    for raw_id in cache.entries.iter().filter_map(|entry| entry.raw_id) {
        out.extend_from_slice(raw_id.as_slice());
    }
    out.extend_from_slice(&cache.paths);
    out
}

/// Takes fixed-size fields off the front of a slice.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    fn slice(&mut self, length: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(head)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn time(&mut self) -> Option<(i64, u32)> {
        Some((self.array().map(i64::from_le_bytes)?, self.u32()?))
    }

    fn id(&mut self, length: usize) -> Option<ObjectId> {
        ObjectId::try_from(self.slice(length)?).ok()
    }
}

pub(super) fn decode(body: &[u8], hash: gix::hash::Kind) -> Option<StatCache> {
    let mut reader = Reader(body);
    let id_length = hash.len_in_bytes();
    if reader.array()? != MAGIC || usize::from(reader.array::<1>()?[0]) != id_length {
        return None;
    }
    let known = |id: ObjectId| (!id.is_null()).then_some(id);
    let tree_id = known(reader.id(id_length)?);
    let index_tree_id = known(reader.id(id_length)?);
    let anchor = known(reader.id(id_length)?);
    let index =
        IndexIdentity { mtime: reader.time()?, ctime: reader.time()?, size: reader.u64()?, inode: reader.u64()? };
    let conversions = reader.u32()?;
    let count = reader.u32()? as usize;
    let mut entries = Vec::with_capacity(count.min(body.len() / id_length));
    let mut end = 0u32;
    let mut raw_positions = Vec::new();
    for position in 0..count {
        let stat = Stat { mtime: reader.time()?, ctime: reader.time()?, size: reader.u32()?, inode: reader.u32()? };
        let start = end;
        end = start.checked_add(reader.u32()?)?;
        let [flags, mode] = reader.array()?;
        let mode = [Mode::File, Mode::Executable, Mode::Link, Mode::Gitlink].get(usize::from(mode)).copied()?;
        if flags & RAW != 0 {
            raw_positions.push(position);
        }
        entries.push(Entry {
            start,
            end,
            stat,
            id: reader.id(id_length)?,
            raw_id: NO_RAW,
            mode,
            is_tracked: flags & TRACKED != 0,
            skips_worktree: flags & SKIPS_WORKTREE != 0,
            is_racy: flags & RACY != 0,
        });
    }
    for position in raw_positions {
        entries[position].raw_id = Some(reader.id(id_length)?);
    }
    let path = |entry: &Entry| reader.0.get(entry.start as usize..entry.end as usize);
    let is_sorted = entries.windows(2).all(|pair| path(&pair[0]) < path(&pair[1]));
    (is_sorted && reader.0.len() == end as usize).then(|| StatCache {
        paths: Arc::new(reader.0.to_vec()),
        entries: Arc::new(entries),
        tree_id,
        index,
        index_tree_id,
        anchor,
        conversions,
    })
}

#[cfg(test)]
pub(super) use tests::sample_bytes;

#[cfg(test)]
mod tests;
