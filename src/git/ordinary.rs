//! Git's own files in a git directory, and files with rules, where a pipe or a device may be in the place of one: who reads that may
//! wait for ever.

use std::{
    fs::{self, File, FileType, Metadata},
    io::{self, ErrorKind, Read as _},
    os::unix::fs::{FileTypeExt as _, MetadataExt as _},
    path::Path,
};

use bstr::{BString, ByteSlice as _};
use rustix::fs::{Mode, OFlags};

use crate::error::{Error, Result};

/// More bytes than git writes into a small file: a path, the name of a ref, the reason of a lock.
const MOST: u64 = 64 << 10;

/// The files of a git directory that git or we read to look at its worktree. Others do not matter, whatever they are.
const FILES: [&str; 30] = [
    "HEAD",
    "index",
    "commondir",
    "gitdir",
    "config",
    "config.worktree",
    "packed-refs",
    "shallow",
    "logs/HEAD",
    "info/exclude",
    "info/attributes",
    "info/grafts",
    "info/sparse-checkout",
    "ORIG_HEAD",
    "FETCH_HEAD",
    "AUTO_MERGE",
    "MERGE_HEAD",
    "MERGE_MSG",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "REBASE_HEAD",
    "BISECT_HEAD",
    "BISECT_START",
    "BISECT_LOG",
    "checkpoint/base",
    "checkpoint/index",
    "checkpoint/lock",
    "checkpoint/restore.json",
    "checkpoint/tally",
    "checkpoint/turns.toml",
];

/// How long files in a git directory may be that are read as a whole.
const LONGEST: [(&str, u64); 5] =
    [("HEAD", MOST), ("commondir", MOST), ("gitdir", MOST), ("config.worktree", 16 << 20), ("index", 1 << 30)];

/// So many refs may name each other, as in git.
const MOST_REFS: usize = 5;

/// Returns the bytes of the file `path`, one of git's small ones.
///
/// # Errors
/// If there is no file, something else, or a file that is too long.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let bytes = read_beginning(path, MOST + 1)?;
    if bytes.len() as u64 > MOST {
        return Err(io::Error::other("it is too long"));
    }
    Ok(bytes)
}

/// Returns the reason in the file `path`, which locks a worktree: cut if it is very long, empty if it cannot be read.
///
/// None if there is nothing, and so no lock: like git, we take anything else for one.
pub(super) fn lock_reason(path: &Path) -> Option<BString> {
    match path.symlink_metadata() {
        Err(cause) if is_gone(&cause) => None,
        _ => Some(read_beginning(path, MOST).unwrap_or_default().trim().into()),
    }
}

/// Returns true if `cause` says that there is nothing at a path.
pub(super) fn is_gone(cause: &io::Error) -> bool {
    matches!(cause.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// Returns the first bytes of the file `path`, at most `most`.
pub(crate) fn read_beginning(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    // Without NONBLOCK, opening a FIFO would block.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Looks at the files in the git directory `git_dir` that are read to look at its worktree, and at the ref in `common_dir` that its
/// HEAD names.
///
/// # Errors
/// If reading one of them might never end, or take very long.
pub(crate) fn refuse_endless(git_dir: &Path, common_dir: &Path) -> Result<()> {
    for name in FILES {
        let path = git_dir.join(name);
        // A link that leads nowhere does no harm.
        if let Some(what) = path.metadata().ok().and_then(|found| endless(&found)) {
            return Err(refusal(&path.display().to_string(), what));
        }
    }
    for (name, most) in LONGEST {
        refuse_longer(&git_dir.join(name), most)?;
    }
    refuse_endless_ref(&git_dir.join("HEAD"), common_dir)
}

/// Looks at the refs that the file `head` and those after it name, in `common_dir`.
///
/// # Errors
/// If reading one of them might never end.
pub(super) fn refuse_endless_ref(head: &Path, common_dir: &Path) -> Result<()> {
    let mut path = head.to_owned();
    for _ in 0..MOST_REFS {
        let text = read(&path).unwrap_or_default();
        let name = text.strip_prefix(b"ref:").map(|name| name.trim().as_bstr());
        let Some(name) = name.filter(|name| gix::validate::reference::name(name).is_ok()) else { break };
        path = common_dir.join(gix::path::from_bstr(name).unwrap_or_default());
        if let Some(what) = path.metadata().ok().and_then(|found| endless(&found)) {
            return Err(refusal(&path.display().to_string(), what));
        }
        refuse_longer(&path, MOST)?;
    }
    Ok(())
}

/// Refuses the file `path` if it has more than `most` bytes.
///
/// # Errors
/// If it has.
pub(crate) fn refuse_longer(path: &Path, most: u64) -> Result<()> {
    if path.metadata().is_ok_and(|found| found.is_file() && found.len() > most) {
        return Err(Error::user(format!("'{}' has more than {} KiB", path.display(), most >> 10)));
    }
    Ok(())
}

/// Returns an error which says that nothing can be read from `path`, because it is `what`.
pub(super) fn refusal(path: &str, what: &str) -> Error {
    Error::user(format!("'{path}' is {what}, and nothing can be read from it"))
        .with_hint("remove it, or move it away, and run the command again; git, too, would wait for it without end")
}

/// Returns what `found` is, if reading it may never end. A socket cannot be opened; git's file system monitor has one.
pub(super) fn endless(found: &Metadata) -> Option<&'static str> {
    let kind: FileType = found.file_type();
    if kind.is_fifo() {
        return Some("a pipe");
    }
    ((kind.is_char_device() && !is_null(found)) || kind.is_block_device()).then_some("a device")
}

/// Returns true for /dev/null, which reads as an empty file.
fn is_null(found: &Metadata) -> bool {
    // A sandbox may have no /dev; Linux always gives it this number.
    let is_known = cfg!(target_os = "linux") && found.rdev() == rustix::fs::makedev(1, 3);
    is_known || fs::metadata("/dev/null").is_ok_and(|null| null.rdev() == found.rdev())
}
