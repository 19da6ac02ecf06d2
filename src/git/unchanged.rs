//! Whether single files of a worktree are as a commit has them, without a look at any other.

use bstr::{BStr, ByteSlice as _};
use gix::{ObjectId, objs::Kind as ObjectKind};
use rustix::{fs::lstat, io::Errno};

use super::{Repo, filter::Filters, new_objects::id_of, stat_cache::Stat};
use crate::{
    error::Result,
    model::change::{Change, Mode},
};

impl Repo {
    /// Returns when the file at `path` was last modified, in Unix milliseconds; 0 if it is not there.
    pub(crate) fn modified_at(&self, path: &BStr) -> i64 {
        let stat = path.to_path().ok().and_then(|path| lstat(self.worktree_root().join(path)).ok());
        stat.map_or(0, |stat| {
            let (seconds, nanoseconds) = Stat::of(&stat).mtime;
            seconds.saturating_mul(1_000).saturating_add(i64::from(nanoseconds / 1_000_000))
        })
    }

    /// Returns true if the other worktree `id` has the file `path` with the content `blob` now.
    ///
    /// # Errors
    /// If the filters of git cannot be read.
    pub(crate) fn has_other_worktree(&self, id: &BStr, path: &BStr, blob: ObjectId) -> Result<bool> {
        let root = self.other_worktrees().into_iter().find(|(other, _)| other == id).map(|(_, root)| root);
        let (Some(root), Ok(path_there)) = (root, path.to_path()) else { return Ok(false) };
        let file = root.join(path_there);
        if !std::fs::symlink_metadata(&file).is_ok_and(|file| file.is_file()) {
            return Ok(false);
        }
        let Ok(bytes) = std::fs::read(&file) else { return Ok(false) };
        let stored = Filters::for_worktree(self)?.to_git(path, &bytes)?.unwrap_or(bytes);
        Ok(id_of(ObjectKind::Blob, &stored, self.object_hash())? == blob)
    }

    /// Returns those of `changes` whose new content the worktree has: the index says so by the times of the file, or there
    /// is no file. A file is read only if its times are no evidence, as it changed just before the index was written.
    pub(crate) fn unchanged_in_worktree(&self, changes: Vec<Change>) -> Result<Vec<Change>> {
        let Some(index) = (!changes.is_empty()).then(|| self.user_index()).transpose()?.flatten() else {
            return Ok(Vec::new());
        };
        let written = self.user_index_identity().mtime;
        let mut filters = None;
        let mut unchanged = Vec::new();
        for change in changes {
            let Ok(path) = change.path.to_path().map(|path| self.worktree_root().join(path)) else { continue };
            let is_unchanged = match (change.after, index.entry_by_path(change.path.as_bstr()), lstat(&path)) {
                (None, None, Err(Errno::NOENT | Errno::NOTDIR)) => true,
                (Some(after), Some(entry), Ok(stat)) => {
                    let (known, now) = (Stat::of_index(&entry.stat), Stat::of(&stat));
                    let is_same = (entry.id, Mode::from_bits(entry.mode.bits())) == (after.id, Some(after.mode));
                    if !is_same || known != now {
                        false
                    } else if !known.is_racy(written) {
                        true
                    } else if let (Mode::File | Mode::Executable, Ok(bytes)) = (after.mode, std::fs::read(&path)) {
                        if filters.is_none() {
                            filters = Some(Filters::for_worktree(self)?);
                        }
                        let filters = filters.as_mut().expect("it was just made");
                        let stored = filters.to_git(change.path.as_bstr(), &bytes)?.unwrap_or(bytes);
                        id_of(ObjectKind::Blob, &stored, self.object_hash())? == after.id
                    } else {
                        false
                    }
                }
                _ => false,
            };
            if is_unchanged {
                unchanged.push(change);
            }
        }
        Ok(unchanged)
    }
}
