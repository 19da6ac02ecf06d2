//! The tree of the user's index, as git-write-tree(1) makes it, without writing the index.

use bstr::{BStr, ByteSlice as _};
use gix::{
    ObjectId,
    index::{
        State,
        entry::{Flags, Mode as IndexMode, Stage},
        extension::Tree as CachedTree,
    },
    objs::{
        Kind as ObjectKind, Tree, WriteTo as _,
        tree::{Entry, EntryMode},
    },
};

use super::new_objects::NewObjects;
use crate::{
    error::{Context as _, Error, Kind, Result},
    model::change::Mode,
};

const DIRECTORY: u32 = 0o40_000;

/// Returns the tree of `index` without its unmerged and intent-to-add entries, and adds missing trees to `objects`.
///
/// Trees that git caches in the index are reused, unless they have been collected since.
pub(crate) fn tree_of_index(index: &State, objects: &mut NewObjects<'_>) -> Result<ObjectId> {
    let range = 0..index.entries().len();
    Ok(build(index, range, 0, index.tree(), objects)?.unwrap_or_else(|| ObjectId::empty_tree(index.object_hash())))
}

/// Returns the tree of the entries in `range`, whose paths share the first `prefix` bytes; none if it is empty.
fn build(
    index: &State,
    range: std::ops::Range<usize>,
    prefix: usize,
    cached: Option<&CachedTree>,
    objects: &mut NewObjects<'_>,
) -> Result<Option<ObjectId>> {
    // A tree that is here may lead to one that is missing: if something is damaged, we write all trees again.
    if let Some(cached) = cached
        && !objects.repo().distrusts_objects()
        && cached.num_entries.is_some_and(|count| count as usize == range.len())
        && objects.has(cached.id)
    {
        return Ok(Some(cached.id));
    }
    let mut entries = Vec::new();
    let mut at = range.start;
    while at < range.end {
        let entry = &index.entries()[at];
        let rest = &entry.path(index)[prefix..];
        let is_sparse_directory = entry.mode == IndexMode::DIR;
        if let Some(slash) = rest.find_byte(b'/').filter(|_| !is_sparse_directory) {
            let name = rest[..slash].as_bstr();
            let directory = &entry.path(index)[..=prefix + slash];
            let length =
                index.entries()[at..range.end].partition_point(|other| other.path(index).starts_with(directory));
            let child =
                cached.and_then(|cached| cached.children.iter().find(|child| child.name.as_slice() == name.as_bytes()));
            if let Some(id) = build(index, at..at + length, prefix + slash + 1, child, objects)? {
                entries.push(tree_entry(DIRECTORY, name, id)?);
            }
            at += length;
            continue;
        }
        let is_in_tree = entry.stage() == Stage::Unconflicted && !entry.flags.contains(Flags::INTENT_TO_ADD);
        if is_in_tree && !entry.flags.contains(Flags::REMOVE) {
            entries.push(tree_entry(entry.mode.bits(), rest.trim_end_with(|c| c == '/').as_bstr(), entry.id)?);
        }
        at += 1;
    }
    if entries.is_empty() {
        return Ok(None);
    }
    entries.sort();
    write_tree(&Tree { entries }, objects).map(Some)
}

fn tree_entry(mode: u32, name: &BStr, oid: ObjectId) -> Result<Entry> {
    let damaged = || Error::corrupt(format!("the index holds '{name}' with the mode {mode:o}, which no tree can have"));
    let known = if mode == DIRECTORY { Some(mode) } else { Mode::from_bits(mode).map(Mode::bits) };
    let mode = known.and_then(|mode| EntryMode::try_from(mode).ok()).ok_or_else(damaged)?;
    Ok(Entry { mode, filename: name.to_owned(), oid })
}

/// Adds `tree` to `objects` and returns its id.
pub(crate) fn write_tree(tree: &Tree, objects: &mut NewObjects<'_>) -> Result<ObjectId> {
    let mut buffer = Vec::with_capacity(tree.size().try_into().unwrap_or(0));
    tree.write_to(&mut buffer).context(Kind::Internal, || "cannot encode a tree".into())?;
    objects.add(ObjectKind::Tree, &buffer)
}
