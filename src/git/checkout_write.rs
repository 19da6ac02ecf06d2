//! Writes and deletes single files of the worktree, each only if it is still as the caller has seen it.
//!
//! Content is written to a temporary file and renamed into place. What another program writes at the same time stays:
//! `checked_rename` detects it, and `temporary_file` decides what may be deleted.

use std::os::fd::OwnedFd;

use bstr::{BStr, BString, ByteSlice as _};
use rustix::{
    fs::{FileType, Mode, OFlags, RawMode, Stat},
    io::Errno,
};

use super::{
    checked_rename::Place,
    checkout::{Checkout, Outcome, Stop, is_same, is_same_file, is_same_renamed, stat_at, stop},
    checkout_names,
    temporary_file::{Held, Seen, discard, rename_new},
};
use crate::model::verdict::Why;

/// What to write at a path.
pub(crate) enum Put<'a> {
    /// A regular file with this content, executable or not.
    File(&'a [u8], bool),
    /// A symbolic link with this target.
    Link(&'a [u8]),
}

/// The first part of the name that a file gets if its own name is unknown.
const UNKNOWN: &str = "unknown";

impl Put<'_> {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::File(bytes, _) | Self::Link(bytes) => bytes,
        }
    }
}

impl Checkout {
    /// Returns the two temporary names for the path `number`: for the new file, and for the old one if it must go
    /// first.
    fn temporary_names(&self, number: usize) -> [BString; 2] {
        [2 * number, 2 * number + 1].map(|number| checkout_names::temporary_name(&self.nonce, number).into())
    }

    /// Writes `put` to a temporary file beside `path`, and creates missing directories. `number` makes the temporary
    /// name unique; a regular file gets the permissions of `existing`.
    pub(crate) fn prepare(
        &mut self,
        path: &BStr,
        put: &Put<'_>,
        existing: Option<&Stat>,
        number: usize,
    ) -> Outcome<()> {
        let [temporary, _] = self.temporary_names(number);
        let what = || format!("cannot write '{path}'");
        let most = self.permissions.get(path).copied();
        let Some((parent, _)) = self.parent(path, true)? else { return Err(Stop::Left(Why::UnderWay)) };
        match put {
            Put::Link(target) => {
                rustix::fs::symlinkat(*target, parent, temporary.as_bytes()).map_err(|e| stop(e, what))
            }
            Put::File(bytes, is_executable) => {
                let existing = existing
                    .filter(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile)
                    .map(|stat| with_executable(stat.st_mode, *is_executable));
                // If there is no file whose permissions to copy, the umask decides, as for any new file; but one that was there
                // before had narrower ones.
                let all = if *is_executable { 0o777 } else { 0o666 };
                let mode = match (existing, most) {
                    (Some(_), _) => Mode::RUSR | Mode::WUSR,
                    (None, Some(most)) => Mode::from_raw_mode(all) & with_executable(most, *is_executable),
                    (None, None) => Mode::from_raw_mode(all),
                };
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let fd = rustix::fs::openat(parent, temporary.as_bytes(), flags, mode).map_err(|e| stop(e, what))?;
                let written = write_all(fd, bytes, existing).map_err(|e| stop(e, what));
                if written.is_err() {
                    let is_begun = |held: &Held| held.bytes.as_ref().is_some_and(|held| bytes.starts_with(held));
                    return self.settle(path, number, written, &is_begun);
                }
                written
            }
        }
    }

    /// Renames the temporary file `number`, whose content is `put`, to `path`, if that is still as in `existing`.
    /// Returns its metadata.
    pub(crate) fn commit(
        &mut self,
        path: &BStr,
        existing: Option<&Seen>,
        put: &Put<'_>,
        number: usize,
    ) -> Outcome<Stat> {
        let moved = self.try_commit(path, existing, put.bytes(), number);
        let is_known = |held: &Held| held.is_exactly(put.bytes()) || existing.is_some_and(|seen| held.is_as(seen));
        self.settle(path, number, moved, &is_known)
    }

    fn try_commit(&mut self, path: &BStr, existing: Option<&Seen>, bytes: &[u8], number: usize) -> Outcome<Stat> {
        let [temporary, aside] = self.temporary_names(number);
        let Some((parent, name)) = self.parent(path, false)? else { return Err(Stop::Left(Why::UnderWay)) };
        let temporary = temporary.as_bstr();
        let written = stat_at(parent, temporary)?.ok_or(Stop::Left(Why::UnderWay))?;
        match (existing, stat_at(parent, name)?) {
            (None, None) => rename_new(parent, temporary, name).map_err(|e| match e {
                Errno::EXIST => Stop::Left(Why::UnderWay),
                _ => stop(e, || format!("cannot write '{path}'")),
            })?,
            (Some(expected), Some(found)) if is_same_renamed(&expected.stat, &found) => {
                Place { parent, name, temporary, aside: aside.as_bstr() }.replace(expected, bytes)?;
            }
            _ => return Err(Stop::Left(Why::UnderWay)),
        }
        Ok(written)
    }

    /// Returns `done` after cleaning up the temporary names `number` beside `path`: content that `is_known` accepts is
    /// deleted, and content that another program wrote gets a permanent name and makes the path a conflict.
    pub(crate) fn settle<T>(
        &mut self,
        path: &BStr,
        number: usize,
        done: Outcome<T>,
        is_known: &dyn Fn(&Held) -> bool,
    ) -> Outcome<T> {
        let names = self.temporary_names(number);
        let (parent, name) = match self.parent(path, false) {
            Ok(Some(found)) => found,
            Ok(None) => return done,
            // The change of `path` itself stands, and the caller must know that.
            Err(stop) => {
                tracing::warn!(%path, ?stop, "cannot remove all temporary files");
                return done;
            }
        };
        let mut last_kept = None;
        for temporary in &names {
            let kept = match discard(parent, temporary.as_bstr(), name, is_known) {
                Ok(Some(kept)) => kept,
                Ok(None) => continue,
                Err(stop) => {
                    tracing::warn!(%path, %temporary, ?stop, "cannot remove a temporary file");
                    continue;
                }
            };
            let kept = BString::from([&path[..path.len() - name.len()], kept.as_bytes()].concat());
            tracing::warn!(%path, %kept, "kept a file that another program has written");
            last_kept = Some(kept);
        }
        match (last_kept, done) {
            (Some(kept), Ok(_) | Err(Stop::Left(_))) => Err(Stop::Left(Why::KeptAs(kept))),
            (_, done) => done,
        }
    }

    /// Renames the file `path`, whose content is unknown, to a name that later saves include; returns that, or none if
    /// the file does not exist.
    pub(crate) fn keep_unknown(&mut self, path: &BStr) -> Outcome<Option<BString>> {
        let Some((parent, name)) = self.parent(path, false)? else { return Ok(None) };
        let kept = discard(parent, name, UNKNOWN.into(), &|_| false)?;
        Ok(kept.map(|kept| BString::from([&path[..path.len() - name.len()], kept.as_bytes()].concat())))
    }

    /// Returns the files that an interrupted restore left at the temporary names `number` beside `path`.
    pub(crate) fn leftovers(&mut self, path: &BStr, number: usize) -> Outcome<Vec<Held>> {
        let names = self.temporary_names(number);
        let Some((parent, _)) = self.parent(path, false)? else { return Ok(Vec::new()) };
        names.iter().filter_map(|name| Held::read(parent, name.as_bstr()).transpose()).collect()
    }

    /// Renames a file that an interrupted restore took away back to `path`, if it contains `bytes` and `path` is free.
    pub(crate) fn bring_back(&mut self, path: &BStr, number: usize, bytes: &[u8]) -> Outcome<()> {
        let names = self.temporary_names(number);
        let Some((parent, name)) = self.parent(path, false)? else { return Ok(()) };
        for temporary in &names {
            if Held::read(parent, temporary.as_bstr())?.is_some_and(|held| held.is_exactly(bytes)) {
                return match rename_new(parent, temporary.as_bstr(), name) {
                    Ok(()) | Err(Errno::EXIST) => Ok(()),
                    Err(errno) => Err(stop(errno, || format!("cannot write '{path}'"))),
                };
            }
        }
        Ok(())
    }

    /// Sets or clears the executable bits of the regular file `path`, if it is still as in `existing`.
    pub(crate) fn set_executable(&mut self, path: &BStr, is_executable: bool, existing: &Stat) -> Outcome<()> {
        let what = || format!("cannot change the mode of '{path}'");
        let Some((parent, name)) = self.parent(path, false)? else { return Err(Stop::Left(Why::UnderWay)) };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(parent, name.as_bytes(), flags, Mode::empty()).map_err(|e| stop(e, what))?;
        let opened = rustix::fs::fstat(&fd).map_err(|e| stop(e, what))?;
        if !is_same(&opened, existing) {
            return Err(Stop::Left(Why::UnderWay));
        }
        rustix::fs::fchmod(&fd, with_executable(opened.st_mode, is_executable)).map_err(|e| stop(e, what))?;
        // Another program has saved a new file meanwhile, with its own mode.
        match stat_at(parent, name)? {
            Some(found) if is_same_file(&found, &opened) => Ok(()),
            _ => Err(Stop::Left(Why::UnderWay)),
        }
    }

    /// Deletes the file or symbolic link `path`, if it is still as in `existing`. `number` is that of its temporary
    /// file.
    pub(crate) fn delete(&mut self, path: &BStr, existing: &Seen, number: usize) -> Outcome<()> {
        let removed = self.try_delete(path, existing, number);
        self.settle(path, number, removed, &|held| held.is_as(existing))
    }

    fn try_delete(&mut self, path: &BStr, existing: &Seen, number: usize) -> Outcome<()> {
        let [temporary, aside] = self.temporary_names(number);
        let Some((parent, name)) = self.parent(path, false)? else { return Err(Stop::Left(Why::UnderWay)) };
        match stat_at(parent, name)? {
            Some(found) if is_same_renamed(&existing.stat, &found) => {
                Place { parent, name, temporary: temporary.as_bstr(), aside: aside.as_bstr() }.remove(existing)
            }
            _ => Err(Stop::Left(Why::UnderWay)),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finished_step_stays_known_if_its_path_becomes_unreadable() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mut checkout = Checkout::open(directory.path(), "0123456789abcdef").expect("opened");
        std::os::unix::fs::symlink(".", directory.path().join("d")).expect("linked");
        let settle = |checkout: &mut Checkout, done| checkout.settle("d/f".into(), 3, done, &|_| true);
        assert!(matches!(checkout.stat("d/f".into()), Err(Stop::Left(Why::BelowLink))));
        assert!(matches!(settle(&mut checkout, Ok(7)), Ok(7)));
        assert!(matches!(settle(&mut checkout, Err(Stop::Left(Why::InTheWay))), Err(Stop::Left(Why::InTheWay))));
    }

    #[test]
    fn both_temporary_files_that_hold_what_is_not_known_are_kept() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mut checkout = Checkout::open(directory.path(), "0123456789abcdef").expect("opened");
        for (name, text) in checkout.temporary_names(3).iter().zip(["first", "second"]) {
            std::fs::write(directory.path().join(name.to_string()), text).expect("written");
        }
        let settled = checkout.settle("f".into(), 3, Ok(()), &|_| false);
        let Err(Stop::Left(Why::KeptAs(kept))) = settled else { panic!("{settled:?}") };
        assert_eq!(kept, "f.git-checkpoint-conflict-2");
        let read = |number: usize| {
            std::fs::read_to_string(directory.path().join(format!("f.git-checkpoint-conflict-{number}")))
        };
        assert_eq!([1, 2].map(|number| read(number).expect("kept")), ["first", "second"]);
        assert_eq!(std::fs::read_dir(directory.path()).expect("there").count(), 2);
    }
}
