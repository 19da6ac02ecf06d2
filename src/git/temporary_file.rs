//! The temporary files of a restore, and what happens to them.
//!
//! Another program may save a file at any moment, so a temporary name may contain what that program wrote. Hence the
//! rule: a file is deleted only if its bytes are known, because the restore wrote them or a checkpoint has them. All
//! other files get a name of their own beside the path, [`conflict_name`], and later saves include them.

use std::os::fd::BorrowedFd;

use bstr::{BStr, BString, ByteSlice as _};
use gix::{ObjectId, objs::Kind as ObjectKind};
use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, Stat},
    io::Errno,
};

use super::{
    checkout::{Outcome, is_same, is_same_file, stat_at, stop},
    new_objects::id_of,
};

/// A file as it was seen: its metadata, and the id that its bytes have as a blob.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) stat: Stat,
    pub(crate) id: ObjectId,
}

/// A file that is looked at before it goes.
pub(crate) struct Held {
    stat: Stat,
    /// None if it is neither a regular file nor a symbolic link, or cannot be read.
    pub(crate) bytes: Option<Vec<u8>>,
}

impl Held {
    /// Reads the file `name`; none if it does not exist.
    pub(super) fn read(parent: BorrowedFd<'_>, name: &BStr) -> Outcome<Option<Self>> {
        let Some(stat) = stat_at(parent, name)? else { return Ok(None) };
        Ok(Some(Self { stat, bytes: bytes_at(parent, name, &stat) }))
    }

    /// Returns true if it is exactly `bytes`.
    pub(crate) fn is_exactly(&self, bytes: &[u8]) -> bool {
        self.bytes.as_deref() == Some(bytes)
    }

    /// Returns true if it has the type, permissions and bytes of `seen`.
    pub(super) fn is_as(&self, seen: &Seen) -> bool {
        let id = |bytes: &Vec<u8>| id_of(ObjectKind::Blob, bytes, seen.id.kind()).ok();
        self.stat.st_mode == seen.stat.st_mode
            && self.stat.st_size == seen.stat.st_size
            && self.bytes.as_ref().and_then(id) == Some(seen.id)
    }

    /// Returns true if it is the file `other`, unchanged.
    pub(super) fn is_still(&self, other: &Self) -> bool {
        is_same_file(&self.stat, &other.stat) && self.bytes == other.bytes
    }
}

fn bytes_at(parent: BorrowedFd<'_>, name: &BStr, stat: &Stat) -> Option<Vec<u8>> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Symlink => Some(rustix::fs::readlinkat(parent, name.as_bytes(), Vec::new()).ok()?.into_bytes()),
        FileType::RegularFile => {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let file = rustix::fs::openat(parent, name.as_bytes(), flags, Mode::empty()).ok()?;
            is_same_file(&rustix::fs::fstat(&file).ok()?, stat).then_some(())?;
            let mut bytes = Vec::with_capacity(usize::try_from(stat.st_size).unwrap_or(0) + 1);
            std::io::Read::read_to_end(&mut std::fs::File::from(file), &mut bytes).ok()?;
            Some(bytes)
        }
        _ => None,
    }
}

/// Deletes the file `temporary` if `is_known` confirms that its content is not lost; returns true if it is gone.
///
/// This is the only place that deletes temporary files. Times cannot show whether the file has changed: they are
/// coarse, and a write through a memory mapping updates them late.
pub(super) fn delete_known(
    parent: BorrowedFd<'_>,
    temporary: &BStr,
    is_known: &dyn Fn(&Held) -> bool,
) -> Outcome<bool> {
    match Held::read(parent, temporary)? {
        None => Ok(true),
        // While it was read, a program that has it open may have written to it.
        Some(held) if is_known(&held) && stat_at(parent, temporary)?.is_some_and(|now| is_same(&held.stat, &now)) => {
            rustix::fs::unlinkat(parent, temporary.as_bytes(), AtFlags::empty())
                .map(|()| true)
                .map_err(|errno| stop(errno, || format!("cannot delete '{temporary}'")))
        }
        Some(_) => Ok(false),
    }
}

/// Deletes the file `temporary` of `name` if what it holds is known, else gives it the name that is returned.
pub(super) fn discard(
    parent: BorrowedFd<'_>,
    temporary: &BStr,
    name: &BStr,
    is_known: &dyn Fn(&Held) -> bool,
) -> Outcome<Option<BString>> {
    // What cannot be looked at is kept, too.
    if matches!(delete_known(parent, temporary, is_known), Ok(true)) {
        return Ok(None);
    }
    match keep(name, |kept| rename_new(parent, temporary, kept)) {
        (kept, Ok(())) => Ok(Some(kept)),
        // Another program has deleted it.
        (_, Err(Errno::NOENT)) => Ok(None),
        (kept, Err(errno)) => Err(stop(errno, || format!("cannot rename '{temporary}' to '{kept}'"))),
    }
}

/// Passes conflict names of `name` to `rename` until one is free and short enough; returns the last one tried.
fn keep(name: &BStr, rename: impl Fn(&BStr) -> rustix::io::Result<()>) -> (BString, rustix::io::Result<()>) {
    let (mut number, mut longest) = (1, LONGEST_NAME);
    loop {
        let kept = conflict_name(name, number, longest);
        match rename(kept.as_bstr()) {
            Err(Errno::EXIST) => number += 1,
            // On eCryptfs, 143 bytes are the limit.
            Err(Errno::NAMETOOLONG) if longest > SHORTEST_NAME => longest /= 2,
            done => return (kept, done),
        }
    }
}

/// How long a name may be on most file systems.
const LONGEST_NAME: usize = 255;
/// Names are not cut any shorter than half of this.
const SHORTEST_NAME: usize = 100;

/// Returns the name beside `name`, of `longest` bytes at most, where the version `number` that another program wrote is kept.
fn conflict_name(name: &BStr, number: usize, longest: usize) -> BString {
    let suffix = format!(".git-checkpoint-conflict-{number}");
    let mut end = name.len().min(longest - suffix.len());
    // Some file systems reject names that end in the middle of a UTF-8 character.
    while end > 1 && end < name.len() && name[end] & 0b1100_0000 == 0b1000_0000 {
        end -= 1;
    }
    BString::from([&name[..end], suffix.as_bytes()].concat())
}

/// Renames so that nothing is replaced.
pub(super) fn rename_new(parent: BorrowedFd<'_>, from: &BStr, to: &BStr) -> rustix::io::Result<()> {
    match rustix::fs::renameat_with(parent, from.as_bytes(), parent, to.as_bytes(), RenameFlags::NOREPLACE) {
        Err(errno) if is_unsupported(errno) => link_and_unlink(parent, from, to),
        other => other,
    }
}

/// The same in two steps, for file systems without such a rename.
fn link_and_unlink(parent: BorrowedFd<'_>, from: &BStr, to: &BStr) -> rustix::io::Result<()> {
    match rustix::fs::linkat(parent, from.as_bytes(), parent, to.as_bytes(), AtFlags::empty()) {
        Ok(()) => rustix::fs::unlinkat(parent, from.as_bytes(), AtFlags::empty()),
        Err(errno @ (Errno::EXIST | Errno::NOENT)) => Err(errno),
        // It has no hard links either. Looking and renaming are two steps then.
        Err(_) => match rustix::fs::statat(parent, to.as_bytes(), AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => rustix::fs::renameat(parent, from.as_bytes(), parent, to.as_bytes()),
            Ok(_) => Err(Errno::EXIST),
            Err(errno) => Err(errno),
        },
    }
}

/// Returns true if a rename failed because the file system cannot do it in this way.
pub(super) fn is_unsupported(errno: Errno) -> bool {
    matches!(errno, Errno::INVAL | Errno::NOSYS | Errno::NOTSUP)
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;

    use super::*;

    #[rstest::rstest]
    #[case::plain("main.c", "main.c.git-checkpoint-conflict-12")]
    #[case::hidden(".gitignore", ".gitignore.git-checkpoint-conflict-12")]
    #[case::longest(&"n".repeat(255), &format!("{}.git-checkpoint-conflict-12", "n".repeat(228)))]
    #[case::characters(&"é".repeat(127), &format!("{}.git-checkpoint-conflict-12", "é".repeat(114)))]
    fn conflict_names_fit(#[case] name: &str, #[case] expected: &str) {
        let kept = conflict_name(name.into(), 12, LONGEST_NAME);
        assert_eq!(kept, expected);
        assert!(kept.len() <= LONGEST_NAME);
        assert!(!super::super::checkout_names::is_temporary_name(&kept), "a save sees it");
    }

    #[test]
    fn conflict_names_become_shorter_where_they_must() {
        let taken = format!("{}.git-checkpoint-conflict-1", "n".repeat(101));
        let rename = |kept: &BStr| match kept.len() {
            144.. => Err(Errno::NAMETOOLONG),
            _ if *kept == taken => Err(Errno::EXIST),
            _ => Ok(()),
        };
        let kept = |name: &str| keep(name.into(), rename);
        let expected = format!("{}.git-checkpoint-conflict-2", "n".repeat(101));
        assert_eq!(kept(&"n".repeat(143)), (expected.into(), Ok(())));
        assert_eq!(kept("n"), ("n.git-checkpoint-conflict-1".into(), Ok(())));
        let never = keep("n".into(), |_| Err(Errno::NAMETOOLONG));
        assert_eq!(never.1, Err(Errno::NAMETOOLONG), "it ends");
    }

    #[test]
    fn an_unknown_temporary_file_is_kept_under_its_own_name() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let write = |name: &str, text: &str| std::fs::write(directory.path().join(name), text).expect("written");
        let read = |name: &str| std::fs::read_to_string(directory.path().join(name)).ok();
        let handle = std::fs::File::open(directory.path()).expect("opened");
        let discard = |known: &[u8]| {
            discard(handle.as_fd(), "temporary".into(), "f".into(), &|held| held.is_exactly(known)).expect("done")
        };
        write("temporary", "ours");
        assert_eq!(discard(b"ours"), None);
        assert_eq!(read("temporary"), None);
        write("f.git-checkpoint-conflict-1", "a user's");
        write("temporary", "another program's");
        assert_eq!(discard(b"ours"), Some("f.git-checkpoint-conflict-2".into()));
        assert_eq!(read("temporary"), None);
        assert_eq!(read("f.git-checkpoint-conflict-1").as_deref(), Some("a user's"));
        assert_eq!(read("f.git-checkpoint-conflict-2").as_deref(), Some("another program's"));
        assert_eq!(discard(b"ours"), None, "there is nothing to discard");
    }

    #[test]
    fn nothing_is_replaced_without_such_a_rename() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let write = |name: &str| std::fs::write(directory.path().join(name), name).expect("written");
        let handle = std::fs::File::open(directory.path()).expect("opened");
        write("from");
        write("to");
        assert_eq!(link_and_unlink(handle.as_fd(), "from".into(), "to".into()), Err(Errno::EXIST));
        assert_eq!(std::fs::read(directory.path().join("to")).expect("there"), b"to");
        link_and_unlink(handle.as_fd(), "from".into(), "new".into()).expect("renamed");
        assert_eq!(std::fs::read(directory.path().join("new")).expect("there"), b"from");
        assert!(!directory.path().join("from").exists());
    }
}
