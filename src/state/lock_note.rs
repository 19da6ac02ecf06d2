//! Notes of the locks that we take on git's files: they tell those of a process that was killed from all others.
//!
//! Git locks a file by making `<file>.lock`, which outlives its owner. Each such lock of ours is a hard link to a note, a
//! file in `locks` of our directory on which its process holds an OS lock that the kernel releases with the process. So a
//! lock is ours if it is the same file as a note, from the moment it is made, and its owner is gone if the note can be
//! locked. What git or others make is never the same file as a note.

use std::{
    fs::File,
    io::{self, Write as _},
    os::{fd::AsFd as _, unix::fs::MetadataExt as _},
    path::{Path, PathBuf},
};

use rustix::fs::FlockOperation;

use super::{failpoint, process, temporary};
use crate::{
    error::{Context as _, Error, Kind, Result},
    model::process::Place,
};

/// Between the parts of a note's name: 16 digits, the id of the boot and the host.
const SEPARATOR: char = '@';
/// How many bytes of a host's name are in that of a note.
const LONGEST_HOST: usize = 64;
/// How often a note is made anew that another process has just swept: it had not been locked yet.
const ATTEMPTS: u32 = 8;

/// A note of ours: removed when dropped, which must be after the locks that are links to it.
#[derive(Debug)]
pub(crate) struct Note {
    file: File,
    path: PathBuf,
}

impl Note {
    /// Makes a note that has `content`, which is that of the locks, too.
    pub(crate) fn new(common_dir: &Path, content: &[u8]) -> Result<Self> {
        let directory = directory(common_dir);
        let what = || format!("cannot write to '{}'", directory.display());
        for _ in 0..ATTEMPTS {
            let path = directory.join(name(&process::here()));
            let file = create(&path).context(Kind::Internal, what)?;
            let mut note = Self { file, path };
            // Somebody who looks at all notes may hold it for a moment, and has removed it then.
            rustix::fs::flock(note.file.as_fd(), FlockOperation::LockExclusive).context(Kind::Internal, what)?;
            if note.file.metadata().context(Kind::Internal, what)?.nlink() > 0 {
                note.file.write_all(content).context(Kind::Internal, what)?;
                return Ok(note);
            }
        }
        Err(Error::race(what()))
    }

    /// Makes the file `lock` as a link to the note.
    pub(crate) fn link_to(&self, lock: &Path) -> io::Result<()> {
        failpoint::hit("refs:before-lock");
        std::fs::hard_link(&self.path, lock)
    }
}

impl Drop for Note {
    fn drop(&mut self) {
        // What stays is in nobody's way, and swept by the next command.
        drop(std::fs::remove_file(&self.path));
    }
}

/// Whether the process that made a note lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// It does.
    Alive,
    /// It does not.
    Dead,
    /// It was on this host, and cannot be seen from here.
    Elsewhere(String),
}

/// A note that was found, maybe of a process that is gone; nobody else takes that for gone as long as this is held.
#[derive(Debug)]
pub(crate) struct Found {
    /// Whose it is.
    pub(crate) owner: Owner,
    /// Device and inode, which its locks share.
    pub(crate) identity: (u64, u64),
    /// True if there are links to it.
    pub(crate) is_linked: bool,
    path: PathBuf,
    _file: File,
}

impl Found {
    /// Removes the note, whose locks are gone.
    pub(crate) fn remove(self) {
        drop(std::fs::remove_file(&self.path));
    }
}

/// Returns the notes of all processes.
pub(crate) fn all(common_dir: &Path) -> Vec<Found> {
    let entries = std::fs::read_dir(directory(common_dir)).into_iter().flatten().flatten();
    entries.filter_map(|entry| find(entry.path(), &process::here())).collect()
}

fn find(path: PathBuf, here: &Place) -> Option<Found> {
    let (boot, host) = place(path.file_name()?.to_str()?)?;
    // To lock it exclusively, some file systems want it open for writing.
    let file = File::options().read(true).write(true).open(&path).ok()?;
    // A name that many machines have says nothing.
    let is_this_host = host == host_part(here) && !["", "localhost"].contains(&host);
    let is_here = is_this_host || (!boot.is_empty() && boot == here.boot);
    let owner = if !is_here {
        Owner::Elsewhere(host.to_owned())
    } else if rustix::fs::flock(file.as_fd(), FlockOperation::NonBlockingLockExclusive).is_ok() {
        Owner::Dead
    } else {
        Owner::Alive
    };
    // Asked for after it is locked: a note that is gone has no locks.
    let metadata = file.metadata().ok().filter(|metadata| metadata.nlink() > 0)?;
    Some(Found {
        owner,
        identity: (metadata.dev(), metadata.ino()),
        is_linked: metadata.nlink() > 1,
        path,
        _file: file,
    })
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
    fn a_note_is_dead_once_nobody_holds_it() {
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
        first.into_iter().for_each(Found::remove);
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
        ] {
            let dir = tempfile::tempdir().expect("a temporary directory");
            let path = noted(dir.path(), &place);
            assert_eq!(owners(dir.path()), [(expected, false)], "{}", path.display());
        }
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
