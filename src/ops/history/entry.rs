//! What a list is made of.

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;
use serde::{Serialize, Serializer, ser::SerializeMap as _};

use crate::{
    model::{checkpoint::Checkpoint, moment, path_text},
    ops::restored_target::shown,
};

/// A checkpoint in a list. Serializes to the line of `list --json`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Entry {
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// The `n` of `@{n}`, which names it; none if it is `undone`, or if those of all worktrees are listed.
    pub number: Option<usize>,
    /// What it is called for people: its message, or what a restore has put back.
    pub called: String,
    /// The checkpoint, or another commit, that a restore put back, if that is what it holds.
    pub restored: Option<ObjectId>,
    /// The commits of HEAD's history that came after its base and are not above an earlier entry, newest first, if asked for.
    pub commits: Vec<Commit>,
    /// The paths it changed, if they were asked for.
    pub paths: Option<Vec<BString>>,
    /// The tags that name it.
    pub tags: Vec<String>,
    /// Its note: one that `note` has written, or else that of its message.
    pub note: Option<String>,
    /// True if it is the verified one of its worktree.
    pub verified: bool,
    /// True if nothing is marked as verified, and it is the start: the state before the first change of an agent.
    pub start: bool,
    /// True if its shadow was set aside.
    pub archived: bool,
    /// True if its shadow was set aside while HEAD was where it is now: by a reset or `op restore`, not by a commit.
    pub is_set_aside: bool,
    /// True if an undo took it off its shadow.
    pub undone: bool,
    /// How many earlier checkpoints this entry represents as well: those of the same turn, or the one before a restore.
    pub folded: usize,
    /// The commit before it, or before the first one of its turn that this entry represents: the difference is what its contributor
    /// did.
    pub before: ObjectId,
}

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Its id.
    pub id: ObjectId,
    /// The first line of its message.
    pub subject: String,
}

impl Serialize for Entry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("version", &1)?;
        serialize_checkpoint(&self.checkpoint, &mut map)?;
        let paths: Vec<String> = self.paths.iter().flatten().map(|path| path_text::escape(path.as_bstr())).collect();
        map.serialize_entry("paths", &paths)?;
        map.serialize_entry("tags", &self.tags)?;
        map.serialize_entry("note", &self.note)?;
        map.serialize_entry("verified", &self.verified)?;
        map.serialize_entry("start", &self.start)?;
        map.serialize_entry("archived", &self.archived)?;
        map.serialize_entry("undone", &self.undone)?;
        map.serialize_entry("folded", &self.folded)?;
        map.serialize_entry("number", &self.number)?;
        map.serialize_entry("restored", &self.restored.as_ref().map(ToString::to_string))?;
        map.end()
    }
}

/// The fields that `list --json` and `show --json` share.
pub(in crate::ops) fn serialize_checkpoint<M: serde::ser::SerializeMap>(
    checkpoint: &Checkpoint,
    map: &mut M,
) -> Result<(), M::Error> {
    let origin = shown(&checkpoint.origin);
    map.serialize_entry("id", &checkpoint.id.to_string())?;
    map.serialize_entry("parent", &checkpoint.parent_id.to_string())?;
    if let Some(after) = checkpoint.after {
        map.serialize_entry("after", &after.to_string())?;
    }
    map.serialize_entry("tree", &checkpoint.tree_id.to_string())?;
    map.serialize_entry("base", &checkpoint.base)?;
    map.serialize_entry("worktree", &path_text::escape(checkpoint.worktree.as_bstr()))?;
    map.serialize_entry("session", &origin.session)?;
    map.serialize_entry("agent", &origin.agent)?;
    map.serialize_entry("model", &origin.model)?;
    map.serialize_entry("contributor", &origin.contributor)?;
    map.serialize_entry("turn", &origin.turn)?;
    map.serialize_entry("tool", &origin.tool)?;
    map.serialize_entry("subject", &checkpoint.subject)?;
    map.serialize_entry("time", &moment::iso(checkpoint.seconds, checkpoint.offset))
}
