//! What git has last seen in files of the worktree, according to its index.

use std::collections::BTreeMap;

use bstr::{BString, ByteSlice as _};
use gix::index::entry::Stage;

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
    /// When the file was last modified then, in seconds and nanoseconds.
    pub(crate) mtime: (i64, u32),
}

impl Repo {
    /// Returns what git has last seen in the files at `paths`. A file is left out if git has not seen it with the content that the index
    /// has: it was reset in the index only.
    pub(crate) fn seen_by_git<'p>(
        &self,
        paths: impl IntoIterator<Item = &'p BString>,
    ) -> Result<BTreeMap<&'p BString, SeenByGit>> {
        let mut paths = paths.into_iter().peekable();
        let index = if paths.peek().is_some() { self.user_index()? } else { None };
        let Some(index) = index else { return Ok(BTreeMap::new()) };
        let seen = |path: &'p BString| {
            let entry = index.entry_by_path_and_stage(path.as_bstr(), Stage::Unconflicted)?;
            let leaf = Leaf { id: entry.id, mode: Mode::from_bits(entry.mode.bits())? };
            let mtime = Stat::of_index(&entry.stat).mtime;
            (mtime != (0, 0)).then_some((path, SeenByGit { leaf, mtime }))
        };
        Ok(paths.filter_map(seen).collect())
    }
}
