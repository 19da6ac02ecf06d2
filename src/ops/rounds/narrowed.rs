//! What a copy gets of a checkpoint: the files that come along, and whose lines they are. What else the checkpoint and those before it
//! have, stays here: the one who works in the copy is not to see it.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use bstr::{BString, ByteSlice as _};
use gix::{ObjectId, objs::Kind as ObjectKind};

use super::super::{
    Context,
    chain::carry_forward::base_tree,
    replace::{Copier, Edit, Edited, Replaced},
};
use crate::{
    error::{Error, Result},
    git::{
        Repo,
        copied_commit::CommitCopy,
        edit_tree::edit_tree,
        new_objects::{NewObjects, Target},
        side::{MOVED_LINES_LOST, Side, write_side_tree},
    },
    model::{
        change::Leaf,
        checkpoint::{Checkpoint, Links, relinked},
        manifest::Manifest,
    },
};

/// Writes copies of the checkpoint `id` and of those that it leads to, which have at `only` these paths what they have there, and
/// elsewhere what their commits have; without `only`, at all paths that the checkpoint itself has changed. Returns the copy of `id`; no
/// ref leads to it.
///
/// # Errors
/// If one of them cannot be read.
pub(super) fn narrowed(
    context: &Context,
    id: ObjectId,
    only: Option<&BTreeMap<BString, Option<Leaf>>>,
) -> Result<ObjectId> {
    let repo = &context.repo;
    let Some(checkpoint) = repo.checkpoint(id)? else { return Ok(id) };
    let paths = if let Some(only) = only {
        only.keys().cloned().collect()
    } else {
        let changes = repo.diff_trees(base_tree(repo, &checkpoint)?, checkpoint.tree_id)?;
        changes.into_iter().map(|change| change.path).collect()
    };
    // What is no file, such as an empty directory, comes along with all of the checkpoint alone.
    let mut narrow = Narrow { repo, paths, whole: only.is_none().then_some(id) };
    let none = HashSet::new();
    let mut copier = Copier::editing(repo, &none, &mut narrow);
    let replaced = copier.replace(id)?;
    let written = copier.finish().objects.write()?;
    written.check_and_release()?;
    match replaced {
        Replaced::By(copy) => Ok(copy),
        Replaced::LeftOut { .. } => Err(Error::internal("nothing was to be left out")),
    }
}

/// Writes a copy of the checkpoint `id` that follows the commit it is based on, and returns it: what checkpoints before it had, which
/// may have been purged where it goes, stays. No ref leads to it.
///
/// # Errors
/// If it cannot be read or written.
pub(super) fn alone(context: &Context, id: ObjectId) -> Result<ObjectId> {
    let repo = &context.repo;
    let Some(checkpoint) = repo.checkpoint(id)? else { return Ok(id) };
    let Some(base) = checkpoint.base.commit_id() else { return Ok(id) };
    let links = Links { carried: None, after: None, ..Links::of(&checkpoint) };
    let message = relinked(&repo.message_of(id)?, &links);
    let parents = [Some(base), checkpoint.side_id].into_iter().flatten().collect();
    let mut objects = NewObjects::new(repo, Target::Loose);
    let copy = CommitCopy { tree_id: checkpoint.tree_id, parents, message: &message };
    let copy = repo.copy_commit(id, &copy, &mut objects)?;
    objects.write()?.check_and_release()?;
    Ok(copy)
}

/// Changes the content of checkpoints.
struct Narrow<'r> {
    repo: &'r Repo,
    /// The paths that come along.
    paths: BTreeSet<BString>,
    /// The checkpoint of which also what is no file comes along.
    whole: Option<ObjectId>,
}

impl Narrow<'_> {
    /// Returns the tree of exact bytes `tree_id`, of which only the paths that come along are left.
    fn raw(&self, tree_id: ObjectId, objects: &mut NewObjects<'_>) -> Result<Option<ObjectId>> {
        let empty = self.repo.empty_tree_id();
        let all = self.repo.diff_trees(empty, tree_id)?.into_iter();
        let edits: Vec<_> = all
            .filter(|it| self.paths.contains(&it.path))
            .filter_map(|it| Some((it.path, Some(it.after.map(|leaf| (leaf.id, leaf.mode))?))))
            .collect();
        Ok(Some(edit_tree(empty, &edits, objects)?).filter(|_| !edits.is_empty()))
    }

    /// Returns the authors of moved lines, if they name no file that stays.
    fn moved(&self, id: ObjectId, objects: &mut NewObjects<'_>) -> Result<ObjectId> {
        let text = self.repo.read_blob(id)?;
        let is_foreign = |line: &[u8]| {
            let path = line.strip_prefix(b"file ").and_then(|rest| rest.split_once_str(" ")).map(|(_, path)| path);
            let path = path.or_else(|| line.strip_prefix(b"from "));
            path.is_some_and(|path| !self.paths.contains(path.as_bstr()))
        };
        if text.lines().any(is_foreign) { objects.add(ObjectKind::Blob, MOVED_LINES_LOST) } else { Ok(id) }
    }

    fn side(&self, checkpoint: &Checkpoint, objects: &mut NewObjects<'_>) -> Result<Option<ObjectId>> {
        let Some(id) = checkpoint.side_id else { return Ok(None) };
        let old = self.repo.read_side(id)?;
        let mut manifest = Manifest { filters: old.manifest.filters, ..Manifest::default() };
        manifest.unfiltered = old.manifest.unfiltered;
        manifest.unfiltered.retain(|file| self.paths.contains(&file.path));
        if self.whole == Some(checkpoint.id) {
            manifest.empty_directories = old.manifest.empty_directories;
            manifest.nested = old.manifest.nested;
        }
        let side = Side {
            index_tree_id: None,
            raw_tree_id: old.raw_tree_id.map(|id| self.raw(id, objects)).transpose()?.flatten(),
            unmerged_tree_id: None,
            moved_id: old.moved_id.map(|id| self.moved(id, objects)).transpose()?,
            manifest,
        };
        let Some(tree_id) = write_side_tree(&side, objects)? else { return Ok(None) };
        let message = self.repo.message_of(id)?;
        let copy = CommitCopy { tree_id, parents: Vec::new(), message: &message };
        self.repo.copy_commit(id, &copy, objects).map(Some)
    }
}

impl Edit for Narrow<'_> {
    fn edit(&mut self, checkpoint: &Checkpoint, objects: &mut NewObjects<'_>) -> Result<Option<Edited>> {
        let base = base_tree(self.repo, checkpoint)?;
        let changes = self.repo.diff_trees(base, checkpoint.tree_id)?.into_iter();
        let edits: Vec<_> = changes
            .filter(|change| self.paths.contains(&change.path))
            .map(|change| (change.path, change.after.map(|leaf| (leaf.id, leaf.mode))))
            .collect();
        let tree_id = edit_tree(base, &edits, objects)?;
        let side_id = self.side(checkpoint, objects)?;
        Ok(Some(Edited { tree_id, side_id, message: self.repo.message_of(checkpoint.id)? }))
    }
}
