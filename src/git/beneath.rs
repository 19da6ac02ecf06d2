//! Opens files below the worktree's root without following a symbolic link on the way.

use std::os::fd::{AsFd, OwnedFd};

use bstr::{BStr, ByteSlice as _};
use rustix::{
    fs::{Mode, OFlags, ResolveFlags},
    io::Errno,
};

/// Opens `path` below the directory `root` with `flags`; no component of it may be a symbolic link.
///
/// # Errors
/// `ELOOP` if one is, `ENOENT` and others as open(2).
pub(crate) fn open(root: impl AsFd, path: &BStr, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match rustix::fs::openat2(root.as_fd(), path.as_bytes(), flags, Mode::empty(), resolve) {
        // Kernels before 5.6 and some sandboxes lack it: one component at a time does the same.
        Err(Errno::NOSYS | Errno::PERM) => open_stepwise(root, path, flags),
        other => other,
    }
}

fn open_stepwise(root: impl AsFd, path: &BStr, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let (parents, name) = path.rsplit_once_str("/").unwrap_or((b"", path));
    let directory = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
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
