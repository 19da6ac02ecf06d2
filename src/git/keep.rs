//! Keeps `git repack` from removing new packs before refs lead to their objects, or before the old packs are gone.

use std::{
    fs::File,
    io::{ErrorKind, Write as _},
    path::{Path, PathBuf},
};

use rustix::fs::{FlockOperation, flock};

use crate::{
    error::{Context as _, Kind, Result},
    state::temporary,
};

/// Keeps a pack from being repacked while it exists: gitformat-pack(5), `.keep`.
#[derive(Debug)]
#[must_use = "the pack is kept until this is dropped"]
pub(super) struct Keep {
    path: PathBuf,
    /// Locked as long as this process is alive.
    _file: File,
}

const KEEPER: &str = "git-checkpoint ";

impl Keep {
    /// Keeps the pack that is or will be at `pack`; none if another process keeps it already.
    pub(super) fn new(pack: &Path) -> Result<Option<Self>> {
        let path = pack.with_extension("keep");
        let what = || format!("cannot write '{}'", path.display());
        // Created with its content at once: an empty file would not name the process that was killed.
        let directory = path.parent().unwrap_or(Path::new("."));
        let prefix = temporary::prefix("tmp_keep_");
        let mut file = tempfile::Builder::new().prefix(&prefix).tempfile_in(directory).context(Kind::Internal, what)?;
        file.write_all(format!("{KEEPER}{}\n", temporary::nonce()).as_bytes()).context(Kind::Internal, what)?;
        // Some network file systems know no locks; there, no other process removes it either.
        flock(file.as_file(), FlockOperation::NonBlockingLockExclusive).ok();
        match file.persist_noclobber(&path) {
            Ok(file) => Ok(Some(Self { path, _file: file })),
            Err(error) if error.error.kind() == ErrorKind::AlreadyExists => Ok(None),
            Err(error) => Err(error.error).context(Kind::Internal, what),
        }
    }
}

impl Keep {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves the file to the caller. It stays locked until this process ends.
    pub(super) fn leave(self) {
        std::mem::forget(self);
    }
}

impl Drop for Keep {
    fn drop(&mut self) {
        // A leftover file only makes later repacks less tight.
        drop(std::fs::remove_file(&self.path));
    }
}

/// Removes the files that processes have left in `directory` that were killed: the processes `nonces`, and all that do not hold the lock
/// of theirs.
pub(super) fn sweep(directory: &Path, nonces: &[String]) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|extension| extension != "keep") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let keeper = text.strip_prefix(KEEPER).map(str::trim_end);
        let is_free =
            || File::open(&path).is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok());
        if keeper.is_some_and(|keeper| nonces.iter().any(|nonce| nonce == keeper) || is_free()) {
            drop(std::fs::remove_file(&path));
        }
    }
}
