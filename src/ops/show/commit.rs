//! Shows a commit that is no checkpoint.

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;
use serde::{Serialize, Serializer, ser::SerializeMap as _};

use crate::{
    error::{Kind, Result},
    git::Repo,
    model::{change::Change, moment, path_text, record::RecordId},
    ops::{notes::ShownNote, records::Log},
};

/// A commit that is no checkpoint.
#[derive(Clone, Debug)]
pub struct ShownCommit {
    /// Its id.
    pub id: ObjectId,
    /// Its first parent.
    pub parent: Option<ObjectId>,
    /// Its tree.
    pub tree: ObjectId,
    /// Its author, as `name <address>`.
    pub author: String,
    /// When it was written, in Unix seconds, and how many seconds the author's clock was ahead of UTC.
    pub time: (i64, i32),
    /// The first line of its message.
    pub subject: String,
    /// The rest of its message.
    pub body: String,
    /// Its changes from its first parent, with renames.
    pub changes: Vec<Change>,
    /// The notes on it and its records.
    pub notes: Vec<ShownNote>,
    /// Its records that are here.
    pub records: Vec<ShownRecord>,
}

/// A record of a commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShownRecord {
    /// Its name.
    pub id: RecordId,
    /// The remote that it was fetched from; none if this clone has made it.
    pub remote: Option<String>,
}

/// Reads the commit `id`, which has the `notes`.
pub(super) fn read(repo: &Repo, id: ObjectId, notes: Vec<ShownNote>) -> Result<ShownCommit> {
    let (parent, author, time, message) = repo.with_commit(id, |commit| {
        let author = commit.author().ok();
        let time = author.and_then(|author| author.time().ok());
        let author = author.map(|author| format!("{} <{}>", author.name.to_str_lossy(), author.email.to_str_lossy()));
        let time = time.map(|time| (time.seconds, time.offset));
        (commit.parents().next(), author.unwrap_or_default(), time.unwrap_or_default(), commit.message.to_owned())
    })?;
    let message = message.to_str_lossy();
    let (subject, body) = message.trim_start().split_once('\n').unwrap_or((message.trim(), ""));
    let tree = repo.tree_of_commit(id)?;
    // A shallow clone has no parents of its oldest commits; git shows those as if they had none.
    let parent = parent.filter(|parent| repo.has_object(*parent) || !repo.is_shallow());
    let before = parent.map_or_else(|| Ok(repo.empty_tree_id()), |parent| repo.tree_of_commit(parent))?;
    let changes = repo.detect_renames(repo.diff_trees(before, tree)?)?;
    let (subject, body) = (subject.trim_end().to_owned(), body.trim().to_owned());
    let records = match records(repo, id) {
        // The commit can be shown without them; 'doctor' names what is damaged.
        Err(error) if error.kind() == Kind::Corrupt => Vec::new(),
        records => records?,
    };
    Ok(ShownCommit { id, parent, tree, author, time, subject, body, changes, notes, records })
}

/// Returns the records of `commit` that are here.
fn records(repo: &Repo, commit: ObjectId) -> Result<Vec<ShownRecord>> {
    let Some(log) = Log::open(repo)? else { return Ok(Vec::new()) };
    let mut records = Vec::new();
    for id in log.of_commit(commit)? {
        if log.has(&id)? {
            records.push(ShownRecord { id, remote: log.remote_of(&id)? });
        }
    }
    Ok(records)
}

impl Serialize for ShownCommit {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("version", &1)?;
        map.serialize_entry("id", &self.id.to_string())?;
        map.serialize_entry("parent", &self.parent.map(|id| id.to_string()))?;
        map.serialize_entry("tree", &self.tree.to_string())?;
        map.serialize_entry("author", &self.author)?;
        map.serialize_entry("subject", &self.subject)?;
        map.serialize_entry("time", &moment::iso(self.time.0, self.time.1))?;
        map.serialize_entry("body", &self.body)?;
        map.serialize_entry("records", &self.records)?;
        map.serialize_entry("notes", &self.notes)?;
        map.serialize_entry("paths", &self.changes.iter().map(changed).collect::<Vec<_>>())?;
        map.end()
    }
}

/// A path in JSON: as text, and in base64 if that is not all of it.
pub(super) fn named(path: &BString) -> serde_json::Map<String, serde_json::Value> {
    let mut map = serde_json::Map::new();
    map.insert("path".into(), path_text::escape(path.as_bstr()).into());
    if let Some(raw) = path_text::raw(path.as_bstr()) {
        map.insert("path_raw".into(), raw.into());
    }
    map
}

pub(super) fn changed(change: &Change) -> serde_json::Value {
    let mut map = named(&change.path);
    map.insert("status".into(), change.status.letter().to_string().into());
    if let Some(old_path) = &change.old_path {
        map.insert("old_path".into(), path_text::escape(old_path.as_bstr()).into());
    }
    map.into()
}
