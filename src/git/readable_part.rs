//! Finds what can be read of trees, checkpoints and side commits, and makes trees of it.

use std::collections::HashMap;

use bstr::{BStr, BString, ByteSlice as _};
use gix::{
    ObjectId,
    objs::{Find as _, Kind as ObjectKind, Tree, TreeRef, tree::Entry},
};

use super::{
    index_tree::write_tree,
    new_objects::NewObjects,
    readable::Reader,
    side::{MOVED_LINES_LOST, Side},
};
use crate::{
    error::Result,
    model::{
        checkpoint::Checkpoint,
        manifest::{Manifest, Part, Reason},
    },
};

/// What can be read of a tree.
#[derive(Clone, Debug)]
pub(crate) struct ReadablePart {
    /// The tree. At each path that cannot be read, it has what the tree before it has there.
    pub(crate) tree_id: ObjectId,
    /// The paths that cannot be read; of a directory that cannot be read itself, only its own path.
    pub(crate) unreadable: Vec<BString>,
}

/// A tree in the making.
struct Copying<'c, 'r> {
    objects: &'c mut NewObjects<'r>,
    /// The directory that is being read, with a final slash unless it is the root.
    directory: BString,
    unreadable: Vec<BString>,
}

/// Trees that have the same path as the one that is being read.
#[derive(Clone, Copy, Default)]
struct Beside {
    /// What this one has is not looked at.
    base: Option<ObjectId>,
    /// What this one has takes the place of what cannot be read.
    before: Option<ObjectId>,
}

impl Reader<'_> {
    /// Returns true if all that the tree `id` leads to can be read; what `base` has at the same path is not looked at.
    pub(crate) fn is_whole(&mut self, id: ObjectId, base: ObjectId) -> Result<bool> {
        let before = self.lost.len();
        let part = self.part(id, Beside { base: Some(base), before: None }, &mut None)?;
        Ok(part == Some(id) && self.lost.len() == before)
    }

    /// Returns true if tree and side commit of `checkpoint` can be read, with all that they lead to. What `base`, the tree of
    /// the commit that it stands on, has at the same path is not looked at.
    pub(crate) fn is_checkpoint_whole(&mut self, checkpoint: &Checkpoint, base: ObjectId) -> Result<bool> {
        let is_tree_whole = self.is_whole(checkpoint.tree_id, base)?;
        let Some(side_id) = checkpoint.side_id else { return Ok(is_tree_whole) };
        let mut is_side_whole = true;
        let entries = self.side_entries(side_id)?;
        for entry in entries.iter().flatten() {
            let beside = if entry.filename == "index" { base } else { self.repo.empty_tree_id() };
            let is_tree = entry.mode.is_tree();
            is_side_whole &= if is_tree { self.is_whole(entry.oid, beside)? } else { self.has_blob(entry.oid)? };
        }
        Ok(is_tree_whole && is_side_whole && entries.is_some())
    }

    /// Returns what can be read of the tree `id`, which is added to `objects`; none if `id` itself cannot be. `before` is the
    /// tree that came before it.
    pub(crate) fn readable_part(
        &mut self,
        id: ObjectId,
        base: ObjectId,
        before: Option<ObjectId>,
        objects: &mut NewObjects<'_>,
    ) -> Result<Option<ReadablePart>> {
        let (directory, unreadable) = (BString::default(), Vec::new());
        let mut copying = Some(Copying { objects, directory, unreadable });
        let tree_id = self.part(id, Beside { base: Some(base), before }, &mut copying)?;
        let unreadable = copying.map(|copying| copying.unreadable).unwrap_or_default();
        Ok(tree_id.map(|tree_id| ReadablePart { tree_id, unreadable }))
    }

    /// Returns what can be read of the side commit `id`, whose trees are added to `objects`. Its manifest names what cannot.
    pub(crate) fn readable_side(&mut self, id: ObjectId, base: ObjectId, objects: &mut NewObjects<'_>) -> Result<Side> {
        let (mut side, mut lost) = (Side::default(), Vec::new());
        let mut skipped = Vec::new();
        let Some(entries) = self.side_entries(id)? else {
            lost.extend([Part::Staged, Part::Raw, Part::Manifest]);
            return Ok(Side { manifest: Manifest { lost, ..Manifest::default() }, ..side });
        };
        for entry in entries {
            if entry.filename == "manifest.toml" {
                match self.manifest(entry.oid)? {
                    Some(manifest) => side.manifest = manifest,
                    None => lost.push(Part::Manifest),
                }
                continue;
            }
            if entry.filename == "moved" {
                let is_here = self.has_blob(entry.oid)?;
                side.moved_id =
                    Some(if is_here { entry.oid } else { objects.add(ObjectKind::Blob, MOVED_LINES_LOST)? });
                continue;
            }
            let empty = self.repo.empty_tree_id();
            let beside = if entry.filename == "index" { base } else { empty };
            let part = self.readable_part(entry.oid, beside, None, objects)?;
            let is_all = part.as_ref().is_some_and(|part| part.unreadable.is_empty());
            let tree_id = part.as_ref().map(|part| part.tree_id).filter(|id| *id != empty || is_all);
            match entry.filename.as_slice() {
                b"raw" => {
                    side.raw_tree_id = tree_id;
                    lost.extend(part.is_none().then_some(Part::Raw));
                    skipped.extend(part.map(|part| part.unreadable).unwrap_or_default());
                }
                b"index" => side.index_tree_id = tree_id,
                b"unmerged" => side.unmerged_tree_id = tree_id,
                _ => {}
            }
            lost.extend((!is_all && entry.filename != "raw").then_some(Part::Staged));
        }
        side.manifest.lost.extend(lost);
        side.manifest.lost.sort();
        side.manifest.lost.dedup();
        side.manifest.skip(skipped, Reason::Unreadable);
        Ok(side)
    }

    /// Returns the entries of the tree of the side commit `id`; none if the commit or its tree is lost.
    fn side_entries(&mut self, id: ObjectId) -> Result<Option<Vec<Entry>>> {
        let Some(tree_id) = self.tree_of_commit(id)? else { return Ok(None) };
        let tree = self.tree(tree_id)?;
        if tree.is_none() {
            self.lost.insert(tree_id);
        }
        Ok(tree.map(|tree| tree.entries))
    }

    /// Returns the manifest that the blob `id` holds; none if it cannot be read.
    fn manifest(&mut self, id: ObjectId) -> Result<Option<Manifest>> {
        if !self.has_blob(id)? {
            return Ok(None);
        }
        let text = self.repo.read_whole(id)?.map(|(_, data)| data).unwrap_or_default();
        Ok(text.to_str().ok().and_then(|text| Manifest::from_toml(text).ok()))
    }

    /// Returns the tree `id` if all of it can be read, or what can be read of it, if a copy is asked for.
    fn part(
        &mut self,
        id: ObjectId,
        beside: Beside,
        copying: &mut Option<Copying<'_, '_>>,
    ) -> Result<Option<ObjectId>> {
        if Some(id) == beside.base || id.is_empty_tree() || self.sound.contains(&id) {
            return Ok(Some(id));
        }
        let Some(tree) = self.tree(id)? else {
            self.lost.insert(id);
            return Ok(None);
        };
        let base = by_name(beside.base.map_or(Ok(None), |base| self.tree(base))?.unwrap_or_else(Tree::empty));
        let before = by_name(match (copying.as_ref(), beside.before) {
            (Some(copying), Some(before)) => copying.tree(before),
            _ => Tree::empty(),
        });
        let (mut entries, mut is_whole) = (Vec::with_capacity(tree.entries.len()), true);
        for mut entry in tree.entries {
            self.repo.check_interrupt()?;
            let in_base = base.get(&entry.filename).map(|entry| entry.oid);
            let in_before = before.get(&entry.filename);
            let part = if entry.mode.is_tree() {
                let before = in_before.filter(|entry| entry.mode.is_tree()).map(|entry| entry.oid);
                let outer = copying.as_mut().map(|copying| copying.enter(entry.filename.as_bstr()));
                let part = self.part(entry.oid, Beside { base: in_base, before }, copying)?;
                copying.iter_mut().zip(outer).for_each(|(copying, outer)| copying.directory.truncate(outer));
                part
            } else {
                let is_here = entry.mode.is_commit() || in_base == Some(entry.oid) || self.has_blob(entry.oid)?;
                is_here.then_some(entry.oid)
            };
            is_whole &= part == Some(entry.oid);
            match (part, copying.as_mut()) {
                // Nothing is left of a directory.
                (Some(part), _) if part != entry.oid && part.is_empty_tree() => {}
                (Some(part), _) => {
                    entry.oid = part;
                    entries.push(entry);
                }
                (None, Some(copying)) => {
                    copying.note(entry.filename.as_bstr());
                    entries.extend(in_before.cloned());
                }
                (None, None) => {}
            }
        }
        if is_whole {
            self.sound.insert(id);
            return Ok(Some(id));
        }
        // What takes the place of something may be of another kind, and git sorts by that, too.
        entries.sort();
        copying.as_mut().map(|copying| write_tree(&Tree { entries }, copying.objects)).transpose()
    }
}

impl Copying<'_, '_> {
    /// Goes to the directory `name`, and returns the length of the path of the one that it is in.
    fn enter(&mut self, name: &BStr) -> usize {
        let outer = self.directory.len();
        self.directory.extend_from_slice(name);
        self.directory.push(b'/');
        outer
    }

    /// Notes that `name` cannot be read.
    fn note(&mut self, name: &BStr) {
        self.unreadable.push([self.directory.as_slice(), name.as_bytes()].concat().into());
    }

    /// Returns the tree `id`, which may not be written yet; an empty one if it cannot be read.
    fn tree(&self, id: ObjectId) -> Tree {
        let mut buffer = Vec::new();
        let found = self.objects.try_find(&id, &mut buffer).ok().flatten();
        let tree = found.filter(|data| data.kind == ObjectKind::Tree);
        let tree = tree.and_then(|data| TreeRef::from_bytes(data.data, id.kind()).ok().map(TreeRef::into_owned));
        tree.unwrap_or_else(Tree::empty)
    }
}

fn by_name(tree: Tree) -> HashMap<BString, Entry> {
    tree.entries.into_iter().map(|entry| (entry.filename.clone(), entry)).collect()
}
