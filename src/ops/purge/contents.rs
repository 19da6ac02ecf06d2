//! Replaces the text in the content of checkpoints: files, staged and unmerged content, exact bytes, messages.

use std::collections::{BTreeSet, HashMap};

use bstr::{BStr, BString, ByteSlice as _};
use gix::{ObjectId, objs::Kind as ObjectKind};

use super::{
    leaves::{Tree, leaves_at, leaves_of},
    scan::Scan,
};
use crate::{
    error::Result,
    git::{
        Repo,
        commit::{Moment, NewCommit},
        copied_commit::CommitCopy,
        edit_tree::{Edit as EditOfPath, edit_tree},
        new_objects::NewObjects,
        pathspec::Pathspec,
        side::{Side, write_side_tree},
        tree_map::{Leaves, NewLeaf, TreeMap},
    },
    model::{
        change::Change,
        checkpoint::{self, Checkpoint},
        manifest::{Reason, Unmerged},
        secret::Secret,
    },
    ops::{
        chain::{carry_forward::base_tree, commit},
        replace::{Edit, Edited},
    },
};

/// The blobs that have the text, and what stands in their place.
pub(super) struct Blobs<'s> {
    repo: &'s Repo,
    secret: &'s Secret,
    scan: &'s Scan,
    /// By blob: the new one.
    pub(super) new: HashMap<ObjectId, ObjectId>,
}

impl Leaves for Blobs<'_> {
    fn may_change(&self, id: ObjectId) -> bool {
        self.scan.paths.contains_key(&id)
    }

    fn needs_paths(&self) -> bool {
        false
    }

    fn leaf(&mut self, _: &BStr, id: ObjectId, objects: &mut NewObjects<'_>) -> Result<NewLeaf> {
        // One that the user holds, too, may be in the base as well, where it stays: see `shared`.
        if self.scan.is_only_ours(id) { self.without(id, objects) } else { Ok(NewLeaf::Same) }
    }
}

impl Blobs<'_> {
    /// Returns what stands everywhere in the place of the blob `id`; none if it stays, or if the user holds it, too.
    fn of_ours(&self, id: ObjectId) -> Option<ObjectId> {
        self.new.get(&id).copied().filter(|_| self.scan.is_only_ours(id))
    }

    /// Returns what stands in the place of the blob `id`, which has the text.
    fn without(&mut self, id: ObjectId, objects: &mut NewObjects<'_>) -> Result<NewLeaf> {
        if let Some(new) = self.new.get(&id) {
            return Ok(NewLeaf::Is(*new));
        }
        let Some(text) = self.secret.replace(&self.repo.read_blob(id)?) else { return Ok(NewLeaf::Same) };
        let new = objects.add(ObjectKind::Blob, &text)?;
        self.new.insert(id, new);
        Ok(NewLeaf::Is(new))
    }
}

/// Changes the content of checkpoints.
pub(super) struct Contents<'s> {
    repo: &'s Repo,
    pub(super) blobs: Blobs<'s>,
    pub(super) trees: TreeMap,
    pathspec: Pathspec<'s>,
    /// The side commits that are others now.
    pub(super) sides: BTreeSet<ObjectId>,
    /// The trees that lead to what was removed.
    pub(super) left_trees: BTreeSet<ObjectId>,
    /// The paths that were removed.
    pub(super) removed: BTreeSet<BString>,
    /// The checkpoints that have the text or one of the paths.
    pub(super) checkpoints: BTreeSet<ObjectId>,
}

impl<'s> Contents<'s> {
    /// Returns what replaces `secret`, and removes the files that `pathspec` matches unless it is empty.
    pub(super) fn new(repo: &'s Repo, secret: &'s Secret, scan: &'s Scan, pathspec: Pathspec<'s>) -> Self {
        Self {
            repo,
            blobs: Blobs { repo, secret, scan, new: HashMap::new() },
            trees: TreeMap::default(),
            pathspec,
            sides: BTreeSet::new(),
            left_trees: BTreeSet::new(),
            removed: BTreeSet::new(),
            checkpoints: BTreeSet::new(),
        }
    }

    /// Returns the tree `id` without the text.
    pub(super) fn tree(&mut self, id: ObjectId, objects: &mut NewObjects<'_>) -> Result<ObjectId> {
        self.trees.map(self.repo, id, &mut self.blobs, objects)
    }

    /// Returns the leaves of `checkpoint` to remove, by tree, and notes the trees that lead there.
    fn to_remove(&mut self, checkpoint: &Checkpoint) -> Result<Vec<Changed>> {
        let leaves = leaves_at(self.repo, checkpoint, &mut self.pathspec)?;
        if leaves.is_empty() {
            return Ok(Vec::new());
        }
        let side = checkpoint.side_id.map_or_else(|| Ok(Side::default()), |id| self.repo.read_side(id))?;
        for (tree, change) in &leaves {
            let root = match tree {
                Tree::Files => Some(checkpoint.tree_id),
                Tree::Index => side.index_tree_id,
                Tree::Raw => side.raw_tree_id,
                Tree::Unmerged => side.unmerged_tree_id,
            };
            let Some(root) = root else { continue };
            self.left_trees.insert(root);
            for end in change.path.find_iter("/") {
                let directory = change.path[..end].as_bstr();
                self.left_trees.extend(self.repo.find_entry(root, directory)?.map(|(_, id)| id));
            }
            self.removed.insert(tree.path_of(change));
        }
        let removed = |(tree, change): (Tree, Change)| {
            let new = change.before.map(|leaf| (leaf.id, leaf.mode));
            Changed { tree, change, new, is_removed: true }
        };
        Ok(leaves.into_iter().map(removed).collect())
    }

    /// Returns the leaves of `checkpoint` to replace that the user holds, too. What its base has at the same path is the user's,
    /// and stays.
    fn shared(&mut self, checkpoint: &Checkpoint, objects: &mut NewObjects<'_>) -> Result<Vec<Changed>> {
        let mut changes = Vec::new();
        if self.blobs.scan.of_user.is_empty() || self.blobs.secret.is_nothing() {
            return Ok(changes);
        }
        let base = base_tree(self.repo, checkpoint).ok();
        for (tree, change) in leaves_of(self.repo, checkpoint)? {
            let Some(leaf) = change.after.filter(|leaf| self.blobs.scan.is_shared(leaf.id)) else { continue };
            let in_base = match base.filter(|_| matches!(tree, Tree::Raw | Tree::Unmerged)) {
                Some(base) => self.repo.find_entry(base, tree.path_of(&change).as_bstr())?.map(|(_, id)| id),
                None => None,
            };
            if in_base != Some(leaf.id)
                && let NewLeaf::Is(new) = self.blobs.without(leaf.id, objects)?
            {
                changes.push(Changed { tree, change, new: Some((new, leaf.mode)), is_removed: false });
            }
        }
        Ok(changes)
    }

    /// Returns the side commit of `checkpoint` without the text and with the leaves `changed`.
    fn side(
        &mut self,
        checkpoint: &Checkpoint,
        changed: &[Changed],
        objects: &mut NewObjects<'_>,
    ) -> Result<Option<ObjectId>> {
        let old = checkpoint.side_id.map_or_else(|| Ok(Side::default()), |id| self.repo.read_side(id))?;
        let mut side = old.clone();
        for (tree, tree_id) in [
            (Tree::Index, &mut side.index_tree_id),
            (Tree::Raw, &mut side.raw_tree_id),
            (Tree::Unmerged, &mut side.unmerged_tree_id),
        ] {
            let Some(id) = *tree_id else { continue };
            let new =
                edit_tree(self.trees.map(self.repo, id, &mut self.blobs, objects)?, &edits(changed, tree), objects)?;
            *tree_id = Some(new).filter(|id| tree == Tree::Index || !id.is_empty_tree());
        }
        let change_of = |entry: &Unmerged| {
            let mut unmerged = changed.iter().filter(|it| it.tree == Tree::Unmerged);
            unmerged.find(|it| it.tree.path_of(&it.change) == entry.path && it.old_id() == Some(entry.id))
        };
        side.manifest.unmerged.retain(|entry| change_of(entry).is_none_or(|it| !it.is_removed));
        for entry in &mut side.manifest.unmerged {
            let new = match change_of(entry) {
                Some(changed) => changed.new.map(|(id, _)| id),
                None => self.blobs.of_ours(entry.id),
            };
            entry.id = new.unwrap_or(entry.id);
        }
        for file in &mut side.manifest.unfiltered {
            file.reason = self.blobs.secret.replace_in(&file.reason).unwrap_or(std::mem::take(&mut file.reason));
        }
        // What the checkpoint had there is unknown: a restore leaves it alone.
        let files = changed.iter().filter(|it| it.tree == Tree::Files && it.is_removed);
        side.manifest.skip(files.map(|it| it.change.path.clone()).collect(), Reason::Purged);
        if let Some(moved_id) = side.moved_id {
            let text = self.repo.read_blob(moved_id)?;
            let in_files = |id| changed.iter().find(|it| it.tree == Tree::Files && it.old_id() == Some(id));
            let new = |id| match in_files(id).filter(|it| !it.is_removed) {
                Some(changed) => changed.new.map(|(id, _)| id),
                None => self.blobs.of_ours(id),
            };
            if let Some(text) = with_new_blobs(&text, &new) {
                side.moved_id = Some(objects.add(ObjectKind::Blob, &text)?);
            }
        }
        if side == old {
            return Ok(checkpoint.side_id);
        }
        let Some(tree_id) = write_side_tree(&side, objects)? else { return Ok(None) };
        if let Some(id) = checkpoint.side_id {
            self.sides.insert(id);
            let message = self.repo.message_of(id)?;
            let copy = CommitCopy { tree_id, parents: Vec::new(), message: &message };
            return self.repo.copy_commit(id, &copy, objects).map(Some);
        }
        let time = Moment::of(checkpoint);
        let message = "side data of a checkpoint\n\nWhat was purged; see gitcheckpoint-format(5).\n";
        let (author, committer) = (commit::author(self.repo, &checkpoint.origin), self.repo.identity());
        let commit = NewCommit { tree_id, parents: Vec::new(), author, committer, time, message };
        Repo::write_commit(&commit, objects).map(Some)
    }
}

/// A leaf of a checkpoint that becomes another one.
struct Changed {
    tree: Tree,
    change: Change,
    /// What it becomes; none: nothing.
    new: EditOfPath,
    /// True if it is at one of the paths to remove: it gets the content that the base has there.
    is_removed: bool,
}

impl Changed {
    fn old_id(&self) -> Option<ObjectId> {
        self.change.after.map(|leaf| leaf.id)
    }
}

/// Returns what makes the changes of the tree `tree`.
fn edits(changed: &[Changed], tree: Tree) -> Vec<(BString, EditOfPath)> {
    let of_tree = changed.iter().filter(|it| it.tree == tree);
    of_tree.map(|it| (it.change.path.clone(), it.new)).collect()
}

impl Edit for Contents<'_> {
    fn edit(&mut self, checkpoint: &Checkpoint, objects: &mut NewObjects<'_>) -> Result<Option<Edited>> {
        let mut changed = self.to_remove(checkpoint)?;
        changed.extend(self.shared(checkpoint, objects)?);
        let tree_id = self.tree(checkpoint.tree_id, objects)?;
        let tree_id = edit_tree(tree_id, &edits(&changed, Tree::Files), objects)?;
        let side_id = if checkpoint.side_id.is_some() || changed.iter().any(|it| it.is_removed) {
            self.side(checkpoint, &changed, objects)?
        } else {
            None
        };
        let message = self.repo.message_of(checkpoint.id)?;
        let new_message = checkpoint::without(self.blobs.secret, &message);
        if tree_id == checkpoint.tree_id && side_id == checkpoint.side_id && new_message.is_none() {
            return Ok(None);
        }
        self.checkpoints.insert(checkpoint.id);
        Ok(Some(Edited { tree_id, side_id, message: new_message.unwrap_or(message) }))
    }
}

/// Returns an attribution in the stored format with the ids of the blobs that `new` returns; none if it stays.
fn with_new_blobs(text: &[u8], new: &dyn Fn(ObjectId) -> Option<ObjectId>) -> Option<Vec<u8>> {
    let (mut out, mut is_changed) = (Vec::with_capacity(text.len()), false);
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let rest = line.strip_prefix(b"file ").and_then(|rest| rest.split_once_str(" "));
        let changed = rest.and_then(|(id, path)| Some((new(ObjectId::from_hex(id).ok()?)?, path)));
        match changed {
            Some((id, path)) => {
                out.extend_from_slice(format!("file {id} ").as_bytes());
                out.extend_from_slice(path);
                is_changed = true;
            }
            None => out.extend_from_slice(line),
        }
    }
    is_changed.then_some(out)
}

/// Returns the paths of `blobs`, which are in checkpoints.
pub(super) fn paths_of<'b>(scan: &Scan, blobs: impl Iterator<Item = &'b ObjectId>) -> BTreeSet<BString> {
    blobs
        .filter_map(|id| scan.paths.get(id))
        .map(|path| plain(path.as_bstr()))
        .filter(|path| !path.is_empty())
        .collect()
}

/// Returns the path of a file in the worktree: side commits have it in directories of their own.
fn plain(path: &BStr) -> BString {
    let stage = |path: &BStr| path.strip_prefix(b"unmerged/").and_then(|rest| rest.get(2..)).map(BString::from);
    let inner = ["index/", "raw/"].iter().find_map(|start| path.strip_prefix(start.as_bytes()));
    inner.map(BString::from).or_else(|| stage(path)).unwrap_or_else(|| path.to_owned())
}
