//! The paths that git knows in the worktree, as 'git ls-files --cached --others --exclude-standard' lists them.
//!
//! Git itself would wait for a pipe in the place of a file with ignore rules.

use std::collections::BTreeSet;

use bstr::{BString, ByteSlice as _};
use gix::index::{State, entry::Mode as IndexMode};

use super::{Repo, limits::Limits, nested::stat_cache_of, scan::scan, untracked::collect};
use crate::{error::Result, model::manifest::Reason};

/// All that is not ignored, however much it is.
const NO_LIMITS: Limits =
    Limits { max_file_size: u64::MAX, max_untracked_files: u64::MAX, is_disk_low: false, exclude: Vec::new() };

impl Repo {
    /// Returns the paths of all files that git tracks, also of those that are gone, and of those in the worktree that it would
    /// add. A nested repository has a final `/`.
    ///
    /// # Errors
    /// If the worktree or the index cannot be read, or if reading ignore rules might never end.
    pub(crate) fn known_paths(&self) -> Result<BTreeSet<BString>> {
        let index = self.user_index()?;
        let cache = index.as_deref().map(stat_cache_of).unwrap_or_default();
        let found = collect(self, &cache, None, &scan(self, &cache, self.modes())?, &NO_LIMITS)?;
        let mut paths: BTreeSet<BString> = index.as_deref().map(tracked).unwrap_or_default();
        paths.extend(found.candidates.into_iter().map(|file| file.path));
        // Saves leave these out; git lists them.
        let unnamed = found.skipped.into_iter().filter(|it| it.reason == Reason::InvalidName);
        paths.extend(unnamed.map(|it| it.path));
        paths.extend(found.nested.into_iter().map(|path| BString::from([path.as_slice(), b"/"].concat())));
        Ok(paths)
    }

    /// Returns those of them that are there.
    pub(crate) fn worktree_paths(&self) -> Result<Vec<BString>> {
        let is_there = |path: &BString| {
            let inside = gix::path::from_bstr(path.as_bstr()).unwrap_or_default();
            self.worktree_root().join(inside).symlink_metadata().is_ok()
        };
        Ok(self.known_paths()?.into_iter().filter(is_there).collect())
    }
}

/// Returns the paths in `index`. What a sparse directory stands for is not in the worktree.
fn tracked(index: &State) -> BTreeSet<BString> {
    let files = index.entries().iter().filter(|entry| entry.mode != IndexMode::DIR);
    files.map(|entry| entry.path(index).to_owned()).collect()
}
