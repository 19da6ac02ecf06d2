//! Folds what many saves wrote into few packs, with deltas, so that a save costs some hundred bytes of disk instead of a
//! block for each object, and the number of packs stays small.
//!
//! Only objects that we wrote are touched, listed in `loose` and `packs` of our directory. What git has repacked or
//! collected meanwhile is simply not there any more. Whatever fails here costs disk space, nothing else.

use std::{
    collections::HashSet,
    fs::File,
    io::Write as _,
    path::{Path, PathBuf},
};

use gix::{
    ObjectId,
    objs::{Find as _, Kind as ObjectKind},
};

use super::{
    Repo,
    pack::{PackWriter, deflate, delta, read_index},
};
use crate::{
    error::{Context as _, Kind, Result},
    state::{self, lock::Lock},
};

/// From this many loose objects on, they are folded.
const LOOSE_LIMIT: usize = 96;
/// From this many small packs on, they become one.
const PACK_LIMIT: usize = 8;
/// A pack of this many bytes is left alone.
const LARGE_PACK: u64 = 4 << 20;
/// How many objects before are tried as the base of a delta.
const WINDOW: usize = 12;
/// Larger objects are stored whole.
const LARGEST_DELTA: usize = 1 << 20;

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
            tracing::warn!(%error, "new objects not noted for folding");
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

    /// Folds if there is enough to fold and nobody else, nor git's gc, is at it.
    pub(crate) fn fold_if_due(&self) {
        if let Err(error) = self.try_fold() {
            tracing::warn!(%error, "objects not folded");
        }
    }

    fn try_fold(&self) -> Result<()> {
        let directory = state::directory(self.common_dir());
        let line_length = self.object_hash().len_in_hex() + 1;
        let loose_size = std::fs::metadata(directory.join("loose")).map_or(0, |metadata| metadata.len());
        let is_due = usize::try_from(loose_size).unwrap_or(0) >= LOOSE_LIMIT * line_length
            || noted(&directory.join("packs")).len() >= PACK_LIMIT;
        if !is_due || self.common_dir().join("gc.pid").exists() {
            return Ok(());
        }
        let Some(_lock) = Lock::try_acquire(&directory.join("fold.lock"))? else { return Ok(()) };
        self.fold(&directory)
    }

    fn fold(&self, directory: &Path) -> Result<()> {
        let loose_note = directory.join("loose");
        let taken_note = directory.join("loose.folding");
        let mut lines = noted(&taken_note);
        // Renamed first: what other processes note from now on goes to a new file.
        if std::fs::rename(&loose_note, &taken_note).is_ok() {
            lines.extend(noted(&taken_note));
        }
        let mut seen = HashSet::new();
        let ids = lines.iter().filter_map(|hex| ObjectId::from_hex(hex.as_bytes()).ok());
        let ids: Vec<ObjectId> = ids.filter(|id| seen.insert(*id) && self.loose_path(*id).exists()).collect();
        let mut writer = PackWriter::begin(self.inner.objects.store_ref().path(), self.object_hash())?;
        let (merged, kept) = self.merge_small_packs(directory, &mut writer)?;
        let already: HashSet<ObjectId> = writer.ids().collect();
        self.add_with_deltas(ids.iter().copied().filter(|id| !already.contains(id)), &mut writer)?;
        if writer.len() == 0 {
            state::replace_file(&directory.join("packs"), kept.join("\n").as_bytes())?;
            return Ok(());
        }
        let new_pack = writer.finish()?;
        let mut names = kept;
        names.extend(new_pack.file_stem().and_then(|name| name.to_str()).map(ToOwned::to_owned));
        state::replace_file(&directory.join("packs"), (names.join("\n") + "\n").as_bytes())?;
        // Everything is in the new pack by now, durable and visible; readers that had the old files look again.
        for path in merged.iter().filter(|path| **path != new_pack) {
            drop(std::fs::remove_file(path.with_extension("idx")));
            drop(std::fs::remove_file(path));
        }
        for path in ids.iter().map(|id| self.loose_path(*id)) {
            drop(std::fs::remove_file(&path));
            // As `git prune-packed` does; a directory that is not empty stays.
            drop(path.parent().map(std::fs::remove_dir));
        }
        drop(std::fs::remove_file(&taken_note));
        Ok(())
    }

    /// Copies our small packs into `writer`; returns their paths, and the names of those left alone.
    fn merge_small_packs(&self, directory: &Path, writer: &mut PackWriter) -> Result<(Vec<PathBuf>, Vec<String>)> {
        let (mut merged, mut kept) = (Vec::new(), Vec::new());
        let mut names = noted(&directory.join("packs"));
        names.sort();
        names.dedup();
        for name in names {
            let Some(path) = self.pack_path(&name) else { continue };
            let Ok(size) = std::fs::metadata(&path).map(|metadata| metadata.len()) else { continue };
            let is_pinned = path.with_extension("keep").exists() || path.with_extension("promisor").exists();
            let entries =
                (size < LARGE_PACK && !is_pinned).then(|| read_index(&path, self.object_hash())).transpose()?;
            match entries {
                Some(entries) if !writer.has_any(&entries) => {
                    writer.copy_from(&path, &entries)?;
                    merged.push(path);
                }
                _ => kept.push(name),
            }
        }
        Ok((merged, kept))
    }

    /// Adds the loose objects `ids` to `writer`, each as a delta against one of the last of its kind if that is smaller.
    fn add_with_deltas(&self, ids: impl Iterator<Item = ObjectId>, writer: &mut PackWriter) -> Result<()> {
        let mut window: Vec<(ObjectKind, u64, Vec<u8>)> = Vec::new();
        for id in ids {
            let mut data = Vec::new();
            let kind = {
                let found = self.inner.objects.try_find(&id, &mut data);
                let Some(found) = found.context(Kind::Corrupt, || format!("cannot read '{id}'"))? else { continue };
                found.kind
            };
            let candidates =
                window.iter().rev().filter(|(other, _, base)| *other == kind && base.len() <= LARGEST_DELTA);
            let best = candidates
                .take(WINDOW)
                .filter(|_| data.len() <= LARGEST_DELTA)
                .map(|(_, offset, base)| (*offset, delta(base, &data)))
                .min_by_key(|(_, delta)| delta.len())
                .filter(|(_, delta)| delta.len() < data.len() / 2);
            let offset = match best {
                Some((base_offset, delta)) => writer.add_delta(id, base_offset, &delta)?,
                None => writer.add(id, kind, data.len(), &deflate(&data))?,
            };
            window.push((kind, offset, data));
            if window.len() > 4 * WINDOW {
                window.remove(0);
            }
        }
        Ok(())
    }

    pub(super) fn loose_path(&self, id: ObjectId) -> PathBuf {
        let hex = id.to_string();
        self.inner.objects.store_ref().path().join(&hex[..2]).join(&hex[2..])
    }

    /// Returns the path of our pack `name`; none if `name` is not a pack's.
    fn pack_path(&self, name: &str) -> Option<PathBuf> {
        let hex = name.strip_prefix("pack-")?;
        let is_name = !hex.is_empty() && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_name.then(|| self.inner.objects.store_ref().path().join("pack").join(format!("{name}.pack")))
    }
}

fn noted(path: &Path) -> Vec<String> {
    std::fs::read_to_string(path).map(|text| text.lines().map(ToOwned::to_owned).collect()).unwrap_or_default()
}
