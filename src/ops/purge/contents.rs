//! Replaces the text in the content of checkpoints: files, staged and unmerged content, exact bytes, messages.

use std::collections::{BTreeSet, HashMap};

use bstr::{BStr, BString, ByteSlice as _};
use gix::{ObjectId, objs::Kind as ObjectKind};

use super::scan::{Scan, Tree, leaves_at};
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
        manifest::Unmerged,
        secret::Secret,
    },
    ops::{
        chain::commit,
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
        if !self.scan.found.contains(&id) {
            return Ok(NewLeaf::Same);
        }
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
    fn to_remove(&mut self, checkpoint: &Checkpoint) -> Result<Vec<(Tree, Change)>> {
        let mut leaves = leaves_at(self.repo, checkpoint, &mut self.pathspec)?;
        leaves.retain(|(_, change)| change.after.is_some_and(|leaf| self.blobs.scan.at_paths.contains(&leaf.id)));
        if leaves.is_empty() {
            return Ok(leaves);
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
        Ok(leaves)
    }

    /// Returns the side commit of `checkpoint` without the text and without the leaves `removed`.
    fn side(
        &mut self,
        checkpoint: &Checkpoint,
        removed: &[(Tree, Change)],
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
                edit_tree(self.trees.map(self.repo, id, &mut self.blobs, objects)?, &edits(removed, tree), objects)?;
            *tree_id = Some(new).filter(|id| tree == Tree::Index || !id.is_empty_tree());
        }
        let is_removed = |entry: &Unmerged| {
            let is_it = |(tree, change): &(Tree, Change)| {
                *tree == Tree::Unmerged
                    && tree.path_of(change) == entry.path
                    && change.after.map(|it| it.id) == Some(entry.id)
            };
            removed.iter().any(is_it)
        };
        side.manifest.unmerged.retain(|entry| !is_removed(entry));
        for entry in &mut side.manifest.unmerged {
            entry.id = self.blobs.new.get(&entry.id).copied().unwrap_or(entry.id);
        }
        for file in &mut side.manifest.unfiltered {
            file.reason = self.blobs.secret.replace_in(&file.reason).unwrap_or(std::mem::take(&mut file.reason));
        }
        // What the checkpoint had there is unknown: a restore leaves it alone.
        let files = removed.iter().filter(|(tree, _)| *tree == Tree::Files).map(|(_, change)| change.path.clone());
        side.manifest.skip_unreadable(files.collect());
        if let Some(moved_id) = side.moved_id {
            let text = self.repo.read_blob(moved_id)?;
            if let Some(text) = with_new_blobs(&text, &self.blobs.new) {
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
        let time = Moment { seconds: checkpoint.seconds, offset: checkpoint.offset };
        let message = "side data of a checkpoint\n\nWhat was purged; see gitcheckpoint-format(5).\n";
        let (author, committer) = (commit::author(self.repo, &checkpoint.origin), self.repo.identity());
        let commit = NewCommit { tree_id, parents: Vec::new(), author, committer, time, message };
        Repo::write_commit(&commit, objects).map(Some)
    }
}

/// Returns what takes `removed` out of the tree `tree`: each file gets the content that the base has there.
fn edits(removed: &[(Tree, Change)], tree: Tree) -> Vec<(BString, EditOfPath)> {
    let of_tree = removed.iter().filter(|(its, _)| *its == tree);
    of_tree.map(|(_, change)| (change.path.clone(), change.before.map(|leaf| (leaf.id, leaf.mode)))).collect()
}

impl Edit for Contents<'_> {
    fn edit(&mut self, checkpoint: &Checkpoint, objects: &mut NewObjects<'_>) -> Result<Option<Edited>> {
        let removed = self.to_remove(checkpoint)?;
        let tree_id = self.tree(checkpoint.tree_id, objects)?;
        let tree_id = edit_tree(tree_id, &edits(&removed, Tree::Files), objects)?;
        let side_id = if checkpoint.side_id.is_some() || !removed.is_empty() {
            self.side(checkpoint, &removed, objects)?
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

/// Returns an attribution in the stored format with the ids of other blobs; none if it stays.
fn with_new_blobs(text: &[u8], new: &HashMap<ObjectId, ObjectId>) -> Option<Vec<u8>> {
    let (mut out, mut is_changed) = (Vec::with_capacity(text.len()), false);
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let rest = line.strip_prefix(b"file ").and_then(|rest| rest.split_once_str(" "));
        let changed = rest.and_then(|(id, path)| Some((new.get(&ObjectId::from_hex(id).ok()?)?, path)));
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
