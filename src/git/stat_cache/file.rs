//! The file format of the stat cache.
//!
//! Little-endian. First a full cache: header, fixed-size records, raw ids, paths, and a CRC-32 of each block, so that
//! threads can share the work. Then one section for each later store: a header and only the changed entries. A torn
//! section ends the file; what comes before it is still valid.

use std::{
    collections::BTreeMap,
    fs::File,
    ops::Range,
    os::unix::fs::{FileExt as _, MetadataExt as _},
    path::Path,
    sync::Arc,
};

use bstr::BString;
use gix::ObjectId;

use super::{CacheChange, Entry, IndexIdentity, Known, Stat, StatCache, Stored};
use crate::{error::Result, git::threads, model::change::Mode, state};

const MAGIC: [u8; 8] = *b"GCPSTAT\x05";
const TRACKED: u8 = 1;
const SKIPS_WORKTREE: u8 = 2;
const RACY: u8 = 4;
const RAW: u8 = 8;
const UNFILTERED: u8 = 16;
/// The bytes of a record before its id.
const RECORD: usize = 38;
const MODES: [Mode; 4] = [Mode::File, Mode::Executable, Mode::Link, Mode::Gitlink];
/// Magic and length of the first part.
const PREAMBLE: usize = 16;
/// The size of a block with a checksum.
const BLOCK: usize = 1 << 18;
const MOST_THREADS: usize = 8;
/// The sections may take this many bytes,
const SECTIONS: usize = 64 << 10;
/// and this share of the first part.
const SECTIONS_SHARE: usize = 32;
/// Length and checksum of a section.
pub(super) const SECTION_HEAD: usize = 8;

impl StatCache {
    /// Returns the cache in the file `path`; none if there is none, or none that can be used.
    pub(crate) fn load(path: &Path, hash: gix::hash::Kind) -> Option<Self> {
        let file = File::open(path).ok()?;
        let metadata = file.metadata().ok()?;
        let length = usize::try_from(u32::try_from(metadata.len()).ok()?).ok()?;
        let mut preamble = [0; PREAMBLE];
        file.read_exact_at(&mut preamble, 0).ok()?;
        let base = base_length(&preamble)?;
        let first = base.checked_add(base.div_ceil(BLOCK) * 4).filter(|first| *first <= length)?;
        let (bytes, sums) = read(&file, length, base).ok()?;
        let is_sound = bytes[base..first].chunks_exact(4).eq(sums.iter().map(|sum| sum.to_le_bytes()));
        let mut cache = if is_sound { decode(&bytes[..base], hash)? } else { return None };
        let sections = replay(&mut cache, &bytes[first..], hash);
        let length = Some(length).filter(|length| first + sections == *length);
        cache.stored = Some(Stored { inode: metadata.ino(), length, first });
        Some(cache)
    }

    /// Writes the cache to the file `path`: only what has changed if it was read from there, all of it otherwise.
    pub(crate) fn store(&self, path: &Path, hash: gix::hash::Kind) -> Result<()> {
        if let Some(Stored { inode, length: Some(length), first }) = self.stored {
            let section = section(self, hash);
            let is_short = length - first + section.len() <= (first / SECTIONS_SHARE).max(SECTIONS);
            if is_short && state::append(path, inode, length as u64, &section)? {
                return Ok(());
            }
        }
        let mut out = encode(self, hash);
        let sums: Vec<u8> = out.chunks(BLOCK).flat_map(|block| checksum(block).to_le_bytes()).collect();
        out.extend_from_slice(&sums);
        state::replace_file(path, &out)
    }
}

fn checksum(bytes: &[u8]) -> u32 {
    let mut sum = flate2::Crc::new();
    sum.update(bytes);
    sum.sum()
}

/// Returns the length of the first part, as the beginning of a file has it.
fn base_length(bytes: &[u8]) -> Option<usize> {
    let mut reader = Reader(bytes);
    (reader.array()? == MAGIC).then_some(())?;
    usize::try_from(reader.u64()?).ok()
}

/// Splits `length` bytes for threads, on the border of blocks.
fn share(length: usize) -> usize {
    length.div_ceil(BLOCK).div_ceil(threads::useful(MOST_THREADS)).max(1) * BLOCK
}

/// Reads `length` bytes of `file`, and returns them with the checksum of each block of the first `base` ones.
fn read(file: &File, length: usize, base: usize) -> std::io::Result<(Vec<u8>, Vec<u32>)> {
    let mut bytes = vec![0; length];
    let share = share(length);
    let read = |(at, part): (usize, &mut [u8])| {
        let mut sums = Vec::new();
        for (number, block) in part.chunks_mut(BLOCK).enumerate() {
            let start = at * share + number * BLOCK;
            file.read_exact_at(block, start as u64)?;
            if let Some(rest) = base.checked_sub(start).filter(|rest| *rest > 0) {
                sums.push(checksum(&block[..rest.min(block.len())]));
            }
        }
        Ok::<_, std::io::Error>(sums)
    };
    let parts: Vec<_> = bytes.chunks_mut(share).enumerate().collect();
    let sums: std::io::Result<Vec<_>> =
        threads::each(parts, read).map_err(std::io::Error::other)?.into_iter().collect();
    let sums = sums?.concat();
    Ok((bytes, sums))
}

fn put_id(out: &mut Vec<u8>, id: Option<ObjectId>, hash: gix::hash::Kind) {
    out.extend_from_slice(id.unwrap_or_else(|| ObjectId::null(hash)).as_slice());
}

fn put_time(out: &mut Vec<u8>, (seconds, nanoseconds): (i64, u32)) {
    out.extend_from_slice(&seconds.to_le_bytes());
    out.extend_from_slice(&nanoseconds.to_le_bytes());
}

fn put_length(out: &mut Vec<u8>, length: usize) {
    out.extend_from_slice(&u32::try_from(length).expect("less than 4 GiB").to_le_bytes());
}

/// What is true of the cache as a whole.
fn put_header(out: &mut Vec<u8>, cache: &StatCache, hash: gix::hash::Kind) {
    out.push(u8::try_from(hash.len_in_bytes()).expect("20 or 32"));
    put_id(out, cache.tree_id, hash);
    put_id(out, cache.index_tree_id, hash);
    put_id(out, cache.anchor, hash);
    put_time(out, cache.index.mtime);
    put_time(out, cache.index.ctime);
    out.extend_from_slice(&cache.index.size.to_le_bytes());
    out.extend_from_slice(&cache.index.inode.to_le_bytes());
    out.extend_from_slice(&cache.filters.0.to_le_bytes());
    out.extend_from_slice(&cache.filters.1.to_le_bytes());
}

/// The fixed-size record of an entry; `place` is where its path ends, or how long it is.
fn put_record(out: &mut Vec<u8>, known: &Known, place: usize) {
    put_time(out, known.stat.mtime);
    put_time(out, known.stat.ctime);
    out.extend_from_slice(&known.stat.size.to_le_bytes());
    out.extend_from_slice(&known.stat.inode.to_le_bytes());
    put_length(out, place);
    let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
    out.push(
        flag(known.is_tracked, TRACKED)
            | flag(known.skips_worktree, SKIPS_WORKTREE)
            | flag(known.is_racy, RACY)
            | flag(known.raw_id.is_some(), RAW)
            | flag(known.is_unfiltered, UNFILTERED),
    );
    let mode = MODES.iter().position(|mode| *mode == known.mode).unwrap_or_default();
    out.push(u8::try_from(mode).unwrap_or_default());
    out.extend_from_slice(known.id.as_slice());
}

/// Returns the first part of a file, without checksums.
pub(super) fn encode(cache: &StatCache, hash: gix::hash::Kind) -> Vec<u8> {
    let record = RECORD + hash.len_in_bytes();
    let mut out = Vec::with_capacity(256 + cache.entries.len() * record + cache.paths.len());
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&[0; 8]);
    put_header(&mut out, cache, hash);
    put_length(&mut out, cache.entries.len());
    let mut end = 0;
    for entry in cache.entries.iter() {
        end += cache.path(entry).len();
        put_record(&mut out, &cache.known(entry), end);
    }
    for raw_id in cache.entries.iter().filter_map(|entry| cache.raw_id(entry)) {
        out.extend_from_slice(raw_id.as_slice());
    }
    for entry in cache.entries.iter() {
        out.extend_from_slice(cache.path(entry));
    }
    let length = out.len() as u64;
    out[MAGIC.len()..PREAMBLE].copy_from_slice(&length.to_le_bytes());
    out
}

/// Returns what has changed since the cache was read.
pub(super) fn section(cache: &StatCache, hash: gix::hash::Kind) -> Vec<u8> {
    let mut out = vec![0; SECTION_HEAD];
    put_header(&mut out, cache, hash);
    put_length(&mut out, cache.pending.len());
    for (path, known) in &cache.pending {
        out.push(u8::from(known.is_some()));
        match known {
            Some(known) => {
                put_record(&mut out, known, path.len());
                known.raw_id.iter().for_each(|id| out.extend_from_slice(id.as_slice()));
            }
            None => put_length(&mut out, path.len()),
        }
        out.extend_from_slice(path);
    }
    let sum = checksum(&out[SECTION_HEAD..]);
    let length = u32::try_from(out.len() - SECTION_HEAD).unwrap_or(u32::MAX);
    out[..4].copy_from_slice(&length.to_le_bytes());
    out[4..SECTION_HEAD].copy_from_slice(&sum.to_le_bytes());
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

    /// Puts what a header says into `cache`.
    fn header(&mut self, cache: &mut StatCache, id_length: usize) -> Option<()> {
        (usize::from(self.array::<1>()?[0]) == id_length).then_some(())?;
        let mut id = || Some(Some(self.id(id_length)?).filter(|id| !id.is_null()));
        let (tree_id, index_tree_id, anchor) = (id()?, id()?, id()?);
        let index = IndexIdentity { mtime: self.time()?, ctime: self.time()?, size: self.u64()?, inode: self.u64()? };
        let filters = (self.u32()?, self.u32()?);
        (cache.tree_id, cache.index_tree_id, cache.anchor) = (tree_id, index_tree_id, anchor);
        (cache.index, cache.filters) = (index, filters);
        Some(())
    }

    /// Returns a record, with where its path is and whether it has a raw id.
    fn record(&mut self, id_length: usize) -> Option<(Known, u32, bool)> {
        let mut fields = Reader(self.0.first_chunk::<RECORD>()?);
        self.0 = &self.0[RECORD..];
        let stat = Stat { mtime: fields.time()?, ctime: fields.time()?, size: fields.u32()?, inode: fields.u32()? };
        let place = fields.u32()?;
        let [flags, mode] = fields.array()?;
        let known = Known {
            stat,
            id: self.id(id_length)?,
            raw_id: None,
            mode: *MODES.get(usize::from(mode))?,
            is_tracked: flags & TRACKED != 0,
            skips_worktree: flags & SKIPS_WORKTREE != 0,
            is_racy: flags & RACY != 0,
            is_unfiltered: flags & UNFILTERED != 0,
        };
        Some((known, place, flags & RAW != 0))
    }
}

/// Returns the cache in `body`, the first part of a file.
pub(in crate::git) fn decode(body: &[u8], hash: gix::hash::Kind) -> Option<StatCache> {
    (base_length(body)? == body.len()).then_some(())?;
    let mut cache = StatCache::default();
    let mut reader = Reader(&body[PREAMBLE..]);
    let id_length = hash.len_in_bytes();
    reader.header(&mut cache, id_length)?;
    let count = reader.u32()? as usize;
    let records = reader.slice(count.checked_mul(RECORD + id_length)?)?;
    let mut entries = decode_records(records, reader.0, count, id_length)?;
    let mut raw_ids = Vec::new();
    for entry in entries.iter_mut().filter(|entry| entry.raw > 0) {
        raw_ids.push(reader.id(id_length)?);
        entry.raw = u32::try_from(raw_ids.len()).ok()?;
    }
    let end = entries.last().map_or(0, |entry| entry.end as usize);
    (reader.0.len() == end).then_some(())?;
    (cache.paths, cache.entries, cache.raw_ids) = (Arc::new(reader.0.to_vec()), Arc::new(entries), Arc::new(raw_ids));
    Some(cache)
}

/// Returns the entries in `records`, whose paths are at the end of `rest`.
fn decode_records(records: &[u8], rest: &[u8], count: usize, id_length: usize) -> Option<Vec<Entry>> {
    let end_of = |at: usize| Some(Reader(records.get(at * (RECORD + id_length) + 32..)?).u32()? as usize);
    let length = if count == 0 { 0 } else { end_of(count - 1)? };
    let paths = &rest[rest.len().checked_sub(length)?..];
    let decode = |range: Range<usize>| {
        let mut entries = Vec::with_capacity(if range.start == 0 { count } else { range.len() });
        let mut reader = Reader(&records[range.start * (RECORD + id_length)..]);
        let end_before = |at: usize| at.checked_sub(1).map_or(Some(0), end_of);
        let mut start = end_before(range.start)?;
        let mut last = if range.start == 0 { None } else { Some(paths.get(end_before(range.start - 1)?..start)?) };
        for _ in range {
            let (known, end, has_raw) = reader.record(id_length)?;
            let path = paths.get(start..end as usize)?;
            last.is_none_or(|last| last < path).then_some(())?;
            last = Some(path);
            let Known { stat, id, mode, is_tracked, skips_worktree, is_racy, is_unfiltered, .. } = known;
            let (first, raw) = (u32::try_from(start).ok()?, u32::from(has_raw));
            #[rustfmt::skip]
            entries.push(Entry { start: first, end, stat, id, raw, mode, is_tracked, skips_worktree, is_racy, is_unfiltered });
            start = end as usize;
        }
        Some(entries)
    };
    let share = share(records.len()) / (RECORD + id_length);
    let parts = (0..count).step_by(share).map(|start| start..count.min(start + share)).collect();
    let mut parts = threads::each(parts, decode).ok()?.into_iter();
    let mut entries = parts.next().unwrap_or_else(|| Some(Vec::new()))?;
    for part in parts {
        entries.append(&mut part?);
    }
    Some(entries)
}

/// Applies the sound ones of `sections` to `cache`, and returns how many bytes they take.
fn replay(cache: &mut StatCache, sections: &[u8], hash: gix::hash::Kind) -> usize {
    let mut reader = Reader(sections);
    let mut changes = BTreeMap::new();
    let mut sound = 0;
    while let Some(found) = next_section(&mut reader, cache, hash) {
        changes.extend(found);
        sound = sections.len() - reader.0.len();
    }
    let changes: Vec<CacheChange> = changes.into_iter().collect();
    if !changes.is_empty() {
        cache.put(&changes);
    }
    sound
}

/// Returns the changes of a section, once its header is in `cache`; none if it is torn.
fn next_section(reader: &mut Reader<'_>, cache: &mut StatCache, hash: gix::hash::Kind) -> Option<Vec<CacheChange>> {
    let length = reader.u32()? as usize;
    let sum = reader.u32()?;
    let body = reader.slice(length)?;
    if checksum(body) != sum {
        return None;
    }
    let (head, changes) = parse_section(body, hash)?;
    (cache.tree_id, cache.index_tree_id, cache.anchor) = (head.tree_id, head.index_tree_id, head.anchor);
    (cache.index, cache.filters) = (head.index, head.filters);
    Some(changes)
}

/// Returns the head of a section, which describes the whole cache, and its changes.
pub(in crate::git) fn parse_section(body: &[u8], hash: gix::hash::Kind) -> Option<(StatCache, Vec<CacheChange>)> {
    let id_length = hash.len_in_bytes();
    let mut head = StatCache::default();
    let mut reader = Reader(body);
    reader.header(&mut head, id_length)?;
    let count = reader.u32()?;
    let mut changes = Vec::new();
    for _ in 0..count {
        let (length, known) = if reader.array::<1>()? == [0] {
            (reader.u32()?, None)
        } else {
            let (known, length, has_raw) = reader.record(id_length)?;
            let raw_id = if has_raw { Some(reader.id(id_length)?) } else { None };
            (length, Some(Known { raw_id, ..known }))
        };
        changes.push((BString::from(reader.slice(length as usize)?), known));
    }
    Some((head, changes))
}
