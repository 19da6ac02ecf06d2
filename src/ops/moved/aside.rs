//! Work that a command may bring into this worktree: of stash entries, and of other shadows.

use std::{collections::BTreeSet, rc::Rc};

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::source::{Place, ShadowWork, Source, is_file};
use crate::{
    error::Result,
    git::{Repo, versions::Version},
    model::{
        change::Leaf,
        checkpoint::Checkpoint,
        contributor::Contributor,
        refname::{self, Base, ShadowName},
        turns::Call,
    },
    ops::{
        Worktree,
        chain::{Shadow, carry_forward::base_tree},
        provenance::set_aside::{Waiting, waiting},
    },
};

/// The work that a command may have brought back.
pub(super) struct Aside<'r> {
    repo: &'r Repo,
    /// The stash entries from before the turn, and those that took work away since.
    entries: Vec<ObjectId>,
    /// Those of them that the stash does not have any more.
    popped: Vec<ObjectId>,
    others: Vec<Other>,
}

/// A shadow of another commit or worktree.
struct Other {
    work: ShadowWork,
    /// True if HEAD was at the shadow's base when the command began, or if the shadow was archived since: the command may have
    /// carried its work to the new HEAD.
    is_left: bool,
}

impl<'r> Aside<'r> {
    /// Collects the work that `call` may have brought to `shadow`. There may be many other shadows: reads them only if the
    /// command moved HEAD or popped a stash entry, if one was archived meanwhile, or if they `are_wanted`.
    pub(super) fn read(worktree: &'r Worktree<'_>, call: &Call, shadow: &Shadow, are_wanted: bool) -> Result<Self> {
        let repo: &Repo = &worktree.repo;
        let turns = worktree.turns();
        let noted = turns.stashes.iter().chain(&turns.stashed);
        let entries: BTreeSet<ObjectId> = noted.filter_map(|id| ObjectId::from_hex(id.as_bytes()).ok()).collect();
        let now = if entries.is_empty() { Vec::new() } else { repo.stash_entries()? };
        let popped: Vec<ObjectId> = entries.iter().copied().filter(|entry| !now.contains(entry)).collect();
        let others = others(worktree, call, shadow, are_wanted || !popped.is_empty())?;
        Ok(Self { repo, entries: entries.into_iter().collect(), popped, others })
    }

    /// Returns the commits that hold the files of the stash entries.
    pub(super) fn commits(&self) -> Vec<ObjectId> {
        self.entries.iter().flat_map(|entry| commits_of(self.repo, *entry)).collect()
    }

    /// Takes those files out of `wanted` that shadows have, and returns them.
    pub(super) fn find(&self, wanted: &mut Vec<Version>) -> Vec<Source> {
        let mut found = Vec::new();
        let mut left = Vec::new();
        for Version { path, leaf } in wanted.drain(..) {
            match self.shadow_with(&path, leaf) {
                Some(work) => found.push(Source { place: Place::Shadow(work), path, leaf: Some(leaf) }),
                None => left.push(Version { path, leaf }),
            }
        }
        *wanted = left;
        found
    }

    /// Returns where single lines of the file at `path` may be from: the shadows that the command has left, and the stash entries
    /// that were popped. With `is_conflict`, all stash entries: after a conflict, `git stash pop` keeps its entry.
    pub(super) fn sources(&self, path: &BString, is_conflict: bool) -> Result<Vec<Source>> {
        let mut sources = Vec::new();
        for other in self.others.iter().filter(|other| other.is_left) {
            let place = || Place::Shadow(other.work.clone());
            let leaf = self.changed_by(other, path);
            sources.extend(leaf.map(|leaf| Source { place: place(), path: path.clone(), leaf: Some(leaf) }));
        }
        for entry in if is_conflict { &self.entries } else { &self.popped } {
            sources.extend(self.in_entry(*entry, path)?);
        }
        Ok(sources)
    }

    /// Returns the versions of the file at `path` in the shadows whose work a stash entry may hold, together with changes since their
    /// last checkpoint: those on its base.
    pub(super) fn before_entries(&self, path: &BString) -> Result<Vec<Source>> {
        let mut bases = BTreeSet::new();
        for entry in &self.entries {
            bases.extend(self.repo.parent_and_time(*entry)?.map(|(base, _)| Base::of_head(base)));
        }
        let others = self.others.iter().filter(|other| bases.contains(&other.work.tip.base));
        let source = |other: &Other| {
            let (place, leaf) = (Place::Shadow(other.work.clone()), self.changed_by(other, path)?);
            Some(Source { place, path: path.clone(), leaf: Some(leaf) })
        };
        Ok(others.filter_map(source).collect())
    }

    /// Returns the first shadow that has changed the file at `path` to `leaf`.
    fn shadow_with(&self, path: &BString, leaf: Leaf) -> Option<ShadowWork> {
        let has = |other: &&Other| self.changed_by(other, path).is_some_and(|left| left.id == leaf.id);
        self.others.iter().find(has).map(|other| other.work.clone())
    }

    /// Returns what `other` has made of the file at `path`; none if it has not changed it, or cannot be read.
    fn changed_by(&self, other: &Other, path: &BString) -> Option<Leaf> {
        let (repo, tip) = (self.repo, &other.work.tip);
        let left = repo.find_leaf(tip.tree_id, path.as_bstr()).ok()??;
        let before = repo.find_leaf(base_tree(repo, tip).ok()?, path.as_bstr()).ok()?;
        Some(left).filter(|left| is_file(*left) && before.is_none_or(|before| before.id != left.id))
    }

    /// Returns what the stash entry `entry` holds at `path`.
    fn in_entry(&self, entry: ObjectId, path: &BString) -> Result<Option<Source>> {
        let repo = self.repo;
        for commit in commits_of(repo, entry) {
            let leaf = repo.find_leaf(repo.tree_of_commit(commit)?, path.as_bstr())?.filter(|leaf| is_file(*leaf));
            if let Some(leaf) = leaf {
                let work = self.shadow_with(path, leaf);
                let place = work.map_or(Place::Entry(commit), Place::Shadow);
                return Ok(Some(Source { place, path: path.clone(), leaf: Some(leaf) }));
            }
        }
        Ok(None)
    }
}

/// Returns the shadows whose work is in no record, except the live ones here, and those that this save is about to archive.
fn others(worktree: &Worktree<'_>, call: &Call, shadow: &Shadow, are_wanted: bool) -> Result<Vec<Other>> {
    let repo = &worktree.repo;
    let here = ShadowName::of_worktree(shadow.name.base, repo.worktree_id());
    let left = call.command.as_ref().and_then(|command| command.head.as_ref());
    let left = left.and_then(|id| ObjectId::from_hex(id.as_bytes()).ok()).map(Base::Commit);
    let is_since = |name: &str| refname::archived_at(name).is_some_and(|at| at >= call.started);
    let has_left = || left.is_some_and(|left| left != here.base);
    if !are_wanted && !has_left() && !repo.ref_names_below(refname::ARCHIVE)?.iter().any(|name| is_since(name)) {
        return Ok(Vec::new());
    }
    let mut others = Vec::new();
    for live in shadow.dropped() {
        let tip = repo.find_checkpoint(live.id)?;
        others.extend(tip.map(|tip| Other { work: ShadowWork { tip: tip.into(), after: None }, is_left: false }));
    }
    for Waiting { tip, checkpoint, .. } in waiting(repo, &here)? {
        let is_of_call = if tip.archived { is_since(&tip.name) } else { left == Some(checkpoint.base) };
        let is_left = is_of_call && checkpoint.worktree == here.worktree;
        others.push(Other { work: ShadowWork { tip: checkpoint.into(), after: None }, is_left });
    }
    let afters: Vec<Option<Rc<Checkpoint>>> = others.iter().map(|other| before(&other.work.tip, &others)).collect();
    for (other, after) in others.iter_mut().zip(afters) {
        other.work.after = after;
    }
    Ok(others)
}

/// If `baseline` is a turn's baseline, returns the shadow that the turn continued: of `others` in the same worktree and on the
/// same base, the newest from before the turn.
fn before(baseline: &Checkpoint, others: &[Other]) -> Option<Rc<Checkpoint>> {
    if !is_baseline(baseline) {
        return None;
    }
    let is_of_place = |tip: &&Rc<Checkpoint>| (tip.base, &tip.worktree) == (baseline.base, &baseline.worktree);
    let is_earlier = |tip: &&Rc<Checkpoint>| tip.taken() <= baseline.taken() && !is_baseline(tip);
    let tips = others.iter().map(|other| &other.work.tip).filter(is_of_place).filter(is_earlier);
    // Of several at one time, the first.
    tips.rev().max_by_key(|tip| tip.taken()).cloned()
}

/// Returns true if `tip` may be a turn's baseline: the only checkpoint of its chain, and not by an agent.
fn is_baseline(tip: &Checkpoint) -> bool {
    let is_first = tip.base.commit_id() == Some(tip.parent_id) && tip.after.is_none();
    is_first && tip.origin.contributor != Contributor::Agent && tip.origin.carried.is_none()
}

/// Returns the commits that hold the files of a stash entry: the entry, and the one of untracked files.
fn commits_of(repo: &Repo, entry: ObjectId) -> Vec<ObjectId> {
    let untracked = repo.parents_of(entry).ok().and_then(|parents| parents.get(2).copied());
    [Some(entry), untracked].into_iter().flatten().filter(|commit| repo.is_commit(*commit).unwrap_or(false)).collect()
}
