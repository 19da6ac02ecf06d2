//! Finds the versions of paths that led to a checkpoint, and who made them: what a restore would take back.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    rc::Rc,
};

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::snapshot::{Snapshot, base_tree};
use crate::{
    error::{Error, Kind, Result},
    git::Repo,
    model::{
        change::Leaf,
        checkpoint::{Checkpoint, Origin},
        contributor::Contributor,
        since::{Between, Past, Version, changed_by_others},
        step::Step,
        verdict::Why,
    },
    ops::{
        Context, author,
        chain::timeline::{Tip, all_tips},
        named::{self, Trigger},
        restored_target::restored,
    },
};

/// The paths that no checkpoint has as they are, and who changed each.
#[derive(Default)]
pub(super) struct Unsaved(BTreeMap<BString, Rc<Origin>>);

impl Unsaved {
    /// Returns `paths`, all changed by `origin`.
    pub(super) fn by(paths: BTreeSet<BString>, origin: &Origin) -> Self {
        let origin = Rc::new(origin.clone());
        Self(paths.into_iter().map(|path| (path, Rc::clone(&origin))).collect())
    }

    /// Returns true if there are no such paths.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns `paths` with the authors that a save would give them now.
    pub(super) fn look(context: &Context, paths: BTreeSet<BString>) -> Result<Self> {
        let origin = author::unsaved(context)?;
        let mut unsaved = Self::by(paths, &origin);
        for (named, origin) in named::authors(context, Trigger::of_author(&origin)) {
            let origin = Rc::new(origin);
            for path in named {
                unsaved.0.entry(path).and_modify(|its| *its = Rc::clone(&origin));
            }
        }
        Ok(unsaved)
    }
}

/// The versions of paths that led to a checkpoint.
#[derive(Default)]
struct Versions {
    /// The newest first.
    by_path: HashMap<BString, Vec<Version>>,
    /// The paths whose versions led to the checkpoint where the search was to end.
    ended: BTreeSet<BString>,
}

/// The states that a restore lies between.
pub(super) struct States<'s> {
    pub(super) pre: &'s Snapshot,
    pub(super) target: &'s Snapshot,
    pub(super) unsaved: &'s Unsaved,
}

impl States<'_> {
    /// Returns why `session` must not take `steps`, by path: who else has changed the path since the target. Of paths that are
    /// `committed`, later commits say enough.
    pub(super) fn changed_by_others(
        &self,
        repo: &Repo,
        steps: &[Step],
        session: &str,
        committed: &BTreeMap<BString, Why>,
    ) -> Result<HashMap<BString, Why>> {
        let Self { pre, target, unsaved } = self;
        let paths: BTreeSet<BString> = steps.iter().map(|step| step.path.clone()).collect();
        let mut now = Versions::of(repo, pre.id, paths.clone(), Some(target.id))?;
        let null = ObjectId::null(repo.object_hash());
        for step in steps {
            let Some(origin) = unsaved.0.get(&step.path) else { continue };
            let leaf = step.before.filter(|content| content.raw.is_none()).map(|content| content.leaf);
            let not_saved = Version { id: null, origin: Rc::clone(origin), leaf };
            now.by_path.entry(step.path.clone()).or_default().insert(0, not_saved);
        }
        let elsewhere: BTreeSet<BString> = paths.into_iter().filter(|path| !now.ended.contains(path)).collect();
        let then = Versions::of(repo, target.id, elsewhere, None)?;
        let has_moved = pre.base() != target.first_commit();
        let head = pre.base().map(|base| base_tree(repo, base)).transpose()?;
        let head = head.flatten().unwrap_or_else(|| repo.empty_tree_id());
        let mut later: Option<Later> = None;
        let mut found = HashMap::new();
        for step in steps {
            let path = &step.path;
            let committed_leaf = repo.find_leaf(head, path.as_bstr())?;
            let is_as_committed = match step.before {
                Some(before) => before.raw.is_none() && Some(before.leaf) == committed_leaf,
                None => committed_leaf.is_none(),
            };
            // The commit has it, also if a person has put it back to that, for example by 'git reset --hard'.
            let now_versions = if is_as_committed { &[] } else { now.of_path(path) };
            let then_versions = then.of_path(path);
            let leaf = step.after.filter(|after| after.raw.is_none()).map(|it| it.leaf);
            let past = |between| Past { now: now_versions, target: leaf, then: then_versions, between };
            let mut why = changed_by_others(past(Between::Nothing), session);
            let may_have_changed = has_moved && !now.ended.contains(path) && !committed.contains_key(path);
            if why.is_none() && may_have_changed && committed_leaf != step.after.map(|content| content.leaf) {
                if later.is_none() {
                    later = Some(Later::find(repo, target.id, steps)?);
                }
                let versions =
                    later.as_ref().map(|later| later.of_path(repo, path, committed_leaf)).transpose()?.flatten();
                why = changed_by_others(past(versions.map_or(Between::Unknown, Between::Versions)), session);
            }
            found.extend(why.map(|why| (path.clone(), why)));
        }
        Ok(found)
    }
}

/// What the shadow of a checkpoint has become since.
#[derive(Default)]
struct Later {
    tree_id: Option<ObjectId>,
    versions: Versions,
}

impl Later {
    /// Looks for the paths of `steps` in the last checkpoint of the shadow, which may be in the archive, that has the checkpoint `id`.
    fn find(repo: &Repo, id: ObjectId, steps: &[Step]) -> Result<Self> {
        // A shadow that cannot be read says nothing.
        let leads_to = |tip: &Tip| repo.chain(tip.id).map_while(Result::ok).any(|checkpoint| checkpoint.id == id);
        let tips = all_tips(repo, Some(repo.worktree_id()))?;
        let Some(tip) = tips.into_iter().rev().find(leads_to) else { return Ok(Self::default()) };
        let paths = steps.iter().map(|step| step.path.clone()).collect();
        Ok(Self { tree_id: Some(repo.tree_of_commit(tip.id)?), versions: Versions::of(repo, tip.id, paths, None)? })
    }

    /// Returns the versions of `path`; none if the last one is not `leaf`: then something else has changed it.
    fn of_path(&self, repo: &Repo, path: &BString, leaf: Option<Leaf>) -> Result<Option<&[Version]>> {
        let Some(tree_id) = self.tree_id else { return Ok(None) };
        let is_it = repo.find_leaf(tree_id, path.as_bstr())? == leaf;
        Ok(is_it.then(|| self.versions.of_path(path)))
    }
}

/// Checkpoints whose changes are to be looked for.
struct Work {
    /// The last of them.
    id: ObjectId,
    paths: BTreeSet<BString>,
    /// Who counts as the author of what cannot be read.
    otherwise: Option<Rc<Origin>>,
}

impl Versions {
    /// Returns the versions of `paths` that led to the checkpoint `id`. With `end`, the search ends at that checkpoint or commit.
    ///
    /// Of what a restore put back as a whole, these are the versions that led to the restored checkpoint; of what was carried forward
    /// from another commit, those that led to what was carried.
    fn of(repo: &Repo, id: ObjectId, paths: BTreeSet<BString>, end: Option<ObjectId>) -> Result<Self> {
        let mut found = Self::default();
        // Each path is in one entry only.
        let mut work = vec![Work { id, paths, otherwise: None }];
        while let Some(Work { id, mut paths, otherwise }) = work.pop() {
            if Some(id) == end {
                found.ended.append(&mut paths);
            }
            if paths.is_empty() || id.is_null() {
                continue;
            }
            let read = match repo.checkpoint(id) {
                // A commit that is no checkpoint is a base, which belongs to no session.
                Ok(None) => continue,
                Ok(Some(checkpoint)) => changed_paths(repo, &checkpoint).map(|changed| (checkpoint, changed)),
                Err(error) => Err(error),
            };
            let (checkpoint, mut changed) = match read {
                Ok(read) => read,
                Err(error) if error.kind() == Kind::Corrupt => {
                    // Without its base, it is unknown what a checkpoint changed.
                    let origin = otherwise.unwrap_or_else(|| Rc::new(lost(repo, id)));
                    found.add(paths.into_iter().map(|path| (path, None)), id, &origin);
                    continue;
                }
                Err(error) => return Err(error),
            };
            changed.retain(|path, _| paths.contains(path));
            let mut mine: BTreeSet<BString> = changed.keys().cloned().collect();
            let origin = Rc::new(checkpoint.origin.clone());
            // The restored checkpoint may have been pruned since: then the checkpoint after the restore counts as well.
            let put_back = restored(&origin).filter(|_| origin.carried.is_none());
            let target = put_back.filter(|target| repo.is_commit(*target).unwrap_or(false));
            let source = match (target, origin.carried) {
                // The restored checkpoint may have been damaged since; the checkpoint after the restore names the same session.
                (Some(target), _) => Some((target, Rc::clone(&origin))),
                (None, Some(carried)) => Some((carried, Rc::new(unknown()))),
                (None, None) => None,
            };
            let more = source.as_ref().map(|(source, _)| merged(repo, &checkpoint, *source, &mine)).transpose()?;
            let more = more.unwrap_or_default();
            if target.is_some() {
                // Of a path of which only a part was put back, that is a change like any other.
                mine.retain(|path| !more.contains(path));
                let parts = changed.iter().filter(|(path, _)| more.contains(*path));
                found.add(parts.map(|(path, leaf)| (path.clone(), *leaf)), id, &origin);
            }
            let before = checkpoint.before_id();
            let rest = if source.is_some() { paths.difference(&mine).cloned().collect() } else { paths };
            if checkpoint.base.commit_id() != Some(before) || Some(before) == end {
                work.push(Work { id: before, paths: rest, otherwise });
            }
            match source {
                Some((source, otherwise)) => {
                    if target.is_none() {
                        found.add(more.into_iter().map(|path| (path, None)), id, &otherwise);
                    }
                    work.push(Work { id: source, paths: mine, otherwise: Some(otherwise) });
                }
                None => found.add(changed.into_iter(), id, &origin),
            }
        }
        Ok(found)
    }

    fn add(&mut self, files: impl Iterator<Item = (BString, Option<Leaf>)>, id: ObjectId, origin: &Rc<Origin>) {
        for (path, leaf) in files {
            self.by_path.entry(path).or_default().push(Version { id, origin: Rc::clone(origin), leaf });
        }
    }

    fn of_path(&self, path: &BString) -> &[Version] {
        self.by_path.get(path).map_or(&[], Vec::as_slice)
    }
}

/// Returns those of `paths` of which the checkpoint `carrier` has something else than what it carried forward, or put back, from
/// `source`.
fn merged(repo: &Repo, carrier: &Checkpoint, source: ObjectId, paths: &BTreeSet<BString>) -> Result<BTreeSet<BString>> {
    // Of what cannot be read, the author is unknown anyway.
    let Ok(tree_id) = repo.tree_of_commit(source) else { return Ok(BTreeSet::new()) };
    let mut merged = BTreeSet::new();
    for path in paths {
        if repo.find_leaf(tree_id, path.as_bstr())? != repo.find_leaf(carrier.tree_id, path.as_bstr())? {
            merged.insert(path.clone());
        }
    }
    Ok(merged)
}

/// Returns who counts as the author of what the checkpoint `id`, which cannot be read, has changed.
fn lost(repo: &Repo, id: ObjectId) -> Origin {
    let base = repo.checkpoint(id).ok().flatten().and_then(|checkpoint| checkpoint.base.commit_id());
    let has_lost_base = base.is_some_and(|base| repo.is_commit_lost(base).unwrap_or(false));
    if has_lost_base { Origin::default() } else { unknown() }
}

fn unknown() -> Origin {
    Origin { contributor: Contributor::Unknown, ..Origin::default() }
}

/// Returns the paths whose bytes `checkpoint` changed, each with its file, unless git would write other bytes of it.
fn changed_paths(repo: &Repo, checkpoint: &Checkpoint) -> Result<BTreeMap<BString, Option<Leaf>>> {
    let parent_tree = repo.tree_of_commit(checkpoint.before_id())?;
    let changes = repo.diff_trees(parent_tree, checkpoint.tree_id)?;
    let mut paths: BTreeMap<_, _> = changes.into_iter().map(|change| (change.path, change.after)).collect();
    let parent_side = repo.checkpoint(checkpoint.before_id())?.and_then(|parent| parent.side_id);
    if checkpoint.side_id != parent_side {
        let raw = |side: Option<ObjectId>| {
            let side = side.map(|side| repo.read_side(side)).transpose()?;
            Ok::<_, Error>(side.and_then(|side| side.raw_tree_id).unwrap_or_else(|| repo.empty_tree_id()))
        };
        let changes = repo.diff_trees(raw(parent_side)?, raw(checkpoint.side_id)?)?;
        for change in changes {
            let is_exact = change.after.is_some();
            let leaf = if is_exact { None } else { repo.find_leaf(checkpoint.tree_id, change.path.as_bstr())? };
            paths.insert(change.path, leaf);
        }
    }
    Ok(paths)
}
