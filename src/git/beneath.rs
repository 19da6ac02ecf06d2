//! Opens files below the worktree's root without following symbolic links.

use std::{
    fs::File,
    os::fd::{AsFd, OwnedFd},
};

use bstr::{BStr, ByteSlice as _};
use rustix::{
    fs::{Mode, OFlags},
    io::Errno,
};

use super::{
    Repo,
    read_directory::{self, Buffer},
};
use crate::error::Error;

/// What an error means for a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// The path does not exist.
    Gone,
    /// The path may exist, but we may not read it.
    Unreadable,
    /// The error is not about this path.
    Other,
}

impl Trouble {
    /// Returns what `errno` means for the path.
    pub(crate) fn of(errno: Errno) -> Self {
        match errno {
            // A directory became a symbolic link: what it points to is not part of this worktree.
            Errno::NOENT | Errno::NOTDIR | Errno::LOOP => Self::Gone,
            Errno::ACCESS | Errno::PERM | Errno::IO => Self::Unreadable,
            _ => Self::Other,
        }
    }
}

impl Repo {
    /// Returns true if the directory `path` is in the worktree, and nothing is in it.
    pub(crate) fn is_empty_directory(&self, path: &BStr) -> bool {
        let Ok(root) = File::open(self.worktree_root()) else { return false };
        let mut is_empty = true;
        let directory = open(root, path, OFlags::RDONLY | OFlags::DIRECTORY);
        let read =
            directory.and_then(|it| read_directory::read(it.as_fd(), &mut Buffer::default(), |_, _| is_empty = false));
        read.is_ok() && is_empty
    }
}

/// Returns the error for `errno` while reading `path`, which is empty for the root of the worktree.
pub(super) fn unreadable(path: &BStr, errno: Errno) -> Error {
    let what = if path.is_empty() { "the root of the worktree".to_owned() } else { format!("'{path}'") };
    Error::internal(format!("cannot read {what}")).with_cause(errno)
}

/// Opens `path` below the directory `root` with `flags`, without following symbolic links.
///
/// # Errors
/// `ELOOP` or `ENOTDIR` if a component is a symbolic link, `ENOENT` and others as open(2).
pub(crate) fn open(root: impl AsFd, path: &BStr, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match open_at_once(&root, path, flags) {
        // Kernels before 5.6, some sandboxes and other systems lack openat2(2): opening one component at a time does
        // the same.
        Err(Errno::NOSYS | Errno::PERM) => open_stepwise(root, path, flags),
        other => other,
    }
}

#[cfg(target_os = "linux")]
fn open_at_once(root: impl AsFd, path: &BStr, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    use rustix::fs::ResolveFlags;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(root, path.as_bytes(), flags, Mode::empty(), resolve)
}

#[cfg(not(target_os = "linux"))]
fn open_at_once(_: impl AsFd, _: &BStr, _: OFlags) -> rustix::io::Result<OwnedFd> {
    Err(Errno::NOSYS)
}

/// The flags for a parent directory: to pass through it needs no permission to read it.
#[cfg(target_os = "linux")]
const PASS: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const PASS: OFlags = OFlags::RDONLY;

fn open_stepwise(root: impl AsFd, path: &BStr, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let (parents, name) = path.rsplit_once_str("/").unwrap_or((b"", path));
    let directory = PASS | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut current: Option<OwnedFd> = None;
    for component in parents.split_str("/").filter(|component| !component.is_empty()) {
        if component == b".." {
            return Err(Errno::XDEV);
        }
        let fd = current.as_ref().map_or(root.as_fd(), AsFd::as_fd);
        current = Some(rustix::fs::openat(fd, component, directory, Mode::empty())?);
    }
    rustix::fs::openat(current.as_ref().map_or(root.as_fd(), AsFd::as_fd), name, flags, Mode::empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_open_the_same_and_follow_no_link() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        std::fs::create_dir_all(dir.path().join("a/b")).expect("made");
        std::fs::write(dir.path().join("a/b/f"), "x").expect("written");
        std::os::unix::fs::symlink("a", dir.path().join("link")).expect("linked");
        std::os::unix::fs::symlink("f", dir.path().join("a/b/link")).expect("linked");
        let root = std::fs::File::open(dir.path()).expect("a directory");
        for (path, is_open) in [("a/b/f", true), ("link/b/f", false), ("a/b/link", false), ("a/none", false)] {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            assert_eq!(open(&root, path.into(), flags).is_ok(), is_open, "{path}");
            assert_eq!(open_stepwise(&root, path.into(), flags).is_ok(), is_open, "{path}, stepwise");
        }
    }

    #[rstest::rstest]
    #[case::nothing_there(Errno::NOENT, Trouble::Gone)]
    #[case::below_a_file(Errno::NOTDIR, Trouble::Gone)]
    #[case::denied(Errno::ACCESS, Trouble::Unreadable)]
    #[case::broken_disk(Errno::IO, Trouble::Unreadable)]
    #[case::too_many_open_files(Errno::MFILE, Trouble::Other)]
    #[case::no_memory(Errno::NOMEM, Trouble::Other)]
    fn errors_tell_gone_from_unreadable(#[case] errno: Errno, #[case] expected: Trouble) {
        assert_eq!(Trouble::of(errno), expected);
    }
}
