//! The entries of git's stash: the reflog of `refs/stash`.

use std::io;

use bstr::ByteSlice as _;
use gix::ObjectId;

use super::{Repo, ref_store::RefStore};
use crate::error::{Context as _, Kind, Result};

/// How many entries we look at.
const MOST: usize = 20;

impl Repo {
    /// Returns the newest stash entries, newest first.
    pub(crate) fn stash_entries(&self) -> Result<Vec<ObjectId>> {
        if self.find_ref("refs/stash")?.is_none() {
            return Ok(Vec::new());
        }
        match self.ref_store {
            RefStore::Files => self.stash_entries_in_file(),
            RefStore::Git => {
                let most = format!("--max-count={MOST}");
                let listed = self.try_git(&["rev-list", "--walk-reflogs", &most, "refs/stash"], None)?;
                Ok(listed.stdout.lines().filter_map(|line| ObjectId::from_hex(line.trim()).ok()).collect())
            }
        }
    }

    fn stash_entries_in_file(&self) -> Result<Vec<ObjectId>> {
        let path = self.common_dir().join("logs/refs/stash");
        let text = match std::fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            read => read.context(Kind::Internal, || format!("cannot read '{}'", path.display()))?,
        };
        // Each line begins with the id of the entry before, and its own.
        let entry = |line: &[u8]| ObjectId::from_hex(line.split_str(" ").nth(1)?).ok();
        Ok(text.lines().rev().filter_map(entry).take(MOST).collect())
    }
}
