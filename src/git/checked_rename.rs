//! Replaces and removes files without losing what another program writes at the same time.
//!
//! The caller decides which files, and what they must contain; it also discards what remains at the temporary names.

use std::os::fd::BorrowedFd;

use bstr::{BStr, ByteSlice as _};
use rustix::{fs::RenameFlags, io::Errno};

use super::{
    checkout::{Outcome, Stop, stop},
    temporary_file::{Held, Seen, delete_known, is_unsupported, rename_new},
};
use crate::{error::Error, model::verdict::Why, state::failpoint};

/// A file and the temporary names beside it.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) parent: BorrowedFd<'a>,
    pub(super) name: &'a BStr,
    /// Where the new file is written, and where the old one goes.
    pub(super) temporary: &'a BStr,
    /// Where the old file goes if two files cannot be exchanged atomically.
    pub(super) aside: &'a BStr,
}

/// How often we give a file its name back while another program keeps saving.
const PATIENCE: usize = 16;

impl Place<'_> {
    fn exchange(&self) -> rustix::io::Result<()> {
        let (from, to) = (self.temporary.as_bytes(), self.name.as_bytes());
        rustix::fs::renameat_with(self.parent, from, self.parent, to, RenameFlags::EXCHANGE)
    }

    /// Replaces the file `seen` with the temporary file, which contains `ours`.
    ///
    /// Another program may write between our last look and the rename. So the two files are exchanged, the old one is
    /// compared once more, and only then deleted.
    pub(super) fn replace(&self, seen: &Seen, ours: &[u8]) -> Outcome<()> {
        failpoint::hit("rename:before");
        match self.exchange() {
            Ok(()) => {}
            Err(errno) if is_unsupported(errno) => return self.replace_in_turns(seen),
            Err(errno) => return Err(self.cannot("write", errno)),
        }
        failpoint::hit("rename:after");
        match delete_known(self.parent, self.temporary, &|held| held.is_as(seen)) {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            // The old file cannot be compared or deleted, so it goes back.
            Err(stop) => return Err(self.exchange().map_or_else(|errno| self.half_way(errno), |()| stop)),
        }
        self.give_back(ours)?;
        Err(Stop::Left(Why::UnderWay))
    }

    /// Returns the error that the new file is in place but the old one could not be handled: the restore must stop
    /// here.
    fn half_way(&self, errno: Errno) -> Stop {
        Stop::Failed(Error::internal(format!("cannot put '{}' back", self.name)).with_cause(errno))
    }

    /// Gives the old file its name back.
    ///
    /// What the exchange returns must be the file we had put there. Otherwise it is a newer one, and goes back in turn:
    /// the last file that the other program saved gets the name. A file that the other program replaced itself stays at
    /// the temporary name.
    fn give_back(&self, ours: &[u8]) -> Outcome<()> {
        let mut newest = match Held::read(self.parent, self.temporary) {
            Ok(Some(held)) => held,
            Ok(None) => return Ok(()),
            // It is another program's file, so it goes back without a look.
            Err(stop) => return Err(self.exchange().map_or_else(|errno| self.half_way(errno), |()| stop)),
        };
        let mut last = None;
        for _ in 0..PATIENCE {
            failpoint::hit("rename:back");
            match self.exchange() {
                Ok(()) => {}
                // The path was deleted: the old file stays at the temporary name.
                Err(Errno::NOENT) => return Ok(()),
                Err(errno) => return Err(self.cannot("write", errno)),
            }
            failpoint::hit("rename:after-back");
            let Some(out) = Held::read(self.parent, self.temporary)? else { return Ok(()) };
            let is_what_was_put = last.as_ref().map_or_else(|| out.is_exactly(ours), |last| out.is_still(last));
            if is_what_was_put {
                return Ok(());
            }
            last = Some(std::mem::replace(&mut newest, out));
        }
        Ok(())
    }

    /// The same as [`replace`](Self::replace) where two files cannot be exchanged atomically: for a moment, there is no
    /// file.
    fn replace_in_turns(&self, seen: &Seen) -> Outcome<()> {
        let away = Self { temporary: self.aside, ..*self };
        away.take_away()?;
        let held = Held::read(self.parent, self.aside);
        if !held.as_ref().is_ok_and(|held| held.as_ref().is_some_and(|held| held.is_as(seen))) {
            away.bring_back();
            return Err(held.err().unwrap_or(Stop::Left(Why::UnderWay)));
        }
        failpoint::hit("rename:between");
        rename_new(self.parent, self.temporary, self.name).map_err(|errno| {
            away.bring_back();
            match errno {
                Errno::EXIST => Stop::Left(Why::UnderWay),
                _ => self.cannot("write", errno),
            }
        })
    }

    /// Removes the file `seen` after renaming it to the temporary name, for the same reason.
    pub(super) fn remove(&self, seen: &Seen) -> Outcome<()> {
        failpoint::hit("rename:before");
        self.take_away()?;
        failpoint::hit("rename:after");
        let deleted = delete_known(self.parent, self.temporary, &|held| held.is_as(seen));
        if matches!(deleted, Ok(true)) {
            return Ok(());
        }
        failpoint::hit("rename:back");
        self.bring_back();
        Err(deleted.err().unwrap_or(Stop::Left(Why::UnderWay)))
    }

    /// Renames the file to the temporary name, which must be free.
    fn take_away(&self) -> Outcome<()> {
        let (from, to) = (self.name.as_bytes(), self.temporary.as_bytes());
        match rustix::fs::renameat_with(self.parent, from, self.parent, to, RenameFlags::NOREPLACE) {
            Err(errno) if is_unsupported(errno) => rustix::fs::renameat(self.parent, from, self.parent, to),
            other => other,
        }
        .map_err(|errno| self.cannot("delete", errno))
    }

    /// Renames the old file back, unless there is a new one: then the old one stays at the temporary name.
    fn bring_back(&self) {
        if let Err(errno) = rename_new(self.parent, self.temporary, self.name) {
            tracing::debug!(name = %self.name, %errno, "another process has written the new file");
        }
    }

    fn cannot(&self, act: &str, errno: Errno) -> Stop {
        stop(errno, || format!("cannot {act} '{}'", self.name))
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;

    use gix::objs::Kind as ObjectKind;
    use rustix::fs::AtFlags;

    use super::*;
    use crate::git::new_objects::id_of;

    /// A directory with the files `old` and `temporary`, and what `old` was before it was edited.
    struct Scene {
        directory: tempfile::TempDir,
        handle: std::fs::File,
        seen: Seen,
    }

    impl Scene {
        fn new() -> Self {
            let directory = tempfile::tempdir().expect("a temporary directory");
            std::fs::write(directory.path().join("old"), "seen").expect("written");
            let handle = std::fs::File::open(directory.path()).expect("opened");
            let stat = rustix::fs::statat(&handle, "old", AtFlags::SYMLINK_NOFOLLOW).expect("there");
            let id = id_of(ObjectKind::Blob, b"seen", gix::hash::Kind::Sha1).expect("hashed");
            let scene = Self { directory, handle, seen: Seen { stat, id } };
            scene.write("temporary", "new");
            scene
        }

        fn write(&self, name: &str, text: &str) {
            std::fs::write(self.directory.path().join(name), text).expect("written");
        }

        fn place(&self) -> Place<'_> {
            let parent = self.handle.as_fd();
            Place { parent, name: "old".into(), temporary: "temporary".into(), aside: "aside".into() }
        }

        /// Returns `name=content` of each file.
        fn files(&self) -> Vec<String> {
            let entries = std::fs::read_dir(self.directory.path()).expect("readable").flatten();
            let text = |entry: &std::fs::DirEntry| std::fs::read_to_string(entry.path()).expect("text");
            let name = |entry: &std::fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
            let mut files: Vec<_> = entries.map(|entry| format!("{}={}", name(&entry), text(&entry))).collect();
            files.sort();
            files
        }
    }

    fn is_under_way(done: &Outcome<()>) -> bool {
        matches!(done, Err(Stop::Left(Why::UnderWay)))
    }

    #[rstest::rstest]
    #[case::longer("edited since")]
    // Only the bytes differ: within one tick of the clock, the times are the same.
    #[case::same_size("SEEN")]
    fn an_edit_just_before_the_rename_comes_back(#[case] edit: &str) {
        let scene = Scene::new();
        scene.write("old", edit);
        let done = scene.place().replace(&scene.seen, b"new");
        assert!(is_under_way(&done), "{done:?}");
        assert_eq!(scene.files(), [format!("old={edit}"), "temporary=new".into()]);
        let done = scene.place().replace_in_turns(&scene.seen);
        assert!(is_under_way(&done), "{done:?}");
        assert_eq!(scene.files(), [format!("old={edit}"), "temporary=new".into()]);
    }

    #[test]
    fn an_edit_just_before_the_removal_comes_back() {
        let scene = Scene::new();
        scene.write("old", "SEEN");
        let place = Place { temporary: "aside".into(), ..scene.place() };
        let done = place.remove(&scene.seen);
        assert!(is_under_way(&done), "{done:?}");
        assert_eq!(scene.files(), ["old=SEEN", "temporary=new"]);
    }

    #[test]
    fn a_file_saved_while_ours_goes_back_ends_up_at_its_name() {
        let scene = Scene::new();
        // The state after the exchange: the first save is at the temporary name, and the second one has replaced our
        // file.
        scene.write("temporary", "saved first");
        scene.write("old", "saved second");
        scene.place().give_back(b"new").expect("done");
        assert_eq!(scene.files(), ["old=saved second", "temporary=saved first"]);
    }

    #[test]
    fn a_file_that_is_deleted_meanwhile_stays_at_the_temporary_name() {
        let scene = Scene::new();
        scene.write("temporary", "saved");
        std::fs::remove_file(scene.directory.path().join("old")).expect("removed");
        scene.place().give_back(b"new").expect("done");
        assert_eq!(scene.files(), ["temporary=saved"]);
    }

    #[test]
    fn a_new_file_is_not_replaced_by_the_one_that_was_taken_away() {
        let scene = Scene::new();
        let place = Place { temporary: "aside".into(), ..scene.place() };
        place.take_away().expect("renamed");
        scene.write("old", "created anew");
        place.bring_back();
        assert_eq!(scene.files(), ["aside=seen", "old=created anew", "temporary=new"]);
    }

    #[test]
    fn an_unchanged_file_is_replaced_or_removed() {
        let scene = Scene::new();
        scene.place().replace(&scene.seen, b"new").expect("replaced");
        assert_eq!(scene.files(), ["old=new"]);
        let scene = Scene::new();
        scene.place().replace_in_turns(&scene.seen).expect("replaced");
        assert_eq!(scene.files(), ["aside=seen", "old=new"], "the old one is the caller's to discard");
        let scene = Scene::new();
        Place { temporary: "aside".into(), ..scene.place() }.remove(&scene.seen).expect("removed");
        assert_eq!(scene.files(), ["temporary=new"]);
    }
}
