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
/// The same for the lock of all packed refs, which takes git longer.
const LONG_PATIENCE: Duration = Duration::from_millis(1500);

impl Repo {
    /// Removes what the processes `nonces` have left, who were killed while they held the lock of this worktree.
    pub(crate) fn sweep(&self, nonces: &[String]) {
        self.sweep_files(nonces);
        self.break_locks(&self.locks_of_worktree());
    }

    /// Removes what the processes `nonces` have left, who were killed while they held the lock of the records.
    pub(crate) fn sweep_records(&self, nonces: &[String]) {
        self.sweep_files(nonces);
        let transcripts = self.common_dir().join(refname::TRANSCRIPTS);
        let mut locks: Vec<PathBuf> = entries(&transcripts).filter(|path| is_lock(path)).collect();
        locks.push(self.common_dir().join(format!("{}.lock", refname::HISTORY)));
        self.break_locks(&locks);
    }

    fn sweep_files(&self, nonces: &[String]) {
        let objects = self.inner.objects.store_ref().path();
        temporary::sweep(objects, nonces);
        temporary::sweep(&objects.join("pack"), nonces);
        keep::sweep(&objects.join("pack"), nonces);
        for git_dir in [self.git_dir(), self.common_dir()] {
            temporary::sweep(&state::directory(git_dir), nonces);
            temporary::sweep(&state::claims::folder(git_dir), nonces);
        }
        temporary::sweep(&state::sessions::folder(self.common_dir()), nonces);
    }

    /// Removes `locks`, if nobody holds them. Only whoever holds our own lock takes those, and git's own housekeeping,
    /// which is done with each in no time.
    fn break_locks(&self, locks: &[PathBuf]) {
        let packed = self.common_dir().join("packed-refs");
        let (lock_of_packed, being_packed) = (packed.with_extension("lock"), packed.with_extension("new"));
        let found = |paths: &[PathBuf]| -> Vec<(PathBuf, SystemTime)> {
            paths.iter().filter_map(|path| Some((path.clone(), modified(path)?))).collect()
        };
        // It was ours only if somebody died who deleted a ref. While git writes, the new file is beside it.
        let shared = found(std::slice::from_ref(&lock_of_packed));
        let found = found(locks);
        if !found.is_empty() || !shared.is_empty() {
            std::thread::sleep(PATIENCE);
            found.iter().for_each(remove_unchanged);
        }
        if lock_of_packed.exists() && !shared.is_empty() && !being_packed.exists() {
            std::thread::sleep(LONG_PATIENCE);
            if !being_packed.exists() {
                shared.iter().for_each(remove_unchanged);
            }
        }
    }

    /// Returns the locks of the refs that only this worktree's processes move, and of the archive.
    fn locks_of_worktree(&self) -> Vec<PathBuf> {
        let below = |prefix: &str| self.common_dir().join(prefix);
        let component = refname::encode_component(self.worktree_id());
        let of_worktree = format!("{component}.lock");
        let mut locks = vec![below(refname::VERIFIED).join(&of_worktree)];
        for base in entries(&below(refname::SHADOWS)) {
            locks.push(base.join(&of_worktree));
            locks.extend(entries(&base.join(format!("{component}@"))).filter(|path| is_lock(path)));
        }
        let pending = below(refname::PENDING);
        let shared = [below(refname::ARCHIVE), pending.join(format!("{component}@")), pending];
        locks.extend(shared.iter().flat_map(|directory| entries(directory)).filter(|path| is_lock(path)));
        locks
    }
}

fn remove_unchanged((path, time): &(PathBuf, SystemTime)) {
    if modified(path) == Some(*time) {
        tracing::warn!(path = %path.display(), "removed the lock of a process that was killed");
        drop(std::fs::remove_file(path));
    }
}

fn is_lock(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "lock")
}

fn entries(directory: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path())
}

fn modified(path: &Path) -> Option<SystemTime> {
    std::fs::symlink_metadata(path).ok()?.modified().ok()
}
