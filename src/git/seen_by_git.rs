//! What git has last seen in files of the worktree, according to its index.

use std::collections::BTreeMap;

use bstr::{BString, ByteSlice as _};
use gix::index::entry::Stage;
use rustix::fs::lstat;

use super::{Repo, stat_cache::Stat};
use crate::{
    error::Result,
    model::change::{Leaf, Mode},
};

/// What git has last seen in a file: it had written it, or compared it with the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SeenByGit {
    /// Its content.
    pub(crate) leaf: Leaf,
    /// When the file was last changed then, in seconds and nanoseconds: unlike the time of its content, no program can set this.
    pub(crate) ctime: (i64, u32),
    /// True if the file has been modified since.
    pub(crate) is_modified: bool,
}

impl Repo {
    /// Returns what git has last seen in the files at `paths`. A file is left out if git has not seen it with the content that the index
    /// has: it was reset in the index only.
    pub(crate) fn seen_by_git<'p>(
        &self,
        paths: impl IntoIterator<Item = &'p BString>,
    ) -> Result<BTreeMap<&'p BString, SeenByGit>> {
        let mut paths = paths.into_iter().peekable();
        let index = if paths.peek().is_some() { self.own_index()? } else { None };
        let Some(index) = index else { return Ok(BTreeMap::new()) };
        let seen = |path: &'p BString| {
            let entry = index.entry_by_path_and_stage(path.as_bstr(), Stage::Unconflicted)?;
            let leaf = Leaf { id: entry.id, mode: Mode::from_bits(entry.mode.bits())? };
            let (seen, now) = (Stat::of_index(&entry.stat), lstat(self.worktree_root().join(path.to_path().ok()?)));
            let is_modified = now.map_or(true, |now| Stat::of(&now).mtime != seen.mtime);
            (seen.mtime != (0, 0)).then_some((path, SeenByGit { leaf, ctime: seen.ctime, is_modified }))
        };
        Ok(paths.filter_map(seen).collect())
    }
}
