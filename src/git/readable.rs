//! What of a tree can be read: a disk that lost its power, or a `git prune` beside us, may have taken some of it.

use std::{
    collections::{BTreeSet, HashSet},
    fs::File,
    path::{Path, PathBuf},
};

use bstr::BString;
use gix::{
    ObjectId,
    objs::{Find as _, Kind as ObjectKind, Tree, TreeRef},
};

use super::{
    Repo,
    index_tree::write_tree,
    new_objects::{NewObjects, id_of},
};
use crate::error::{Error, Result};

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
        let mut buffer = Vec::new();
        let Ok(Some(data)) = self.inner.objects.try_find(&id, &mut buffer) else { return false };
        id_of(data.kind, data.data, self.object_hash()).is_ok_and(|found| found == id)
    }
}

/// Names a file or directory of objects that is there, or should be, and cannot be opened.
fn hidden(path: &Path) -> Option<Error> {
    let cause = File::open(path).err()?;
    let hint = "see to its owner, its permissions, and whether its disk is mounted";
    Some(Error::internal(format!("cannot open '{}'", path.display())).with_hint(hint).with_cause(cause))
}

impl Repo {
    /// Returns an error if some of `lost` may be whole in a file that cannot be opened now.
    pub(crate) fn refuse_hidden_objects(&self, lost: &BTreeSet<ObjectId>) -> Result<()> {
        let objects = self.inner.objects.store_ref().path().to_owned();
        let loose = lost.iter().map(|id| self.loose_path(*id)).filter(|path| path.symlink_metadata().is_ok());
        let packs = std::fs::read_dir(objects.join("pack")).into_iter().flatten().flatten().map(|file| file.path());
        let is_pack = |path: &PathBuf| path.extension().is_some_and(|end| end == "idx" || end == "pack");
        let alternates = std::fs::read_to_string(objects.join("info/alternates")).unwrap_or_default();
        let named = alternates.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let alternates: Vec<PathBuf> = named.map(|line| objects.join(line)).collect();
        let mut files = loose.chain(packs.filter(is_pack)).chain(alternates).chain([objects.join("pack")]);
        files.find_map(|path| hidden(&path)).map_or(Ok(()), Err)
    }
}

impl Repo {
    /// Moves the files of those of `lost` that are damaged to `directory`: with them in its place, `git gc` stops.
    pub(crate) fn put_damaged_away(&self, lost: &BTreeSet<ObjectId>, directory: &Path) -> std::io::Result<()> {
        for id in lost {
            let path = self.loose_path(*id);
            if path.symlink_metadata().is_ok() && !self.can_read(*id) {
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
    pub(crate) fn is_whole(&mut self, id: ObjectId, base: ObjectId) -> bool {
        let before = self.lost.len();
        let part = self.part(id, Some(base), &mut None);
        part.is_ok_and(|part| part == Some(id)) && self.lost.len() == before
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
        let Some(mut tree) = self.tree(id) else {
            self.lost.insert(id);
            return Ok(None);
        };
        let base = base.and_then(|base| self.tree(base)).unwrap_or_else(Tree::empty);
        let mut entries = Vec::with_capacity(tree.entries.len());
        let mut is_whole = true;
        for mut entry in std::mem::take(&mut tree.entries) {
            self.repo.check_interrupt()?;
            let at = |name: &BString| base.entries.iter().find(|it| it.filename == *name).map(|it| it.oid);
            let part = if entry.mode.is_tree() {
                self.part(entry.oid, at(&entry.filename), objects)?
            } else {
                (entry.mode.is_commit() || at(&entry.filename) == Some(entry.oid) || self.has_blob(entry.oid))
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

    fn tree(&self, id: ObjectId) -> Option<Tree> {
        if id.is_empty_tree() {
            return Some(Tree::empty());
        }
        let mut buffer = Vec::new();
        let data = self.repo.read_object(id, ObjectKind::Tree, &mut buffer).ok()?;
        TreeRef::from_bytes(data, id.kind()).ok().map(TreeRef::into_owned)
    }

    fn has_blob(&mut self, id: ObjectId) -> bool {
        let is_sound = self.sound.contains(&id) || id.is_empty_blob() || self.repo.can_read(id);
        if is_sound {
            self.sound.insert(id);
        } else {
            self.lost.insert(id);
        }
        is_sound
    }
}
