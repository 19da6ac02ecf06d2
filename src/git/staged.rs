//! What is staged at some paths, in the index that git passes to its hook.

use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
};

use bstr::{BString, ByteSlice as _};
use gix::{
    ObjectId,
    index::{
        Entry, File,
        entry::{Flags, Stage},
    },
};

use super::{
    Repo,
    environment::{self, Heeded},
    index_tree::tree_of_index,
    new_objects::{NewObjects, Target},
    presence::may_exist,
    user_index::decoding,
};
use crate::{
    error::{Context as _, Kind, Result},
    model::change::{Change, Leaf, Mode},
};

impl Repo {
    /// Returns what the next commit will have at each of `paths`: what is staged.
    ///
    /// `git commit -a` and `git commit <path>` run hooks with an index of their own.
    pub(crate) fn staged_leaves(&self, paths: &[BString]) -> Result<BTreeMap<BString, Option<Leaf>>> {
        let path = self.index_to_commit();
        let mut leaves: BTreeMap<BString, Option<Leaf>> = paths.iter().map(|path| (path.clone(), None)).collect();
        if !may_exist(&path) {
            return Ok(leaves);
        }
        if let Some(tree_id) = self.cached_tree(&path)? {
            for (path, leaf) in &mut leaves {
                *leaf = self.find_leaf(tree_id, path.as_bstr())?;
            }
            return Ok(leaves);
        }
        let index = self.read_index(&path)?;
        for (path, leaf) in &mut leaves {
            *leaf = index.entry_by_path_and_stage(path.as_bstr(), Stage::Unconflicted).and_then(leaf_of);
        }
        Ok(leaves)
    }

    /// Returns how the tree of the next commit, which is what is staged, differs from the tree `head_tree_id`, sorted by path.
    pub(crate) fn staged_changes(&self, head_tree_id: ObjectId) -> Result<Vec<Change>> {
        let path = self.index_to_commit();
        if !may_exist(&path) {
            return self.diff_trees(head_tree_id, self.empty_tree_id());
        }
        if let Some(tree_id) = self.cached_tree(&path)? {
            return self.diff_trees(head_tree_id, tree_id);
        }
        // Its trees are only compared: nothing is written.
        let mut objects = NewObjects::new(self, Target::Loose);
        let index = self.read_index(&path)?;
        let tree_id = tree_of_index(&index, &mut objects)?;
        objects.changes_of_trees(head_tree_id, tree_id)
    }

    pub(super) fn index_to_commit(&self) -> PathBuf {
        match environment::variable("GIT_INDEX_FILE").filter(|_| self.heeds == Heeded::All) {
            // The name is relative to the directory that hooks run in: the root of the worktree.
            Some(name) => self.worktree_root().join(name.to_path_lossy()),
            None => self.inner.index_path(),
        }
    }

    fn cached_tree(&self, index: &Path) -> Result<Option<ObjectId>> {
        let cached = cached_tree(index, self.object_hash()).context(Kind::Corrupt, || unreadable(index))?;
        Ok(cached.filter(|id| self.has_object(*id)))
    }

    fn read_index(&self, path: &Path) -> Result<File> {
        File::at(path, self.object_hash(), true, decoding()).context(Kind::Corrupt, || unreadable(path))
    }
}

fn unreadable(index: &Path) -> String {
    format!("cannot read the index '{}'", index.display())
}

fn leaf_of(entry: &Entry) -> Option<Leaf> {
    let mode = Mode::from_bits(entry.mode.bits()).filter(|_| !entry.flags.contains(Flags::INTENT_TO_ADD))?;
    Some(Leaf { id: entry.id, mode })
}

/// How much of the end of an index is searched for the tree: the first is enough for most, the second for that of a hundred
/// thousand files, the last for all but strange ones.
const TAILS: [u64; 4] = [64 << 10, 256 << 10, 1 << 20, 16 << 20];

/// Returns the tree of the index in the file `path`, if git has cached it there: `git commit` does so before it runs
/// hooks.
///
/// Extensions come after all entries, each with its length (gitformat-index(5)). A place that begins with `TREE`, and
/// from which the lengths lead exactly to the end of the file, is the start of an extension. So a large index need not
/// be read.
fn cached_tree(path: &Path, hash: gix::hash::Kind) -> io::Result<Option<ObjectId>> {
    let file = fs::File::open(path)?;
    let length = file.metadata()?.len();
    for tail in TAILS {
        let taken = tail.min(length);
        let mut bytes = vec![0; usize::try_from(taken).unwrap_or_default()];
        file.read_exact_at(&mut bytes, length - taken)?;
        if let Some(body) = tree_extension(&bytes, hash.len_in_bytes()) {
            return Ok(root_of(body, hash.len_in_bytes()));
        }
        if taken == length {
            break;
        }
    }
    Ok(None)
}

/// Returns the body of the extension `TREE` in the last bytes of an index, which end with a hash of `hash_length` bytes.
fn tree_extension(tail: &[u8], hash_length: usize) -> Option<&[u8]> {
    let extensions = &tail[..tail.len().checked_sub(hash_length)?];
    let body_at = |at: usize| {
        let size = u32::from_be_bytes(extensions.get(at + 4..at + 8)?.try_into().ok()?);
        extensions.get(at + 8..)?.get(..usize::try_from(size).ok()?)
    };
    let leads_to_end = |start: usize| {
        let mut at = start;
        while at < extensions.len() {
            let Some(body) = body_at(at).filter(|_| extensions[at..at + 4].is_ascii()) else { return false };
            at += 8 + body.len();
        }
        true
    };
    // From the front: a search from the back takes sixty times as long.
    extensions.find_iter("TREE").find(|at| leads_to_end(*at)).and_then(body_at)
}

/// Returns the root tree in the extension `TREE`; none if it was invalidated by a change.
fn root_of(body: &[u8], id_length: usize) -> Option<ObjectId> {
    let counts = body.strip_prefix(b"\0")?;
    let line_end = counts.find_byte(b'\n')?;
    (counts[0] != b'-').then_some(())?;
    ObjectId::try_from(counts.get(line_end + 1..line_end + 1 + id_length)?).ok()
}
