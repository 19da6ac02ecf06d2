//! Changes single files of the worktree, safely.
//!
//! Every directory on the way is opened without following symbolic links, repositories inside the worktree are never
//! entered, content appears by rename from a temporary file beside it, and directories go only when empty.
//! What to change, and whether the content there may go, is the caller's decision; this room knows no trees.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use bstr::{BStr, BString, ByteSlice as _};
use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags, RawMode, Stat},
    io::Errno,
};

use super::{
    checked_rename::{is_same, remove, rename_new, replace},
    checkout_names,
};
use crate::{
    error::{Context as _, Error, Kind, Result},
    model::verdict::Why,
};

/// Why something was not done: the path is left as it is, or nothing more can be done at all.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The path is left as it is.
    Left(Why),
    /// The operating system failed in a way that will not be better with the next path.
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// The result of an action on one path.
pub(crate) type Outcome<T> = std::result::Result<T, Stop>;

/// What to put at a path.
pub(crate) enum Put<'a> {
    /// A regular file with this content, executable or not.
    File(&'a [u8], bool),
    /// A symbolic link with this target.
    Link(&'a [u8]),
}

/// The files of a worktree, to be changed one by one; best in the order of their paths.
pub(crate) struct Checkout {
    root: OwnedFd,
    /// The directories on the way to the last path, from the root's child on.
    stack: Vec<(BString, OwnedFd)>,
    nonce: String,
    /// Device and inode of the current directory, which stays as in git: whoever stands there goes on there.
    current: Option<(u64, u64)>,
}

impl Checkout {
    /// Opens the worktree at `root`; the names of temporary files hold `nonce`, 16 hexadecimal digits.
    pub(crate) fn open(root: &std::path::Path, nonce: &str) -> Result<Self> {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY;
        let root = rustix::fs::open(root, flags, Mode::empty())
            .context(Kind::Internal, || format!("cannot open the worktree '{}'", root.display()))?;
        let current = rustix::fs::stat(".").ok().map(|stat| (stat.st_dev, stat.st_ino));
        Ok(Self { root, stack: Vec::new(), nonce: nonce.to_owned(), current })
    }

    fn temporary_name(&self, number: usize) -> String {
        checkout_names::temporary_name(&self.nonce, number)
    }

    /// Returns the directory of `path` and its name in there; none if a directory is missing and `creates` is false.
    fn parent<'a>(&mut self, path: &'a BStr, creates: bool) -> Outcome<Option<(BorrowedFd<'_>, &'a BStr)>> {
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

    /// Forgets open directories from `directory` on: it is about to go, or to be replaced.
    fn leave(&mut self, directory: &BStr) {
        let depth = directory.split(|byte| *byte == b'/').count();
        self.stack.truncate(depth.saturating_sub(1));
    }

    /// Returns what is at `path`, which is not followed if it is a symbolic link; none if nothing is.
    pub(crate) fn stat(&mut self, path: &BStr) -> Outcome<Option<Stat>> {
        let Some((parent, name)) = self.parent(path, false)? else { return Ok(None) };
        stat_at(parent, name)
    }

    /// Returns the bytes of the regular file or symbolic link `path` that `stat` told of.
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

    /// Writes what `put` says to a temporary file beside `path`, creating directories on the way. `number` tells it from
    /// others; a regular file takes over the permissions of `existing`.
    pub(crate) fn prepare(
        &mut self,
        path: &BStr,
        put: &Put<'_>,
        existing: Option<&Stat>,
        number: usize,
    ) -> Outcome<()> {
        let temporary = self.temporary_name(number);
        let what = || format!("cannot write '{path}'");
        let Some((parent, _)) = self.parent(path, true)? else { return Err(Stop::Left(Why::UnderWay)) };
        match put {
            Put::Link(target) => rustix::fs::symlinkat(*target, parent, temporary.as_str()).map_err(|e| stop(e, what)),
            Put::File(bytes, is_executable) => {
                let existing = existing
                    .filter(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile)
                    .map(|stat| with_executable(stat.st_mode, *is_executable));
                // Without a file to take permissions from, the umask decides, as for any new file.
                let mode = match (existing, is_executable) {
                    (Some(_), _) => Mode::RUSR | Mode::WUSR,
                    (None, true) => Mode::from_raw_mode(0o777),
                    (None, false) => Mode::from_raw_mode(0o666),
                };
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let fd = rustix::fs::openat(parent, temporary.as_str(), flags, mode).map_err(|e| stop(e, what))?;
                let written = write_all(fd, bytes, existing).map_err(|e| stop(e, what));
                if written.is_err() {
                    rustix::fs::unlinkat(parent, temporary.as_str(), AtFlags::empty()).unwrap_or_default();
                }
                written
            }
        }
    }

    /// Moves the temporary file `number` to `path`, if that still is what `existing` says.
    pub(crate) fn commit(&mut self, path: &BStr, existing: Option<&Stat>, number: usize) -> Outcome<()> {
        let moved = self.try_commit(path, existing, number);
        if moved.is_err() {
            self.remove_temporary(path, number);
        }
        moved
    }

    fn try_commit(&mut self, path: &BStr, existing: Option<&Stat>, number: usize) -> Outcome<()> {
        let temporary = self.temporary_name(number);
        let what = || format!("cannot write '{path}'");
        let Some((parent, name)) = self.parent(path, false)? else { return Err(Stop::Left(Why::UnderWay)) };
        match (existing, stat_at(parent, name)?) {
            (None, None) => rename_new(parent, &temporary, name).map_err(|e| match e {
                Errno::EXIST => Stop::Left(Why::UnderWay),
                _ => stop(e, what),
            }),
            (Some(expected), Some(found)) if is_same(expected, &found) => replace(parent, &temporary, name, expected),
            _ => Err(Stop::Left(Why::UnderWay)),
        }
    }

    /// Removes the temporary file `number` beside `path`, if there is one.
    pub(crate) fn remove_temporary(&mut self, path: &BStr, number: usize) {
        let temporary = self.temporary_name(number);
        if let Ok(Some((parent, _))) = self.parent(path, false) {
            // What cannot be removed is no user file to anyone who scans: `is_temporary_name` tells.
            rustix::fs::unlinkat(parent, temporary.as_str(), AtFlags::empty()).unwrap_or_default();
        }
    }

    /// Sets or clears the executable bits of the regular file `path`, if that still is what `existing` says.
    pub(crate) fn set_executable(&mut self, path: &BStr, is_executable: bool, existing: &Stat) -> Outcome<()> {
        let what = || format!("cannot change the mode of '{path}'");
        let Some((parent, name)) = self.parent(path, false)? else { return Err(Stop::Left(Why::UnderWay)) };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(parent, name.as_bytes(), flags, Mode::empty()).map_err(|e| stop(e, what))?;
        let opened = rustix::fs::fstat(&fd).map_err(|e| stop(e, what))?;
        if !is_same(&opened, existing) {
            return Err(Stop::Left(Why::UnderWay));
        }
        rustix::fs::fchmod(&fd, with_executable(opened.st_mode, is_executable)).map_err(|e| stop(e, what))
    }

    /// Deletes the file or symbolic link `path`, if that still is what `existing` says. `number` is that of its temporary file.
    pub(crate) fn delete(&mut self, path: &BStr, existing: &Stat, number: usize) -> Outcome<()> {
        let temporary = self.temporary_name(number);
        let Some((parent, name)) = self.parent(path, false)? else { return Err(Stop::Left(Why::UnderWay)) };
        match stat_at(parent, name)? {
            Some(found) if is_same(existing, &found) => remove(parent, &temporary, name, existing),
            _ => Err(Stop::Left(Why::UnderWay)),
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

    /// Returns all that is below the directory `path` and is no directory, and the directories, deepest first.
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
            // A file where a directory is asked for: nothing can be below it.
            _ => Ok(None),
        },
        Err(errno) => Err(stop(errno, what)),
    }
}

pub(super) fn stat_at(parent: BorrowedFd<'_>, name: &BStr) -> Outcome<Option<Stat>> {
    match rustix::fs::statat(parent, name.as_bytes(), AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(errno) => Err(stop(errno, || format!("cannot read '{name}'"))),
    }
}

fn write_all(fd: OwnedFd, bytes: &[u8], mode: Option<Mode>) -> rustix::io::Result<()> {
    if let Some(mode) = mode {
        rustix::fs::fchmod(&fd, mode)?;
    }
    let mut file = std::fs::File::from(fd);
    std::io::Write::write_all(&mut file, bytes)
        .map_err(|error| error.raw_os_error().map_or(Errno::IO, Errno::from_raw_os_error))
}

/// Returns the permissions of `mode` with the executable bits as git sets them: for all who may read.
fn with_executable(mode: RawMode, is_executable: bool) -> Mode {
    let permissions = mode & 0o7777;
    Mode::from_raw_mode(match (is_executable, permissions & 0o100 != 0) {
        (true, false) => permissions | 0o100 | ((permissions & 0o444) >> 2),
        (false, true) => permissions & !0o111,
        _ => permissions,
    })
}

/// Tells apart what concerns one path from what will hit the next one too.
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
