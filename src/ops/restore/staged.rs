//! Puts back what was staged: the only place that changes the user's index, by git's own commands and lock.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
};

use bstr::{BString, ByteSlice as _};

use super::snapshot::Snapshot;
use crate::{
    error::{Error, Kind, Result},
    git::{Repo, checkout_names::is_git_path, lock_files},
    model::{
        change::Leaf,
        manifest::Unmerged,
        path_text,
        slot::{Found, Slot, SlotChange},
        verdict::{Left, Why},
    },
};

/// The entries of the index that are to change.
#[derive(Debug, Default)]
pub(super) struct Staging {
    /// What is still to be put there.
    slots: BTreeMap<BString, Slot>,
    /// All that the restore changes, or has changed before it was interrupted.
    pub(super) changes: Vec<SlotChange>,
    /// What was staged since.
    pub(super) left: Vec<Left>,
}

impl Staging {
    /// Returns what leads from the index of `pre` to that of `target`, in what `pathspecs` name.
    pub(super) fn between(repo: &Repo, pre: &Snapshot, target: &Snapshot, pathspecs: &[BString]) -> Result<Self> {
        let changes = repo.diff_trees(pre.index_tree, target.index_tree)?;
        let mut paths: BTreeSet<BString> = changes.into_iter().map(|change| change.path).collect();
        for manifest in [&pre.manifest, &target.manifest] {
            paths.extend(manifest.unmerged.iter().map(|entry| entry.path.clone()));
            paths.extend(manifest.intent_to_add.iter().cloned());
        }
        let mut search = repo.pathspec(pathspecs)?;
        let mut staging = Self::default();
        for path in paths.into_iter().filter(|path| search.matches(path.as_bstr())) {
            let (before, after) = (slot(repo, pre, &path)?, slot(repo, target, &path)?);
            if before != after {
                staging.make(SlotChange { path, before, after });
            }
        }
        Ok(staging)
    }

    /// Returns what is left of `planned` after a crash, where the index is that of `now`.
    pub(super) fn resumed(repo: &Repo, planned: &[SlotChange], now: &Snapshot) -> Result<Self> {
        let mut staging = Self::default();
        for change in planned {
            match change.find(&slot(repo, now, &change.path)?) {
                Found::Before => staging.make(change.clone()),
                Found::After => staging.changes.push(change.clone()),
                Found::Other => staging.left.push(Left { path: change.path.clone(), why: Why::UnderWay }),
            }
        }
        Ok(staging)
    }

    /// Returns what takes the changes `done` back, where the index is that of `now`; with `all` also what was staged since.
    pub(super) fn reversed(repo: &Repo, done: &[SlotChange], now: &Snapshot, all: bool) -> Result<Self> {
        let mut staging = Self::default();
        for change in done.iter().map(SlotChange::reversed) {
            let found = slot(repo, now, &change.path)?;
            match change.find(&found) {
                Found::After => {}
                Found::Other if !all => staging.left.push(Left { path: change.path, why: Why::StagedSince }),
                Found::Before | Found::Other => staging.make(SlotChange { before: found, ..change }),
            }
        }
        Ok(staging)
    }

    fn make(&mut self, change: SlotChange) {
        self.slots.insert(change.path.clone(), change.after.clone());
        self.changes.push(change);
    }

    /// Returns the paths whose entry is to be put there.
    pub(super) fn paths(&self) -> Vec<BString> {
        self.slots.keys().cloned().collect()
    }

    /// Returns true if the index already is as it should be.
    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Makes sure that what will be staged is here, and that no other process locks the index.
    pub(super) fn verify(&self, repo: &Repo) -> Result<()> {
        if let Some(lock) = repo.user_index_lock().filter(|_| !self.is_empty()) {
            return Err(
                Error::race(format!("the index is locked: '{}' exists", lock.display())).with_hint(lock_files::HINT)
            );
        }
        for (path, slot) in &self.slots {
            if !is_git_path(path.as_bstr()) {
                let shown = path_text::printable(path.as_bstr());
                return Err(Error::corrupt(format!("the staged path '{shown}' is none that git allows"))
                    .with_hint("nothing was changed; without '--staged' the worktree can be restored")
                    .about(path.clone()));
            }
            let ids = match slot {
                Slot::Staged(leaf) if leaf.mode != crate::model::change::Mode::Gitlink => vec![leaf.id],
                Slot::Unmerged(stages) => {
                    stages.iter().filter(|stage| !stage.is_commit()).map(|stage| stage.id).collect()
                }
                _ => Vec::new(),
            };
            if let Some(id) = ids.into_iter().find(|id| !repo.can_read(*id)) {
                return Err(repo.missing(format!("the staged content '{id}' of '{path}' cannot be read")));
            }
        }
        Ok(())
    }

    /// Changes the index.
    ///
    /// # Errors
    /// [`Kind::Race`] if git cannot lock or change it.
    pub(super) fn apply(&self, repo: &Repo) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let failed = |cause: Error| Error::new(Kind::Race, "cannot put the staged tree back").with_cause(cause);
        let sparse = self.sparse_paths(repo)?;
        let null = gix::ObjectId::null(repo.object_hash());
        let mut input = BString::default();
        let mut line = |mode: u32, id: gix::ObjectId, stage: u8, path: &BString| {
            input.extend_from_slice(format!("{mode:o} {id} {stage}\t").as_bytes());
            input.extend_from_slice(path);
            input.push(0);
        };
        let at_once = || self.slots.iter().filter(|(path, _)| !sparse.contains(*path));
        // All removals first: a directory may take the place of a file.
        for (path, _) in at_once() {
            line(0, null, 0, path);
        }
        for (path, slot) in at_once() {
            match slot {
                Slot::Staged(leaf) => line(leaf.mode.bits(), leaf.id, 0, path),
                Slot::Unmerged(stages) => stages.iter().for_each(|it| line(it.mode, it.id, it.stage, path)),
                Slot::Absent | Slot::IntentToAdd => {}
            }
        }
        repo.run_git(&["update-index", "-z", "--index-info"], Some(&input)).map_err(failed)?;
        self.apply_sparse(repo, &sparse).map_err(failed)?;
        let list = |paths: &mut dyn Iterator<Item = &BString>| {
            paths.fold(BString::default(), |mut list, path| {
                list.extend_from_slice(path);
                list.push(0);
                list
            })
        };
        let is_there = |path: &BString| {
            let inside = gix::path::from_bstr(path.as_bstr()).unwrap_or_default();
            std::fs::symlink_metadata(repo.worktree_root().join(inside)).is_ok()
        };
        let intended = |(path, slot): (_, &Slot)| (*slot == Slot::IntentToAdd && is_there(path)).then_some(path);
        let intended = list(&mut self.slots.iter().filter_map(intended));
        if !intended.is_empty() {
            let arguments = ["--literal-pathspecs", "add", "-f", "-N", "--pathspec-from-file=-", "--pathspec-file-nul"];
            repo.run_git(&arguments, Some(&intended)).map_err(failed)?;
        }
        Ok(())
    }

    /// Stages the paths `sparse`. Git writes each of them together with its mark in the index: if we were killed between the
    /// two, no restore would know later that the path was marked.
    fn apply_sparse(&self, repo: &Repo, sparse: &BTreeSet<BString>) -> Result<()> {
        /// So many paths fit into a command line.
        const AT_ONCE: usize = 100;
        let staged: Vec<(&BString, Leaf)> = sparse
            .iter()
            .filter_map(|path| match self.slots.get(path) {
                Some(Slot::Staged(leaf)) => Some((path, *leaf)),
                _ => None,
            })
            .collect();
        for some in staged.chunks(AT_ONCE) {
            let mut arguments: Vec<OsString> = vec!["update-index".into(), "--add".into(), "--replace".into()];
            for (path, leaf) in some {
                let mut entry = BString::from(format!("{:o},{},", leaf.mode.bits(), leaf.id));
                entry.extend_from_slice(path);
                arguments.extend(["--cacheinfo".into(), entry.to_os_str_lossy().into_owned()]);
            }
            arguments.extend(["--skip-worktree".into(), "--".into()]);
            arguments.extend(some.iter().map(|(path, _)| path.to_os_str_lossy().into_owned()));
            repo.run_git(&arguments, None)?;
        }
        Ok(())
    }

    /// Returns the paths that a sparse checkout keeps out of the worktree, as a mark in their index entry says.
    fn sparse_paths(&self, repo: &Repo) -> Result<BTreeSet<BString>> {
        let Some(index) = repo.user_index()? else { return Ok(BTreeSet::new()) };
        let is_sparse = |path: &&BString| {
            let entry = index.entry_by_path(path.as_bstr());
            entry.is_some_and(|entry| entry.flags.contains(gix::index::entry::Flags::SKIP_WORKTREE))
        };
        let staged = self.slots.iter().filter(|(_, slot)| matches!(slot, Slot::Staged(_))).map(|(path, _)| path);
        Ok(staged.filter(is_sparse).cloned().collect())
    }
}

fn slot(repo: &Repo, snapshot: &Snapshot, path: &BString) -> Result<Slot> {
    let mut stages: Vec<Unmerged> =
        snapshot.manifest.unmerged.iter().filter(|entry| entry.path == *path).cloned().collect();
    if !stages.is_empty() {
        stages.sort();
        return Ok(Slot::Unmerged(stages));
    }
    if snapshot.manifest.intent_to_add.contains(path) {
        return Ok(Slot::IntentToAdd);
    }
    if snapshot.index_tree == repo.empty_tree_id() {
        return Ok(Slot::Absent);
    }
    Ok(repo.find_leaf(snapshot.index_tree, path.as_bstr())?.map_or(Slot::Absent, Slot::Staged))
}
