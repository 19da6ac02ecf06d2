//! The lock of a worktree's checkpoints: an OS lock on our own file.
//!
//! The kernel releases it with its owner, so there are no stale locks; the file stays, empty. It is not empty only if
//! its last owner was killed: then it names the processes whose temporary files may be swept.

use std::{
    fs::{File, Permissions},
    io::{self, Read as _},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _},
    },
    path::Path,
    time::{Duration, Instant, SystemTime},
};

use rustix::{
    fs::{FlockOperation, OFlags},
    io::Errno,
};

use super::{process_places, temporary};
use crate::error::{Context as _, Error, Kind, Result};

/// Held until dropped.
#[derive(Debug)]
#[must_use = "the lock is released when dropped"]
pub(crate) struct Lock {
    file: File,
    /// How many bytes the file has, at most.
    length: u64,
    dead: Vec<String>,
    /// True if processes that have the file hold the lock on.
    is_left: bool,
}

/// The lock of the removal of a worktree, in our directory of that worktree.
pub(crate) const REMOVAL_LOCK: &str = "removal.lock";

/// The lock under which the set-up of a worktree runs, in our directory of that worktree.
pub(crate) const SETUP_LOCK: &str = "setup.lock";

/// The lock under which a branch is merged into that of a worktree, in our directory of that worktree.
pub(crate) const MERGE_LOCK: &str = "merge.lock";

/// More than this is in the file only if it is damaged.
const LONGEST: u64 = 4096;

impl Lock {
    /// Takes the lock on the file `path`, waiting up to `timeout`, or until `go_on` is an error.
    ///
    /// # Errors
    /// [`Kind::Race`] naming the owner if it is still taken after that.
    pub(crate) fn acquire(path: &Path, timeout: Duration, go_on: &dyn Fn() -> Result<()>) -> Result<Self> {
        let start = Instant::now();
        let mut pause = Duration::from_millis(1);
        loop {
            if let Some(lock) = Self::try_acquire(path)? {
                return Ok(lock);
            }
            go_on()?;
            if start.elapsed() >= timeout {
                let owner = owner(path).map_or_else(|| "another process".into(), |owner| format!("process {owner}"));
                return Err(Error::race(format!("the checkpoints of this worktree are locked by {owner}"))
                    .with_hint("try again when it is done, or raise 'lock-timeout'"));
            }
            std::thread::sleep(pause.min(timeout.saturating_sub(start.elapsed())));
            pause = (pause * 2).min(Duration::from_millis(20));
        }
    }

    /// Returns the time when the lock was taken, by the clock of its file system, since 1970.
    pub(crate) fn taken_at(&self) -> Duration {
        let time = self.file.metadata().and_then(|metadata| metadata.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
        time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
    }

    /// Takes the lock on the file `path` if it is free.
    pub(crate) fn try_acquire(path: &Path) -> Result<Option<Self>> {
        let what = || format!("cannot lock '{}'", path.display());
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .custom_flags(only_a_file())
            .open(path)
            .context(Kind::Internal, what)?;
        if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
            return Err(Error::internal(format!("{}: it is no regular file", what())));
        }
        match rustix::fs::flock(file.as_fd(), FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK | Errno::INTR) => return Ok(None),
            Err(cause) => return Err(Error::internal(what()).with_cause(cause)),
        }
        // The last owner may have removed the file since it was opened: another process may hold the one that is there now.
        if !is_at(&file, path) {
            return Ok(None);
        }
        let mut text = Vec::new();
        (&file).take(LONGEST).read_to_end(&mut text).context(Kind::Internal, what)?;
        let length = Some(text.len() as u64).filter(|length| *length < LONGEST).unwrap_or(u64::MAX);
        let text = String::from_utf8_lossy(&text);
        let dead = text.lines().filter(|line| temporary::is_nonce(line)).map(Into::into).collect();
        let mut lock = Self { file, length, dead, is_left: false };
        lock.write();
        Ok(Some(lock))
    }

    /// Lets a new file take the place of the one at `path`: processes that have the old one do not hold the lock any more.
    ///
    /// # Errors
    /// If the file of the lock is not at `path`, or there cannot be another one; the lock is held as before.
    pub(crate) fn renew(&mut self, path: &Path) -> io::Result<()> {
        if !is_at(&self.file, path) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let (prefix, ordinary) = (temporary::prefix(".tmp-"), Permissions::from_mode(0o666));
        let directory = path.parent().unwrap_or(path);
        let new = tempfile::Builder::new().prefix(&prefix).permissions(ordinary).tempfile_in(directory)?;
        let (file, name) = new.into_parts();
        // No other process knows it.
        rustix::fs::flock(file.as_fd(), FlockOperation::NonBlockingLockExclusive)?;
        file.write_all_at(self.text().as_bytes(), 0)?;
        name.persist(path)?;
        self.length = self.text().len() as u64;
        self.file = file;
        Ok(())
    }

    /// Removes the file of the lock, if that is at `path`; the lock is held until it is dropped. Returns true if it is gone.
    pub(crate) fn remove_file(&self, path: &Path) -> bool {
        is_at(&self.file, path) && std::fs::remove_file(path).is_ok()
    }

    /// Releases the lock here; processes that were started with the file hold it as long as any of them lives.
    pub(crate) fn leave(mut self) {
        self.is_left = true;
    }

    /// Returns the nonces of those who were killed while they held the lock.
    pub(crate) fn dead(&self) -> &[String] {
        &self.dead
    }

    /// Notes that nothing is left of those who were killed.
    pub(crate) fn forget_dead(&mut self) {
        self.dead.clear();
        self.write();
    }

    /// Writes who holds the lock. Losing it costs a less helpful message, and maybe a temporary file, so a failure is none.
    fn write(&mut self) {
        let text = self.text();
        self.replace(&text);
    }

    /// Returns what the file has while the lock is held.
    fn text(&self) -> String {
        self.with_dead(format!("{}\n{}\n", identity(), temporary::nonce()))
    }

    fn with_dead(&self, mut text: String) -> String {
        self.dead.iter().for_each(|nonce| text.push_str(&format!("{nonce}\n")));
        text
    }

    fn replace(&mut self, text: &str) {
        let length = text.len() as u64;
        let written = self.file.write_all_at(text.as_bytes(), 0);
        let is_longer = std::mem::replace(&mut self.length, length) > length;
        drop(written.and_then(|()| if is_longer { self.file.set_len(length) } else { Ok(()) }));
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Not every owner sweeps; the next one may.
        let text = self.with_dead(if self.dead.is_empty() { String::new() } else { "\n".to_owned() });
        self.replace(&text);
        if self.is_left {
            return;
        }
        // To close the file is not enough: a process that another thread starts has a copy of it until it is executed.
        let _ = rustix::fs::flock(self.file.as_fd(), FlockOperation::Unlock);
    }
}

impl AsFd for Lock {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Locks the directory `path` itself, where a file of ours has no place yet, until what is returned is dropped. A file system that
/// has no such locks is no error: they only keep two of our processes apart.
///
/// # Errors
/// [`Kind::Race`] if another process holds the lock for longer than `timeout`; if `path` cannot be opened.
pub(crate) fn directory(path: &Path, timeout: Duration) -> Result<File> {
    let directory = File::open(path).context(Kind::User, || format!("cannot open '{}'", path.display()))?;
    let start = Instant::now();
    while let Err(Errno::WOULDBLOCK | Errno::INTR) =
        rustix::fs::flock(directory.as_fd(), FlockOperation::NonBlockingLockExclusive)
    {
        if start.elapsed() >= timeout {
            return Err(Error::race(format!("another process is at work in '{}'", path.display()))
                .with_hint("try again when it is done"));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(directory)
}

/// Returns true if a process holds the lock on the file `path`, or the system does not let us look. Writes nothing.
pub(crate) fn is_held(path: &Path) -> bool {
    /// How often its owner may put another file in its place while we look.
    const MOST: usize = 8;
    for _ in 0..MOST {
        let Ok(file) = File::options().read(true).custom_flags(only_a_file()).open(path) else { return false };
        // Shared, and released at once: a process that takes the lock meanwhile tries again, unless its timeout is 0.
        if rustix::fs::flock(file.as_fd(), FlockOperation::NonBlockingLockShared).is_err() {
            return true;
        }
        if is_at(&file, path) {
            return false;
        }
    }
    true
}

/// Returns the flags of open(2) that refuse a symbolic link, as what it leads to is not ours, and do not wait for a reader or writer
/// of a named pipe.
fn only_a_file() -> i32 {
    i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).unwrap_or_default()
}

/// Returns true if the last process that held the lock on the file `path` was killed, or still holds it.
pub(crate) fn has_owner(path: &Path) -> bool {
    owner(path).is_some()
}

/// Returns the processes that hold the lock on the file `path`, if the one that took it is none of them: it was killed, or has left
/// the lock to those that it had started. None if it holds the lock, or the system does not show that.
pub(crate) fn left_to(path: &Path) -> Option<Vec<u32>> {
    let pids = holders(path);
    let owner = owner(path).and_then(|owner| owner.split(' ').next()?.parse().ok());
    (!pids.is_empty() && owner.is_none_or(|owner| !pids.contains(&owner))).then_some(pids)
}

/// Returns the processes, other than this one, that have the file `path` of a lock open, as far as the system shows them.
pub(crate) fn holders(path: &Path) -> Vec<u32> {
    process_places::with_open(path)
}

/// Returns true if `file` is the one at `path`.
fn is_at(file: &File, path: &Path) -> bool {
    let identity = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
    let (own, there) = (file.metadata().map(identity), std::fs::symlink_metadata(path).map(identity));
    matches!((own, there), (Ok(own), Ok(there)) if own == there)
}

/// Removes the file `path` of a lock that no process holds. Returns true if it was there, and is gone.
pub(crate) fn remove_free(path: &Path) -> bool {
    let is_there = std::fs::symlink_metadata(path).is_ok();
    is_there && Lock::try_acquire(path).is_ok_and(|lock| lock.is_some_and(|lock| lock.remove_file(path)))
}

/// Returns pid, host and start time of this process in words.
fn identity() -> String {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    format!("{} on {host}, since {}", std::process::id(), jiff::Timestamp::now().strftime("%FT%TZ"))
}

fn owner(path: &Path) -> Option<String> {
    let mut text = Vec::new();
    let file = File::options().read(true).custom_flags(only_a_file()).open(path).ok()?;
    file.take(LONGEST).read_to_end(&mut text).ok()?;
    let text = String::from_utf8_lossy(&text);
    let owner = text.lines().next()?;
    (!owner.is_empty()).then(|| owner.chars().filter(|c| !c.is_control()).collect())
}

#[cfg(test)]
mod tests;
