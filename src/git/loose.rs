//! Loose objects. Writes objects whose ids are known already: gix would hash each of them once more. Reads objects whose files are
//! damaged at the end: gix and git may refuse to read these at all.

use std::{
    fs::{File, Permissions},
    io::{ErrorKind, Read, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use flate2::{Decompress, FlushDecompress, Status};
use gix::{ObjectId, objs::Kind as ObjectKind};

use super::deflate::deflate_for_file;
use crate::{
    error::{Context as _, Error, Kind, Result},
    state::temporary,
};

/// How often we retry if `git prune` removes the directory or temporary file of an object.
const ATTEMPTS: u32 = 8;
/// The mode of an object's file, before the umask.
const READABLE: u32 = 0o444;
const SET_GROUP_ID: u32 = 0o2000;
/// How many bytes are read or inflated at a time.
const CHUNK: usize = 64 << 10;
/// No header is longer, in bytes.
const LONGEST_HEADER: usize = 64;
/// One byte of a zlib stream stands for fewer bytes than this: a header that says otherwise is damaged.
const MOST_INFLATED: u64 = 2048;

/// Writes `data` with the id `id` as an object of `kind` to the object directory `objects`. The object appears
/// complete, and is not synced to disk, as by git's default.
pub(super) fn write(objects: &Path, id: ObjectId, kind: ObjectKind, data: &[u8]) -> Result<()> {
    write_anew(objects, id, kind, data, false)
}

/// Does the same as [`write()`], but syncs the new file to disk before it replaces the old one, which nothing else backs up.
pub(super) fn replace(objects: &Path, id: ObjectId, kind: ObjectKind, data: &[u8]) -> Result<()> {
    write_anew(objects, id, kind, data, true)
}

fn write_anew(objects: &Path, id: ObjectId, kind: ObjectKind, data: &[u8], syncs: bool) -> Result<()> {
    let what = || format!("cannot write the {kind} '{id}'");
    let header = gix::objs::encode::loose_header(kind, data.len() as u64);
    let stream = deflate_for_file(&[&header, data]);
    let mut vanished = None;
    for _ in 0..ATTEMPTS {
        match place(objects, &id.to_string(), &stream, syncs) {
            Err(error) if error.kind() == ErrorKind::NotFound => vanished = Some(error),
            other => return other.context(Kind::Internal, what),
        }
    }
    Err(vanished.map_or_else(|| Error::race(what()), |error| Error::race(what()).with_cause(error)))
}

fn place(objects: &Path, hex: &str, stream: &[u8], syncs: bool) -> std::io::Result<()> {
    // Git's own prefix, so that `git gc` removes what a crash leaves behind.
    let mut file = tempfile::Builder::new()
        .prefix(&temporary::prefix("tmp_obj_"))
        .permissions(Permissions::from_mode(READABLE))
        .tempfile_in(objects)?;
    // Git marks the directory so in a repository with `core.sharedRepository`.
    let is_shared = std::fs::metadata(objects)?.permissions().mode() & SET_GROUP_ID != 0;
    if is_shared {
        share(file.path(), 0)?;
    }
    file.write_all(stream)?;
    if syncs {
        file.as_file().sync_all()?;
    }
    let directory = objects.join(&hex[..2]);
    let path = directory.join(&hex[2..]);
    let temporary = match file.into_temp_path().persist(&path) {
        Err(error) if error.error.kind() == ErrorKind::NotFound => error.path,
        other => return other.map_err(|error| error.error),
    };
    match std::fs::create_dir(&directory) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        Ok(()) if is_shared => share(&directory, SET_GROUP_ID)?,
        _ => {}
    }
    temporary.persist(&path).map_err(|error| error.error)
}

/// Lets the group of `path` do what its owner may, and adds `bits`: other users read and add objects, too, whatever our umask says.
fn share(path: &Path, bits: u32) -> std::io::Result<()> {
    let mode = std::fs::metadata(path)?.permissions().mode() & 0o7777;
    std::fs::set_permissions(path, Permissions::from_mode(mode | (mode & 0o700) >> 3 | bits))
}

/// Returns the path of the file that the object `id` has in the object directory `objects`, if it is loose.
pub(super) fn path(objects: &Path, id: ObjectId) -> PathBuf {
    let hex = id.to_string();
    objects.join(&hex[..2]).join(&hex[2..])
}

/// What we found of an object in a file of its own.
pub(super) enum Found {
    /// There is no such file.
    Missing,
    /// The file is there, and does not hold what the id says.
    Damaged,
    /// All of the object is there.
    Whole(Loose),
}

impl Found {
    pub(super) fn whole(self) -> Option<Loose> {
        match self {
            Self::Whole(found) => Some(found),
            Self::Missing | Self::Damaged => None,
        }
    }
}

/// What the file of a loose object holds.
pub(super) struct Loose {
    pub(super) kind: ObjectKind,
    pub(super) data: Vec<u8>,
    /// False if the zlib stream is not whole, or something follows it: git does not read the object then.
    pub(super) is_well_formed: bool,
}

/// Returns what the object directory `objects` has of the object `id` in a file of its own.
///
/// # Errors
/// If the system keeps the file from being read, or has no memory left for its content.
pub(super) fn read(objects: &Path, id: ObjectId) -> std::io::Result<Found> {
    read_if(objects, id, |_size| true)
}

/// As [`read`]; the content is hashed as it is read, and stays in memory only if `keep` returns true for its size.
pub(super) fn read_if(objects: &Path, id: ObjectId, keep: impl FnOnce(usize) -> bool) -> std::io::Result<Found> {
    let file = match File::open(path(objects, id)) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(Found::Missing);
        }
        opened => opened?,
    };
    let length = file.metadata()?.len();
    let parsed = parse(file, length, id.kind(), keep)?;
    Ok(parsed.filter(|(_, of)| *of == id).map_or(Found::Damaged, |(found, _)| Found::Whole(found)))
}

/// Returns what the file of `length` bytes in `stream` holds, with its id, if that is as long as its header says.
fn parse(
    mut stream: impl Read,
    length: u64,
    hash: gix::hash::Kind,
    keep: impl FnOnce(usize) -> bool,
) -> std::io::Result<Option<(Loose, ObjectId)>> {
    let room = |bytes: u64| usize::try_from(bytes).unwrap_or(CHUNK).clamp(2 * LONGEST_HEADER, CHUNK);
    let (mut input, mut output) = (vec![0; room(length)], Vec::with_capacity(room(length.saturating_mul(4))));
    let (mut taken, mut held) = (0, 0);
    let (mut keep, mut content) = (Some(keep), None::<Content>);
    let mut decompress = Decompress::new(true);
    let is_ended = loop {
        if taken == held {
            (taken, held) = (0, fill(&mut stream, &mut input)?);
        }
        let (total, before) = (decompress.total_in(), output.len());
        let status = decompress.decompress_vec(&input[taken..held], &mut output, FlushDecompress::None);
        let consumed = usize::try_from(decompress.total_in() - total).expect("no more than was given");
        taken += consumed;
        let is_stuck = consumed == 0 && output.len() == before;
        if let Some(keep) = keep.take_if(|_| output.contains(&0) || output.len() >= LONGEST_HEADER) {
            let Ok((kind, size, header)) = gix::objs::decode::loose_header(&output) else { return Ok(None) };
            let Some(size) = usize::try_from(size).ok().filter(|_| size / MOST_INFLATED <= length) else {
                return Ok(None);
            };
            content = Some(Content::new(kind, size, hash, keep(size))?);
            output.drain(..header);
        }
        if let Some(content) = &mut content {
            content.take(&output);
            output.clear();
        }
        match status {
            Ok(Status::StreamEnd) => break true,
            Ok(_) if !is_stuck => {}
            Ok(_) | Err(_) => break false,
        }
    };
    let is_all = taken == held && fill(&mut stream, &mut input)? == 0;
    Ok(content.and_then(|content| content.end(is_ended && is_all)))
}

/// Reads the next bytes; returns 0 at the end.
fn fill(stream: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<usize> {
    loop {
        match stream.read(buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

/// The content of an object, as far as it has been read.
struct Content {
    kind: ObjectKind,
    size: usize,
    count: usize,
    hasher: gix::hash::Hasher,
    /// None if it is only hashed.
    data: Option<Vec<u8>>,
}

impl Content {
    fn new(kind: ObjectKind, size: usize, hash: gix::hash::Kind, keeps: bool) -> std::io::Result<Self> {
        let mut hasher = gix::hash::hasher(hash);
        hasher.update(&gix::objs::encode::loose_header(kind, size as u64));
        let mut data = keeps.then(Vec::new);
        if let Some(data) = &mut data {
            data.try_reserve_exact(size)?;
        }
        Ok(Self { kind, size, count: 0, hasher, data })
    }

    fn take(&mut self, bytes: &[u8]) {
        self.count += bytes.len();
        if self.count <= self.size {
            self.hasher.update(bytes);
            if let Some(data) = &mut self.data {
                data.extend_from_slice(bytes);
            }
        }
    }

    fn end(self, is_well_formed: bool) -> Option<(Loose, ObjectId)> {
        let id = self.hasher.try_finalize().ok().filter(|_| self.count == self.size)?;
        Some((Loose { kind: self.kind, data: self.data.unwrap_or_default(), is_well_formed }, id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::deflate::deflate;

    #[test]
    fn a_written_object_can_be_read_and_no_other_file_is_left() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let hash = gix::hash::Kind::Sha1;
        let store = gix::odb::loose::Store::at(dir.path().to_owned(), hash);
        for data in [&b""[..], b"a\n", &vec![7; 100_000], b"a\n"] {
            let id = gix::objs::compute_hash(hash, ObjectKind::Blob, data).expect("hashed");
            write(dir.path(), id, ObjectKind::Blob, data).expect("written");
            let mut buffer = Vec::new();
            let found = store.try_find(&id, &mut buffer).expect("readable").expect("there");
            assert_eq!((found.kind, found.data), (ObjectKind::Blob, data));
        }
        let mut left = std::fs::read_dir(dir.path()).expect("readable").flatten();
        assert!(left.all(|item| item.file_name().len() == 2), "no temporary file stays");
    }

    type Bytes = Vec<u8>;

    /// Each way to damage a file leaves one of these: no command tells more of them apart.
    #[rstest::rstest]
    #[case::unharmed(|_: &mut Bytes| {}, "whole")]
    #[case::empty(Bytes::clear, "damaged")]
    #[case::torn(|bytes: &mut Bytes| bytes.truncate(bytes.len() - 6), "damaged")]
    #[case::torn_in_its_header(|bytes: &mut Bytes| bytes.truncate(3), "damaged")]
    #[case::flipped(|bytes: &mut Bytes| { let at = bytes.len() / 2; bytes[at] ^= 0x55; }, "damaged")]
    #[case::another_object(|bytes: &mut Bytes| *bytes = deflate(&[b"blob 2\0", b"b\n"]), "damaged")]
    #[case::no_object(|bytes: &mut Bytes| *bytes = deflate(&[b"nonsense"]), "damaged")]
    #[case::without_its_end(|bytes: &mut Bytes| bytes.truncate(bytes.len() - 4), "ends wrongly")]
    #[case::another_sum(|bytes: &mut Bytes| *bytes.last_mut().expect("a byte") ^= 0x55, "ends wrongly")]
    #[case::longer(|bytes: &mut Bytes| bytes.push(b'x'), "ends wrongly")]
    fn a_damaged_file_is_one_of_three(
        #[case] damage: fn(&mut Bytes),
        #[case] expected: &str,
        #[values(ObjectKind::Blob, ObjectKind::Tree, ObjectKind::Commit)] kind: ObjectKind,
    ) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let data = b"what an object of any kind may hold, for all that this file knows\n";
        let id = gix::objs::compute_hash(gix::hash::Kind::Sha1, kind, data).expect("hashed");
        let look = || match read(dir.path(), id).expect("nothing keeps it from being read") {
            Found::Missing => "missing",
            Found::Damaged => "damaged",
            Found::Whole(loose) if loose.is_well_formed => "whole",
            Found::Whole(_) => "ends wrongly",
        };
        assert_eq!(look(), "missing");
        write(dir.path(), id, kind, data).expect("written");
        let file = path(dir.path(), id);
        let mut bytes = std::fs::read(&file).expect("it was written");
        damage(&mut bytes);
        std::fs::remove_file(&file).expect("it was written");
        std::fs::write(&file, bytes).expect("its place is free");
        assert_eq!(look(), expected);
    }

    fn parsed(stream: &[u8], keeps: bool) -> Option<(Loose, ObjectId)> {
        parse(stream, stream.len() as u64, gix::hash::Kind::Sha1, |_size| keeps).expect("memory can be read")
    }

    #[test]
    fn an_object_that_lacks_only_its_end_is_read() {
        let noise: Vec<u8> = (0..300_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        for data in [&b""[..], b"a\n", &vec![7; 100_000], &noise] {
            let header = gix::objs::encode::loose_header(ObjectKind::Blob, data.len() as u64);
            let stream = deflate(&[&header, data]);
            let (mut torn, mut wrong) = (stream.clone(), stream.clone());
            torn.truncate(stream.len() - 4);
            *wrong.last_mut().expect("it has an end") ^= 1;
            let longer = [stream.as_slice(), b"x"].concat();
            for (bytes, is_well_formed) in [(stream, true), (torn, false), (wrong, false), (longer, false)] {
                for keeps in [true, false] {
                    let (found, id) = parsed(&bytes, keeps).expect("all of it is there");
                    let kept = if keeps { data } else { b"" };
                    assert_eq!((found.kind, found.data.as_slice()), (ObjectKind::Blob, kept));
                    assert_eq!(found.is_well_formed, is_well_formed, "{} bytes", bytes.len());
                    let hashed = gix::objs::compute_hash(gix::hash::Kind::Sha1, ObjectKind::Blob, data);
                    assert_eq!(id, hashed.expect("hashed"));
                    assert!(found.data.capacity() <= data.len(), "{} bytes for {}", found.data.capacity(), data.len());
                }
            }
        }
        let huge = deflate(&[b"blob 18446744073709551615\0", b"a"]);
        for stream in [&b""[..], b"x", &deflate(&[b"blob 9\0", b"a"]), &deflate(&[b"blob 0\0", b"a"]), &huge] {
            assert!(parsed(stream, true).is_none());
        }
    }
}
