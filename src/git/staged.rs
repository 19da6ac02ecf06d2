//! What is staged at some paths, in the index that git has named to its hook.

use std::collections::BTreeMap;

use bstr::{BString, ByteSlice as _};
use gix::{
    ObjectId,
    index::{
        File,
        entry::{Flags, Stage},
    },
};

use super::{Repo, environment};
use crate::{
    error::{Context as _, Kind, Result},
    model::change::{Leaf, Mode},
};

impl Repo {
    /// Returns what the commit to come will have at each of `paths`: what is staged there.
    ///
    /// `git commit -a`, `git commit <path>` and their like run hooks with an index of their own.
    pub(crate) fn staged_leaves(&self, paths: &[BString]) -> Result<BTreeMap<BString, Option<Leaf>>> {
        let path = match environment::variable("GIT_INDEX_FILE").filter(|_| self.honours_environment) {
            // Git names it relative to the directory that hooks run in: the root of the worktree.
            Some(name) => self.worktree_root().join(name.to_path_lossy()),
            None => self.inner.index_path(),
        };
        let mut leaves: BTreeMap<BString, Option<Leaf>> = paths.iter().map(|path| (path.clone(), None)).collect();
        if !path.exists() {
            return Ok(leaves);
        }
        let what = || format!("cannot read the index '{}'", path.display());
        let bytes = std::fs::read(&path).context(Kind::Corrupt, what)?;
        if let Some(tree_id) = cached_tree(&bytes, self.object_hash()).filter(|id| self.has_object(*id)) {
            for (path, leaf) in &mut leaves {
                *leaf = self.find_leaf(tree_id, path.as_bstr())?;
            }
            return Ok(leaves);
        }
        let options = gix::index::decode::Options::default();
        let index = File::at(&path, self.object_hash(), true, options).context(Kind::Corrupt, what)?;
        for (path, leaf) in &mut leaves {
            let Some(entry) = index.entry_by_path_and_stage(path.as_bstr(), Stage::Unconflicted) else { continue };
            if !entry.flags.contains(Flags::INTENT_TO_ADD) {
                *leaf = Mode::from_bits(entry.mode.bits()).map(|mode| Leaf { id: entry.id, mode });
            }
        }
        Ok(leaves)
    }
}

/// Returns the tree of an index that begins with `bytes`, if git has noted it there: `git commit` does before it runs hooks.
///
/// To decode all entries of a large index takes longer than the rest of a hook; this only steps over them. None as well for
/// what is rare: version 4, which compresses paths, a split index, and one that is sparse. The format is that of
/// gitformat-index(5).
fn cached_tree(bytes: &[u8], hash: gix::hash::Kind) -> Option<ObjectId> {
    let number = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    if bytes.get(..4)? != b"DIRC" || ![2, 3].contains(&number(4)?) {
        return None;
    }
    // Times, device, inode, mode, owner and size come before the id, the flags after it.
    let (before, id_length) = (40, hash.len_in_bytes());
    let mut at = 12;
    for _ in 0..number(8)? {
        let flags_at = at + before + id_length;
        let flags = bytes.get(flags_at..flags_at + 2)?;
        let is_extended = flags[0] & 0x40 != 0;
        let path_at = flags_at + if is_extended { 4 } else { 2 };
        let length = match (usize::from(flags[0] & 0x0f) << 8) | usize::from(flags[1]) {
            0xfff => bytes.get(path_at..)?.find_byte(0)?,
            length => length,
        };
        // One to eight NULs make the entry's length a multiple of eight.
        at += (path_at - at + length + 8) & !7;
    }
    let end = bytes.len().checked_sub(id_length)?;
    let mut tree_id = None;
    while at < end {
        let (name, size) = (bytes.get(at..at + 4)?, usize::try_from(number(at + 4)?).ok()?);
        let body = bytes.get(at + 8..(at + 8).checked_add(size)?)?;
        match name {
            b"TREE" => tree_id = root_of(body, id_length),
            b"link" | b"sdir" => return None,
            _ => {}
        }
        at += 8 + size;
    }
    tree_id.filter(|_| at == end)
}

/// Returns the root that the extension `TREE` has; none if something has changed below it since it was noted.
fn root_of(body: &[u8], id_length: usize) -> Option<ObjectId> {
    let counts = body.strip_prefix(b"\0")?;
    let line_end = counts.find_byte(b'\n')?;
    (counts[0] != b'-').then_some(())?;
    ObjectId::try_from(counts.get(line_end + 1..line_end + 1 + id_length)?).ok()
}
