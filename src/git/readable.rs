//! What of a tree can be read: a disk that lost its power, or a `git prune` beside us, may have taken some of it.

use std::{
    collections::{BTreeSet, HashSet},
    fs::File,
    path::{Path, PathBuf},
};

use bstr::{BString, ByteSlice as _};
use gix::{
    ObjectId,
    objs::{CommitRef, Data, Find as _, Kind as ObjectKind, Tree, TreeRef},
};

use super::{
    Repo,
    index_tree::write_tree,
    new_objects::{NewObjects, id_of},
    objects::look_again,
    presence::may_exist,
};
use crate::error::{Context as _, Error, Kind, Result};

/// Reads objects, remembers those that are sound, and notes those that are not.
pub(crate) struct Reader<'r> {
    repo: &'r Repo,
    sound: HashSet<ObjectId>,
    /// What cannot be read.
    pub(crate) lost: BTreeSet<ObjectId>,
}

impl Repo {
    /// Returns true if the object `id` is here, whole, and what its id says.
    pub(crate) fn can_read(&self, id: ObjectId) -> bool {
        self.read_whole(id).is_ok_and(|found| found.is_some())
    }

    /// Returns the object `id`; none if it is gone or damaged.
    ///
    /// # Errors
    /// If it may be whole: its disk does not answer, its file may not be opened, memory runs out.
    fn read_whole(&self, id: ObjectId) -> Result<Option<(ObjectKind, Vec<u8>)>> {
        let found = look_again(
            || whole(id, |id, buffer| self.inner.objects.try_find(id, buffer)),
            |found| matches!(found, Ok(Some(_))),
        )?;
        // A copy in a file of its own is as good as one in a damaged pack would be.
        if found.is_none() { self.whole_by_itself(id) } else { Ok(found) }
    }

    /// Returns the object `id` if a file of its own has it whole.
    fn whole_by_itself(&self, id: ObjectId) -> Result<Option<(ObjectKind, Vec<u8>)>> {
        let objects = gix::odb::loose::Store::at(self.inner.objects.store_ref().path(), self.object_hash());
        whole(id, |id, buffer| objects.try_find(id, buffer))
    }

    /// Returns true if the commit `id` is gone or damaged.
    ///
    /// # Errors
    /// If it may be whole.
    pub(crate) fn is_commit_lost(&self, id: ObjectId) -> Result<bool> {
        let found = self.read_whole(id)?.filter(|(kind, _)| *kind == ObjectKind::Commit);
        Ok(found.is_none_or(|(_, data)| CommitRef::from_bytes(&data, self.object_hash()).is_err()))
    }
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
        Err(error) => return Err(error).context(Kind::Internal, || format!("cannot read the object '{id}'")),
    };
    let Some((kind, length)) = found else { return Ok(None) };
    buffer.truncate(length);
    Ok((id_of(kind, &buffer, id.kind())? == id).then_some((kind, buffer)))
}

/// Returns true if `error` says what bytes are wrong, not why they cannot be read.
fn is_damage(error: &gix::Error) -> bool {
    let is_of_system = |error: &std::io::Error| {
        error.kind() == std::io::ErrorKind::OutOfMemory
            || (error.raw_os_error().is_some() && error.kind() != std::io::ErrorKind::NotFound)
    };
    !error.is_resource_exhausted() && !error.iter_errors().any(|it| it.downcast_ref().is_some_and(is_of_system))
}

/// Names a file or directory of objects that is there, or should be, and cannot be opened.
fn hidden(path: &Path) -> Option<Error> {
    let cause = File::open(path).err()?;
    let hint = "see to its owner, its permissions, and whether its disk is mounted";
    Some(Error::internal(format!("cannot open '{}'", path.display())).with_hint(hint).with_cause(cause))
}

impl Repo {
    /// Returns an error if some of `lost` may be whole: in a file that cannot be opened now, or one that came meanwhile.
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
    /// Moves the files of those of `lost` that are damaged to `directory`: with them in its place, `git gc` stops.
    pub(crate) fn put_damaged_away(&self, lost: &BTreeSet<ObjectId>, directory: &Path) -> std::io::Result<()> {
        for id in lost {
            let path = self.loose_path(*id);
            // To map a file that a disk gives no more would end the process.
            if std::fs::read(&path).is_ok() && matches!(self.whole_by_itself(*id), Ok(None)) {
                std::fs::create_dir_all(directory)?;
                std::fs::rename(path, directory.join(id.to_string()))?;
            }
        }
        Ok(())
    }
}

impl<'r> Reader<'r> {
    pub(crate) fn new(repo: &'r Repo) -> Self {
        Self { repo, sound: HashSet::new(), lost: BTreeSet::new() }
    }

    /// Returns true if all that the tree `id` leads to can be read; what `base` has at the same path is not looked at.
    pub(crate) fn is_whole(&mut self, id: ObjectId, base: ObjectId) -> Result<bool> {
        let before = self.lost.len();
        let part = self.part(id, Some(base), &mut None)?;
        Ok(part == Some(id) && self.lost.len() == before)
    }

    /// Returns the tree of the commit `id`; none if that is lost.
    pub(crate) fn tree_of_commit(&mut self, id: ObjectId) -> Result<Option<ObjectId>> {
        match self.repo.tree_of_commit(id) {
            Ok(tree_id) => Ok(Some(tree_id)),
            Err(error) => self.lose_commit(id, error).map(|()| None),
        }
    }

    /// Notes that the commit `id` is lost, unless it is whole, and `error` has said something else of it.
    pub(crate) fn lose_commit(&mut self, id: ObjectId, error: Error) -> Result<()> {
        if !self.repo.is_commit_lost(id)? {
            return Err(error);
        }
        self.lost.insert(id);
        Ok(())
    }

    /// Returns the tree `id` without what cannot be read, which is added to `objects`; none if `id` itself cannot be.
    pub(crate) fn readable_part(
        &mut self,
        id: ObjectId,
        base: ObjectId,
        objects: &mut NewObjects<'_>,
    ) -> Result<Option<ObjectId>> {
        self.part(id, Some(base), &mut Some(objects))
    }

    fn part(
        &mut self,
        id: ObjectId,
        base: Option<ObjectId>,
        objects: &mut Option<&mut NewObjects<'_>>,
    ) -> Result<Option<ObjectId>> {
        if Some(id) == base || id.is_empty_tree() || self.sound.contains(&id) {
            return Ok(Some(id));
        }
        let Some(mut tree) = self.tree(id)? else {
            self.lost.insert(id);
            return Ok(None);
        };
        let base = base.map_or(Ok(None), |base| self.tree(base))?.unwrap_or_else(Tree::empty);
        let mut entries = Vec::with_capacity(tree.entries.len());
        let mut is_whole = true;
        for mut entry in std::mem::take(&mut tree.entries) {
            self.repo.check_interrupt()?;
            let at = |name: &BString| base.entries.iter().find(|it| it.filename == *name).map(|it| it.oid);
            let part = if entry.mode.is_tree() {
                self.part(entry.oid, at(&entry.filename), objects)?
            } else {
                (entry.mode.is_commit() || at(&entry.filename) == Some(entry.oid) || self.has_blob(entry.oid)?)
                    .then_some(entry.oid)
            };
            is_whole &= part == Some(entry.oid);
            if let Some(oid) = part {
                entry.oid = oid;
                entries.push(entry);
            }
        }
        if is_whole {
            self.sound.insert(id);
            return Ok(Some(id));
        }
        match objects {
            Some(objects) => write_tree(&Tree { entries }, objects).map(Some),
            None => Ok(None),
        }
    }

    fn tree(&self, id: ObjectId) -> Result<Option<Tree>> {
        if id.is_empty_tree() {
            return Ok(Some(Tree::empty()));
        }
        let found = self.repo.read_whole(id)?.filter(|(kind, _)| *kind == ObjectKind::Tree);
        Ok(found.and_then(|(_, data)| TreeRef::from_bytes(&data, id.kind()).ok().map(TreeRef::into_owned)))
    }

    fn has_blob(&mut self, id: ObjectId) -> Result<bool> {
        let is_sound = self.sound.contains(&id) || id.is_empty_blob() || self.repo.read_whole(id)?.is_some();
        if is_sound {
            self.sound.insert(id);
        } else {
            self.lost.insert(id);
        }
        Ok(is_sound)
    }
}
