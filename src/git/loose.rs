//! Loose objects: writes those whose ids are known already, as gix would hash each once more; reads those that are damaged
//! at their end, of which gix and git may want nothing any more.

use std::{
    io::{ErrorKind, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use flate2::{Decompress, FlushDecompress, Status};
use gix::{ObjectId, objs::Kind as ObjectKind};

use super::deflate::deflate;
use crate::{
    error::{Context as _, Error, Kind, Result},
    state::temporary,
};

/// How often we retry if `git prune` removes the directory or temporary file of an object.
const ATTEMPTS: u32 = 8;

/// Writes `data` with the id `id` as an object of `kind` to the object directory `objects`. The object appears
/// complete, and is not synced to disk, as by git's default.
pub(super) fn write(objects: &Path, id: ObjectId, kind: ObjectKind, data: &[u8]) -> Result<()> {
    let what = || format!("cannot write the {kind} '{id}'");
    let header = gix::objs::encode::loose_header(kind, data.len() as u64);
    let stream = deflate(&[&header, data]);
    let mut vanished = None;
    for _ in 0..ATTEMPTS {
        match place(objects, &id.to_string(), &stream) {
            Err(error) if error.kind() == ErrorKind::NotFound => vanished = Some(error),
            other => return other.context(Kind::Internal, what),
        }
    }
    Err(vanished.map_or_else(|| Error::race(what()), |error| Error::race(what()).with_cause(error)))
}

fn place(objects: &Path, hex: &str, stream: &[u8]) -> std::io::Result<()> {
    // Git's own prefix, so that `git gc` removes what a crash leaves behind.
    let mut file = tempfile::Builder::new()
        .prefix(&temporary::prefix("tmp_obj_"))
        .permissions(std::fs::Permissions::from_mode(0o444))
        .tempfile_in(objects)?;
    file.write_all(stream)?;
    let directory = objects.join(&hex[..2]);
    let path = directory.join(&hex[2..]);
    let temporary = match file.into_temp_path().persist(&path) {
        Err(error) if error.error.kind() == ErrorKind::NotFound => error.path,
        other => return other.map_err(|error| error.error),
    };
    match std::fs::create_dir(&directory) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    temporary.persist(&path).map_err(|error| error.error)
}

/// Returns the path of the file that the object `id` has in the object directory `objects`, if it is loose.
pub(super) fn path(objects: &Path, id: ObjectId) -> PathBuf {
    let hex = id.to_string();
    objects.join(&hex[..2]).join(&hex[2..])
}

/// Returns the object `id` if it has a file of its own in the object directory `objects`, and all of it is there.
///
/// # Errors
/// If the system keeps the file from being read.
pub(super) fn read(objects: &Path, id: ObjectId) -> std::io::Result<Option<Loose>> {
    let stream = match std::fs::read(path(objects, id)) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
        read => read?,
    };
    let is_it = |found: &Loose| gix::objs::compute_hash(id.kind(), found.kind, &found.data).is_ok_and(|of| of == id);
    Ok(parse(&stream).filter(is_it))
}

/// What the file of a loose object holds.
pub(super) struct Loose {
    pub(super) kind: ObjectKind,
    pub(super) data: Vec<u8>,
    /// False if the zlib stream is not whole, or something follows it: git does not read the object then.
    pub(super) is_well_formed: bool,
}

/// Returns what the file with the bytes `stream` holds, if that is as long as its header says. Whether it is what the id of the
/// object says is for the caller to find out.
fn parse(stream: &[u8]) -> Option<Loose> {
    let mut decompress = Decompress::new(true);
    let mut bytes = Vec::with_capacity(stream.len().saturating_mul(3) + 128);
    let is_ended = loop {
        let (taken, held) = (decompress.total_in(), bytes.len());
        let rest = stream.get(usize::try_from(taken).ok()?..)?;
        match decompress.decompress_vec(rest, &mut bytes, FlushDecompress::None) {
            Ok(Status::StreamEnd) => break true,
            Ok(_) if bytes.len() == bytes.capacity() => bytes.reserve(bytes.len()),
            Ok(_) if decompress.total_in() > taken || bytes.len() > held => {}
            Ok(_) | Err(_) => break false,
        }
    };
    let is_all = usize::try_from(decompress.total_in()).is_ok_and(|taken| taken == stream.len());
    let (kind, size, header) = gix::objs::decode::loose_header(&bytes).ok()?;
    let data = bytes.split_off(header);
    let is_whole = u64::try_from(data.len()).is_ok_and(|length| length == size);
    is_whole.then_some(Loose { kind, data, is_well_formed: is_ended && is_all })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_can_be_read_and_leaves_nothing_else() {
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

    #[test]
    fn what_lacks_only_its_end_is_read_all_the_same() {
        for data in [&b""[..], b"a\n", &vec![7; 100_000]] {
            let header = gix::objs::encode::loose_header(ObjectKind::Blob, data.len() as u64);
            let stream = deflate(&[&header, data]);
            let (mut torn, mut wrong) = (stream.clone(), stream.clone());
            torn.truncate(stream.len() - 4);
            *wrong.last_mut().expect("it has an end") ^= 1;
            let longer = [stream.as_slice(), b"x"].concat();
            for (bytes, is_well_formed) in [(stream, true), (torn, false), (wrong, false), (longer, false)] {
                let found = parse(&bytes).expect("all of it is there");
                assert_eq!((found.kind, found.data.as_slice()), (ObjectKind::Blob, data));
                assert_eq!(found.is_well_formed, is_well_formed, "{} bytes", bytes.len());
            }
        }
        for stream in [&b""[..], b"x", &deflate(&[b"blob 9\0", b"a"])] {
            assert!(parse(stream).is_none());
        }
    }
}
