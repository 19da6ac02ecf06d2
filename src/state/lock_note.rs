//! Notes of the locks that we take on git's files: by its note, we recognize a lock that a killed process has left.
//!
//! Git locks a file by making `<file>.lock`, which outlives its owner. Each such lock of ours is a hard link to a note: a
//! file in `locks` of our directory on which its process holds an OS lock, which the kernel releases when the process ends.
//! So a lock is ours from the moment it exists if it is the same file as a note, and its owner has ended if we can lock the
//! note. A lock that git or another program makes is never the same file as a note.

use std::{
    cell::Cell,
    fs::File,
    io::{self, Write as _},
    os::{fd::AsFd as _, unix::fs::MetadataExt as _},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use rustix::{
    fs::{CWD, FlockOperation, RenameFlags},
    io::Errno,
};

use super::{failpoint, process, temporary};
use crate::{
    error::{Context as _, Error, Kind, Result},
    model::process::Place,
};

/// Between the parts of a note's name: 16 digits, the id of the boot and the host.
const SEPARATOR: char = '@';
/// How many bytes of a host's name are in that of a note.
const LONGEST_HOST: usize = 64;
/// How often to make a note: another process may remove a new one that is not locked yet.
const ATTEMPTS: u32 = 8;

/// A note of this process: removed when dropped, which must be after its locks.
#[derive(Debug)]
pub(crate) struct Note {
    file: File,
    path: PathBuf,
    /// True if one of its locks could not be removed.
    stays: Cell<bool>,
}

impl Note {
    /// Makes a note with `content`, which its locks share.
    pub(crate) fn new(common_dir: &Path, content: &[u8]) -> Result<Self> {
        let directory = directory(common_dir);
        let what = || format!("cannot write to '{}'", directory.display());
        for _ in 0..ATTEMPTS {
            let path = directory.join(name(&process::here()));
            let file = create(&path).context(Kind::Internal, what)?;
            let mut note = Self { file, path, stays: Cell::new(false) };
            // Another process that reads all notes may lock it first, and then removes it.
            rustix::fs::flock(note.file.as_fd(), FlockOperation::LockExclusive).context(Kind::Internal, what)?;
            if note.file.metadata().context(Kind::Internal, what)?.nlink() > 0 {
                note.file.write_all(content).context(Kind::Internal, what)?;
                return Ok(note);
            }
        }
        Err(Error::race(what()))
    }

    /// Returns when it was made, by the clock of its file system.
    pub(crate) fn time(&self) -> Option<SystemTime> {
        self.file.metadata().and_then(|metadata| metadata.modified()).ok()
    }

    /// Makes the file `lock` as a link to the note.
    pub(crate) fn link_to(&self, lock: &Path) -> io::Result<()> {
        failpoint::hit("refs:before-lock");
        std::fs::hard_link(&self.path, lock)
    }
}

impl Note {
    /// Leaves the note behind, as one of its locks cannot be removed: the next command that takes a lock removes both.
    pub(crate) fn stay(&self) {
        self.stays.set(true);
    }
}

impl Drop for Note {
    fn drop(&mut self) {
        if !self.stays.get() {
            // The next command that takes a lock removes a note that stays.
            drop(std::fs::remove_file(&self.path));
        }
    }
}

/// Whether the process that made a note lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// It does.
    Alive,
    /// It does not.
    Dead,
    /// It ran on this host, whose processes we cannot see.
    Elsewhere(String),
}

/// A note on disk. While this one is held, every other process takes its owner for alive.
#[derive(Debug)]
pub(crate) struct FoundNote {
    /// Whether the process that made it lives.
    pub(crate) owner: Owner,
    /// Device and inode, which its locks share.
    pub(crate) identity: (u64, u64),
    /// True if there are links to it.
    pub(crate) is_linked: bool,
    path: PathBuf,
    _file: File,
}

impl FoundNote {
    /// Removes the note of a dead process, after its locks.
    pub(crate) fn remove(self) {
        drop(std::fs::remove_file(self.aside()));
        drop(std::fs::remove_file(&self.path));
    }

    /// Removes `lock` if it is a lock of this note, whose owner is dead; returns true if it was.
    ///
    /// Looking and deleting are two steps: if a user deletes the dead lock in between, git may take it anew. So the lock
    /// first moves to a name that only the holder of this note uses, and we look at what has moved. Git's lock goes back at
    /// once. If we are killed in between, the one that removes the note removes this name, too; a git whose lock that was
    /// fails at its rename and has changed nothing.
    pub(crate) fn remove_lock(&self, lock: &Path) -> io::Result<bool> {
        if !self.is_at(lock) {
            return Ok(false);
        }
        let aside = self.aside();
        match std::fs::remove_file(&aside) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        failpoint::hit("refs:before-unlock");
        std::fs::rename(lock, &aside)?;
        failpoint::hit("refs:amid-unlock");
        if self.is_at(&aside) {
            return std::fs::remove_file(&aside).map(|()| true);
        }
        rename_new(&aside, lock).map(|()| false)
    }

    fn is_at(&self, path: &Path) -> bool {
        std::fs::symlink_metadata(path).is_ok_and(|found| (found.dev(), found.ino()) == self.identity)
    }

    /// Returns the name of a lock on its way out; it is not that of a note.
    fn aside(&self) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(format!("{SEPARATOR}lock"));
        name.into()
    }
}

/// Returns the notes of all processes.
pub(crate) fn all(common_dir: &Path) -> Vec<FoundNote> {
    let entries = std::fs::read_dir(directory(common_dir)).into_iter().flatten().flatten();
    entries.filter_map(|entry| find_note(entry.path(), &process::here())).collect()
}

fn find_note(path: PathBuf, here: &Place) -> Option<FoundNote> {
    let (boot, host) = place(path.file_name()?.to_str()?)?;
    // Some file systems lock exclusively only a file that is open for writing.
    let file = File::options().read(true).write(true).open(&path).ok()?;
    // Many machines have these names.
    let is_this_host = host == host_part(here) && !["", "localhost"].contains(&host);
    // With another boot id, it is from before this machine started, or from another machine of the same name, whose OS locks
    // we may not see.
    let is_here = if boot == here.boot {
        is_this_host || !boot.is_empty()
    } else {
        is_this_host && file.metadata().is_ok_and(|metadata| is_before_start(&metadata))
    };
    let owner = if !is_here {
        Owner::Elsewhere(host.to_owned())
    } else if rustix::fs::flock(file.as_fd(), FlockOperation::NonBlockingLockExclusive).is_ok() {
        Owner::Dead
    } else {
        Owner::Alive
    };
    // Read once the note is locked: a note without a name has no locks.
    let metadata = file.metadata().ok().filter(|metadata| metadata.nlink() > 0)?;
    Some(FoundNote {
        owner,
        identity: (metadata.dev(), metadata.ino()),
        is_linked: metadata.nlink() > 1,
        path,
        _file: file,
    })
}

/// Renames so that nothing is replaced; where there are notes, there are links.
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            std::fs::hard_link(from, to).and_then(|()| std::fs::remove_file(from))
        }
        done => Ok(done?),
    }
}

/// Returns true if the file was last written before this machine started; false where that cannot be known.
fn is_before_start(metadata: &std::fs::Metadata) -> bool {
    let start = || {
        let text = std::fs::read_to_string("/proc/uptime").ok()?;
        let uptime = Duration::try_from_secs_f64(text.split_whitespace().next()?.parse().ok()?).ok()?;
        SystemTime::now().checked_sub(uptime)
    };
    matches!((metadata.modified(), start()), (Ok(modified), Some(start)) if modified < start)
}

fn directory(common_dir: &Path) -> PathBuf {
    super::directory(common_dir).join("locks")
}

fn create(path: &Path) -> io::Result<File> {
    let create = || File::options().read(true).write(true).create_new(true).open(path);
    match create() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            std::fs::create_dir_all(path.parent().expect("it is in our directory"))?;
            create()
        }
        done => done,
    }
}

fn name(here: &Place) -> String {
    format!("{}{SEPARATOR}{}{SEPARATOR}{}", temporary::random(), here.boot, host_part(here))
}

/// Returns boot and host of the note `name`; none if it is not that of a note.
fn place(name: &str) -> Option<(&str, &str)> {
    let mut parts = name.split(SEPARATOR);
    let (nonce, boot, host) = (parts.next()?, parts.next()?, parts.next()?);
    (temporary::is_nonce(nonce) && parts.next().is_none()).then_some((boot, host))
}

fn host_part(here: &Place) -> String {
    let allowed = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
    here.host.chars().map(allowed).take(LONGEST_HOST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owners(dir: &Path) -> Vec<(Owner, bool)> {
        all(dir).into_iter().map(|found| (found.owner, found.is_linked)).collect()
    }

    fn noted(dir: &Path, here: &Place) -> PathBuf {
        std::fs::create_dir_all(directory(dir)).expect("made");
        let path = directory(dir).join(name(here));
        std::fs::write(&path, "").expect("written");
        path
    }

    #[test]
    fn a_note_that_can_be_locked_is_dead() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let note = Note::new(dir.path(), b"content").expect("made");
        assert_eq!(owners(dir.path()), [(Owner::Alive, false)]);
        let lock = dir.path().join("x.lock");
        note.link_to(&lock).expect("linked");
        assert_eq!(std::fs::read(&lock).expect("there"), b"content");
        let taken = note.link_to(&lock).expect_err("it is there");
        assert_eq!(taken.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(owners(dir.path()), [(Owner::Alive, true)]);
        std::fs::remove_file(&lock).expect("there");
        drop(note);
        assert_eq!(owners(dir.path()), []);

        noted(dir.path(), &process::here());
        let first = all(dir.path());
        assert_eq!(first.iter().map(|found| found.owner.clone()).collect::<Vec<_>>(), [Owner::Dead]);
        assert_eq!(owners(dir.path()), [(Owner::Alive, false)], "one at a time sweeps it");
        first.into_iter().for_each(FoundNote::remove);
        assert_eq!(owners(dir.path()), []);
    }

    #[test]
    fn a_note_from_elsewhere_is_left_alone() {
        let here = process::here();
        let other = |host: &str, boot: &str| Place { host: host.into(), boot: boot.into(), ..here.clone() };
        for (place, expected) in [
            (other("other host", "b"), Owner::Elsewhere("other_host".into())),
            (other("other host", ""), Owner::Elsewhere("other_host".into())),
            // Another container on this machine, and this machine before it was started anew.
            (
                other("container", &here.boot),
                if here.boot.is_empty() { Owner::Elsewhere("container".into()) } else { Owner::Dead },
            ),
            (other(&here.host, "before"), Owner::Dead),
            // Another machine of the same name, which runs.
            (other(&here.host, "running"), Owner::Elsewhere(host_part(&here))),
        ] {
            let dir = tempfile::tempdir().expect("a temporary directory");
            let path = noted(dir.path(), &place);
            if place.boot == "before" {
                let file = File::options().write(true).open(&path).expect("there");
                file.set_modified(SystemTime::UNIX_EPOCH).expect("ours");
            }
            assert_eq!(owners(dir.path()), [(expected, false)], "{}", path.display());
        }
    }

    #[test]
    fn only_a_lock_of_the_note_is_removed() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = noted(dir.path(), &process::here());
        let [ours, other] = ["ours.lock", "other.lock"].map(|name| dir.path().join(name));
        std::fs::hard_link(&path, &ours).expect("linked");
        std::fs::write(&other, "other").expect("written");
        let note = all(dir.path()).pop().expect("found");
        // As a process leaves it that is killed at this.
        std::fs::write(note.aside(), "").expect("written");
        assert_eq!([&ours, &other].map(|lock| note.remove_lock(lock).expect("done")), [true, false]);
        assert_eq!([ours.exists(), other.exists(), note.aside().exists()], [false, true, false]);
        std::fs::write(note.aside(), "").expect("written");
        note.remove();
        assert_eq!(std::fs::read_dir(directory(dir.path())).expect("there").count(), 0);
    }

    #[test]
    fn other_files_are_no_notes() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        std::fs::create_dir_all(directory(dir.path())).expect("made");
        for name in ["x", "0123456789abcdef", "0123456789abcdef@boot", "0123456789abcdef@a@b@c", "0123@a@b"] {
            std::fs::write(directory(dir.path()).join(name), "").expect("written");
        }
        assert_eq!(owners(dir.path()), []);
    }
}
