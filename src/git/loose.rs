//! Writes loose objects whose ids are already known; gix would hash each one again.

use std::{
    io::{ErrorKind, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::Path,
};

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
}
