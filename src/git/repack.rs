//! Repacks the objects of many saves into few packs, with deltas: a save then costs some hundred bytes of disk instead of
//! a block for each object, and the number of packs stays small.
//!
//! Only objects that we wrote are touched, those listed in `loose` and `packs` of our directory once a ref leads to
//! them. Objects that git has repacked or collected since are skipped. A failure here costs disk space, nothing else.

use std::{
    collections::{BTreeSet, HashSet},
    fs::File,
    io::Write as _,
    path::{Path, PathBuf},
    time::Duration,
};

use bstr::ByteSlice as _;
use gix::ObjectId;

use super::{Repo, keep::Keep, loose, presence::may_exist};
use crate::{
    error::{Context as _, Error, Kind, Result},
    state::{self, failpoint, temporary},
};

/// From this number of loose objects on, they are repacked.
const LOOSE_LIMIT: usize = 96;
/// From this number of small packs on, they are merged.
const PACK_LIMIT: usize = 8;
/// A pack, or a loose object, of this many bytes is left alone: it takes long to repack.
const LARGE_PACK: u64 = 2 << 20;
/// From this age on, a pack without an index will not get one from the process that wrote it.
const ABANDONED: Duration = Duration::from_secs(3600);
/// Smaller packs take part in every repack, so that their objects serve as bases. Reading larger ones each time would
/// take too long.
const YOUNG_PACK: u64 = 256 << 10;

/// The files of a pack that may exist beside its index, which goes first: git uses a pack as long as it has an index.
const BESIDE_INDEX: &[&str] = &["pack", "rev"];

/// A new pack, the objects in it, and the packs that it replaces.
type NewPack = ((PathBuf, Option<Keep>), BTreeSet<ObjectId>, Vec<PathBuf>);

impl Repo {
    /// Notes that we wrote the loose objects `ids`.
    pub(super) fn note_loose(&self, ids: &[ObjectId]) {
        let lines: String = ids.iter().map(|id| format!("{id}\n")).collect();
        self.append_note("loose", &lines);
    }

    /// Notes that we wrote the pack `path`.
    pub(super) fn note_pack(&self, path: &Path) {
        if let Some(name) = path.file_stem().and_then(|name| name.to_str()) {
            self.append_note("packs", &format!("{name}\n"));
        }
    }

    fn append_note(&self, name: &str, lines: &str) {
        let append = || {
            let path = state::ensure_directory(self.common_dir())?.join(name);
            let mut file =
                File::options().append(true).create(true).open(&path).context(Kind::Internal, || "open".into())?;
            file.write_all(lines.as_bytes()).context(Kind::Internal, || "write".into())
        };
        if let Err(error) = append() {
            tracing::warn!(%error, "cannot note new objects for repacking");
        }
    }

    /// Returns how many bytes on disk our own loose objects and packs take that git has not repacked yet.
    pub fn bytes_held(&self) -> u64 {
        let directory = state::directory(self.common_dir());
        let size = |path: PathBuf| std::fs::metadata(path).map_or(0, |metadata| metadata.len());
        let loose = noted(&directory.join("loose"));
        let loose = loose.iter().filter_map(|hex| ObjectId::from_hex(hex.as_bytes()).ok());
        let loose: u64 = loose.map(|id| size(self.loose_path(id))).sum();
        let packs = noted(&directory.join("packs")).into_iter().filter_map(|name| self.pack_path(&name));
        let packs: u64 = packs.map(|path| size(path.with_extension("idx")) + size(path)).sum();
        loose + packs
    }

    /// Returns the loose objects that we noted.
    pub(super) fn noted_loose(&self) -> Vec<ObjectId> {
        let directory = state::directory(self.common_dir());
        let lines = ["loose", "loose.repacking"].into_iter().flat_map(|name| noted(&directory.join(name)));
        lines.filter_map(|hex| ObjectId::from_hex(hex.as_bytes()).ok()).collect()
    }

    /// Returns the packs that we noted.
    pub(super) fn noted_packs(&self) -> Vec<PathBuf> {
        let directory = state::directory(self.common_dir());
        let names = ["packs", "packs.repacking"].into_iter().flat_map(|name| noted(&directory.join(name)));
        names.filter_map(|name| self.pack_path(&name)).filter(|path| path.exists()).collect()
    }

    /// Repacks our objects if there are enough of them, and neither another process of ours nor `git gc` is doing so.
    pub(crate) fn repack_if_due(&self) {
        if let Err(error) = self.try_repack() {
            tracing::warn!(%error, "cannot repack objects");
        }
    }

    fn try_repack(&self) -> Result<()> {
        let directory = state::directory(self.common_dir());
        let line_length = self.object_hash().len_in_hex() + 1;
        let loose_size = std::fs::metadata(directory.join("loose")).map_or(0, |metadata| metadata.len());
        let is_due = usize::try_from(loose_size).unwrap_or(0) >= LOOSE_LIMIT * line_length
            || self.small_packs(&directory).len() >= PACK_LIMIT;
        if !is_due {
            return Ok(());
        }
        let Some(_lock) = self.lock_objects()? else { return Ok(()) };
        self.repack(&directory)
    }

    /// Returns true while `git gc` runs, by git's own rule: `gc.pid` counts for at most twelve hours, and on this host
    /// as long as the process exists.
    pub(super) fn is_git_collecting(&self) -> bool {
        let path = self.common_dir().join("gc.pid");
        let age = std::fs::metadata(&path).and_then(|metadata| metadata.modified());
        let is_young = age.is_ok_and(|time| time.elapsed().map_or(0, |age| age.as_secs()) <= 12 * 3600);
        is_young && std::fs::read_to_string(&path).is_ok_and(|text| is_alive_or_elsewhere(&text))
    }

    /// Returns our packs that are worth merging. Packs that git lists in a multi-pack index are git's to merge.
    fn small_packs(&self, directory: &Path) -> Vec<PathBuf> {
        let packs = self.inner.objects.store_ref().path().join("pack");
        if ["multi-pack-index", "multi-pack-index.d"].iter().any(|name| may_exist(&packs.join(name))) {
            return Vec::new();
        }
        let is_small = |path: &PathBuf| {
            let is_pinned = ["keep", "promisor"].iter().any(|end| may_exist(&path.with_extension(end)));
            // A pack without an index was left by a crash, or another process is about to publish it.
            let is_usable = path.with_extension("idx").exists();
            is_usable && !is_pinned && std::fs::metadata(path).is_ok_and(|metadata| metadata.len() < LARGE_PACK)
        };
        let mut paths: Vec<_> =
            noted(&directory.join("packs")).iter().filter_map(|name| self.pack_path(name)).collect();
        paths.sort();
        paths.dedup();
        paths.retain(is_small);
        paths
    }

    fn repack(&self, directory: &Path) -> Result<()> {
        let loose_note = directory.join("loose");
        let taken_note = directory.join("loose.repacking");
        let mut lines = noted(&taken_note);
        let has_failed = !lines.is_empty();
        // Renamed first, so that other processes note new objects in a new file.
        if std::fs::rename(&loose_note, &taken_note).is_ok() {
            lines.extend(noted(&taken_note));
            if has_failed {
                // If this fails, too, the objects of the last time are tried once more.
                let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
                state::replace_file(&taken_note, text.as_bytes())?;
            }
        }
        let mut seen = HashSet::new();
        let ids = lines.iter().filter_map(|hex| ObjectId::from_hex(hex.as_bytes()).ok());
        let is_small =
            |id: &ObjectId| std::fs::metadata(self.loose_path(*id)).is_ok_and(|file| file.len() < LARGE_PACK);
        let ids: Vec<ObjectId> = ids.filter(|id| seen.insert(*id) && is_small(id)).collect();
        let packs = self.packs_to_merge(directory);
        let Some(((new_pack, _keep), stored, merged)) = self.write_pack(&ids, packs)? else { return Ok(()) };
        failpoint::hit("repack:after-pack");
        self.note_pack(&new_pack);
        // The new pack has everything, is verified, durable and visible. Readers of the old files find the new one.
        for path in merged.iter().filter(|path| **path != new_pack) {
            drop(std::fs::remove_file(path.with_extension("idx")));
            failpoint::hit("repack:after-index");
            for end in BESIDE_INDEX {
                drop(std::fs::remove_file(path.with_extension(end)));
            }
        }
        failpoint::hit("repack:after-packs");
        for path in ids.iter().filter(|id| stored.contains(*id)).map(|id| self.loose_path(*id)) {
            // Leave the directory to `git gc`: git cannot add an object to a directory that is removed twice at that
            // moment.
            drop(std::fs::remove_file(&path));
            failpoint::hit("repack:after-loose");
        }
        drop(std::fs::remove_file(&taken_note));
        self.forget_gone_packs(directory)
    }

    /// Removes the names of packs that no longer exist from our list, unless another process adds one at the same time.
    fn forget_gone_packs(&self, directory: &Path) -> Result<()> {
        let note = directory.join("packs");
        let taken = directory.join("packs.repacking");
        // If another process died after it had renamed the note, the names are in there.
        let left = noted(&taken);
        std::fs::rename(&note, &taken).context(Kind::Internal, || "cannot rename the note of packs".into())?;
        let there = |name: &String| self.pack_path(name).is_some_and(|path| may_exist(&path));
        let mut names: Vec<String> = noted(&taken).into_iter().chain(left).filter(there).collect();
        names.sort();
        names.dedup();
        names.iter().filter_map(|name| self.pack_path(name)).for_each(|path| self.index_abandoned(&path));
        self.append_note("packs", &names.iter().map(|name| format!("{name}\n")).collect::<String>());
        drop(std::fs::remove_file(&taken));
        Ok(())
    }

    /// Writes the index of the pack `path` if it has none and its process will write none any more. The process may have been
    /// killed before it did, but the index may also be lost: no other object then has the content.
    fn index_abandoned(&self, path: &Path) {
        let age = std::fs::metadata(path).and_then(|it| it.modified()).ok().and_then(|time| time.elapsed().ok());
        if !may_exist(&path.with_extension("idx"))
            && age.is_some_and(|age| age > ABANDONED)
            && let Err(error) = self.run_git(&["index-pack", &path.to_string_lossy()], None)
        {
            tracing::warn!(%error, pack = %path.display(), "cannot write the index of a pack");
        }
    }

    /// Returns our young packs, or all small ones if there are many.
    fn packs_to_merge(&self, directory: &Path) -> Vec<PathBuf> {
        let mut small = self.small_packs(directory);
        if small.len() < PACK_LIMIT {
            small.retain(|path| std::fs::metadata(path).is_ok_and(|metadata| metadata.len() < YOUNG_PACK));
        }
        small
    }

    /// Writes the loose objects `loose` and those of `packs` to one new pack. Returns its path, the objects in it, and the packs
    /// whose objects are all in it; none if there is nothing to write.
    ///
    /// If git cannot pack all of them, leaves out what cannot be read.
    fn write_pack(&self, loose: &[ObjectId], packs: Vec<PathBuf>) -> Result<Option<NewPack>> {
        let of_packs = packs.into_iter().map(|path| Ok((ids_in(&path, self.object_hash())?, path)));
        let of_packs = of_packs.collect::<Result<Vec<(Vec<ObjectId>, PathBuf)>>>()?;
        let pack = |is_wanted: &dyn Fn(&ObjectId) -> bool| {
            let packs = of_packs.iter().filter(|(ids, _)| ids.iter().all(is_wanted));
            let (ids_of_packs, merged): (Vec<&[ObjectId]>, Vec<PathBuf>) =
                packs.map(|(ids, path)| (ids.as_slice(), path.clone())).unzip();
            let ids: BTreeSet<ObjectId> =
                loose.iter().filter(|id| is_wanted(id)).chain(ids_of_packs.into_iter().flatten()).copied().collect();
            if ids.is_empty() {
                return Ok(None);
            }
            Ok(Some((self.pack_by_git(&ids)?, ids, merged)))
        };
        pack(&|_| true).or_else(|error| {
            tracing::debug!(%error, "left some objects out of the new pack");
            pack(&|id| self.can_read(*id))
        })
    }

    /// Lets git write the objects `ids` to a pack, with deltas, and returns its path. Until the result is dropped, git does not
    /// take the pack for a redundant one, though other packs still have its objects. No [`Keep`] if another process keeps it.
    ///
    /// Git reads the pack as one that was fetched: it hashes each object, and compares it with the one that is there. That
    /// happens in a directory of its own: if the disk is full, nothing is left.
    pub(super) fn pack_by_git(&self, ids: &BTreeSet<ObjectId>) -> Result<(PathBuf, Option<Keep>)> {
        let packs = std::path::absolute(self.inner.objects.store_ref().path().join("pack"));
        let packs = packs.context(Kind::Internal, || "cannot find the packs of this repository".into())?;
        let input: String = ids.iter().map(|id| format!("{id}\n")).collect();
        let what = || format!("cannot write a pack in '{}'", packs.display());
        let objects = packs.parent().unwrap_or(&packs);
        let aside = tempfile::Builder::new().prefix(&temporary::prefix("tmp_packs_")).tempdir_in(objects);
        let aside = aside.context(Kind::Internal, what)?;
        let write = ["pack-objects", "-q", "--stdout", "--delta-base-offset", "--threads=1"];
        let printed = self.pipe_git(&write, input.as_bytes(), &["index-pack", "--stdin"], aside.path())?;
        let printed = printed.to_str_lossy();
        let name = printed.trim().strip_prefix("pack\t").unwrap_or_default();
        let written = aside.path().join(format!("pack/pack-{name}.pack"));
        if !ids_in(&written, self.object_hash())?.iter().eq(ids) {
            return Err(Error::corrupt("git has packed other objects than it should"));
        }
        let path = packs.join(format!("pack-{name}.pack"));
        let keep = Keep::new(&path)?;
        for end in ["pack", "rev", "idx"] {
            let (from, to) = (written.with_extension(end), path.with_extension(end));
            if end != "rev" || may_exist(&from) {
                std::fs::rename(from, to).context(Kind::Internal, what)?;
            }
        }
        // Git syncs the files only if `core.fsync` and `core.fsyncMethod` say so, and never the directory. Other copies of the
        // objects are about to be deleted.
        let index = path.with_extension("idx");
        for written in [&path, &index, &packs] {
            File::open(written).and_then(|file| file.sync_all()).context(Kind::Internal, what)?;
        }
        Ok((path, keep))
    }

    pub(super) fn loose_path(&self, id: ObjectId) -> PathBuf {
        loose::path(self.inner.objects.store_ref().path(), id)
    }

    /// Returns the path of our pack `name`; none if `name` is not a pack's.
    fn pack_path(&self, name: &str) -> Option<PathBuf> {
        let hex = name.strip_prefix("pack-")?;
        let is_name = !hex.is_empty() && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_name.then(|| self.inner.objects.store_ref().path().join("pack").join(format!("{name}.pack")))
    }
}

/// Returns true if `mark`, a pid and a host, names a process that runs, or may run on another host.
fn is_alive_or_elsewhere(mark: &str) -> bool {
    let mut words = mark.split_ascii_whitespace();
    let pid = words.next().and_then(|pid| rustix::process::Pid::from_raw(pid.parse().ok().filter(|pid| *pid > 0)?));
    let (Some(pid), Some(host)) = (pid, words.next()) else { return false };
    let is_here = rustix::system::uname().nodename().to_bytes() == host.as_bytes();
    !is_here || rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH)
}

/// Returns the ids of the objects in the pack `path`, from its index.
pub(super) fn ids_in(path: &Path, hash: gix::hash::Kind) -> Result<Vec<ObjectId>> {
    let what = || format!("cannot read the index of '{}'", path.display());
    let index = gix::odb::pack::index::File::at(path.with_extension("idx"), hash).context(Kind::Corrupt, what)?;
    Ok(index.iter().map(|entry| entry.oid).collect())
}

fn noted(path: &Path) -> Vec<String> {
    std::fs::read_to_string(path).map(|text| text.lines().map(ToOwned::to_owned).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gits_mark_counts_as_it_does_for_git() {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let me = std::process::id();
        assert!(is_alive_or_elsewhere(&format!("{me} {host}")));
        // The pid does not exist: Linux's largest is 2^22.
        assert!(!is_alive_or_elsewhere(&format!("2147483647 {host}")));
        assert!(is_alive_or_elsewhere("2147483647 not-this-host"));
        for nonsense in ["", "x", "12", &format!("x {host}"), &format!("-1 {host}"), &format!("0 {host}")] {
            assert!(!is_alive_or_elsewhere(nonsense), "{nonsense:?}");
        }
    }
}
