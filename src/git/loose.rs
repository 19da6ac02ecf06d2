//! Writes loose objects whose ids are known already: gix would hash each once more.

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

/// Writes `data`, whose id as an object of `kind` is `id`, into the object directory `objects`: visible only when whole,
/// durable when the system likes, as git's default has it.
pub(super) fn write(objects: &Path, id: ObjectId, kind: ObjectKind, data: &[u8]) -> Result<()> {
    let what = || format!("cannot write the {kind} '{id}'");
    let header = gix::objs::encode::loose_header(kind, data.len() as u64);
    let stream = deflate(&[&header, data]);
    // git's own prefix: `git gc` sweeps what a crash leaves.
    let mut file = tempfile::Builder::new()
        .prefix(&temporary::prefix("tmp_obj_"))
        .permissions(std::fs::Permissions::from_mode(0o444))
        .tempfile_in(objects)
        .context(Kind::Internal, what)?;
    file.write_all(&stream).context(Kind::Internal, what)?;
    let hex = id.to_string();
    let directory = objects.join(&hex[..2]);
    let path = directory.join(&hex[2..]);
    let mut temporary = file.into_temp_path();
    // Another process may remove the directory while it is empty.
    for _ in 0..3 {
        match temporary.persist(&path) {
            Ok(()) => return Ok(()),
            Err(error) if error.error.kind() == ErrorKind::NotFound => temporary = error.path,
            Err(error) => return Err(Error::internal(what()).with_cause(error.error)),
        }
        match std::fs::create_dir(&directory) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                return Err(Error::internal(what()).with_cause(error));
            }
            _ => {}
        }
    }
    Err(Error::internal(what()))
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
