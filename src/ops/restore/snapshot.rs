//! The two states that a restore lies between, and how they differ byte for byte.

use std::collections::{BTreeMap, BTreeSet};

use bstr::{BStr, BString, ByteSlice as _};
use gix::ObjectId;

use crate::{
    error::{Error, Result},
    git::{
        Repo,
        check_blobs::ReadAhead,
        exact::{Basis, Exact},
        filter::Filters,
    },
    model::{
        change::{Leaf, Mode},
        checkpoint::Checkpoint,
        manifest::{Manifest, Part},
        path_text,
        plan::{self, Plan},
        refname::Base,
        step::{Content, Step},
    },
};

/// A restore reads all content once before it writes any of it. Up to this many bytes stay in memory and are not read again.
const READ_AHEAD: usize = 32 << 20;

/// Everything a checkpoint (or the base commit) has of the worktree.
pub(super) struct Snapshot {
    pub(super) id: ObjectId,
    pub(super) tree_id: ObjectId,
    /// None for a base commit.
    pub(super) checkpoint: Option<Checkpoint>,
    /// The commit that it stands on; none for a base commit itself.
    base: Option<Base>,
    /// The staged tree.
    pub(super) index_tree: ObjectId,
    pub(super) manifest: Manifest,
    raw_tree: Option<ObjectId>,
}

impl Snapshot {
    /// Returns true if it has checkpoints of submodules or nested repositories, and some of these are there.
    pub(super) fn has_submodules_here(&self, repo: &Repo) -> bool {
        let is_here = |path: &BString| {
            let directory = gix::path::from_bstr(path.as_bstr()).unwrap_or_default();
            repo.worktree_root().join(directory).join(".git").symlink_metadata().is_ok()
        };
        self.manifest.submodules.iter().any(|tied| is_here(&tied.path))
    }

    /// Reads the commit `id` with all that stands beside its tree.
    pub(super) fn read(repo: &Repo, id: ObjectId) -> Result<Self> {
        let checkpoint = repo.checkpoint(id)?;
        let tree_id = repo.tree_of_commit(id)?;
        let side = checkpoint.as_ref().and_then(|checkpoint| checkpoint.side_id);
        let side = side.map(|side_id| repo.read_side(side_id)).transpose()?;
        let (staged, raw_tree, mut manifest) = side
            .map_or((None, None, Manifest::default()), |side| (side.index_tree_id, side.raw_tree_id, side.manifest));
        let index_tree = match (staged, &checkpoint) {
            (Some(tree), _) => tree,
            // What was staged is what the base has. Without that, only the files are known.
            (None, Some(checkpoint)) => base_tree(repo, checkpoint.base)?.unwrap_or_else(|| {
                manifest.lost.extend(checkpoint.base.commit_id().map(|_| Part::Staged));
                repo.empty_tree_id()
            }),
            (None, None) => tree_id,
        };
        let base = checkpoint.as_ref().map(|checkpoint| checkpoint.base);
        Ok(Self { id, tree_id, checkpoint, base, index_tree, manifest, raw_tree })
    }

    /// Returns the commit that this state stands on; none for a base commit itself.
    pub(super) fn base(&self) -> Option<Base> {
        self.base
    }

    /// Returns the commit whose files this state begins with: the one that it stands on, or the base commit itself.
    pub(super) fn first_commit(&self) -> Option<Base> {
        self.base.or_else(|| (!self.id.is_null()).then_some(Base::of_head(Some(self.id))))
    }

    /// Returns the state without any file.
    pub(super) fn nothing(repo: &Repo) -> Self {
        let empty = repo.empty_tree_id();
        let id = ObjectId::null(repo.object_hash());
        Self {
            id,
            tree_id: empty,
            checkpoint: None,
            base: None,
            index_tree: empty,
            manifest: Manifest::default(),
            raw_tree: None,
        }
    }

    /// Replaces the content by that of a later state of the worktree, which stands on `base`.
    pub(super) fn hold(&mut self, base: Base, tree: ObjectId, raw: Option<ObjectId>, index: ObjectId, rest: Manifest) {
        (self.base, self.tree_id, self.raw_tree, self.index_tree) = (Some(base), tree, raw, index);
        self.manifest = rest;
    }

    /// Returns what `path` holds.
    pub(super) fn content(&self, repo: &Repo, path: &BStr) -> Result<Option<Content>> {
        let leaf = if self.tree_id == repo.empty_tree_id() { None } else { repo.find_leaf(self.tree_id, path)? };
        self.with_raw(repo, path, leaf)
    }

    fn with_raw(&self, repo: &Repo, path: &BStr, leaf: Option<Leaf>) -> Result<Option<Content>> {
        let Some(leaf) = leaf else { return Ok(None) };
        let raw = match self.raw_tree {
            Some(tree) if leaf.mode != Mode::Gitlink => repo.find_leaf(tree, path)?.map(|raw| raw.id),
            _ => None,
        };
        Ok(Some(Content { leaf, raw }))
    }

    /// Returns the bytes that the files `paths` of this state stand for.
    pub(super) fn exact<'r>(&self, repo: &'r Repo, paths: &[BString]) -> Result<Exact<'r>> {
        Exact::of_tree(repo, self.basis(repo)?, paths)
    }

    /// Returns what decides which bytes the files of this state stand for. A base commit that cannot be read counts as none.
    pub(super) fn basis(&self, repo: &Repo) -> Result<Basis> {
        let base_tree_id = match self.base() {
            None => Some(self.tree_id),
            Some(base) => base_tree(repo, base)?,
        };
        let filters = self.manifest.filters.clone();
        Ok(Basis { tree_id: self.tree_id, is_commit: self.is_commit(), base_tree_id, filters })
    }

    /// Returns true for a commit of the user.
    fn is_commit(&self) -> bool {
        self.base.is_none()
    }

    /// Returns the tree of exact bytes; the empty tree if there is none.
    pub(super) fn raw_tree(&self, repo: &Repo) -> ObjectId {
        self.raw_tree.unwrap_or_else(|| repo.empty_tree_id())
    }
}

/// Returns the tree of the commit `base`; none if there is no commit, or it is gone or damaged: a checkpoint has its files itself.
pub(super) fn base_tree(repo: &Repo, base: Base) -> Result<Option<ObjectId>> {
    match base.commit_id().map(|id| (id, repo.tree_of_commit(id))) {
        None => Ok(None),
        Some((_, Ok(tree_id))) => Ok(Some(tree_id)),
        Some((id, Err(error))) => {
            if repo.is_commit_lost(id)? {
                Ok(None)
            } else {
                Err(error)
            }
        }
    }
}

/// Returns the files of `pre` that the commit which it stands on does not have.
pub(super) fn new_files(repo: &Repo, pre: &Snapshot) -> Result<BTreeSet<BString>> {
    let base = pre.base().map_or(Ok(None), |base| base_tree(repo, base))?;
    let changes = repo.diff_trees(base.unwrap_or_else(|| repo.empty_tree_id()), pre.tree_id)?;
    Ok(changes.into_iter().filter(|change| change.before.is_none()).map(|change| change.path).collect())
}

/// Returns the steps that lead from `pre` to `target`, by path.
pub(super) fn differences(repo: &Repo, pre: &Snapshot, target: &Snapshot) -> Result<Vec<Step>> {
    let mut steps = BTreeMap::new();
    for change in repo.diff_trees(pre.tree_id, target.tree_id)? {
        let path = change.path;
        let before = pre.with_raw(repo, path.as_bstr(), change.before)?;
        let after = target.with_raw(repo, path.as_bstr(), change.after)?;
        steps.insert(path.clone(), Step { path, before, after });
    }
    // The same for git, and yet other bytes.
    let mut raw = repo.diff_trees(pre.raw_tree(repo), target.raw_tree(repo))?;
    raw.retain(|change| !steps.contains_key(&change.path));
    let raw: Vec<BString> = raw.into_iter().map(|change| change.path).collect();
    let has_commit = pre.is_commit() || target.is_commit();
    let mut exact = if has_commit { Some((pre.exact(repo, &raw)?, target.exact(repo, &raw)?)) } else { None };
    let mut equal = BTreeSet::new();
    for path in raw {
        let before = pre.content(repo, path.as_bstr())?;
        let after = target.content(repo, path.as_bstr())?;
        // A checkpoint keeps the bytes that git makes of a commit's file when it checks it out.
        let is_equal = match (&mut exact, before, after) {
            (Some((pre, target)), Some(before), Some(after)) => {
                let ids = (pre.id(path.as_bstr(), before), target.id(path.as_bstr(), after));
                // Where a filter fails, nothing says what git would write.
                before.leaf.mode == after.leaf.mode && matches!(ids, (Ok(one), Ok(other)) if one == other)
            }
            _ => false,
        };
        if is_equal {
            equal.insert(path);
        } else if before != after {
            steps.insert(path.clone(), Step { path, before, after });
        }
    }
    for step in converted(repo, pre, target, &steps, &equal)? {
        steps.insert(step.path.clone(), step);
    }
    Ok(steps.into_values().collect())
}

/// Returns steps for files that are the same for git in both states, but which other attributes make other bytes of; leaves
/// out the paths of `steps` and of `equal`.
fn converted(
    repo: &Repo,
    pre: &Snapshot,
    target: &Snapshot,
    steps: &BTreeMap<BString, Step>,
    equal: &BTreeSet<BString>,
) -> Result<Vec<Step>> {
    let directories: Vec<&[u8]> = steps
        .keys()
        .filter_map(|path| path.strip_suffix(b".gitattributes"))
        .filter(|directory| directory.is_empty() || directory.ends_with(b"/"))
        .collect();
    if directories.is_empty() {
        return Ok(Vec::new());
    }
    let is_concerned = |path: &BString| {
        let is_decided = steps.contains_key(path) || equal.contains(path);
        !is_decided && directories.iter().any(|directory| path.starts_with(directory))
    };
    let paths: Vec<BString> = all_paths(repo, target)?.into_iter().filter(is_concerned).collect();
    let mut before = Filters::for_tree(repo, pre.tree_id, pre.is_commit(), &paths)?;
    let mut after = Filters::for_tree(repo, target.tree_id, target.is_commit(), &paths)?;
    let mut found = Vec::new();
    for path in paths {
        if before.conversion(path.as_bstr())? == after.conversion(path.as_bstr())? {
            continue;
        }
        let Some(content) = target.content(repo, path.as_bstr())? else { continue };
        if content.raw.is_some() || !matches!(content.leaf.mode, Mode::File | Mode::Executable) {
            continue;
        }
        let blob = repo.read_blob(content.leaf.id)?;
        if before.to_worktree(path.as_bstr(), &blob)? != after.to_worktree(path.as_bstr(), &blob)? {
            found.push(Step { path, before: Some(content), after: Some(content) });
        }
    }
    Ok(found)
}

/// Makes sure that everything `plan` writes over or deletes can be read in the checkpoint `pre_restore`, before anything is.
///
/// # Errors
/// [`Kind::Race`](crate::error::Kind::Race) if something cannot: the files still have it, and another checkpoint will.
pub(super) fn verify_before(repo: &Repo, pre_restore: ObjectId, plan: &Plan) -> Result<()> {
    let steps = plan.groups.iter().flat_map(plan::Group::steps);
    let named = steps.filter_map(|step| Some((step, step.before?)));
    let ids = |content: Content| [Some(content.leaf.id), content.raw].into_iter().flatten();
    let paths = paths_of(named.flat_map(|(step, content)| ids(content).map(move |id| (step, content.leaf.mode, id))));
    let lost = |id: ObjectId| {
        let message = cannot_read(repo, id, &paths, pre_restore);
        Error::race(message).with_hint("'git checkpoint doctor' looks for more; nothing was changed")
    };
    repo.check_blobs(&paths.keys().copied().collect::<Vec<_>>(), 0, lost).map(drop)
}

/// Makes sure, before a restore writes anything, that all content of `plan` can be read; what `ahead` has was read before. Returns
/// it with as much content as fits into [`READ_AHEAD`] bytes.
pub(super) fn verify(repo: &Repo, target: ObjectId, plan: &Plan, ahead: ReadAhead) -> Result<ReadAhead> {
    let ids: Vec<ObjectId> = written(plan).map(|it| it.2).filter(|id| !ahead.has_checked(*id)).collect();
    let lost = |id| repo.missing(cannot_read(repo, id, &paths_of(written(plan)), target));
    if ahead.is_empty() {
        repo.check_blobs(&ids, READ_AHEAD, lost)
    } else {
        repo.check_blobs(&ids, 0, lost).map(|_| ahead)
    }
}

/// Makes sure that what `repo` has of the content of `plan` can be read; returns as much of it as fits into [`READ_AHEAD`] bytes.
pub(super) fn verify_stored(repo: &Repo, target: ObjectId, plan: &Plan) -> Result<ReadAhead> {
    let ids: Vec<ObjectId> = written(plan).map(|it| it.2).filter(|id| repo.has_object(*id)).collect();
    repo.check_blobs(&ids, READ_AHEAD, |id| repo.missing(cannot_read(repo, id, &paths_of(written(plan)), target)))
}

/// Makes sure that everything `plan` writes is there, and reads none of it.
pub(super) fn verify_there(repo: &Repo, target: ObjectId, plan: &Plan) -> Result<()> {
    match written(plan).find(|(_, _, id)| !repo.has_object(*id)) {
        Some((_, _, id)) => Err(repo.missing(cannot_read(repo, id, &paths_of(written(plan)), target))),
        None => Ok(()),
    }
}

/// Returns the blobs that `plan` writes.
fn written(plan: &Plan) -> impl Iterator<Item = (&Step, Mode, ObjectId)> {
    let steps = plan.groups.iter().flat_map(|group| &group.writes);
    let named = steps.filter_map(|step| Some((step, step.after?)));
    let named = named.map(|(step, content)| (step, content.leaf.mode, content.raw.unwrap_or(content.leaf.id)));
    named.filter(|(_, mode, _)| *mode != Mode::Gitlink)
}

/// Returns a path for each blob of `named`.
fn paths_of<'s>(named: impl Iterator<Item = (&'s Step, Mode, ObjectId)>) -> BTreeMap<ObjectId, &'s BString> {
    named.filter(|(_, mode, _)| *mode != Mode::Gitlink).map(|(step, _, id)| (id, &step.path)).collect()
}

fn cannot_read(repo: &Repo, id: ObjectId, paths: &BTreeMap<ObjectId, &BString>, checkpoint_id: ObjectId) -> String {
    let path = paths.get(&id).map(|path| path_text::printable(path.as_bstr())).unwrap_or_default();
    let what = if repo.has_object(id) { "cannot be read" } else { "is missing" };
    format!("the content '{id}' of '{path}' in '{checkpoint_id}' {what}")
}

/// Returns the paths of all files in `snapshot`; reads all its trees.
pub(super) fn all_paths(repo: &Repo, snapshot: &Snapshot) -> Result<Vec<BString>> {
    let all = repo.diff_trees(repo.empty_tree_id(), snapshot.tree_id)?;
    Ok(all.into_iter().map(|change| change.path).collect())
}
