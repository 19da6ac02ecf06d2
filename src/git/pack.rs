//! Writes one pack with its index: many new objects in two files instead of one file each.
//!
//! Formats: gitformat-pack(5), pack version 2 and index version 2. Entries are whole objects or `OFS_DELTA`s against
//! an earlier entry of the same pack.

#![expect(clippy::cast_possible_truncation, reason = "the formats take numbers apart into bytes")]

use std::{
    collections::{HashMap, HashSet},
    fs::File,
    io::{BufWriter, Read as _, Seek as _, SeekFrom, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use flate2::Crc;
use gix::{ObjectId, objs::Kind as ObjectKind};

use super::{deflate::deflate, keep::Keep};
use crate::{
    error::{Context as _, Error, Kind, Result},
    state::{failpoint, temporary},
};

/// The place of an object in a pack.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    id: ObjectId,
    offset: u64,
    crc: u32,
}

/// A pack being written to a temporary file, which is deleted if the pack is not finished.
pub(super) struct PackWriter {
    directory: PathBuf,
    hash: gix::hash::Kind,
    file: BufWriter<tempfile::NamedTempFile>,
    offset: u64,
    entries: Vec<Entry>,
    /// For each delta, by its offset: the length of its chain of deltas.
    depths: HashMap<u64, u32>,
}

const HEADER_LENGTH: u64 = 12;
/// The type of an entry that is a delta against one before it in the same pack.
const OFS_DELTA: u8 = 6;

impl PackWriter {
    /// Begins a pack in the object directory `objects`.
    pub(super) fn begin(objects: &Path, hash: gix::hash::Kind) -> Result<Self> {
        let directory = objects.join("pack");
        let what = || format!("cannot create a pack in '{}'", directory.display());
        std::fs::create_dir_all(&directory).context(Kind::Internal, what)?;
        // Git's own prefix, so that `git gc` removes what a crash leaves behind.
        let prefix = temporary::prefix("tmp_pack_");
        let file = tempfile::Builder::new().prefix(&prefix).tempfile_in(&directory).context(Kind::Internal, what)?;
        let file = BufWriter::with_capacity(1 << 16, file);
        let mut writer = Self { directory, hash, file, offset: 0, entries: Vec::new(), depths: HashMap::new() };
        writer.write(&[0; HEADER_LENGTH as usize])?;
        Ok(writer)
    }

    /// Returns how many objects were added.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Appends the object `id` of `size` bytes; `deflated` is its zlib stream.
    pub(super) fn add(&mut self, id: ObjectId, kind: ObjectKind, size: usize, deflated: &[u8]) -> Result<u64> {
        let code = match kind {
            ObjectKind::Commit => 1,
            ObjectKind::Tree => 2,
            ObjectKind::Blob => 3,
            ObjectKind::Tag => 4,
        };
        self.add_entry(id, &entry_header(code, size), deflated)
    }

    /// Appends the object `id` as `delta` (not deflated) against the entry at `base_offset`.
    pub(super) fn add_delta(&mut self, id: ObjectId, base_offset: u64, delta: &[u8]) -> Result<u64> {
        self.depths.insert(self.offset, self.depth(base_offset) + 1);
        let mut header = entry_header(OFS_DELTA, delta.len());
        header.extend_from_slice(&offset_varint(self.offset - base_offset));
        self.add_entry(id, &header, &deflate(&[delta]))
    }

    /// Returns the length of the chain of deltas of the entry at `offset`.
    pub(super) fn depth(&self, offset: u64) -> u32 {
        self.depths.get(&offset).copied().unwrap_or(0)
    }

    /// Returns the ids and offsets of the `count` entries added last, in order.
    pub(super) fn last(&self, count: usize) -> Vec<(ObjectId, u64)> {
        let mut entries: Vec<_> = self.entries.iter().map(|entry| (entry.id, entry.offset)).collect();
        entries.sort_unstable_by_key(|(_, offset)| *offset);
        entries.split_off(entries.len().saturating_sub(count))
    }

    /// Returns the ids added so far.
    pub(super) fn ids(&self) -> impl Iterator<Item = ObjectId> + '_ {
        self.entries.iter().map(|entry| entry.id)
    }

    /// Returns true if one of `entries` was added already.
    pub(super) fn has_any(&self, entries: &[Entry]) -> bool {
        let ids: HashSet<ObjectId> = self.ids().collect();
        entries.iter().any(|entry| ids.contains(&entry.id))
    }

    /// Appends the entries of the finished pack `path`, which `entries` lists, unchanged.
    ///
    /// Deltas refer to their base by distance, so they stay valid if all entries move together.
    pub(super) fn copy_from(&mut self, path: &Path, entries: &[Entry]) -> Result<()> {
        let what = || format!("cannot read '{}'", path.display());
        let bytes = std::fs::read(path).context(Kind::Internal, what)?;
        let end = bytes.len().saturating_sub(self.hash.len_in_bytes());
        let body = bytes.get(HEADER_LENGTH as usize..end).ok_or_else(|| Error::corrupt(what()))?;
        let shift = self.offset - HEADER_LENGTH;
        let mut sorted: Vec<_> = entries.iter().map(|entry| Entry { offset: entry.offset + shift, ..*entry }).collect();
        sorted.sort_unstable_by_key(|entry| entry.offset);
        for entry in &sorted {
            let header = body.get((entry.offset - self.offset) as usize..).ok_or_else(|| Error::corrupt(what()))?;
            if let Some(distance) = base_distance(header) {
                let base_offset = entry.offset.checked_sub(distance).ok_or_else(|| Error::corrupt(what()))?;
                self.depths.insert(entry.offset, self.depth(base_offset) + 1);
            }
        }
        self.entries.append(&mut sorted);
        self.write(body)
    }

    fn add_entry(&mut self, id: ObjectId, header: &[u8], deflated: &[u8]) -> Result<u64> {
        let offset = self.offset;
        let mut crc = Crc::new();
        crc.update(header);
        crc.update(deflated);
        self.entries.push(Entry { id, offset, crc: crc.sum() });
        self.write(header)?;
        self.write(deflated)?;
        Ok(offset)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.offset += bytes.len() as u64;
        self.file
            .write_all(bytes)
            .context(Kind::Internal, || format!("cannot write a pack in '{}'", self.directory.display()))
    }

    /// Completes pack and index, makes both durable and visible, and returns the pack's path.
    pub(super) fn finish(self) -> Result<PathBuf> {
        self.publish(false).map(|(path, _)| path)
    }

    /// The same for objects that no ref leads to yet: `git repack -a -d` leaves the pack alone until the [`Keep`] is
    /// dropped. No [`Keep`] if another process already keeps the pack.
    pub(super) fn finish_kept(self) -> Result<(PathBuf, Option<Keep>)> {
        self.publish(true)
    }

    fn publish(mut self, is_kept: bool) -> Result<(PathBuf, Option<Keep>)> {
        let what = || format!("cannot write a pack in '{}'", self.directory.display());
        self.file.flush().context(Kind::Internal, what)?;
        let mut file =
            self.file.into_inner().map_err(|error| Error::internal(what()).with_cause(error.into_error()))?;
        let count = u32::try_from(self.entries.len()).context(Kind::Internal, what)?;
        let mut header = *b"PACK\0\0\0\x02\0\0\0\0";
        header[8..].copy_from_slice(&count.to_be_bytes());
        let checksum = (|| {
            file.seek(SeekFrom::Start(0))?;
            file.write_all(&header)?;
            let checksum = hash_file(file.as_file_mut(), self.hash)?;
            file.write_all(checksum.as_slice())?;
            file.as_file().set_permissions(std::fs::Permissions::from_mode(0o444))?;
            file.as_file().sync_all()?;
            Ok::<_, std::io::Error>(checksum)
        })()
        .context(Kind::Internal, what)?;
        let prefix = temporary::prefix("tmp_idx_");
        let mut index =
            tempfile::Builder::new().prefix(&prefix).tempfile_in(&self.directory).context(Kind::Internal, what)?;
        self.entries.sort_by_key(|entry| entry.id);
        let content = index_content(&self.entries, checksum, self.hash);
        index.write_all(&content).context(Kind::Internal, what)?;
        index.as_file().set_permissions(std::fs::Permissions::from_mode(0o444)).context(Kind::Internal, what)?;
        index.as_file().sync_all().context(Kind::Internal, what)?;
        let path = self.directory.join(format!("pack-{checksum}.pack"));
        let keep = if is_kept { Keep::new(&path)? } else { None };
        failpoint::hit("pack:before-pack");
        // The index comes last: git uses a pack once it has an index. If the temporary file is gone, `git prune
        // --expire=now` removed it.
        let failed = |error: tempfile::PersistError| {
            let is_gone = error.error.kind() == std::io::ErrorKind::NotFound;
            Error::new(if is_gone { Kind::Race } else { Kind::Internal }, what()).with_cause(error.error)
        };
        file.persist(&path).map_err(failed)?;
        failpoint::hit("pack:before-index");
        index.persist(path.with_extension("idx")).map_err(failed)?;
        File::open(&self.directory).and_then(|directory| directory.sync_all()).context(Kind::Internal, what)?;
        Ok((path, keep))
    }
}

/// Returns the hash of the whole file, leaving the position at its end.
fn hash_file(file: &mut File, hash: gix::hash::Kind) -> std::io::Result<ObjectId> {
    file.seek(SeekFrom::Start(0))?;
    let mut hasher = gix::hash::hasher(hash);
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return hasher.try_finalize().map_err(std::io::Error::other),
            length => hasher.update(&buffer[..length]),
        }
    }
}

/// Type and size of an entry: four bits of the size, then seven in each further byte.
fn entry_header(code: u8, size: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(10);
    let mut byte = (code << 4) | (size & 0x0f) as u8;
    let mut rest = size >> 4;
    while rest != 0 {
        out.push(byte | 0x80);
        byte = (rest & 0x7f) as u8;
        rest >>= 7;
    }
    out.push(byte);
    out
}

/// The distance to a delta's base: big-endian groups of seven bits, each but the last one less.
fn offset_varint(mut distance: u64) -> Vec<u8> {
    let mut out = vec![(distance & 0x7f) as u8];
    while distance >> 7 != 0 {
        distance = (distance >> 7) - 1;
        out.push(0x80 | (distance & 0x7f) as u8);
    }
    out.reverse();
    out
}

/// Returns the distance from the entry that begins with `bytes` back to its base, if it is an `OFS_DELTA`.
fn base_distance(bytes: &[u8]) -> Option<u64> {
    if (bytes.first()? >> 4) & 7 != OFS_DELTA {
        return None;
    }
    let size_length = bytes.iter().position(|byte| byte & 0x80 == 0)? + 1;
    let mut rest = bytes[size_length..].iter();
    let mut byte = *rest.next()?;
    let mut distance = u64::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        byte = *rest.next()?;
        distance = ((distance + 1) << 7) | u64::from(byte & 0x7f);
    }
    Some(distance)
}

fn index_content(sorted: &[Entry], pack_checksum: ObjectId, hash: gix::hash::Kind) -> Vec<u8> {
    let mut out = b"\xfftOc\0\0\0\x02".to_vec();
    let mut count = 0u32;
    let mut rest = sorted.iter().peekable();
    for first_byte in 0..=255u8 {
        while rest.next_if(|entry| entry.id.as_slice()[0] == first_byte).is_some() {
            count += 1;
        }
        out.extend_from_slice(&count.to_be_bytes());
    }
    for entry in sorted {
        out.extend_from_slice(entry.id.as_slice());
    }
    for entry in sorted {
        out.extend_from_slice(&entry.crc.to_be_bytes());
    }
    let mut large: Vec<u64> = Vec::new();
    for entry in sorted {
        let word = u32::try_from(entry.offset).ok().filter(|offset| offset >> 31 == 0).unwrap_or_else(|| {
            large.push(entry.offset);
            0x8000_0000 | (large.len() - 1) as u32
        });
        out.extend_from_slice(&word.to_be_bytes());
    }
    for offset in large {
        out.extend_from_slice(&offset.to_be_bytes());
    }
    out.extend_from_slice(pack_checksum.as_slice());
    let mut hasher = gix::hash::hasher(hash);
    hasher.update(&out);
    let checksum = hasher.try_finalize().expect("our own bytes are no collision attack");
    out.extend_from_slice(checksum.as_slice());
    out
}

/// Returns the entries of the finished pack `path`, from its index.
pub(super) fn read_index(path: &Path, hash: gix::hash::Kind) -> Result<Vec<Entry>> {
    let what = || format!("cannot read the index of '{}'", path.display());
    let bytes = std::fs::read(path.with_extension("idx")).context(Kind::Internal, what)?;
    parse_index(&bytes, hash.len_in_bytes()).ok_or_else(|| Error::corrupt(what()))
}

pub(super) fn parse_index(bytes: &[u8], id_length: usize) -> Option<Vec<Entry>> {
    let word = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    if bytes.get(..8)? != b"\xfftOc\0\0\0\x02" {
        return None;
    }
    let count = word(8 + 255 * 4)? as usize;
    let ids = 8 + 256 * 4;
    let sums = ids + count * id_length;
    let offsets = sums + count * 4;
    let large = offsets + count * 4;
    let entry = |at: usize| {
        let id = ObjectId::try_from(bytes.get(ids + at * id_length..ids + (at + 1) * id_length)?).ok()?;
        let offset = match word(offsets + at * 4)? {
            small if small >> 31 == 0 => u64::from(small),
            place => {
                let at = large + (place & 0x7fff_ffff) as usize * 8;
                u64::from_be_bytes(bytes.get(at..at + 8)?.try_into().ok()?)
            }
        };
        Some(Entry { id, offset, crc: word(sums + at * 4)? })
    };
    (0..count).map(entry).collect()
}

#[cfg(test)]
pub(super) fn sample_index() -> Vec<u8> {
    let hash = gix::hash::Kind::Sha1;
    let entry = |n: u8| Entry {
        id: ObjectId::try_from([n; 20].as_slice()).expect("20 bytes"),
        offset: u64::from(n) << 30,
        crc: n.into(),
    };
    index_content(&[1, 2, 2, 200].map(entry), ObjectId::null(hash), hash)
}
