//! Repositories inside the worktree: their HEAD, and whether they are dirty, without running any of their commands.

use bstr::BStr;
use gix::{
    ObjectId,
    index::{
        File, State,
        entry::{Flags, Mode as IndexMode, Stage},
    },
};

use super::{
    Repo,
    limits::Limits,
    modes::Modes,
    scan::{Candidate, Scan, scan},
    stat_cache::{Entry, Known, Stat, StatCache},
    untracked::collect,
};
use crate::{
    error::{Context as _, Kind, Result},
    model::{change::Mode, manifest::Reason},
};

impl Repo {
    /// Returns the commit at HEAD of the repository in `path` of this worktree; none if it is unborn or broken, or uses
    /// another hash function.
    pub(crate) fn nested_head(&self, path: &BStr) -> Result<Option<ObjectId>> {
        let path = self.worktree_root().join(gix::path::from_bstr(path).context(Kind::Internal, || "a path".into())?);
        let head = Self::open_nested(path).and_then(|nested| nested.head().ok()?.id);
        Ok(head.filter(|id| id.kind() == self.object_hash()))
    }

    /// Returns true if the repository in `path` of this worktree has uncommitted changes; none if that is unknown.
    ///
    /// Only the stats in its index are compared: reading the files could run the filters that it configures.
    /// Repositories inside it are skipped.
    pub(crate) fn nested_is_dirty(&self, path: &BStr, limits: &Limits) -> Option<bool> {
        let directory = self.worktree_root().join(gix::path::from_bstr(path).ok()?);
        let nested = Self::open_nested(directory)?;
        let head_tree_id = nested.tree_of_commit(nested.head().ok()?.id?).ok()?;
        let Some(index) = nested.user_index().ok()? else { return Some(head_tree_id != nested.empty_tree_id()) };
        if nested.is_staged(head_tree_id, &index)? {
            return Some(true);
        }
        let cache = stat_cache_of(&index);
        let found = scan(&nested, &cache, nested.modes()).ok()?;
        if is_changed(&cache, &found, nested.modes()) {
            return Some(true);
        }
        let untracked = collect(&nested, &cache, None, &found, limits).ok()?;
        // Git cannot store these paths either, so they do not count.
        let is_new = |reason: Reason| matches!(reason, Reason::TooLarge | Reason::TooManyFiles | Reason::LowDiskSpace);
        Some(
            !untracked.candidates.is_empty()
                || !untracked.nested.is_empty()
                || untracked.skipped.iter().any(|skipped| is_new(skipped.reason)),
        )
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
}

/// Returns the stats of the files in `index`.
fn stat_cache_of(index: &State) -> StatCache {
    let mut cache = StatCache::default();
    for entry in index.entries() {
        // Unmerged paths count as a change, so they do not get here; a sparse directory has no files.
        let Some(mode) = Mode::from_bits(entry.mode.bits()).filter(|_| entry.stage() == Stage::Unconflicted) else {
            continue;
        };
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
        cache.push(entry.path(index), known);
    }
    cache
}

/// Returns true if a tracked file was deleted or changed. Inodes and ctimes do not count: copying a repository changes
/// them.
fn is_changed(cache: &StatCache, found: &Scan, modes: Modes) -> bool {
    let is_other = |entry: &Entry, candidate: &Candidate| {
        let nanoseconds = if entry.stat.mtime.1 == 0 { 0 } else { candidate.stat.mtime.1 };
        (candidate.stat.mtime.0, nanoseconds, candidate.stat.size)
            != (entry.stat.mtime.0, entry.stat.mtime.1, entry.stat.size)
            || modes.stored(candidate.mode, Some(entry.mode)) != entry.mode
    };
    let is_other = |candidate: &Candidate| {
        candidate
            .position
            .map(|at| &cache.entries()[at])
            .is_some_and(|entry| !entry.skips_worktree && is_other(entry, candidate))
    };
    !found.removed.is_empty() || !found.special.is_empty() || found.candidates.iter().any(is_other)
}
