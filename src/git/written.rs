//! Objects that were written and that refs are about to lead to.
//!
//! A `git prune` beside us that has listed the refs before they moved removes what it finds unreferenced, whatever its age if
//! it is run with `--expire=now`. So the objects are looked at once more when the refs have moved, and written again, into
//! a pack, which no `git prune` takes apart.

use std::{collections::HashSet, path::PathBuf};

use gix::{ObjectId, objs::Exists as _};

use super::{Repo, keep::Keep, pack::PackWriter, prepared::Prepared};
use crate::error::{Error, Result};

/// Objects on disk that maybe no ref leads to yet. While this exists, git does not repack without them, nor do we.
#[must_use = "the objects are protected until this is dropped"]
pub(crate) struct Written<'r> {
    pub(super) repo: &'r Repo,
    /// Loose objects.
    pub(super) loose: Vec<Prepared>,
    pub(super) packs: Vec<PathBuf>,
    pub(super) packed: HashSet<ObjectId>,
    pub(super) keeps: Vec<Keep>,
    /// Objects that existed already and were not written.
    pub(super) relied_on: Vec<ObjectId>,
}

impl<'r> Written<'r> {
    /// Does [`check_and_release`](Self::check_and_release) for each of `all`.
    ///
    /// # Errors
    /// The first error; the others of `all` are released nevertheless.
    pub(crate) fn check_and_release_all(all: impl IntoIterator<Item = Written<'r>>) -> Result<()> {
        all.into_iter().map(Self::check_and_release).fold(Ok(()), Result::and)
    }

    /// Notes that the written objects refer to the existing objects `ids`.
    pub(crate) fn rely_on(&mut self, ids: impl IntoIterator<Item = ObjectId>) {
        let own: HashSet<ObjectId> = self.loose.iter().map(|object| object.id).collect();
        self.relied_on.extend(ids.into_iter().filter(|id| !self.packed.contains(id) && !own.contains(id)));
    }

    /// Checks that all objects are still stored, and writes missing ones again. Then ends their protection: refs lead to them
    /// now, and they may be repacked.
    ///
    /// # Errors
    /// [`Kind::Race`](crate::error::Kind::Race) if an object that existed before has disappeared, so that only its
    /// source can bring it back.
    pub(crate) fn check_and_release(mut self) -> Result<()> {
        let gone = self.repo.gone(self.loose.iter().map(|object| object.id).collect());
        if !gone.is_empty() {
            self.write_again(&gone)?;
        }
        let kept: Vec<ObjectId> =
            self.loose.iter().map(|object| object.id).filter(|id| !self.packed.contains(id)).collect();
        self.repo.note_loose(&kept);
        self.packs.iter().for_each(|pack| self.repo.note_pack(pack));
        match self.repo.gone(std::mem::take(&mut self.relied_on)).first() {
            None => Ok(()),
            Some(id) => Err(Error::race(format!("the object '{id}' was removed while it was being saved"))
                .with_hint("run 'git gc --prune=now' and 'git prune' when no other command uses the repository")),
        }
    }

    fn write_again(&mut self, gone: &[ObjectId]) -> Result<()> {
        tracing::debug!(objects = gone.len(), "objects: written again, because another process removed them");
        let objects = self.repo.inner.objects.store_ref().path();
        let mut pack = PackWriter::begin(objects, self.repo.object_hash())?;
        for object in self.loose.iter().filter(|object| gone.contains(&object.id)) {
            pack.add(object.id, object.kind, object.size, &object.deflated())?;
            self.packed.insert(object.id);
        }
        let (path, keep) = pack.finish()?;
        self.packs.push(path);
        self.keeps.extend(keep);
        Ok(())
    }
}

impl Repo {
    /// Returns those of `ids` that the repository no longer has.
    pub(crate) fn gone(&self, mut ids: Vec<ObjectId>) -> Vec<ObjectId> {
        ids.retain(|id| !(id.is_empty_blob() || id.is_empty_tree() || has_content(&self.loose_path(*id))));
        if ids.is_empty() {
            return ids;
        }
        // This process may still have a pack open that git has removed.
        let Ok(fresh) = gix::odb::at(self.inner.objects.store_ref().path(), self.object_hash()) else {
            return ids;
        };
        ids.retain(|id| !fresh.exists(id));
        ids
    }
}

/// Returns true if the file `path` exists and is not empty: a power loss leaves empty files.
pub(super) fn has_content(path: &std::path::Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.len() > 0)
}
