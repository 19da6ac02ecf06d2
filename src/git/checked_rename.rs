//! Replaces and removes files so that what another program has written a moment ago is not lost.
//!
//! Which files, and what they must be, is the caller's to say.

use std::os::fd::BorrowedFd;

use bstr::{BStr, ByteSlice as _};
use rustix::{
    fs::{AtFlags, RenameFlags, Stat},
    io::Errno,
};

use super::checkout::{Outcome, Stop, stat_at, stop};
use crate::model::verdict::Why;

/// Returns true if `a` and `b` are the same file with, as far as can be told, the same content.
pub(super) fn is_same(a: &Stat, b: &Stat) -> bool {
    a.st_dev == b.st_dev
        && a.st_ino == b.st_ino
        && a.st_mode == b.st_mode
        && a.st_size == b.st_size
        && (a.st_mtime, a.st_mtime_nsec) == (b.st_mtime, b.st_mtime_nsec)
        && (a.st_ctime, a.st_ctime_nsec) == (b.st_ctime, b.st_ctime_nsec)
}

/// The same, for a file that was renamed meanwhile: many file systems change `ctime` then.
fn is_same_renamed(a: &Stat, b: &Stat) -> bool {
    let mut b = *b;
    (b.st_ctime, b.st_ctime_nsec) = (a.st_ctime, a.st_ctime_nsec);
    is_same(a, &b)
}

/// Puts `temporary` in the place of `name`, which must be what `expected` says.
///
/// Looking and renaming are two steps, between which another program may write; so the file that gives way is looked at once
/// more after the two have changed places, and only then it goes.
pub(super) fn replace(parent: BorrowedFd<'_>, temporary: &str, name: &BStr, expected: &Stat) -> Outcome<()> {
    let what = || format!("cannot write '{name}'");
    let exchange = || rustix::fs::renameat_with(parent, temporary, parent, name.as_bytes(), RenameFlags::EXCHANGE);
    match exchange() {
        Ok(()) => {}
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            return rustix::fs::renameat(parent, temporary, parent, name.as_bytes()).map_err(|e| stop(e, what));
        }
        Err(errno) => return Err(stop(errno, what)),
    }
    if stat_at(parent, temporary.into())?.is_some_and(|found| is_same_renamed(expected, &found)) {
        return rustix::fs::unlinkat(parent, temporary, AtFlags::empty()).map_err(|e| stop(e, what));
    }
    exchange().map_err(|e| stop(e, what))?;
    Err(Stop::Left(Why::UnderWay))
}

/// Removes `name`, which must be what `expected` says, by way of `temporary`, for the same reason.
pub(super) fn remove(parent: BorrowedFd<'_>, temporary: &str, name: &BStr, expected: &Stat) -> Outcome<()> {
    let what = || format!("cannot delete '{name}'");
    match rustix::fs::renameat_with(parent, name.as_bytes(), parent, temporary, RenameFlags::NOREPLACE) {
        Ok(()) => {}
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            return rustix::fs::unlinkat(parent, name.as_bytes(), AtFlags::empty()).map_err(|e| stop(e, what));
        }
        Err(errno) => return Err(stop(errno, what)),
    }
    if stat_at(parent, temporary.into())?.is_some_and(|found| is_same_renamed(expected, &found)) {
        return rustix::fs::unlinkat(parent, temporary, AtFlags::empty()).map_err(|e| stop(e, what));
    }
    rename_new(parent, temporary, name).map_err(|e| stop(e, what))?;
    Err(Stop::Left(Why::UnderWay))
}

/// Renames so that nothing is replaced, where the file system can.
pub(super) fn rename_new(parent: BorrowedFd<'_>, temporary: &str, name: &BStr) -> rustix::io::Result<()> {
    match rustix::fs::renameat_with(parent, temporary, parent, name.as_bytes(), RenameFlags::NOREPLACE) {
        // The caller has looked a moment ago; this is as close as such a file system allows.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            rustix::fs::renameat(parent, temporary, parent, name.as_bytes())
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;

    use super::*;

    /// A directory with the files `old` and `temporary`, and what `old` was before it was edited.
    fn scene() -> (tempfile::TempDir, std::fs::File, Stat) {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let write = |name: &str, text: &str| std::fs::write(directory.path().join(name), text).expect("written");
        write("old", "seen");
        let handle = std::fs::File::open(directory.path()).expect("opened");
        let seen = rustix::fs::statat(&handle, "old", AtFlags::SYMLINK_NOFOLLOW).expect("there");
        write("old", "edited since");
        (directory, handle, seen)
    }

    fn names(directory: &tempfile::TempDir) -> Vec<String> {
        let entries = std::fs::read_dir(directory.path()).expect("readable");
        let mut names: Vec<_> =
            entries.map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn an_edit_just_before_the_rename_comes_back() {
        let (directory, handle, seen) = scene();
        std::fs::write(directory.path().join("temporary"), "new").expect("written");
        let done = replace(handle.as_fd(), "temporary", "old".into(), &seen);
        assert!(matches!(done, Err(Stop::Left(Why::UnderWay))), "{done:?}");
        assert_eq!(std::fs::read(directory.path().join("old")).expect("there"), b"edited since");
        assert_eq!(std::fs::read(directory.path().join("temporary")).expect("there"), b"new");
    }

    #[test]
    fn an_edit_just_before_the_removal_comes_back() {
        let (directory, handle, seen) = scene();
        let done = remove(handle.as_fd(), "temporary", "old".into(), &seen);
        assert!(matches!(done, Err(Stop::Left(Why::UnderWay))), "{done:?}");
        assert_eq!(names(&directory), ["old"]);
        assert_eq!(std::fs::read(directory.path().join("old")).expect("there"), b"edited since");
    }

    #[test]
    fn what_is_as_expected_goes() {
        let (directory, handle, _) = scene();
        let stat = || rustix::fs::statat(&handle, "old", AtFlags::SYMLINK_NOFOLLOW).expect("there");
        std::fs::write(directory.path().join("temporary"), "new").expect("written");
        replace(handle.as_fd(), "temporary", "old".into(), &stat()).expect("replaced");
        assert_eq!(names(&directory), ["old"]);
        assert_eq!(std::fs::read(directory.path().join("old")).expect("there"), b"new");
        remove(handle.as_fd(), "temporary", "old".into(), &stat()).expect("removed");
        assert_eq!(names(&directory), Vec::<String>::new());
    }
}
