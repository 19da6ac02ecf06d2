//! Shows one checkpoint with all that is known of it.

use bstr::{BString, ByteSlice as _};
use serde::{Serialize, Serializer, ser::SerializeMap as _};

use super::{
    Context,
    chain::{self, timeline},
    history, lookup,
    salvage::if_readable,
};
use crate::{
    error::Result,
    git::side::Side,
    model::{
        change::Change,
        checkpoint::Checkpoint,
        manifest::{Manifest, Nested, Skipped, Unfiltered},
        path_text,
    },
};

/// A checkpoint with all that is known of it. Serializes to what `show --json` prints.
#[derive(Clone, Debug)]
pub struct Shown {
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// Its changes from the checkpoint (or base) before it, with renames.
    pub changes: Vec<Change>,
    /// Its side data: skipped paths, nested repositories, unmerged entries.
    pub manifest: Manifest,
    /// True if something was staged that HEAD did not have.
    pub has_staged_tree: bool,
    /// The tags that name it.
    pub tags: Vec<String>,
    /// True if it is the verified one of its worktree.
    pub verified: bool,
    /// True if it is the last one of a shadow in the archive.
    pub archived: bool,
    /// The unreadable parts of this checkpoint, which are missing here.
    pub broken: Vec<String>,
}

/// Returns the checkpoint that `text` names.
///
/// # Errors
/// As [`lookup::resolve`], and if `text` names a commit that is no checkpoint, as `base` does.
pub fn show(context: &Context, text: &str) -> Result<Shown> {
    let repo = &context.repo;
    let checkpoint = lookup::checkpoint(context, lookup::resolve(context, text)?)?;
    let mut broken = Vec::new();
    let changes = chain::changes(repo, &checkpoint).and_then(|changes| repo.detect_renames(changes));
    let changes = if_readable(changes, &mut broken)?.unwrap_or_default();
    let side = checkpoint.side_id.map_or_else(|| Ok(Side::default()), |id| repo.read_side(id));
    let side = if_readable(side, &mut broken)?.unwrap_or_default();
    let (tags, verified) = history::Marks::read(repo)?.of(checkpoint.id);
    let archived = timeline::archived_tips(repo, None)?.iter().any(|tip| tip.id == checkpoint.id);
    let (manifest, has_staged_tree) = (side.manifest, side.index_tree_id.is_some());
    Ok(Shown { checkpoint, changes, manifest, has_staged_tree, tags, verified, archived, broken })
}

impl Serialize for Shown {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let (checkpoint, manifest) = (&self.checkpoint, &self.manifest);
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("version", &1)?;
        history::serialize_checkpoint(checkpoint, &mut map)?;
        map.serialize_entry("body", &checkpoint.body)?;
        map.serialize_entry("note", &checkpoint.origin.note)?;
        map.serialize_entry("paths", &self.changes.iter().map(changed).collect::<Vec<_>>())?;
        map.serialize_entry("staged", &self.has_staged_tree)?;
        map.serialize_entry("skipped", &manifest.skipped.iter().map(skipped).collect::<Vec<_>>())?;
        let unfiltered: Vec<_> = manifest.unfiltered.iter().map(unfiltered).collect();
        map.serialize_entry("unfiltered", &unfiltered)?;
        map.serialize_entry("nested", &manifest.nested.iter().map(nested).collect::<Vec<_>>())?;
        let mut unmerged: Vec<&BString> = manifest.unmerged.iter().map(|entry| &entry.path).collect();
        unmerged.dedup();
        map.serialize_entry("unmerged", &unmerged.into_iter().map(only).collect::<Vec<_>>())?;
        let empty: Vec<_> = manifest.empty_directories.iter().map(only).collect();
        map.serialize_entry("empty_directories", &empty)?;
        map.serialize_entry("tags", &self.tags)?;
        map.serialize_entry("verified", &self.verified)?;
        map.serialize_entry("archived", &self.archived)?;
        map.serialize_entry("lost", &manifest.lost)?;
        map.serialize_entry("broken", &self.broken)?;
        map.end()
    }
}

/// A path in JSON: as text, and in base64 if that is not all of it.
fn named(path: &BString) -> serde_json::Map<String, serde_json::Value> {
    let mut map = serde_json::Map::new();
    map.insert("path".into(), path_text::escape(path.as_bstr()).into());
    if let Some(raw) = path_text::raw(path.as_bstr()) {
        map.insert("path_raw".into(), raw.into());
    }
    map
}

fn only(path: &BString) -> serde_json::Value {
    named(path).into()
}

fn changed(change: &Change) -> serde_json::Value {
    let mut map = named(&change.path);
    map.insert("status".into(), change.status.letter().to_string().into());
    if let Some(old_path) = &change.old_path {
        map.insert("old_path".into(), path_text::escape(old_path.as_bstr()).into());
    }
    map.into()
}

fn skipped(skipped: &Skipped) -> serde_json::Value {
    let mut map = named(&skipped.path);
    map.insert("reason".into(), skipped.reason.as_str().into());
    map.insert("size".into(), skipped.size.into());
    map.into()
}

fn unfiltered(file: &Unfiltered) -> serde_json::Value {
    let mut map = named(&file.path);
    map.insert("filter".into(), file.filter.to_string().into());
    map.insert("reason".into(), file.reason.clone().into());
    map.into()
}

fn nested(nested: &Nested) -> serde_json::Value {
    let mut map = named(&nested.path);
    map.insert("head".into(), nested.head.map(|id| id.to_string()).into());
    map.insert("dirty".into(), nested.dirty.into());
    map.into()
}
