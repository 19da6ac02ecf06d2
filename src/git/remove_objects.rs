//! Removes single objects: loose ones, and those in packs, which are written again without them.
//!
//! Git may need an object again at any moment: a file that is staged gets no new blob where there is one, only the time of the
//! file that has the blob changes. Therefore what has a new time stays, and the other files are first moved aside. If something
//! needs one of the objects then, or a file got a new time meanwhile, all are put back. After a crash, the next command puts them
//! back.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use bstr::ByteSlice as _;
use gix::{ObjectId, objs::Kind as ObjectKind};

use super::{
    Repo,
    git_at_work::Removing,
    holders::{entries_of, files_below},
    keep::Keep,
    presence::may_exist,
    repack::ids_in,
    settled_packs::{changed, touch},
};
use crate::{
    error::{Context as _, Kind, Result},
    state::{
        self, failpoint,
        lock::{self, Lock},
    },
};

/// What git made from the packs, and makes again: it names packs and commits that are about to go.
const DERIVED: [&str; 4] =
    ["pack/multi-pack-index", "pack/multi-pack-index.d", "info/commit-graph", "info/commit-graphs"];
/// The files of a pack. The index comes first when a pack goes, and last when it comes back.
const OF_PACK: [&str; 6] = ["idx", "rev", "bitmap", "mtimes", "promisor", "pack"];
/// The directory, beside the objects, to which files are moved.
const ASIDE: &str = "checkpoint-removed";
/// Its name once the files in it are to be deleted.
const CONDEMNED: &str = "checkpoint-removed.old";
/// How often it is tried to remove what git does not need meanwhile.
const TRIES: usize = 3;
/// What became of objects that were to be removed.
#[derive(Debug, Default)]
pub(crate) struct Removal {
    /// Those that are gone.
    pub(crate) gone: HashSet<ObjectId>,
    /// Those that stay because something leads to them.
    pub(crate) held: HashSet<ObjectId>,
    /// Those that nothing leads to and that stay: in a pack with a `.keep` file, or in an alternate, or because git goes on using them.
    pub(crate) stay: HashSet<ObjectId>,
}

/// A pack with what stays of another one. Git does not remove it while this exists.
struct NewPack {
    path: PathBuf,
    _keep: Option<Keep>,
}

impl NewPack {
    /// Returns true if git can read it: not every command that removes packs minds a `.keep` file.
    fn is_there(&self) -> bool {
        ["pack", "idx"].iter().all(|end| self.path.with_extension(end).is_file())
    }
}

impl Repo {
    /// Removes those of the objects `ids` that nothing leads to: neither a ref, nor a reflog, nor an index, nor a commit,
    /// reachable or not, that is none of `own`. A tree that has nothing that goes stays, too.
    ///
    /// # Errors
    /// [`Kind::Race`] if git repacks; [`Kind::Corrupt`] if an object of the user is missing.
    pub(crate) fn remove_objects(
        &self,
        ids: &HashSet<ObjectId>,
        own: &HashSet<ObjectId>,
        removing: &Removing<'_>,
    ) -> Result<Removal> {
        let mut in_use = Removal::default();
        if ids.is_empty() {
            return Ok(in_use);
        }
        for _ in 0..TRIES {
            self.wait_for_git()?;
            let held = self.held(ids, own, None, None)?;
            let mut gone: HashSet<ObjectId> = ids.difference(&held).copied().collect();
            let trees = self.entries_of_trees(&gone)?;
            keep_harmless(&mut gone, trees.clone());
            let mut stay = self.used_since(removing.since, &gone)?;
            gone.retain(|id| !stay.contains(id));
            keep_harmless(&mut gone, trees);
            if gone.is_empty() {
                return Ok(Removal { gone, held, stay });
            }
            let mut new_packs = Vec::new();
            let removed = self.set_aside(&gone, &mut new_packs).and_then(|()| {
                failpoint::hit("purge:set-aside");
                Ok(self.is_unused(&gone, own, removing.since)? && new_packs.iter().all(NewPack::is_there))
            });
            if let Ok(true) = removed {
                self.delete_aside()?;
                stay.extend(self.left(&gone)?);
                gone.retain(|id| !stay.contains(id));
                return Ok(Removal { gone, held, stay });
            }
            self.put_back()?;
            removed?;
            stay.extend(gone);
            in_use = Removal { gone: HashSet::new(), held, stay };
        }
        Ok(in_use)
    }

    /// Puts back what a process moved aside that was killed, unless another process is removing objects.
    pub(crate) fn put_objects_back(&self) -> Result<()> {
        let is_left = [ASIDE, CONDEMNED].iter().any(|name| may_exist(&self.objects_path().join(name)));
        match if is_left { self.lock_objects()? } else { None } {
            Some(_lock) => self.put_back(),
            None => Ok(()),
        }
    }

    /// Returns the directory of objects that are about to be removed, or put back, by a process that was killed.
    pub(crate) fn objects_aside(&self) -> Option<PathBuf> {
        let lock = state::directory(self.common_dir()).join("repack.lock");
        let found = [ASIDE, CONDEMNED].iter().map(|name| self.objects_path().join(name)).find(|path| may_exist(path));
        found.filter(|_| !lock::is_held(&lock))
    }

    /// Returns what is in those of `ids` that are trees.
    pub(super) fn entries_of_trees(&self, ids: &HashSet<ObjectId>) -> Result<HashMap<ObjectId, Vec<ObjectId>>> {
        let mut trees = HashMap::new();
        for id in ids {
            if self.kind_of(*id)? == Some(ObjectKind::Tree) {
                trees.insert(*id, self.tree_entries(*id)?.into_iter().map(|(_, _, id)| id).collect());
            }
        }
        Ok(trees)
    }

    /// Keeps our own commands from repacking; none if one of them repacks, or git does.
    pub(super) fn lock_objects(&self) -> Result<Option<Lock>> {
        let directory = state::ensure_directory(self.common_dir())?;
        if self.is_git_collecting() {
            return Ok(None);
        }
        let mut lock = Lock::try_acquire(&directory.join("repack.lock"))?;
        if let Some(lock) = lock.as_mut().filter(|lock| !lock.dead().is_empty()) {
            self.sweep(lock.dead());
            lock.forget_dead();
        }
        Ok(lock)
    }

    pub(super) fn objects_path(&self) -> PathBuf {
        self.inner.objects.store_ref().path().to_owned()
    }

    /// Returns those of `ids` that are in a file which git has touched or written since `time`: a command relies on them, and
    /// maybe nothing leads to its result yet.
    fn used_since(&self, time: Duration, ids: &HashSet<ObjectId>) -> Result<HashSet<ObjectId>> {
        let is_used = |path: &Path| changed(path).is_some_and(|changed| changed > time);
        let mut used: HashSet<ObjectId> = ids.iter().copied().filter(|id| is_used(&self.loose_path(*id))).collect();
        for pack in self.packs_with(ids)?.iter().filter(|pack| is_used(pack)) {
            used.extend(ids_in(pack, self.object_hash())?.iter().filter(|id| ids.contains(*id)));
        }
        Ok(used)
    }

    /// Moves the objects `ids` aside. Those beside them in a pack are in another one then, one of `new_packs`.
    fn set_aside(&self, ids: &HashSet<ObjectId>, new_packs: &mut Vec<NewPack>) -> Result<()> {
        self.remove_derived();
        let packs = self.packs_with(ids)?;
        for pack in &packs {
            self.check_interrupt()?;
            new_packs.extend(self.write_rest(pack, ids)?);
            failpoint::hit("purge:after-pack");
        }
        for path in packs.iter().flat_map(|pack| OF_PACK.iter().map(|end| pack.with_extension(end))) {
            self.move_aside(&path)?;
        }
        for id in ids {
            self.move_aside(&self.loose_path(*id))?;
        }
        // Git may have made it anew meanwhile, from the packs that are gone now.
        self.remove_derived();
        Ok(())
    }

    fn remove_derived(&self) {
        for name in DERIVED {
            let path = self.objects_path().join(name);
            drop(fs::remove_file(&path));
            drop(fs::remove_dir_all(&path));
        }
    }

    /// Moves the file `path` from the objects to the place aside, if it is there.
    fn move_aside(&self, path: &Path) -> Result<()> {
        let objects = self.objects_path();
        let aside = objects.join(ASIDE);
        let name = path.strip_prefix(&objects).unwrap_or(path);
        if may_exist(path)
            && let Err(error) = rename(path, &aside.join(name))
            // Git may remove an old pack meanwhile.
            && may_exist(path)
        {
            return Err(error);
        }
        Ok(())
    }

    /// Returns true if nothing leads to the objects `ids`, which are aside, and no file that has some is new, or got a new time,
    /// since `time`.
    fn is_unused(&self, ids: &HashSet<ObjectId>, own: &HashSet<ObjectId>, time: Duration) -> Result<bool> {
        let aside = self.objects_path().join(ASIDE);
        let mut files = files_below(&aside)?;
        files.retain(|path| path.extension().is_none_or(|end| end == "pack"));
        let is_used = |path: &PathBuf| changed(path).is_none_or(|changed| changed > time);
        if self.git_at_work()?.is_some() || files.iter().any(is_used) {
            return Ok(false);
        }
        let aside = std::path::absolute(aside).context(Kind::Internal, || "cannot find the objects".into())?;
        Ok(self.held(ids, own, None, Some(&aside))?.is_empty())
    }

    /// Puts all back that is aside.
    pub(super) fn put_back(&self) -> Result<()> {
        let objects = self.objects_path();
        remove_all(&objects.join(CONDEMNED))?;
        let aside = objects.join(ASIDE);
        let mut files = files_below(&aside)?;
        let is_index = |path: &Path| path.extension().is_some_and(|end| end == "idx");
        files.sort_by_key(|path| (is_index(path), path.clone()));
        for path in files {
            let Ok(name) = path.strip_prefix(&aside) else { continue };
            let place = objects.join(name);
            if is_index(&path) && !may_exist(&place.with_extension("pack")) {
                // Git has removed the pack meanwhile, because another one has its objects.
                fs::remove_file(&path).context(Kind::Internal, || format!("cannot remove '{}'", path.display()))?;
            } else {
                // Git may have written the same file again meanwhile: its time shows that a command relies on it.
                if let Some(time) = changed(&place) {
                    touch(&path, Some(time));
                }
                rename(&path, &place)?;
            }
        }
        remove_empty(&aside)
    }

    fn delete_aside(&self) -> Result<()> {
        let (aside, condemned) = (self.objects_path().join(ASIDE), self.objects_path().join(CONDEMNED));
        // What has this name is never put back: parts of it may be gone.
        if may_exist(&aside) {
            rename(&aside, &condemned)?;
        }
        failpoint::hit("purge:condemned");
        remove_all(&condemned)
    }

    /// Returns those of `ids` that are still there.
    fn left(&self, ids: &HashSet<ObjectId>) -> Result<HashSet<ObjectId>> {
        let input: String = ids.iter().map(|id| format!("{id}\n")).collect();
        let left = self.run_git(&["cat-file", "--batch-check=%(objectname)"], Some(input.as_bytes()))?;
        // Of one that is gone, git says that it is missing.
        Ok(left.lines().filter_map(|line| ObjectId::from_hex(line).ok()).collect())
    }

    /// Returns the packs that have some of `ids`, except those with a `.keep` file.
    fn packs_with(&self, ids: &HashSet<ObjectId>) -> Result<Vec<PathBuf>> {
        let mut packs = Vec::new();
        for path in entries_of(&self.objects_path().join("pack"))? {
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

    /// Writes the objects of `pack` without `ids` to a new pack.
    fn write_rest(&self, pack: &Path, ids: &HashSet<ObjectId>) -> Result<Option<NewPack>> {
        let rest: BTreeSet<ObjectId> =
            ids_in(pack, self.object_hash())?.into_iter().filter(|id| !ids.contains(id)).collect();
        if rest.is_empty() {
            return Ok(None);
        }
        let (new, keep) = self.pack_by_git(&rest)?;
        // A partial clone has to know that the rest is elsewhere.
        if may_exist(&pack.with_extension("promisor")) {
            let marker = new.with_extension("promisor");
            fs::write(&marker, "").context(Kind::Internal, || format!("cannot write '{}'", marker.display()))?;
        }
        if self.noted_packs().iter().any(|noted| noted == pack) {
            self.note_pack(&new);
        }
        Ok(Some(NewPack { path: new, _keep: keep }))
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

/// Takes those trees out of `gone` that have nothing which goes: a command that relies on such a tree may have it in memory only,
/// as `git commit` has while its editor is open. `entries` says what is in each tree of `gone`.
pub(super) fn keep_harmless(gone: &mut HashSet<ObjectId>, mut entries: HashMap<ObjectId, Vec<ObjectId>>) {
    loop {
        let is_harmless = |ids: &Vec<ObjectId>| !ids.iter().any(|id| gone.contains(id));
        let kept: Vec<ObjectId> = entries.iter().filter(|(_, ids)| is_harmless(ids)).map(|(id, _)| *id).collect();
        if kept.is_empty() {
            return;
        }
        for id in kept {
            gone.remove(&id);
            entries.remove(&id);
        }
    }
}

fn rename(from: &Path, to: &Path) -> Result<()> {
    let what = || format!("cannot move '{}'", from.display());
    if let Some(directory) = to.parent() {
        fs::create_dir_all(directory).context(Kind::Internal, what)?;
    }
    fs::rename(from, to).context(Kind::Internal, what)
}

fn remove_all(directory: &Path) -> Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).context(Kind::Internal, || format!("cannot remove '{}'", directory.display()))
        }
        _ => Ok(()),
    }
}

/// Removes `directory` and those below it, where nothing is in them.
fn remove_empty(directory: &Path) -> Result<()> {
    for path in entries_of(directory)? {
        if path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
            remove_empty(&path)?;
        }
    }
    match fs::remove_dir(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).context(Kind::Internal, || format!("cannot remove '{}'", directory.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u8) -> ObjectId {
        ObjectId::from_bytes_or_panic(&[number; 20])
    }

    /// What is tried, the ids, the trees, and the ids that go.
    type Case = (&'static str, &'static [u8], &'static [&'static [u8]], &'static [u8]);

    #[test]
    fn trees_without_anything_that_goes_stay() {
        // 1 to 3 are blobs or commits. Of a tree, the first number is its own, the others are what is in it.
        let cases: [Case; 7] = [
            ("nothing", &[], &[], &[]),
            ("with what goes", &[1, 10], &[&[10, 1, 2]], &[1, 10]),
            ("with what stays", &[1, 10], &[&[10, 2, 3]], &[1]),
            ("above what goes", &[1, 10, 11, 12], &[&[10, 1], &[11, 10], &[12, 11, 2]], &[1, 10, 11, 12]),
            ("above what stays", &[10, 11, 12], &[&[10, 2], &[11, 10], &[12, 11, 2]], &[]),
            ("one of two", &[1, 10, 11, 12], &[&[10, 1], &[11, 2], &[12, 10, 11]], &[1, 10, 12]),
            ("empty", &[10], &[&[10]], &[]),
        ];
        for (name, ids, trees, expected) in cases {
            let mut gone: HashSet<ObjectId> = ids.iter().copied().map(id).collect();
            let entries = trees.iter().map(|tree| (id(tree[0]), tree[1..].iter().copied().map(id).collect()));
            keep_harmless(&mut gone, entries.collect());
            assert_eq!(gone, expected.iter().copied().map(id).collect(), "{name}");
        }
    }
}
