//! Writes one pack with its index: many new objects in two files instead of one file each.
//!
//! Formats: gitformat-pack(5), pack version 2 and index version 2. Entries are whole objects; `repack` makes
//! deltas of them later.

#![expect(clippy::cast_possible_truncation, reason = "the formats take numbers apart into bytes")]

use std::{
    fs::File,
    io::{BufWriter, Read as _, Seek as _, SeekFrom, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use flate2::Crc;
use gix::{ObjectId, objs::Kind as ObjectKind};

use super::keep::Keep;
use crate::{
    error::{Context as _, Error, Kind, Result},
    state::{failpoint, temporary},
};

/// The place of an object in a pack.
#[derive(Clone, Copy, Debug)]
struct Entry {
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
}

const HEADER_LENGTH: u64 = 12;

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
        let mut writer = Self { directory, hash, file, offset: 0, entries: Vec::new() };
        writer.write(&[0; HEADER_LENGTH as usize])?;
        Ok(writer)
    }

    /// Appends the object `id` of `size` bytes; `deflated` is its zlib stream.
    pub(super) fn add(&mut self, id: ObjectId, kind: ObjectKind, size: usize, deflated: &[u8]) -> Result<()> {
        let code = match kind {
            ObjectKind::Commit => 1,
            ObjectKind::Tree => 2,
            ObjectKind::Blob => 3,
            ObjectKind::Tag => 4,
        };
        let header = entry_header(code, size);
        let mut crc = Crc::new();
        crc.update(&header);
        crc.update(deflated);
        self.entries.push(Entry { id, offset: self.offset, crc: crc.sum() });
        self.write(&header)?;
        self.write(deflated)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.offset += bytes.len() as u64;
        self.file
            .write_all(bytes)
            .context(Kind::Internal, || format!("cannot write a pack in '{}'", self.directory.display()))
    }

    /// Completes pack and index, makes both durable and visible, and returns the pack's path.
    ///
    /// No ref leads to its objects yet: `git repack -a -d` leaves the pack alone until the [`Keep`] is dropped. No [`Keep`] if
    /// another process already keeps the pack.
    pub(super) fn finish(mut self) -> Result<(PathBuf, Option<Keep>)> {
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
        let keep = Keep::new(&path)?;
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
