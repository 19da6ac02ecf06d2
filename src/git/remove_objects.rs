//! Removes single objects: loose ones, and those in packs, which are written again without them.

use std::{
    collections::{BTreeSet, HashSet},
    path::PathBuf,
};

use bstr::ByteSlice as _;
use gix::ObjectId;

use super::{Repo, presence::may_exist, repack::ids_in};
use crate::{
    error::{Context as _, Error, Kind, Result},
    state::{self, failpoint, lock::Lock},
};

/// What git made from the packs, and makes again: it names packs and commits that are about to go.
const DERIVED: [&str; 4] =
    ["pack/multi-pack-index", "pack/multi-pack-index.d", "info/commit-graph", "info/commit-graphs"];
/// The files of a pack beside its index, which goes first.
const BESIDE_INDEX: [&str; 5] = ["rev", "bitmap", "mtimes", "promisor", "pack"];

impl Repo {
    /// Removes the objects `ids` from this repository. Returns those that stay: in a pack with a `.keep` file, or in an alternate.
    ///
    /// # Errors
    /// [`Kind::Race`] if git or another process repacks.
    pub(crate) fn remove_objects(&self, ids: &HashSet<ObjectId>) -> Result<Vec<ObjectId>> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let directory = state::ensure_directory(self.common_dir())?;
        let busy = || Error::race("the objects are being repacked").with_hint("run it again when that is done");
        if self.is_git_collecting() {
            return Err(busy());
        }
        let _lock = Lock::try_acquire(&directory.join("repack.lock"))?.ok_or_else(busy)?;
        for name in DERIVED {
            let path = self.objects_path().join(name);
            drop(std::fs::remove_file(&path));
            drop(std::fs::remove_dir_all(&path));
        }
        for pack in self.packs_with(ids)? {
            self.check_interrupt()?;
            self.rewrite_pack(&pack, ids)?;
            failpoint::hit("purge:after-pack");
        }
        for id in ids {
            match std::fs::remove_file(self.loose_path(*id)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(Error::internal(format!("cannot remove the object '{id}'")).with_cause(error));
                }
                _ => {}
            }
        }
        let input: String = ids.iter().map(|id| format!("{id}\n")).collect();
        let left = self.run_git(&["cat-file", "--batch-check=%(objectname)"], Some(input.as_bytes()))?;
        // Of one that is gone, git says that it is missing.
        Ok(left.lines().filter_map(|line| ObjectId::from_hex(line).ok()).collect())
    }

    fn objects_path(&self) -> PathBuf {
        self.inner.objects.store_ref().path().to_owned()
    }

    /// Returns the packs that have some of `ids`, except those with a `.keep` file.
    fn packs_with(&self, ids: &HashSet<ObjectId>) -> Result<Vec<PathBuf>> {
        let mut packs = Vec::new();
        for entry in std::fs::read_dir(self.objects_path().join("pack")).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_index = path.extension().is_some_and(|end| end == "idx");
            if is_index && !may_exist(&path.with_extension("keep")) {
                let pack = path.with_extension("pack");
                if ids_in(&pack, self.object_hash())?.iter().any(|id| ids.contains(id)) {
                    packs.push(pack);
                }
            }
        }
        Ok(packs)
    }

    /// Writes the objects of `pack` without `ids` to a new pack, and removes `pack`.
    fn rewrite_pack(&self, pack: &PathBuf, ids: &HashSet<ObjectId>) -> Result<()> {
        let rest: BTreeSet<ObjectId> =
            ids_in(pack, self.object_hash())?.into_iter().filter(|id| !ids.contains(id)).collect();
        if !rest.is_empty() {
            let new = self.pack_by_git(&rest)?;
            self.verify_pack(&new, &rest)?;
            // A partial clone has to know that the rest is elsewhere.
            if may_exist(&pack.with_extension("promisor")) {
                let marker = new.with_extension("promisor");
                std::fs::write(&marker, "")
                    .context(Kind::Internal, || format!("cannot write '{}'", marker.display()))?;
            }
            if self.noted_packs().contains(pack) {
                self.note_pack(&new);
            }
        }
        let index = pack.with_extension("idx");
        std::fs::remove_file(&index).context(Kind::Internal, || format!("cannot remove '{}'", index.display()))?;
        for end in BESIDE_INDEX {
            drop(std::fs::remove_file(pack.with_extension(end)));
        }
        Ok(())
    }

    /// Returns the loose objects and those in packs that our notes name.
    pub(crate) fn noted_objects(&self) -> Vec<ObjectId> {
        let mut ids = self.noted_loose();
        for pack in self.noted_packs() {
            ids.extend(ids_in(&pack, self.object_hash()).unwrap_or_default());
        }
        ids
    }
}
