//! Finds who made what paths are in a checkpoint.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    rc::Rc,
};

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use crate::{
    error::{Error, Kind, Result},
    git::Repo,
    model::checkpoint::{Checkpoint, Origin},
    ops::{
        chain::timeline::{Tip, all_tips},
        restored_target::restored,
    },
};

/// Finds who made the content that paths have in a checkpoint.
pub(super) struct Owners;

impl Owners {
    /// Returns the origin of each path's content in the checkpoint `id`; none for content of the base commit.
    ///
    /// Content that a restore put back keeps its first origin.
    pub(super) fn of(repo: &Repo, id: ObjectId, paths: BTreeSet<BString>) -> Result<HashMap<BString, Origin>> {
        let mut owners = HashMap::new();
        // Deeper entries come first; each path is in one entry only.
        let mut work = BTreeMap::from([(0usize, (id, paths, None::<Rc<Origin>>))]);
        while let Some((depth, (id, mut paths, restorer))) = work.pop_last() {
            if paths.is_empty() || id.is_null() {
                continue;
            }
            let read = || match repo.checkpoint(id)? {
                Some(checkpoint) => changed_paths(repo, &checkpoint).map(|changed| Some((checkpoint, changed))),
                None => Ok(None),
            };
            let (checkpoint, changed) = match (read(), restorer.clone()) {
                (Ok(Some(read)), _) => read,
                // A commit that is no checkpoint is a base, which belongs to no session.
                (Ok(None), _) => continue,
                // The restored checkpoint may have been damaged since; the checkpoint after the restore names the same session.
                (Err(error), Some(restorer)) if error.kind() == Kind::Corrupt => {
                    owners.extend(paths.into_iter().map(|path| (path, Origin::clone(&restorer))));
                    continue;
                }
                // Without its base, it is unknown what a checkpoint changed.
                (Err(error), None) if error.kind() == Kind::Corrupt && has_lost_base(repo, id) => {
                    owners.extend(paths.into_iter().map(|path| (path, Origin::default())));
                    continue;
                }
                (Err(error), _) => return Err(error),
            };
            let mine: BTreeSet<BString> = changed.into_iter().filter_map(|path| paths.take(&path)).collect();
            if checkpoint.base.commit_id() != Some(checkpoint.before_id()) {
                work.insert(depth, (checkpoint.before_id(), paths, restorer));
            }
            // The restored checkpoint may have been pruned since: then the checkpoint after the restore counts as well.
            let target = restored(&checkpoint.origin).filter(|target| repo.is_commit(*target).unwrap_or(false));
            match target {
                Some(target) => drop(work.insert(depth + 1, (target, mine, Some(Rc::new(checkpoint.origin))))),
                None => owners.extend(mine.into_iter().map(|path| (path, checkpoint.origin.clone()))),
            }
        }
        Ok(owners)
    }

    /// Returns the origin of each deletion of `paths` after the checkpoint `id` in its shadow, which may be in the archive.
    ///
    /// A commit ends a shadow. If it never had such a file, then nothing after the commit says who deleted the file.
    pub(super) fn of_deletions(
        repo: &Repo,
        id: ObjectId,
        paths: BTreeSet<BString>,
    ) -> Result<HashMap<BString, Origin>> {
        if paths.is_empty() {
            return Ok(HashMap::new());
        }
        // A shadow that cannot be read says nothing.
        let leads_to = |tip: &Tip| repo.chain(tip.id).map_while(Result::ok).any(|checkpoint| checkpoint.id == id);
        let tips = all_tips(repo, Some(repo.worktree_id()))?;
        let Some(tip) = tips.into_iter().rev().find(leads_to) else { return Ok(HashMap::new()) };
        let tree_id = repo.tree_of_commit(tip.id)?;
        let mut deleted = BTreeSet::new();
        for path in paths {
            if repo.find_leaf(tree_id, path.as_bstr())?.is_none() {
                deleted.insert(path);
            }
        }
        Self::of(repo, tip.id, deleted)
    }
}

fn has_lost_base(repo: &Repo, id: ObjectId) -> bool {
    let base = repo.checkpoint(id).ok().flatten().and_then(|checkpoint| checkpoint.base.commit_id());
    base.is_some_and(|base| repo.is_commit_lost(base).unwrap_or(false))
}

/// Returns the paths whose bytes `checkpoint` changed.
fn changed_paths(repo: &Repo, checkpoint: &Checkpoint) -> Result<BTreeSet<BString>> {
    let parent_tree = repo.tree_of_commit(checkpoint.before_id())?;
    let changes = repo.diff_trees(parent_tree, checkpoint.tree_id)?;
    let mut paths: BTreeSet<BString> = changes.into_iter().map(|change| change.path).collect();
    let parent_side = repo.checkpoint(checkpoint.before_id())?.and_then(|parent| parent.side_id);
    if checkpoint.side_id != parent_side {
        let raw = |side: Option<ObjectId>| {
            let side = side.map(|side| repo.read_side(side)).transpose()?;
            Ok::<_, Error>(side.and_then(|side| side.raw_tree_id).unwrap_or_else(|| repo.empty_tree_id()))
        };
        let changes = repo.diff_trees(raw(parent_side)?, raw(checkpoint.side_id)?)?;
        paths.extend(changes.into_iter().map(|change| change.path));
    }
    Ok(paths)
}
