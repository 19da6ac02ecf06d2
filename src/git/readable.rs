//! Finds which objects can be read. A disk that lost its power, or a `git prune` at the same time, may have taken some.
//!
//! What can be read of trees and of side commits is for `readable_part` to find out.

use std::{
    collections::{BTreeSet, HashSet},
    fs::File,
    path::{Path, PathBuf},
};

use bstr::ByteSlice as _;
use gix::{
    ObjectId,
    objs::{CommitRef, Data, Find as _, Kind as ObjectKind, Tree, TreeRef},
};

use super::{
    Repo,
    loose::{self, Found, Loose},
    new_objects::id_of,
    objects::look_again,
    presence::may_exist,
};
use crate::error::{Context as _, Error, Kind, Result};

/// Reads objects, remembers those that are sound, and notes those that are not.
pub(crate) struct Reader<'r> {
    pub(super) repo: &'r Repo,
    /// Blobs that can be read, and trees of which all can be.
    pub(super) sound: HashSet<ObjectId>,
    /// Objects that are gone or damaged.
    pub(crate) lost: BTreeSet<ObjectId>,
    /// Objects of which only the end of the file is damaged: all of them can be read, and git does not read them.
    pub(crate) damaged_ends: BTreeSet<ObjectId>,
}

/// What is to be done about something that may be whole.
const ACCESS: &str = "see to its owner, its permissions, and whether its disk is mounted";

impl Repo {
    /// Returns true if the object `id` is here, whole, and what its id says.
    pub(crate) fn can_read(&self, id: ObjectId) -> bool {
        self.read_whole(id).is_ok_and(|found| found.is_some())
    }

    /// As [`can_read`](Self::can_read).
    ///
    /// # Errors
    /// If the object may be whole, and cannot be read now.
    pub(crate) fn is_whole(&self, id: ObjectId) -> Result<bool> {
        self.read_whole(id).map(|found| found.is_some())
    }

    /// Returns the object `id`; none if it is gone or damaged.
    ///
    /// # Errors
    /// If the object may be whole: its disk does not answer, its file may not be opened, or memory runs out.
    pub(super) fn read_whole(&self, id: ObjectId) -> Result<Option<(ObjectKind, Vec<u8>)>> {
        read_whole(&self.inner, id)
    }

    /// Returns the object `id` if a file of its own has all of it.
    fn loose(&self, id: ObjectId) -> Option<Loose> {
        loose::read(self.inner.objects.store_ref().path(), id).ok().and_then(Found::whole)
    }

    /// Returns true if nothing has to be written for git to read the object `id`.
    pub(super) fn is_sound(&self, id: ObjectId) -> bool {
        self.loose(id).map_or_else(|| self.can_read(id), |found| found.is_well_formed)
    }

    /// Writes the files of `damaged_ends` objects anew, and returns how many.
    pub(crate) fn write_anew(&self, damaged_ends: &BTreeSet<ObjectId>) -> Result<usize> {
        let mut count = 0;
        for id in damaged_ends {
            if let Some(found) = self.loose(*id).filter(|found| !found.is_well_formed) {
                loose::replace(self.inner.objects.store_ref().path(), *id, found.kind, &found.data)?;
                count += 1;
            }
        }
        Ok(count)
    }

    /// Returns true if the commit `id` is gone or damaged.
    ///
    /// # Errors
    /// As [`read_whole`](Self::read_whole).
    pub(crate) fn is_commit_lost(&self, id: ObjectId) -> Result<bool> {
        let found = self.read_whole(id)?.filter(|(kind, _)| *kind == ObjectKind::Commit);
        Ok(found.is_none_or(|(_, data)| CommitRef::from_bytes(&data, self.object_hash()).is_err()))
    }
}

/// As [`Repo::read_whole`].
pub(super) fn read_whole(repo: &gix::Repository, id: ObjectId) -> Result<Option<(ObjectKind, Vec<u8>)>> {
    // A damaged pack may hide a sound copy of the object in a file of its own.
    match loose::read(repo.objects.store_ref().path(), id) {
        Ok(Found::Whole(found)) => Ok(Some((found.kind, found.data))),
        own => read_elsewhere(repo, id, own),
    }
}

/// As [`Repo::read_whole`], where `own` was found of the object in a file of its own.
pub(super) fn read_elsewhere(
    repo: &gix::Repository,
    id: ObjectId,
    own: std::io::Result<Found>,
) -> Result<Option<(ObjectKind, Vec<u8>)>> {
    let found =
        look_again(|| whole(id, |id, buffer| repo.objects.try_find(id, buffer)), |found| matches!(found, Ok(Some(_))))?;
    if found.is_none() {
        own.context(Kind::Internal, || format!("cannot read the object '{id}'")).map_err(|it| it.with_hint(ACCESS))?;
    }
    Ok(found)
}

/// Returns the object `id` if `find` finds it whole.
fn whole(
    id: ObjectId,
    find: impl for<'b> FnOnce(&gix::oid, &'b mut Vec<u8>) -> gix::Result<Option<Data<'b>>>,
) -> Result<Option<(ObjectKind, Vec<u8>)>> {
    let mut buffer = Vec::new();
    let found = match find(&id, &mut buffer) {
        Ok(found) => found.map(|data| (data.kind, data.data.len())),
        Err(error) if is_damage(&error) => None,
        Err(error) => {
            let read = Err(error).context(Kind::Internal, || format!("cannot read the object '{id}'"));
            return read.map_err(|error| error.with_hint(ACCESS));
        }
    };
    let Some((kind, length)) = found else { return Ok(None) };
    buffer.truncate(length);
    Ok((id_of(kind, &buffer, id.kind())? == id).then_some((kind, buffer)))
}

/// Returns true if `error` is about the bytes of an object; false if the system kept them from being read.
fn is_damage(error: &gix::Error) -> bool {
    let is_of_system = |error: &std::io::Error| {
        error.kind() == std::io::ErrorKind::OutOfMemory
            || (error.raw_os_error().is_some() && error.kind() != std::io::ErrorKind::NotFound)
    };
    !error.is_resource_exhausted() && !error.iter_errors().any(|it| it.downcast_ref().is_some_and(is_of_system))
}

/// Returns an error if the file or directory `path`, which holds objects, cannot be opened.
fn hidden(path: &Path) -> Option<Error> {
    let cause = File::open(path).err()?;
    Some(Error::internal(format!("cannot open '{}'", path.display())).with_hint(ACCESS).with_cause(cause))
}

impl Repo {
    /// Returns an error if one of `lost` may be whole: a file of objects cannot be opened now, or another process has moved
    /// the object meanwhile.
    pub(crate) fn refuse_hidden_objects(&self, lost: &BTreeSet<ObjectId>) -> Result<()> {
        let objects = self.inner.objects.store_ref().path().to_owned();
        let loose = lost.iter().map(|id| self.loose_path(*id)).filter(|path| may_exist(path));
        let directory = objects.join("pack");
        let what = || format!("cannot list '{}'", directory.display());
        let packs = std::fs::read_dir(&directory).and_then(Iterator::collect::<std::io::Result<Vec<_>>>);
        let packs = packs.context(Kind::Internal, what)?.into_iter().map(|file| file.path());
        let is_pack = |path: &PathBuf| path.extension().is_some_and(|end| end == "idx" || end == "pack");
        let list = objects.join("info/alternates");
        let alternates = match std::fs::read(&list) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            read => read.context(Kind::Internal, || format!("cannot read '{}'", list.display()))?,
        };
        let named = alternates.lines().filter(|line| !line.is_empty() && !line.starts_with(b"#"));
        let named = named.map(|line| objects.join(line.to_os_str_lossy()));
        if let Some(error) = loose.chain(packs.filter(is_pack)).chain(named).find_map(|path| hidden(&path)) {
            return Err(error);
        }
        let fresh = gix::odb::at(&objects, self.object_hash());
        let fresh = fresh.context(Kind::Internal, || format!("cannot open '{}'", objects.display()))?;
        for id in lost {
            if self.read_whole(*id)?.is_none() && whole(*id, |id, buffer| fresh.try_find(id, buffer))?.is_some() {
                return Err(
                    Error::race(format!("the object '{id}' was moved while it was looked for")).with_hint("try again")
                );
            }
        }
        Ok(())
    }
}

impl Repo {
    /// Moves the damaged files among those of `lost` to `directory`: `git gc` stops where it finds one.
    pub(crate) fn put_damaged_away(&self, lost: &BTreeSet<ObjectId>, directory: &Path) -> std::io::Result<()> {
        for id in lost {
            // What could not be read now may be whole.
            if let Ok(Found::Damaged) = loose::read(self.inner.objects.store_ref().path(), *id) {
                std::fs::create_dir_all(directory)?;
                std::fs::rename(self.loose_path(*id), directory.join(id.to_string()))?;
            }
        }
        Ok(())
    }
}

impl<'r> Reader<'r> {
    pub(crate) fn new(repo: &'r Repo) -> Self {
        Self { repo, sound: HashSet::new(), lost: BTreeSet::new(), damaged_ends: BTreeSet::new() }
    }

    /// Returns the tree of the commit `id`; none if that is lost.
    pub(crate) fn tree_of_commit(&mut self, id: ObjectId) -> Result<Option<ObjectId>> {
        drop(self.read(id));
        match self.repo.tree_of_commit(id) {
            Ok(tree_id) => Ok(Some(tree_id)),
            Err(error) => self.lose_commit(id, error).map(|()| None),
        }
    }

    /// Returns the object `id`; none if it is gone or damaged. Notes whether only the end of its file is damaged.
    pub(crate) fn read(&mut self, id: ObjectId) -> Result<Option<(ObjectKind, Vec<u8>)>> {
        let Some(found) = self.repo.loose(id) else { return self.repo.read_whole(id) };
        if !found.is_well_formed {
            self.damaged_ends.insert(id);
        }
        Ok(Some((found.kind, found.data)))
    }

    /// Notes that the commit `id` is lost. Returns `error`, with which reading it has failed, if the commit is whole.
    pub(crate) fn lose_commit(&mut self, id: ObjectId, error: Error) -> Result<()> {
        if !self.repo.is_commit_lost(id)? {
            return Err(error);
        }
        self.lost.insert(id);
        Ok(())
    }

    /// Returns the tree `id`; none if it is gone or damaged.
    pub(super) fn tree(&mut self, id: ObjectId) -> Result<Option<Tree>> {
        if id.is_empty_tree() {
            return Ok(Some(Tree::empty()));
        }
        let found = self.read(id)?.filter(|(kind, _)| *kind == ObjectKind::Tree);
        Ok(found.and_then(|(_, data)| TreeRef::from_bytes(&data, id.kind()).ok().map(TreeRef::into_owned)))
    }

    /// Returns true if the blob `id` can be read; else notes that it is lost.
    pub(super) fn has_blob(&mut self, id: ObjectId) -> Result<bool> {
        if self.sound.contains(&id) || id.is_empty_blob() {
            return Ok(true);
        }
        let is_sound = self.read(id)?.is_some();
        if is_sound {
            self.sound.insert(id);
        } else {
            self.lost.insert(id);
        }
        Ok(is_sound)
    }
}
