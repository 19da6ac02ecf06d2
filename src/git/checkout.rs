//! Finds single files of the worktree, safely; `checkout_write` changes them.
//!
//! Directories are opened without following symbolic links, repositories inside the worktree are never entered, and
//! only empty directories are removed.
//!
//! The caller decides what to change, and whether existing content may be deleted; this module knows no trees.

use std::{
    collections::HashMap,
    os::fd::{AsFd as _, BorrowedFd, OwnedFd},
};

use bstr::{BStr, BString, ByteSlice as _};
use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags, Stat},
    io::Errno,
};

use crate::{
    error::{Context as _, Error, Kind, Result},
    model::verdict::Why,
};

/// Why an action was not done: for this path only, or for good.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The path is left as it is.
    Left(Why),
    /// An error of the operating system that will also hit the next paths.
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// The result of an action on one path.
pub(crate) type Outcome<T> = std::result::Result<T, Stop>;

/// The files of a worktree, to be changed one by one; fastest in the order of their paths.
pub(crate) struct Checkout {
    root: OwnedFd,
    /// The open directories that lead to the last path, from the root's child on.
    stack: Vec<(BString, OwnedFd)>,
    pub(super) nonce: String,
    /// What a file at a path may at most allow that is written where there is none.
    pub(crate) permissions: HashMap<BString, u32>,
    /// Device and inode of the current directory. As in git, it is never removed: a shell may be in it.
    current: Option<(u64, u64)>,
}

impl Checkout {
    /// Opens the worktree at `root`; the names of temporary files contain `nonce`, 16 hexadecimal digits.
    pub(crate) fn open(root: &std::path::Path, nonce: &str) -> Result<Self> {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY;
        let root = rustix::fs::open(root, flags, Mode::empty())
            .context(Kind::Internal, || format!("cannot open the worktree '{}'", root.display()))?;
        let current = rustix::fs::stat(".").ok().map(|stat| (stat.st_dev, stat.st_ino));
        Ok(Self { root, stack: Vec::new(), nonce: nonce.to_owned(), permissions: HashMap::new(), current })
    }

    /// Opens the directory of `path`, and returns it with the file's name; none if a directory is missing and `creates`
    /// is false.
    pub(super) fn parent<'a>(&mut self, path: &'a BStr, creates: bool) -> Outcome<Option<(BorrowedFd<'_>, &'a BStr)>> {
        let (directory, name) = match path.rfind_byte(b'/') {
            Some(at) => (&path[..at], path[at + 1..].as_bstr()),
            None => (&path[..0], path),
        };
        if self.enter(directory.as_bstr(), creates)? {
            Ok(Some((self.stack.last().map_or(self.root.as_fd(), |(_, fd)| fd.as_fd()), name)))
        } else {
            Ok(None)
        }
    }

    /// Opens all directories down to `directory`; false if one is missing and `creates` is false.
    fn enter(&mut self, directory: &BStr, creates: bool) -> Outcome<bool> {
        let components: Vec<&[u8]> =
            if directory.is_empty() { Vec::new() } else { directory.split(|byte| *byte == b'/').collect() };
        let shared = self.stack.iter().zip(&components).take_while(|((name, _), wanted)| name == *wanted).count();
        self.stack.truncate(shared);
        for component in &components[shared..] {
            let above = self.stack.last().map_or(self.root.as_fd(), |(_, fd)| fd.as_fd());
            let Some(fd) = open_directory(above, component.as_bstr(), creates)? else { return Ok(false) };
            self.stack.push((component.as_bstr().to_owned(), fd));
        }
        Ok(true)
    }

    /// Closes open directories from `directory` on, before it is removed or replaced.
    fn leave(&mut self, directory: &BStr) {
        let depth = directory.split(|byte| *byte == b'/').count();
        self.stack.truncate(depth.saturating_sub(1));
    }

    /// Returns the stat of `path`, without following a symbolic link; none if it does not exist.
    pub(crate) fn stat(&mut self, path: &BStr) -> Outcome<Option<Stat>> {
        let Some((parent, name)) = self.parent(path, false)? else { return Ok(None) };
        stat_at(parent, name)
    }

    /// Returns the bytes of the regular file or symbolic link `path`, whose stat is `stat`.
    pub(crate) fn read(&mut self, path: &BStr, stat: &Stat) -> Outcome<Vec<u8>> {
        let Some((parent, name)) = self.parent(path, false)? else { return Err(Stop::Left(Why::UnderWay)) };
        let what = || format!("cannot read '{path}'");
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => {
                let target = rustix::fs::readlinkat(parent, name.as_bytes(), Vec::new()).map_err(|e| stop(e, what))?;
                Ok(target.into_bytes())
            }
            FileType::RegularFile => {
                let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
                let fd =
                    rustix::fs::openat(parent, name.as_bytes(), flags, Mode::empty()).map_err(|e| stop(e, what))?;
                let opened = rustix::fs::fstat(&fd).map_err(|e| stop(e, what))?;
                if !is_same(&opened, stat) {
                    return Err(Stop::Left(Why::UnderWay));
                }
                let mut bytes = Vec::with_capacity(usize::try_from(stat.st_size).unwrap_or(0) + 1);
                std::io::Read::read_to_end(&mut std::fs::File::from(fd), &mut bytes).context(Kind::Internal, what)?;
                Ok(bytes)
            }
            _ => Err(Stop::Left(Why::InTheWay)),
        }
    }

    /// Removes the directory `path` if it is empty and not the current one; returns true if it is gone.
    pub(crate) fn remove_directory(&mut self, path: &BStr) -> Outcome<bool> {
        self.leave(path);
        let current = self.current;
        let Some((parent, name)) = self.parent(path, false)? else { return Ok(true) };
        let found = rustix::fs::statat(parent, name.as_bytes(), AtFlags::SYMLINK_NOFOLLOW).ok();
        if current.is_some() && found.map(|stat| (stat.st_dev, stat.st_ino)) == current {
            return Ok(false);
        }
        match rustix::fs::unlinkat(parent, name.as_bytes(), AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => Ok(true),
            Err(_) => Ok(false),
        }
    }

    /// Creates the directory `path` and those above it; returns true if it did not exist.
    pub(crate) fn make_directory(&mut self, path: &BStr) -> Outcome<bool> {
        match self.stat(path)? {
            Some(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Directory => Ok(false),
            Some(_) => Err(Stop::Left(Why::InTheWay)),
            None => self.enter(path, true),
        }
    }

    /// Returns all files below the directory `path`, and all directories, deepest first.
    pub(crate) fn list(&mut self, path: &BStr) -> Outcome<(Vec<BString>, Vec<BString>)> {
        let (mut files, mut directories) = (Vec::new(), vec![path.to_owned()]);
        let mut next = 0;
        while next < directories.len() {
            let directory = directories[next].clone();
            next += 1;
            if !self.enter(directory.as_bstr(), false)? {
                return Err(Stop::Left(Why::UnderWay));
            }
            let what = || format!("cannot read the directory '{directory}'");
            let fd = self.stack.last().map_or(self.root.as_fd(), |(_, fd)| fd.as_fd());
            for entry in rustix::fs::Dir::read_from(fd).map_err(|e| stop(e, what))? {
                let entry = entry.map_err(|e| stop(e, what))?;
                let name = entry.file_name().to_bytes().as_bstr();
                if name == "." || name == ".." {
                    continue;
                }
                let mut inner = directory.clone();
                inner.push(b'/');
                inner.extend_from_slice(name);
                let stat = stat_at(fd, name)?.ok_or(Stop::Left(Why::UnderWay))?;
                let is_directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
                if is_directory { directories.push(inner) } else { files.push(inner) }
            }
        }
        directories.reverse();
        Ok((files, directories))
    }
}

/// Opens the directory `name` in `above`, which must not be a symbolic link nor the root of a repository.
fn open_directory(above: BorrowedFd<'_>, name: &BStr, creates: bool) -> Outcome<Option<OwnedFd>> {
    let what = || format!("cannot open the directory '{name}'");
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
    let open = || rustix::fs::openat(above, name.as_bytes(), flags, Mode::empty());
    let opened = match open() {
        Err(Errno::NOENT) if creates => {
            match rustix::fs::mkdirat(above, name.as_bytes(), Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(stop(errno, what)),
            }
            open()
        }
        other => other,
    };
    match opened {
        Ok(fd) => match rustix::fs::statat(&fd, ".git", AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => Ok(Some(fd)),
            Ok(_) => Err(Stop::Left(Why::InNested)),
            Err(errno) => Err(stop(errno, what)),
        },
        Err(Errno::NOENT) => Ok(None),
        Err(Errno::NOTDIR | Errno::LOOP) => match stat_at(above, name)? {
            Some(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink => Err(Stop::Left(Why::BelowLink)),
            _ if creates => Err(Stop::Left(Why::InTheWay)),
            // A file in the place of a parent directory: the path cannot exist.
            _ => Ok(None),
        },
        Err(errno) => Err(stop(errno, what)),
    }
}

/// Returns true if `a` and `b` are the same file with the same content, as far as stat can show.
pub(super) fn is_same(a: &Stat, b: &Stat) -> bool {
    is_same_renamed(a, b) && (a.st_ctime, a.st_ctime_nsec) == (b.st_ctime, b.st_ctime_nsec)
}

/// The same for a file that may have been renamed in between: on many file systems, that changes `ctime`.
pub(super) fn is_same_renamed(a: &Stat, b: &Stat) -> bool {
    a.st_dev == b.st_dev
        && a.st_ino == b.st_ino
        && a.st_mode == b.st_mode
        && a.st_size == b.st_size
        && (a.st_mtime, a.st_mtime_nsec) == (b.st_mtime, b.st_mtime_nsec)
}

/// Returns true if both are the same file.
pub(super) fn is_same_file(a: &Stat, b: &Stat) -> bool {
    (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino)
}

pub(super) fn stat_at(parent: BorrowedFd<'_>, name: &BStr) -> Outcome<Option<Stat>> {
    match rustix::fs::statat(parent, name.as_bytes(), AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(errno) => Err(stop(errno, || format!("cannot read '{name}'"))),
    }
}

/// Distinguishes errors of one path from errors that will hit the next path, too.
pub(super) fn stop(errno: Errno, what: impl FnOnce() -> String) -> Stop {
    match errno {
        Errno::ACCESS | Errno::PERM | Errno::ROFS | Errno::TXTBSY | Errno::BUSY => Stop::Left(Why::Denied),
        Errno::NAMETOOLONG | Errno::ILSEQ | Errno::INVAL => Stop::Left(Why::Invalid),
        Errno::NOENT => Stop::Left(Why::UnderWay),
        Errno::LOOP => Stop::Left(Why::BelowLink),
        Errno::ISDIR | Errno::NOTDIR | Errno::EXIST | Errno::NOTEMPTY => Stop::Left(Why::InTheWay),
        _ => Stop::Failed(Error::new(Kind::Internal, what()).with_cause(errno)),
    }
}
