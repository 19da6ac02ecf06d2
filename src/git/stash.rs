//! The entries of git's stash: the reflog of `refs/stash`; and the stashes that a rebase or a merge puts back at its end.

use std::{
    io,
    path::{Path, PathBuf},
};

use bstr::ByteSlice as _;
use gix::ObjectId;

use super::{Repo, ref_store::RefStore};
use crate::error::{Context as _, Kind, Result};

/// How many entries we look at.
const MOST: usize = 20;
/// What a merge puts aside. It is a ref, wherever refs are.
const MERGE_AUTOSTASH: &str = "MERGE_AUTOSTASH";

impl Repo {
    /// Returns the newest stash entries, newest first.
    pub(crate) fn stash_entries(&self) -> Result<Vec<ObjectId>> {
        self.stash_entries_up_to(MOST)
    }

    /// Returns the newest stash entries, at most `most`, newest first.
    pub(crate) fn stash_entries_up_to(&self, most: usize) -> Result<Vec<ObjectId>> {
        if self.find_ref("refs/stash")?.is_none() {
            return Ok(Vec::new());
        }
        match self.ref_store {
            RefStore::Files => self.stash_entries_in_file(most),
            RefStore::Git => {
                // Git takes a negative number for no limit.
                let most = format!("--max-count={}", i32::try_from(most).unwrap_or(-1));
                let listed = self.try_git(&["rev-list", "--walk-reflogs", &most, "refs/stash"], None)?;
                Ok(listed.stdout.lines().filter_map(|line| ObjectId::from_hex(line.trim()).ok()).collect())
            }
        }
    }

    /// Returns the work that a rebase or a merge of any worktree has put aside until its end (`--autostash`), each with the file
    /// that names it.
    pub(crate) fn autostashes(&self) -> Result<Vec<(PathBuf, ObjectId)>> {
        let mut found = Vec::new();
        for git_dir in self.git_dirs()? {
            for name in ["rebase-merge/autostash", "rebase-apply/autostash", MERGE_AUTOSTASH] {
                found.extend(self.pseudo_ref(&git_dir, name)?);
            }
        }
        Ok(found)
    }

    /// Returns the object that `name` in the git directory `git_dir` of a worktree names, and the file.
    pub(super) fn pseudo_ref(&self, git_dir: &Path, name: &str) -> Result<Option<(PathBuf, ObjectId)>> {
        let path = git_dir.join(name);
        let text = match std::fs::read(&path) {
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                match self.ref_store {
                    RefStore::Git if !name.contains('/') => {
                        let of = format!("--git-dir={}", git_dir.display());
                        self.try_git(&[&of, "rev-parse", "-q", "--verify", name], None)?.stdout
                    }
                    _ => return Ok(None),
                }
            }
            read => read.context(Kind::Internal, || format!("cannot read '{}'", path.display()))?,
        };
        Ok(ObjectId::from_hex(text.trim()).ok().map(|id| (path, id)))
    }

    fn stash_entries_in_file(&self, most: usize) -> Result<Vec<ObjectId>> {
        let path = self.common_dir().join("logs/refs/stash");
        let text = match std::fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            read => read.context(Kind::Internal, || format!("cannot read '{}'", path.display()))?,
        };
        // Each line begins with the id of the entry before, and its own.
        let entry = |line: &[u8]| ObjectId::from_hex(line.split_str(" ").nth(1)?).ok();
        Ok(text.lines().rev().filter_map(entry).take(most).collect())
    }
}
