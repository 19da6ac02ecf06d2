//! The user's index: read, never written.

use std::{os::unix::fs::MetadataExt as _, path::Path};

use gix::index::File;

use super::{Repo, presence::may_exist};
use crate::error::{Context as _, Error, Kind, Result};

/// Identifies a version of an index file without reading it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct IndexIdentity {
    /// Modification time, seconds and nanoseconds.
    pub(crate) mtime: (i64, u32),
    /// Change time, seconds and nanoseconds.
    pub(crate) ctime: (i64, u32),
    /// Bytes.
    pub(crate) size: u64,
    /// Inode number.
    pub(crate) inode: u64,
}

/// Returns how an index is read: by this thread alone, as gix panics where it cannot start another one.
pub(super) fn decoding() -> gix::index::decode::Options {
    gix::index::decode::Options { thread_limit: Some(1), ..Default::default() }
}

impl Repo {
    /// Returns the user's current index; none if there is no file yet.
    pub(crate) fn user_index(&self) -> Result<Option<File>> {
        self.index_at(&self.inner.index_path())
    }

    /// Returns the index of this worktree, also in a hook for which git has made another one, as `git commit -a` does.
    pub(super) fn own_index(&self) -> Result<Option<File>> {
        self.index_at(&self.git_dir().join("index"))
    }

    fn index_at(&self, path: &Path) -> Result<Option<File>> {
        if !may_exist(path) {
            return Ok(None);
        }
        File::at(path, self.object_hash(), true, decoding())
            .map(Some)
            .context(Kind::Corrupt, || format!("cannot read the index '{}'", path.display()))
    }

    /// Returns the path of the user's index.
    pub(crate) fn user_index_path(&self) -> std::path::PathBuf {
        self.inner.index_path()
    }

    /// Refuses a `GIT_INDEX_FILE` that names another index than the worktree's own: what is staged in that one would not be seen.
    pub(crate) fn refuse_other_index(&self) -> Result<()> {
        let real = |path: &Path| Some((std::fs::canonicalize(path.parent()?).ok()?, path.file_name()?.to_owned()));
        let (named, own) = (real(&self.index_to_commit()), real(&self.git_dir().join("index")));
        if named.is_some() && named == own {
            return Ok(());
        }
        Err(Error::user("'GIT_INDEX_FILE' names another index than that of the worktree")
            .with_hint("run it without: 'env -u GIT_INDEX_FILE git checkpoint ...'"))
    }

    /// Returns the lock of the user's index, if some git holds it.
    pub(crate) fn user_index_lock(&self) -> Option<std::path::PathBuf> {
        let mut lock = self.inner.index_path().into_os_string();
        lock.push(".lock");
        Some(lock.into()).filter(|lock: &std::path::PathBuf| lock.exists())
    }

    /// Returns the identity of the user's index file; the default if the file does not exist.
    pub(crate) fn user_index_identity(&self) -> IndexIdentity {
        let Ok(metadata) = std::fs::metadata(self.inner.index_path()) else { return IndexIdentity::default() };
        IndexIdentity {
            mtime: (metadata.mtime(), u32::try_from(metadata.mtime_nsec()).unwrap_or(0)),
            ctime: (metadata.ctime(), u32::try_from(metadata.ctime_nsec()).unwrap_or(0)),
            size: metadata.size(),
            inode: metadata.ino(),
        }
    }
}
