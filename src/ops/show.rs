//! Shows one checkpoint with all that is known of it, or another commit.

mod commit;

use std::collections::HashSet;

use bstr::BString;
use serde::{Serialize, Serializer, ser::SerializeMap as _};

use super::{
    Context,
    called::called,
    chain::{self, timeline},
    history::{self, Marked, Marks},
    lookup,
    notes::{Reader, ShownNote},
    salvage::if_readable,
};
use crate::{
    error::Result,
    git::{Repo, side::Side},
    model::{
        change::Change,
        checkpoint::Checkpoint,
        manifest::{Manifest, Nested, Skipped, Tied, Unfiltered},
    },
};

pub use self::commit::ShownCommit;

/// What a text names. Serializes to what `show --json` prints.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Shown {
    /// A checkpoint.
    Checkpoint(Box<ShownCheckpoint>),
    /// Another commit.
    Commit(Box<ShownCommit>),
}

/// A checkpoint with all that is known of it.
#[derive(Clone, Debug)]
pub struct ShownCheckpoint {
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// What it is called for people: its message, or what a restore has put back.
    pub called: String,
    /// Its changes from the checkpoint (or base) before it, with renames.
    pub changes: Vec<Change>,
    /// Its side data: skipped paths, nested repositories, unmerged entries.
    pub manifest: Manifest,
    /// True if something was staged that HEAD did not have.
    pub has_staged_tree: bool,
    /// The tags that name it.
    pub tags: Vec<String>,
    /// Its note.
    pub note: Option<ShownNote>,
    /// True if it is the verified one of this worktree.
    pub verified: bool,
    /// True if it is the start of this worktree, and none is verified.
    pub start: bool,
    /// True if it is the last one of a shadow in the archive.
    pub archived: bool,
    /// The unreadable parts of this checkpoint, which are missing here.
    pub broken: Vec<String>,
}

/// Returns the checkpoint, or the other commit, that `text` names.
///
/// # Errors
/// As [`lookup::resolve`], and if it cannot be read.
pub fn show(context: &Context, text: &str) -> Result<Shown> {
    let repo = &context.repo;
    let id = lookup::resolve(context, text)?;
    if repo.can_read(id) && repo.find_checkpoint(id).is_ok_and(|found| found.is_none()) {
        return commit::read(repo, id, Reader::new(repo)?.of_commit(id)?).map(|shown| Shown::Commit(Box::new(shown)));
    }
    show_checkpoint(repo, lookup::checkpoint(context, id)?).map(|shown| Shown::Checkpoint(Box::new(shown)))
}

fn show_checkpoint(repo: &Repo, checkpoint: Checkpoint) -> Result<ShownCheckpoint> {
    let mut broken = Vec::new();
    let changes = chain::changes(repo, &checkpoint).and_then(|changes| repo.detect_renames(changes));
    let changes = if_readable(changes, &mut broken)?.unwrap_or_default();
    let side = checkpoint.side_id.map_or_else(|| Ok(Side::default()), |id| repo.read_side(id));
    let side = if_readable(side, &mut broken)?.unwrap_or_default();
    let Marked { tags, verified, start } = Marks::read(repo, false)?.of(&checkpoint, &HashSet::new());
    let archived = timeline::archived_tips(repo, None)?.iter().any(|tip| tip.id == checkpoint.id);
    let (manifest, has_staged_tree) = (side.manifest, side.index_tree_id.is_some());
    let called = called(repo, &checkpoint);
    let note = Reader::new(repo)?.shown(&[checkpoint.id])?.into_iter().next();
    Ok(ShownCheckpoint {
        checkpoint,
        called,
        changes,
        manifest,
        has_staged_tree,
        tags,
        note,
        verified,
        start,
        archived,
        broken,
    })
}

impl Serialize for ShownCheckpoint {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let (checkpoint, manifest) = (&self.checkpoint, &self.manifest);
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("version", &1)?;
        history::serialize_checkpoint(checkpoint, &mut map)?;
        map.serialize_entry("body", &checkpoint.body)?;
        let note = self.note.as_ref();
        map.serialize_entry("note", &note.map(|it| &it.note).or(checkpoint.origin.note.as_ref()))?;
        map.serialize_entry("note_author", &note.and_then(|it| it.written.author.as_ref()))?;
        map.serialize_entry("note_time", &note.and_then(|it| it.written.time.as_ref()))?;
        map.serialize_entry("paths", &self.changes.iter().map(commit::changed).collect::<Vec<_>>())?;
        map.serialize_entry("staged", &self.has_staged_tree)?;
        map.serialize_entry("skipped", &manifest.skipped.iter().map(skipped).collect::<Vec<_>>())?;
        let unfiltered: Vec<_> = manifest.unfiltered.iter().map(unfiltered).collect();
        map.serialize_entry("unfiltered", &unfiltered)?;
        map.serialize_entry("nested", &manifest.nested.iter().map(nested).collect::<Vec<_>>())?;
        map.serialize_entry("submodules", &manifest.submodules.iter().map(tied).collect::<Vec<_>>())?;
        let mut unmerged: Vec<&BString> = manifest.unmerged.iter().map(|entry| &entry.path).collect();
        unmerged.dedup();
        map.serialize_entry("unmerged", &unmerged.into_iter().map(only).collect::<Vec<_>>())?;
        let empty: Vec<_> = manifest.empty_directories.iter().map(only).collect();
        map.serialize_entry("empty_directories", &empty)?;
        map.serialize_entry("tags", &self.tags)?;
        map.serialize_entry("verified", &self.verified)?;
        map.serialize_entry("start", &self.start)?;
        map.serialize_entry("archived", &self.archived)?;
        map.serialize_entry("lost", &manifest.lost)?;
        map.serialize_entry("broken", &self.broken)?;
        map.end()
    }
}

fn only(path: &BString) -> serde_json::Value {
    commit::named(path).into()
}

fn skipped(skipped: &Skipped) -> serde_json::Value {
    let mut map = commit::named(&skipped.path);
    map.insert("reason".into(), skipped.reason.as_str().into());
    map.insert("size".into(), skipped.size.into());
    map.into()
}

fn unfiltered(file: &Unfiltered) -> serde_json::Value {
    let mut map = commit::named(&file.path);
    map.insert("filter".into(), file.filter.to_string().into());
    map.insert("reason".into(), file.reason.clone().into());
    map.into()
}

fn tied(tied: &Tied) -> serde_json::Value {
    let mut map = commit::named(&tied.path);
    map.insert("checkpoint".into(), tied.checkpoint.to_string().into());
    map.into()
}

fn nested(nested: &Nested) -> serde_json::Value {
    let mut map = commit::named(&nested.path);
    map.insert("head".into(), nested.head.map(|id| id.to_string()).into());
    map.insert("dirty".into(), nested.dirty.into());
    map.into()
}
