//! `review.jsonl` in a worktree's git directory: what of a review waits, a line of JSON each. Written under the worktree's lock.

use std::{
    cell::RefCell,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use super::{directory, ensure_directory, read_text, remove_file_if_there, replace_file};
use crate::{
    error::Result,
    model::review::{Line, Waits},
};

/// More is in the file only if it is damaged.
const LONGEST: u64 = 1 << 24;

fn file(git_dir: &Path) -> PathBuf {
    directory(git_dir).join("review.jsonl")
}

/// What tells one content of the file from another: inode, length and time. The file is only ever replaced as a whole.
type Stamp = (u64, u64, i64, i64);

/// What is in the file. A command reads it once, and again only if another process has replaced it meanwhile.
#[derive(Debug, Default)]
pub(crate) struct Held(RefCell<Option<(Stamp, Waits)>>);

impl Held {
    /// Returns what waits in the worktree of `git_dir`; what cannot be read is nothing.
    pub(crate) fn read(&self, git_dir: &Path) -> Waits {
        let path = file(git_dir);
        let Some(stamp) = stamp(&path) else { return Waits::default() };
        if let Some((known, waits)) = &*self.0.borrow()
            && *known == stamp
        {
            return waits.clone();
        }
        let text = read_text(&path, LONGEST).ok().flatten().unwrap_or_default();
        let waits = Waits::of(text.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok()));
        self.0.replace(Some((stamp, waits.clone())));
        waits
    }

    /// Writes what waits in the worktree of `git_dir`, whose lock the caller holds, if that is something else than before.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn write(&self, git_dir: &Path, waits: Waits) -> Result<()> {
        if self.read(git_dir) == waits {
            return Ok(());
        }
        let path = file(git_dir);
        if waits == Waits::default() {
            self.0.replace(None);
            return remove_file_if_there(&path);
        }
        let lines = waits.lines().filter_map(|line| serde_json::to_string(&line).ok());
        let text: String = lines.map(|line| line + "\n").collect();
        ensure_directory(git_dir)?;
        replace_file(&path, text.as_bytes())?;
        self.0.replace(stamp(&path).map(|stamp| (stamp, waits)));
        Ok(())
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    let found = fs::symlink_metadata(path).ok()?;
    Some((found.ino(), found.len(), found.mtime(), found.mtime_nsec()))
}
