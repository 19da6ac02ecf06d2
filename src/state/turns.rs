//! `turns.toml` in a worktree's git directory: all that is open there, in one file, so that no crash leaves half of it.
//!
//! While the worktree's lock is held, [`Held`] has what is in it: the file is read once, and written once, when all has changed
//! that is to change. What is lost or damaged here makes a change look like another author's, never disappear.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use rustix::io::Errno;

use super::{directory, ensure_directory, failpoint, read_text, replace_file};
use crate::{
    error::{Error, Result},
    model::turns::Turns,
};

/// More is in the file only if it is damaged.
const LONGEST: u64 = 1 << 24;

/// The files in which earlier versions stored the same data.
const FORMER: [&str; 4] = ["calls.toml", "claims", "turns", "lost"];

/// Returns where it is.
pub(crate) fn path(git_dir: &Path) -> PathBuf {
    directory(git_dir).join("turns.toml")
}

/// Returns where a damaged one is set aside.
pub(crate) fn damaged_path(git_dir: &Path) -> PathBuf {
    path(git_dir).with_extension("bad")
}

/// Returns what is open in the worktree of `git_dir`, for those who do not hold its lock.
///
/// What cannot be read is nothing.
pub(crate) fn peek(git_dir: &Path) -> Turns {
    failpoint::hit("turns:before-read");
    let text = read_text(&path(git_dir), LONGEST).ok().flatten();
    text.and_then(|text| Turns::parse(&text)).unwrap_or_default()
}

/// Returns false if the file in the worktree of `git_dir` cannot be read or makes no sense, for those who do not hold its lock.
pub(crate) fn is_known(git_dir: &Path) -> bool {
    match read_text(&path(git_dir), LONGEST) {
        Ok(text) => text.is_none_or(|text| Turns::parse(&text).is_some()),
        Err(_) => false,
    }
}

/// Returns why the file in the worktree of `git_dir` cannot be read, for those who do not hold its lock.
pub(crate) fn trouble(git_dir: &Path) -> Option<Error> {
    read_text(&path(git_dir), LONGEST).err().map(|why| unreadable(&why))
}

/// Returns the error for a file that cannot be read because of `why`.
fn unreadable(why: &Error) -> Error {
    Error::internal(why.message())
        .with_cause(why.causes().join(": "))
        .with_hint("make it readable, or move it away: nothing counts as open then")
}

/// What is open in a worktree whose lock is held.
#[derive(Debug)]
pub(crate) struct Held {
    git_dir: PathBuf,
    content: Mutex<Content>,
}

#[derive(Debug)]
struct Content {
    /// What is in the file; none if there is no file yet.
    stored: Option<Turns>,
    now: Turns,
    /// True if the file could not be parsed.
    is_damaged: bool,
    /// Why the file must not be replaced.
    trouble: Option<Error>,
}

impl Held {
    /// Returns what is open in the worktree of `git_dir`; the caller holds its lock as long as this lives.
    ///
    /// # Errors
    /// If the system lacks what it takes to read it at this moment. A file that it refuses, or cannot read at all, must not
    /// stop a save: then nothing is known to be open, and the file stays as it is.
    pub(crate) fn read(git_dir: &Path) -> Result<Self> {
        let content = Content::read(git_dir);
        if let Some(error) = content.trouble.as_ref().filter(|error| is_of_the_moment(error)) {
            return Err(Error::internal(error.message())
                .with_cause(error.causes().join(": "))
                .with_hint("if this happens again, move the file away: then no turn counts as open"));
        }
        Ok(Self { git_dir: git_dir.to_owned(), content: Mutex::new(content) })
    }

    /// Returns a copy of what is open.
    pub(crate) fn get(&self) -> Turns {
        self.lock().now.clone()
    }

    /// Changes what is open; [`write`](Self::write) makes it last.
    pub(crate) fn edit<T>(&self, change: impl FnOnce(&mut Turns) -> T) -> T {
        change(&mut self.lock().now)
    }

    /// Returns an error if the file could not be read: an event must not end what it does not know.
    pub(crate) fn check(&self) -> Result<()> {
        self.lock().check()
    }

    /// Returns false if the file was damaged or could not be read: the author of unsaved changes is unknown then.
    pub(crate) fn is_known(&self) -> bool {
        let content = self.lock();
        content.trouble.is_none() && !content.is_damaged
    }

    /// Writes what is open, if that is something else than before. Returns the sessions whose turn has a checkpoint now and had
    /// none before.
    ///
    /// # Errors
    /// If the file cannot be written, or could not be read: what it holds must not be lost.
    pub(crate) fn write(&self) -> Result<Vec<String>> {
        let content = &mut *self.lock();
        content.now.forget_oldest();
        let is_same = content.stored.as_ref().map_or(content.now == Turns::default(), |stored| *stored == content.now);
        if is_same {
            return Ok(Vec::new());
        }
        content.check()?;
        let folder = ensure_directory(&self.git_dir)?;
        failpoint::hit("turns:before-write");
        replace_file(&path(&self.git_dir), content.now.to_toml().as_bytes())?;
        if content.stored.is_none() {
            remove_former(&folder);
        }
        let stored = content.stored.replace(content.now.clone()).unwrap_or_default();
        let has_checkpoint = |turns: &Turns, id: &str| turns.turn_of(id).is_some_and(|turn| turn.has_checkpoint);
        let ids = content.now.entries.iter().map(|entry| &entry.id);
        Ok(ids.filter(|id| has_checkpoint(&content.now, id) && !has_checkpoint(&stored, id)).cloned().collect())
    }

    fn lock(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // Where an error matters, it was written before.
        if let Err(error) = self.write() {
            tracing::warn!(%error, "cannot note the open turns");
        }
    }
}

impl Content {
    fn check(&self) -> Result<()> {
        self.trouble.as_ref().map_or(Ok(()), |why| Err(unreadable(why)))
    }

    /// Reads the file; a damaged one is set aside.
    fn read(git_dir: &Path) -> Self {
        failpoint::hit("turns:before-read");
        let path = path(git_dir);
        let (stored, trouble) = match read_text(&path, LONGEST) {
            Ok(Some(text)) => (Turns::parse(&text), None),
            Ok(None) => (None, None),
            Err(error) => (None, Some(error)),
        };
        let is_damaged = trouble.is_none() && stored.is_none() && path.symlink_metadata().is_ok();
        if let Some(why) = &trouble {
            tracing::warn!(error = %why, "cannot read the open turns");
        } else if is_damaged {
            let bad = damaged_path(git_dir);
            tracing::warn!(path = %bad.display(), "set aside the damaged file of open turns");
            // What cannot be set aside is replaced.
            drop(fs::rename(&path, &bad));
        }
        Self { now: stored.clone().unwrap_or_default(), stored, is_damaged, trouble }
    }
}

/// Returns true if `error` is for want of open files, memory or the like, or of a disk that does not answer.
fn is_of_the_moment(error: &Error) -> bool {
    const MOMENTARY: [Errno; 6] = [Errno::AGAIN, Errno::INTR, Errno::IO, Errno::NOMEM, Errno::MFILE, Errno::NFILE];
    let cause = std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<std::io::Error>());
    cause.and_then(Errno::from_io_error).is_some_and(|errno| MOMENTARY.contains(&errno))
}

/// Removes the files of earlier versions from `folder`; what stays is read by nothing.
fn remove_former(folder: &Path) {
    for name in FORMER {
        let path = folder.join(name);
        if fs::remove_file(&path).is_err() {
            drop(fs::remove_dir_all(&path));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::session::UnderWay;

    fn opened(git_dir: &Path) -> Held {
        Held::read(git_dir).expect("nothing is short")
    }

    fn begin(git_dir: &Path, session: &str) {
        opened(git_dir).edit(|turns| turns.set_turn(session, Some(&UnderWay::default())));
    }

    #[test]
    fn it_is_written_when_the_lock_is_released_and_not_before() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let git_dir = directory.path();
        assert_eq!(peek(git_dir), Turns::default());
        let held = opened(git_dir);
        held.edit(|turns| turns.set_turn("s", Some(&UnderWay::default())));
        assert_eq!(peek(git_dir), Turns::default());
        let open = held.get();
        drop(held);
        assert_eq!(peek(git_dir), open);
        // What is taken back is no change.
        let held = opened(git_dir);
        fs::remove_file(path(git_dir)).expect("it is ours");
        held.edit(|turns| turns.asked.push("s".into()));
        held.edit(|turns| turns.asked.clear());
        drop(held);
        assert!(!path(git_dir).exists());
    }

    #[test]
    fn a_damaged_file_is_set_aside_and_one_that_cannot_be_read_stays() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let git_dir = directory.path();
        begin(git_dir, "s");
        fs::write(path(git_dir), "\0").expect("it is ours");
        begin(git_dir, "t");
        assert_eq!(fs::read(damaged_path(git_dir)).expect("it is there"), b"\0");
        assert!(peek(git_dir).turn_of("t").is_some());
        fs::remove_file(path(git_dir)).expect("it is ours");
        std::os::unix::fs::symlink("turns.toml", path(git_dir)).expect("a link can be made");
        let held = opened(git_dir);
        held.edit(|turns| turns.entry("s").seen = 1);
        assert!(held.write().is_err(), "a link to itself cannot be read");
        drop(held);
        assert!(path(git_dir).is_symlink());
    }

    #[test]
    fn files_of_earlier_versions_are_removed() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let folder = ensure_directory(directory.path()).expect("it can be made");
        fs::create_dir(folder.join("claims")).expect("it can be made");
        for name in ["calls.toml", "claims/s.toml", "turns", "lock"] {
            fs::write(folder.join(name), "").expect("it can be written");
        }
        begin(directory.path(), "s");
        let left = fs::read_dir(&folder).expect("it is there").flatten().map(|entry| entry.file_name());
        let mut left: Vec<_> = left.collect();
        left.sort();
        assert_eq!(left, ["lock", "turns.toml"]);
    }
}
