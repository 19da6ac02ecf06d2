//! Copies a file from one worktree to another, by reflink where the file system can. Nothing is overwritten, and no path leads
//! through a symbolic link.

use std::{
    fs::{self, File},
    io,
    os::fd::{AsFd, OwnedFd},
    path::Path,
};

use bstr::{BStr, ByteSlice as _};
use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags, Timespec, Timestamps},
    io::Errno,
};

use super::beneath;

/// What came of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Copied {
    /// It was copied.
    Yes,
    /// Something is in its place.
    Exists,
    /// It has vanished.
    Gone,
}

/// Copies the file or symbolic link `path` from below `from` to below `to`, with its permissions and times.
///
/// # Errors
/// If it is something else, or the system fails; nothing is left in its place then.
pub(crate) fn copy_file(from: &Path, to: &Path, path: &BStr) -> io::Result<Copied> {
    let (directory, name) = path.rsplit_once_str("/").unwrap_or((b"", path));
    let source = match parent(from, directory.as_bstr()) {
        Err(Errno::NOENT) => return Ok(Copied::Gone),
        source => source?,
    };
    let stat = match rustix::fs::statat(&source, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => return Ok(Copied::Gone),
        stat => stat?,
    };
    let target = make_directories(to, directory.as_bstr())?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Symlink => {
            let text = rustix::fs::readlinkat(&source, name, Vec::new())?;
            return unless_there(rustix::fs::symlinkat(text, &target, name));
        }
        FileType::RegularFile => {}
        _ => return Err(io::Error::new(io::ErrorKind::Unsupported, "it is neither a file nor a symbolic link")),
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let read = match rustix::fs::openat(&source, name, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(Copied::Gone),
        read => File::from(read?),
    };
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let written = match rustix::fs::openat(&target, name, flags, Mode::RUSR | Mode::WUSR) {
        Err(Errno::EXIST) => return Ok(Copied::Exists),
        written => File::from(written?),
    };
    let copied = copy_content(&read, &written).and_then(|()| {
        rustix::fs::fchmod(&written, Mode::from_raw_mode(stat.st_mode))?;
        let time = |seconds, nanoseconds: u64| Timespec { tv_sec: seconds, tv_nsec: nanoseconds.cast_signed() };
        let times = Timestamps {
            last_access: time(stat.st_atime, stat.st_atime_nsec),
            last_modification: time(stat.st_mtime, stat.st_mtime_nsec),
        };
        Ok(rustix::fs::futimens(&written, &times)?)
    });
    if copied.is_err() {
        let _ = rustix::fs::unlinkat(&target, name, AtFlags::empty());
    }
    copied.map(|()| Copied::Yes)
}

fn copy_content(mut from: &File, mut to: &File) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    if rustix::fs::ioctl_ficlone(to, from).is_ok() {
        return Ok(());
    }
    io::copy(&mut from, &mut to).map(drop)
}

fn unless_there(made: rustix::io::Result<()>) -> io::Result<Copied> {
    match made {
        Err(Errno::EXIST) => Ok(Copied::Exists),
        made => Ok(made.map(|()| Copied::Yes)?),
    }
}

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Opens the directory `path` below `root`.
fn parent(root: &Path, path: &BStr) -> rustix::io::Result<OwnedFd> {
    let top = rustix::fs::open(root, DIRECTORY, Mode::empty())?;
    if path.is_empty() { Ok(top) } else { beneath::open(&top, path, DIRECTORY) }
}

/// Makes the directory `path` below `root`, if need be with those above, and opens it.
fn make_directories(root: &Path, path: &BStr) -> io::Result<OwnedFd> {
    let mut at = rustix::fs::open(fs::canonicalize(root)?, DIRECTORY, Mode::empty())?;
    for name in path.split_str("/").filter(|name| !name.is_empty()) {
        match rustix::fs::mkdirat(at.as_fd(), name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        at = beneath::open(&at, name.as_bstr(), DIRECTORY)?;
    }
    Ok(at)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn files_and_links_are_copied_and_nothing_is_overwritten() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let [from, to, outside] = ["from", "to", "outside"].map(|name| dir.path().join(name));
        for path in [&from.join("a/b"), &to, &outside] {
            fs::create_dir_all(path).expect("it can be made");
        }
        fs::write(from.join("a/b/f"), "mine\n").expect("writable");
        fs::set_permissions(from.join("a/b/f"), fs::Permissions::from_mode(0o600)).expect("it is ours");
        symlink("nowhere", from.join("link")).expect("it can be made");
        let copy = |path: &str| copy_file(&from, &to, path.into()).map_err(|error| error.kind());
        assert_eq!((copy("a/b/f"), copy("link"), copy("none")), (Ok(Copied::Yes), Ok(Copied::Yes), Ok(Copied::Gone)));
        assert_eq!(fs::read(to.join("a/b/f")).expect("it is there"), b"mine\n");
        let [one, other] = [&from, &to].map(|root| fs::metadata(root.join("a/b/f")).expect("it is there"));
        assert_eq!(one.permissions(), other.permissions());
        assert_eq!(one.modified().expect("known"), other.modified().expect("known"));
        assert_eq!(fs::read_link(to.join("link")).expect("a link"), Path::new("nowhere"));
        fs::write(to.join("a/b/f"), "other\n").expect("writable");
        assert_eq!((copy("a/b/f"), copy("link")), (Ok(Copied::Exists), Ok(Copied::Exists)));
        assert_eq!(fs::read(to.join("a/b/f")).expect("it is there"), b"other\n");
        // No link on the way is followed.
        symlink(&outside, to.join("out")).expect("it can be made");
        fs::create_dir(from.join("out")).expect("it can be made");
        fs::write(from.join("out/f"), "1").expect("writable");
        assert!(copy("out/f").is_err() && copy("a").is_err());
        assert_eq!(fs::read_dir(&outside).expect("it is there").count(), 0);
    }
}
