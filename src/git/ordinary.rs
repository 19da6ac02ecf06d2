//! Git's own files in a git directory, and the rules in a worktree, where a pipe or a device may be in the place of one: who opens that
//! may wait for ever.

use std::{
    collections::HashSet,
    fs::{self, File, FileType},
    io::{self, ErrorKind, Read as _},
    os::unix::fs::FileTypeExt as _,
    path::{Path, PathBuf},
};

use bstr::{BStr, BString, ByteSlice as _};
use rustix::fs::{Mode, OFlags};

use crate::error::{Error, Result};

/// More bytes than git writes into such a file: a path, the name of a ref, the reason of a lock.
const MOST: u64 = 64 << 10;

/// The directories of a git directory whose files git or we read to look at its worktree.
const DIRECTORIES: [&str; 4] = ["", "info", "logs", "checkpoint"];

/// Returns the bytes of the file `path`, one of git's small ones.
///
/// # Errors
/// If there is no file, something else, or a file that is too long.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_at_most(path, MOST)
}

/// As [`read`] for a file of at most `most` bytes.
pub(super) fn read_at_most(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    // Without NONBLOCK, opening a FIFO would block.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::other("it is too long"));
    }
    Ok(bytes)
}

/// Returns a pipe or a device in the git directory `git_dir`, in the place of a file.
///
/// # Errors
/// If a directory cannot be read.
pub(crate) fn find_special(git_dir: &Path) -> io::Result<Option<PathBuf>> {
    for name in DIRECTORIES {
        let entries = match fs::read_dir(git_dir.join(name)) {
            Err(cause) if matches!(cause.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => continue,
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let mut kind = entry.file_type()?;
            if kind.is_symlink() {
                // One that leads nowhere harms nobody.
                let Ok(target) = fs::metadata(entry.path()) else { continue };
                kind = target.file_type();
            }
            if is_special(kind) {
                return Ok(Some(entry.path()));
            }
        }
    }
    Ok(None)
}

/// The files of one name in the directories of a worktree, with rules for what is below.
pub(crate) struct RuleFiles {
    root: PathBuf,
    name: &'static str,
    /// The directories that were looked at, with their final `/`.
    seen: HashSet<BString>,
}

impl RuleFiles {
    pub(crate) fn new(root: &Path, name: &'static str) -> Self {
        Self { root: root.to_owned(), name, seen: HashSet::new() }
    }

    /// Looks at those with rules for `path` before they are read.
    ///
    /// # Errors
    /// If one of them is a pipe or a device.
    pub(crate) fn refuse_special(&mut self, path: &BStr) -> Result<()> {
        let mut end = path.rfind_byte(b'/').map_or(0, |at| at + 1);
        while !self.seen.contains(&path[..end]) {
            let directory = &path[..end];
            if let Ok(directory) = directory.to_path() {
                let file = self.root.join(directory).join(self.name);
                if file.metadata().is_ok_and(|found| is_special(found.file_type())) {
                    return Err(Error::corrupt(format!("'{}' is a pipe or a device", file.display())));
                }
            }
            self.seen.insert(directory.into());
            end = path[..end.saturating_sub(1)].rfind_byte(b'/').map_or(0, |at| at + 1);
        }
        Ok(())
    }
}

/// Returns true for a pipe or a device. A socket cannot be opened; git's file system monitor has one.
fn is_special(kind: FileType) -> bool {
    kind.is_fifo() || kind.is_char_device() || kind.is_block_device()
}
