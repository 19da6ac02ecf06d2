//! Objects that git makes for us and that are not to be stored: it writes them to a directory that is removed.

use std::{cell::OnceCell, path::Path};

use gix::ObjectId;
use tempfile::TempDir;

use super::{Repo, loose};
use crate::error::{Context as _, Error, Kind, Result};

/// Where git writes the blobs that it makes of files.
#[derive(Debug, Default)]
pub(super) enum Blobs {
    /// To the repository.
    #[default]
    Stored,
    /// To a temporary directory, which is made when it is needed; none if it cannot be made.
    Aside(OnceCell<Option<TempDir>>),
}

impl Blobs {
    /// Returns where they are written if they are to be stored nowhere.
    pub(super) fn aside() -> Self {
        Self::Aside(OnceCell::new())
    }

    /// Returns the temporary directory.
    pub(super) fn directory(&self) -> Option<&Path> {
        match self {
            Self::Stored => None,
            Self::Aside(directory) => directory.get_or_init(|| tempfile::tempdir().ok()).as_ref().map(TempDir::path),
        }
    }
}

impl Repo {
    /// Returns the blob that git makes of `input`; `arguments` make it write the blob and print its id. Where it cannot write
    /// `blobs` aside, it stores them.
    pub(super) fn made_by_git(
        &self,
        arguments: &[impl AsRef<std::ffi::OsStr>],
        input: &[u8],
        blobs: &Blobs,
    ) -> Result<Vec<u8>> {
        if let Some(directory) = blobs.directory() {
            if let Ok(made) = self.made_aside(arguments, input, directory) {
                return Ok(made);
            }
            self.check_interrupt()?;
        }
        self.read_blob(id_in(&self.run_filtering_git(arguments, input, None)?)?)
    }

    fn made_aside(&self, arguments: &[impl AsRef<std::ffi::OsStr>], input: &[u8], aside: &Path) -> Result<Vec<u8>> {
        let id = id_in(&self.run_filtering_git(arguments, input, Some(aside))?)?;
        // Git does not write what the repository has.
        if self.has_object(id) {
            return self.read_blob(id);
        }
        let found = loose::read(aside, id).context(Kind::Internal, || format!("cannot read {id}"))?;
        // The directory is one for many files, and may be in memory.
        let _ = std::fs::remove_file(loose::path(aside, id));
        found.whole().map(|found| found.data).ok_or_else(|| Error::internal(format!("git has not written {id}")))
    }
}

/// Returns the id that git has printed.
fn id_in(printed: &[u8]) -> Result<ObjectId> {
    ObjectId::from_hex(printed.trim_ascii()).context(Kind::Internal, || "git's id of a blob is none".into())
}
