//! The lock of a worktree's checkpoints: an OS lock on our own file.
//!
//! The kernel releases it with its owner, so there are no stale locks; the file stays, empty.

use std::{
    fs::File,
    io::{Read as _, Seek as _, Write as _},
    os::fd::AsFd as _,
    path::Path,
    time::{Duration, Instant, SystemTime},
};

use rustix::{fs::FlockOperation, io::Errno};

use crate::error::{Context as _, Error, Kind, Result};

/// Held until dropped.
#[derive(Debug)]
#[must_use = "the lock is released when dropped"]
pub struct Lock {
    file: File,
}

impl Lock {
    /// Takes the lock on the file `path`, waiting up to `timeout`.
    ///
    /// # Errors
    /// [`Kind::Race`] naming the owner if it is still taken after that.
    pub fn acquire(path: &Path, timeout: Duration) -> Result<Self> {
        let start = Instant::now();
        let mut pause = Duration::from_millis(1);
        loop {
            if let Some(lock) = Self::try_acquire(path)? {
                return Ok(lock);
            }
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
    pub fn try_acquire(path: &Path) -> Result<Option<Self>> {
        let what = || format!("cannot lock '{}'", path.display());
        let mut file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .context(Kind::Internal, what)?;
        match rustix::fs::flock(file.as_fd(), FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK | Errno::INTR) => return Ok(None),
            Err(cause) => return Err(Error::internal(what()).with_cause(cause)),
        }
        // Told to whoever waits; losing it costs a less helpful message, so a failure is none.
        drop(file.set_len(0).and_then(|()| file.write_all(identity().as_bytes())));
        Ok(Some(Self { file }))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        drop(self.file.rewind().and_then(|()| self.file.set_len(0)));
    }
}

/// Returns pid, host and start time of this process in words.
fn identity() -> String {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    format!("{} on {host}, since {}", std::process::id(), jiff::Timestamp::now().strftime("%FT%TZ"))
}

fn owner(path: &Path) -> Option<String> {
    let mut text = String::new();
    File::open(path).ok()?.take(512).read_to_string(&mut text).ok()?;
    (!text.is_empty()).then(|| text.chars().filter(|c| !c.is_control()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_owner_waits_and_is_told_who_holds_it() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("lock");
        let held = Lock::acquire(&path, Duration::ZERO).expect("free");
        let refused = Lock::acquire(&path, Duration::from_millis(5)).expect_err("taken");
        assert_eq!(refused.kind(), Kind::Race);
        assert!(refused.message().contains(&std::process::id().to_string()), "{refused}");
        drop(held);
        Lock::acquire(&path, Duration::ZERO).map(drop).expect("free again");
        assert_eq!(std::fs::read(&path).expect("the file stays"), b"");
    }
}
