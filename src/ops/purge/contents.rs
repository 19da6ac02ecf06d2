//! Replaces the text in the content of checkpoints: files, staged and unmerged content, exact bytes, messages.

use std::collections::{BTreeSet, HashMap};

use bstr::{BStr, BString, ByteSlice as _};
use gix::{ObjectId, objs::Kind as ObjectKind};

use super::scan::Scan;
use crate::{
    error::Result,
    git::{
        Repo,
        copied_commit::CommitCopy,
        new_objects::NewObjects,
        side::write_side_tree,
        tree_map::{Leaves, NewLeaf, TreeMap},
    },
    model::{
        checkpoint::{Checkpoint, with_texts},
        secret::Secret,
    },
    ops::replace::{Edit, Edited},
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
    /// By side commit: the new one.
    pub(super) sides: HashMap<ObjectId, Option<ObjectId>>,
    /// The checkpoints that have the text.
    pub(super) checkpoints: BTreeSet<ObjectId>,
}

impl<'s> Contents<'s> {
    pub(super) fn new(repo: &'s Repo, secret: &'s Secret, scan: &'s Scan) -> Self {
        let blobs = Blobs { repo, secret, scan, new: HashMap::new() };
        Self { repo, blobs, trees: TreeMap::default(), sides: HashMap::new(), checkpoints: BTreeSet::new() }
    }

    /// Returns the tree `id` without the text.
    pub(super) fn tree(&mut self, id: ObjectId, objects: &mut NewObjects<'_>) -> Result<ObjectId> {
        self.trees.map(self.repo, id, &mut self.blobs, objects)
    }

    /// Returns the side commit `id` without the text.
    pub(super) fn side(&mut self, id: ObjectId, objects: &mut NewObjects<'_>) -> Result<Option<ObjectId>> {
        if let Some(new) = self.sides.get(&id) {
            return Ok(*new);
        }
        let old = self.repo.read_side(id)?;
        let mut side = old.clone();
        for tree_id in
            [&mut side.index_tree_id, &mut side.raw_tree_id, &mut side.unmerged_tree_id].into_iter().flatten()
        {
            *tree_id = self.trees.map(self.repo, *tree_id, &mut self.blobs, objects)?;
        }
        for entry in &mut side.manifest.unmerged {
            entry.id = self.blobs.new.get(&entry.id).copied().unwrap_or(entry.id);
        }
        for file in &mut side.manifest.unfiltered {
            file.reason = self.blobs.secret.replace_in(&file.reason).unwrap_or(std::mem::take(&mut file.reason));
        }
        if let Some(moved_id) = side.moved_id {
            let text = self.repo.read_blob(moved_id)?;
            if let Some(text) = with_new_blobs(&text, &self.blobs.new) {
                side.moved_id = Some(objects.add(ObjectKind::Blob, &text)?);
            }
        }
        let new = if side == old {
            Some(id)
        } else {
            let tree_id = write_side_tree(&side, objects)?;
            let message = self.repo.message_of(id)?;
            let copy = |tree_id| CommitCopy { tree_id, parents: Vec::new(), message: &message };
            tree_id.map(|tree_id| self.repo.copy_commit(id, &copy(tree_id), objects)).transpose()?
        };
        self.sides.insert(id, new);
        Ok(new)
    }
}

impl Edit for Contents<'_> {
    fn edit(&mut self, checkpoint: &Checkpoint, objects: &mut NewObjects<'_>) -> Result<Option<Edited>> {
        let tree_id = self.tree(checkpoint.tree_id, objects)?;
        let side_id = match checkpoint.side_id {
            Some(id) => self.side(id, objects)?,
            None => None,
        };
        let message = self.repo.message_of(checkpoint.id)?;
        let new_message = with_texts(&message, &|text| self.blobs.secret.replace_in(text));
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
