//! Removes what our own processes left when they were killed: temporary files, and the locks of our refs.

use std::{
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use super::{Repo, keep};
use crate::{
    model::refname,
    state::{self, temporary},
};

/// How long a lock must stay as it is before nobody can hold it any more: `git pack-refs` needs a moment, too.
const PATIENCE: Duration = Duration::from_millis(300);

impl Repo {
    /// Removes what the processes `nonces` have left, who were killed while they held the lock of this worktree.
    pub(crate) fn sweep(&self, nonces: &[String]) {
        let objects = self.inner.objects.store_ref().path();
        temporary::sweep(objects, nonces);
        temporary::sweep(&objects.join("pack"), nonces);
        keep::sweep(&objects.join("pack"), nonces);
        for git_dir in [self.git_dir(), self.common_dir()] {
            temporary::sweep(&state::directory(git_dir), nonces);
        }
        self.break_ref_locks();
    }

    /// Removes the locks of this worktree's refs. Only whoever holds the worktree's lock moves those, and git's own
    /// housekeeping, which is done with each in no time.
    fn break_ref_locks(&self) {
        let found: Vec<(PathBuf, SystemTime)> = self.ref_locks();
        if found.is_empty() {
            return;
        }
        std::thread::sleep(PATIENCE);
        for (path, time) in found {
            if modified(&path) == Some(time) {
                tracing::warn!(path = %path.display(), "removed the lock of a process that was killed");
                drop(std::fs::remove_file(&path));
            }
        }
    }

    fn ref_locks(&self) -> Vec<(PathBuf, SystemTime)> {
        let below = |prefix: &str| self.common_dir().join(prefix);
        let of_worktree = format!("{}.lock", refname::encode_component(self.worktree_id()));
        let mut candidates = vec![below(refname::VERIFIED).join(&of_worktree)];
        candidates.extend(entries(&below(refname::SHADOWS)).map(|base| base.join(&of_worktree)));
        let is_lock = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "lock");
        candidates.extend(entries(&below(refname::ARCHIVE)).filter(is_lock));
        candidates
            .into_iter()
            .filter_map(|path| Some((modified(&path)?, path)))
            .map(|(time, path)| (path, time))
            .collect()
    }
}

fn entries(directory: &Path) -> impl Iterator<Item = PathBuf> {
    std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path())
}

fn modified(path: &Path) -> Option<SystemTime> {
    std::fs::symlink_metadata(path).ok()?.modified().ok()
}
