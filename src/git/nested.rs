//! Repositories inside the worktree: their HEAD, and whether they are dirty, without running any of their commands.

use std::io::Read as _;

use bstr::{BStr, BString, ByteSlice as _};
use gix::{
    ObjectId,
    index::{
        File, State,
        entry::{Flags, Mode as IndexMode, Stage},
    },
};
use rustix::fs::OFlags;

use super::{
    Repo, beneath,
    limits::{Limits, open_root},
    scan::{Candidate, Scan, scan},
    stat_cache::{Entry, Known, Stat, StatCache},
    untracked::collect,
};
use crate::{
    error::{Context as _, Kind, Result},
    model::{
        change::Mode,
        manifest::{Nested, Reason},
        submodule::Inside,
    },
};

impl Repo {
    /// Returns the commit at HEAD of the repository in `path` of this worktree; none if it is unborn or broken, or uses
    /// another hash function.
    pub(crate) fn nested_head(&self, path: &BStr) -> Result<Option<ObjectId>> {
        let path = self.worktree_root().join(gix::path::from_bstr(path).context(Kind::Internal, || "a path".into())?);
        let head = Self::open_nested(path).and_then(|nested| nested.head().ok()?.id);
        Ok(head.filter(|id| id.kind() == self.object_hash()))
    }

    /// Returns what is known of the repository in `path` of this worktree, which is no submodule.
    pub(crate) fn look_into(&self, path: BString, limits: &Limits) -> Result<Nested> {
        let inside = gix::path::from_bstr(path.as_bstr()).context(Kind::Internal, || "a path".into())?;
        let opened = Self::open_nested(self.worktree_root().join(inside));
        let id = opened.as_ref().and_then(|nested| nested.head().ok()?.id);
        let head = id.filter(|id| id.kind() == self.object_hash());
        let changes = opened.as_ref().filter(|_| head.is_some()).and_then(|nested| nested.changes_inside(limits, true));
        let is_worktree = opened.is_some_and(|nested| nested.shares_objects_with(self));
        Ok(Nested { path, head, dirty: changes.map(Inside::is_any), is_worktree })
    }

    /// Returns what has changed in this worktree since the commit at HEAD; none if that is unknown. If any change will do
    /// (`is_one_enough`), does not look for further ones.
    ///
    /// Only the stats in its index are compared: reading the files could run the filters that it configures.
    pub(super) fn changes_inside(&self, limits: &Limits, is_one_enough: bool) -> Option<Inside> {
        const MODIFIED: Inside = Inside { modified: true, untracked: false };
        let head_tree_id = match self.head().ok()?.id {
            Some(id) => self.tree_of_commit(id).ok()?,
            None => self.empty_tree_id(),
        };
        let index = self.user_index().ok()?;
        let modified = match &index {
            Some(index) => self.is_staged(head_tree_id, index)?,
            None => head_tree_id != self.empty_tree_id(),
        };
        let mut inside = Inside { modified, untracked: false };
        if inside.is_any() && is_one_enough {
            return Some(inside);
        }
        let cache = index.map(|index| stat_cache_of(&index)).unwrap_or_default();
        let found = scan(self, &cache, self.modes()).ok()?;
        if !inside.modified && self.is_changed(&cache, &found) {
            inside = MODIFIED;
        }
        if inside.is_any() && is_one_enough {
            return Some(inside);
        }
        for entry in found.gitlinks.iter().map(|at| &cache.entries()[*at]).filter(|entry| !entry.skips_worktree) {
            let Some(submodule) = self.populated(cache.path(entry)) else { continue };
            if submodule.head().ok().and_then(|head| head.id).is_some_and(|id| id != entry.id) {
                inside = inside.and(MODIFIED);
            }
            inside = inside.and(submodule.changes_inside(limits, is_one_enough).unwrap_or_default());
        }
        if inside.is_any() && is_one_enough || inside.untracked {
            return Some(inside);
        }
        let untracked = collect(self, &cache, None, &found, limits).ok()?;
        // Git cannot store other paths either, so they do not count.
        let is_new = |reason: Reason| matches!(reason, Reason::TooLarge | Reason::TooManyFiles | Reason::LowDiskSpace);
        inside.untracked = !untracked.candidates.is_empty()
            || !untracked.nested.is_empty()
            || untracked.skipped.iter().any(|skipped| is_new(skipped.reason));
        Some(inside)
    }

    /// Returns true if `index` differs from the tree `head_tree_id`; none if that is unknown.
    fn is_staged(&self, head_tree_id: ObjectId, index: &File) -> Option<bool> {
        let cached = index.tree().filter(|tree| tree.num_entries.is_some());
        if let Some(cached) = cached {
            return Some(cached.id != head_tree_id);
        }
        if index.entries().iter().any(|entry| entry.mode == IndexMode::DIR) {
            return None;
        }
        let head = self.inner.index_from_tree(&head_tree_id).ok()?;
        let is_same = |(a, b): (&gix::index::Entry, &gix::index::Entry)| {
            a.path(&head) == b.path(index)
                && (a.id, a.mode) == (b.id, b.mode)
                && b.stage() == Stage::Unconflicted
                && !b.flags.contains(Flags::INTENT_TO_ADD)
        };
        let has_all = head.entries().len() == index.entries().len();
        Some(!has_all || !head.entries().iter().zip(index.entries()).all(is_same))
    }

    /// Returns true if a tracked file was deleted or changed. Inodes and ctimes do not count: copying a repository changes
    /// them. A file with another time, but the size and the very bytes of its blob, was only touched.
    fn is_changed(&self, cache: &StatCache, found: &Scan) -> bool {
        let is_other = |entry: &Entry, candidate: &Candidate| {
            let nanoseconds = if entry.stat.mtime.1 == 0 { 0 } else { candidate.stat.mtime.1 };
            candidate.stat.size != entry.stat.size
                || self.modes().stored(candidate.mode, Some(entry.mode)) != entry.mode
                || (candidate.stat.mtime.0, nanoseconds) != (entry.stat.mtime.0, entry.stat.mtime.1)
                    && !self.has_bytes(candidate, entry.id)
        };
        let is_other = |candidate: &Candidate| {
            candidate
                .position
                .map(|at| &cache.entries()[at])
                .is_some_and(|entry| !entry.skips_worktree && is_other(entry, candidate))
        };
        !found.removed.is_empty() || !found.special.is_empty() || found.candidates.iter().any(is_other)
    }

    /// Returns true if the file of `candidate` has the bytes of the blob `id`, without any conversion.
    fn has_bytes(&self, candidate: &Candidate, id: ObjectId) -> bool {
        let read = || {
            let root = open_root(self.worktree_root()).ok()?;
            let flags = OFlags::RDONLY | OFlags::NONBLOCK;
            let mut file = std::fs::File::from(beneath::open(&root, candidate.path.as_bstr(), flags).ok()?);
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).ok()?;
            gix::objs::compute_hash(self.object_hash(), gix::objs::Kind::Blob, &bytes).ok()
        };
        matches!(candidate.mode, Mode::File | Mode::Executable) && read() == Some(id)
    }
}

/// Returns the stats of the files in `index`.
pub(super) fn stat_cache_of(index: &State) -> StatCache {
    let mut cache = StatCache::default();
    let mut last_path = None;
    for entry in index.entries() {
        let path = entry.path(index);
        // Stages of one path follow each other; a sparse directory has no files.
        let is_same = last_path.replace(path) == Some(path);
        let Some(mode) = Mode::from_bits(entry.mode.bits()).filter(|_| !is_same) else { continue };
        let known = Known {
            stat: Stat::of_index(&entry.stat),
            id: entry.id,
            raw_id: None,
            mode,
            is_tracked: true,
            skips_worktree: entry.flags.contains(Flags::SKIP_WORKTREE),
            is_racy: false,
            is_unfiltered: false,
        };
        cache.push(path, known);
    }
    cache
}
