//! Records in `refs/checkpoints/history`: finds them, and appends to them.
//!
//! The layout is that of gitcheckpoint-format(5): sharded trees, so that finding and appending cost the same however many
//! records there are, and commits whose parents are commits of the log only, so that it leads to no code.

mod append;
mod change;
mod transcript;

use std::{cell::RefCell, collections::HashMap};

use bstr::{BStr, ByteSlice as _};
use gix::ObjectId;

use crate::{
    error::{Context as _, Error, Kind, Result},
    git::{Repo, commit::NewCommit, new_objects::NewObjects},
    model::{
        copied::{Copied, Written, is_copied},
        record::{self, Chunk, Link, Prompt, Record, RecordId},
        refname,
    },
};

pub use append::append;
pub(crate) use append::lock;
pub(crate) use change::SameChange;

/// The size limit for text files of a record. We never write larger ones.
const LARGEST: u64 = 256 << 20;

/// What [`append()`] adds.
#[derive(Clone, Debug, Default)]
pub struct Additions {
    /// New records, and new revisions of old ones.
    pub records: Vec<NewRecord>,
    /// Commits that have a record.
    pub links: Vec<Link>,
}

/// A record, with the data stored beside it.
#[derive(Clone, Debug)]
pub struct NewRecord {
    /// The record; its chunks are those that are stored already.
    pub record: Record,
    /// The attribution; empty: the stored one stays.
    pub attribution: Vec<u8>,
    /// The data of each of its sessions, in the same order.
    pub sessions: Vec<NewSession>,
}

/// The data to store of a session, before redaction.
#[derive(Clone, Debug, Default)]
pub struct NewSession {
    /// The prompts of the turns that are in the commit; none: the stored ones stay.
    pub prompts: Vec<Prompt>,
    /// The part of the transcript after what is already stored.
    pub transcript: Option<Vec<u8>>,
}

/// Creates a commit of the log. Its only parent is `parent`, the log's previous commit.
fn commit(
    repo: &Repo,
    tree_id: ObjectId,
    parent: Option<ObjectId>,
    subject: &str,
    objects: &mut NewObjects<'_>,
) -> Result<ObjectId> {
    let (author, committer, time) = (repo.identity(), repo.identity(), repo.now());
    let parents = parent.into_iter().collect();
    Repo::write_commit(&NewCommit { tree_id, parents, author, committer, time, message: subject }, objects)
}

/// Returns the record `id`.
///
/// # Errors
/// If the stored record is damaged, or of an unknown version.
pub fn find(repo: &Repo, id: &RecordId) -> Result<Option<Record>> {
    match Log::open(repo)? {
        Some(log) => log.find(id),
        None => Ok(None),
    }
}

/// Returns the attribution of the record `id` as it is stored.
pub fn attribution(repo: &Repo, id: &RecordId) -> Result<Option<Vec<u8>>> {
    let Some(log) = Log::open(repo)? else { return Ok(None) };
    log.read(&format!("{}/attribution", folder(id)))
}

/// Returns the records of `commit`: those that its message names, then those that are linked to it; no doubles.
pub fn of_commit(repo: &Repo, commit: ObjectId) -> Result<Vec<RecordId>> {
    match Log::open(repo)? {
        Some(log) => log.of_commit(commit),
        None => Ok(Vec::new()),
    }
}

/// Returns the records of `commit`, or of commits that make the same change, as [`Log::of_commit_or_change`] does.
pub(crate) fn of_commit_or_change(repo: &Repo, commit: ObjectId) -> Result<Vec<RecordId>> {
    match Log::open(repo)? {
        Some(log) => log.of_commit_or_change(commit),
        None => Ok(Vec::new()),
    }
}

/// Returns the records that the message of `commit` names.
pub(crate) fn named_by(repo: &Repo, commit: ObjectId) -> Result<Vec<RecordId>> {
    match Log::open(repo)? {
        Some(log) => log.named_by(commit),
        None => Ok(Vec::new()),
    }
}

/// Returns the records of commits whose first parent is `parent`; the null id means a root commit.
pub fn of_parent(repo: &Repo, parent: ObjectId) -> Result<Vec<RecordId>> {
    match Log::open(repo)? {
        Some(log) => log.index(PARENTS, parent),
        None => Ok(Vec::new()),
    }
}

/// Returns the bytes of a transcript chunk; none if this repository does not have them.
pub fn transcript(repo: &Repo, chunk: &Chunk) -> Result<Option<Vec<u8>>> {
    if repo.has_object(chunk.id) { repo.read_blob(chunk.id).map(Some) } else { Ok(None) }
}

/// Returns true if `commit` was made before the commit of `record`.
pub(crate) fn is_older(repo: &Repo, commit: ObjectId, record: &Record) -> Result<bool> {
    let seconds = repo.with_commit(commit, |commit| commit.committer().map_or(i64::MIN, |who| who.seconds()))?;
    Ok(seconds < record.seconds)
}

/// Returns whether `commit`, which makes the same change as the commit of `record`, is a copy of it.
pub(crate) fn copied(repo: &Repo, commit: ObjectId, record: &Record) -> Result<Copied> {
    let written = |id: ObjectId| {
        repo.with_commit(id, |commit| Written {
            authored: commit.author().map_or(i64::MIN, |who| who.seconds()),
            committed: commit.committer().map_or(i64::MIN, |who| who.seconds()),
            subject: commit.message.lines().next().unwrap_or_default().into(),
        })
    };
    let original = if repo.is_commit(record.commit)? { Some(written(record.commit)?) } else { None };
    Ok(is_copied(&written(commit)?, record.seconds, original.as_ref()))
}

/// The index by commit.
const COMMITS: &str = "commits";
/// The index by first parent.
const PARENTS: &str = "parents";
/// The index by what a commit changes.
const CHANGES: &str = "changes";

/// The log as it is at one moment.
pub(crate) struct Log<'r> {
    repo: &'r Repo,
    tree_id: ObjectId,
    /// The trees of the indices that were read.
    indices: RefCell<HashMap<&'static str, Option<ObjectId>>>,
}

impl<'r> Log<'r> {
    /// Opens the current log; none if there is no record yet.
    pub(crate) fn open(repo: &'r Repo) -> Result<Option<Self>> {
        let Some(tip) = repo.find_sound_ref(refname::HISTORY)? else { return Ok(None) };
        let tree_id = root_tree(repo, tip).map_err(|cause| {
            Error::new(cause.kind(), format!("the records in '{}' cannot be read", refname::HISTORY)).with_cause(cause)
        })?;
        Ok(Some(Self::at(repo, tree_id)))
    }

    /// Returns the log as it was when its tree was `tree_id`.
    pub(crate) fn at(repo: &'r Repo, tree_id: ObjectId) -> Self {
        Self { repo, tree_id, indices: RefCell::default() }
    }

    fn entry(&self, path: &str) -> Result<Option<(u32, ObjectId)>> {
        self.repo.find_entry(self.tree_id, path.into())
    }

    fn read(&self, path: &str) -> Result<Option<Vec<u8>>> {
        self.read_entry(self.entry(path)?, path)
    }

    fn read_entry(&self, entry: Option<(u32, ObjectId)>, path: &str) -> Result<Option<Vec<u8>>> {
        match entry {
            Some((0o100_644, id)) => {
                if self.repo.object_size(id)?.is_some_and(|size| size > LARGEST) {
                    return Err(damaged(path, "it is too large"));
                }
                self.repo.read_blob(id).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Returns false if no record can name the blob `id`, because it is newer than the last record.
    pub(crate) fn may_name(&self, id: ObjectId) -> bool {
        self.repo.may_be_older(id, self.tree_id)
    }

    /// Returns true if the log has the record `id`, damaged or not.
    pub(crate) fn has(&self, id: &RecordId) -> Result<bool> {
        Ok(self.entry(&format!("{}/record.toml", folder(id)))?.is_some())
    }

    /// Returns the record `id`.
    pub(crate) fn find(&self, id: &RecordId) -> Result<Option<Record>> {
        let path = format!("{}/record.toml", folder(id));
        let Some(text) = self.read(&path)? else { return Ok(None) };
        let mut record = Record::from_toml(&text).map_err(|why| damaged(&path, &why))?;
        if record.id != *id {
            return Err(damaged(&path, "it is another record"));
        }
        for (index, part) in record.sessions.iter_mut().enumerate() {
            let path = format!("{}/sessions/{index}/session.toml", folder(id));
            if let Some(text) = self.read(&path)? {
                part.chunks = Chunk::list_from_toml(&text).map_err(|why| damaged(&path, &why))?;
            }
        }
        Ok(Some(record))
    }

    /// Returns the prompts of the session at `index` of the record `id`.
    pub(crate) fn prompts(&self, id: &RecordId, index: usize) -> Result<Vec<Prompt>> {
        let path = format!("{}/sessions/{index}/prompts.toml", folder(id));
        let Some(text) = self.read(&path)? else { return Ok(Vec::new()) };
        Prompt::list_from_toml(&text).map_err(|why| damaged(&path, &why))
    }

    /// Returns the attribution of the record `id` as it is stored.
    pub(crate) fn attribution(&self, id: &RecordId) -> Result<Option<Vec<u8>>> {
        self.read(&format!("{}/attribution", folder(id)))
    }

    fn index_tree(&self, index: &'static str) -> Result<Option<ObjectId>> {
        if let Some(known) = self.indices.borrow().get(index) {
            return Ok(*known);
        }
        let tree_id = self.entry(index)?.and_then(|(mode, id)| (mode == 0o40_000).then_some(id));
        self.indices.borrow_mut().insert(index, tree_id);
        Ok(tree_id)
    }

    fn index(&self, index: &'static str, key: ObjectId) -> Result<Vec<RecordId>> {
        let Some(tree_id) = self.index_tree(index)? else { return Ok(Vec::new()) };
        let path = index_path(index, key);
        let entry = self.repo.find_entry(tree_id, path[index.len() + 1..].into())?;
        let text = self.read_entry(entry, &path)?.unwrap_or_default();
        Ok(text.lines().filter_map(|line| RecordId::parse(line.to_str().ok()?)).collect())
    }

    /// Returns the records of `commit`, as [`of_commit`] does.
    pub(crate) fn of_commit(&self, commit: ObjectId) -> Result<Vec<RecordId>> {
        let mut ids = self.named_by(commit)?;
        let linked = self.index(COMMITS, commit)?;
        ids.extend(linked.into_iter().filter(|id| !ids.contains(id)).collect::<Vec<_>>());
        Ok(ids)
    }

    /// Returns the records of `commit`; if there are none, those of commits that make the same change: it has been rewritten,
    /// and nothing links it to the original.
    pub(crate) fn of_commit_or_change(&self, commit: ObjectId) -> Result<Vec<RecordId>> {
        let ids = self.of_commit(commit)?;
        if ids.is_empty() { Ok(self.of_change(commit)?.copied) } else { Ok(ids) }
    }

    /// Returns the records that the message of `commit` names; none if this repository does not have the commit.
    pub(crate) fn named_by(&self, commit: ObjectId) -> Result<Vec<RecordId>> {
        let mut ids = Vec::new();
        if self.repo.is_commit(commit)? {
            for id in self.repo.with_commit(commit, |commit| record::ids_in_message(commit.message))? {
                if self.has(&id)? {
                    ids.push(id);
                }
            }
        }
        Ok(ids)
    }

    /// Returns the records that are linked to `commit`.
    pub(crate) fn linked_to(&self, commit: ObjectId) -> Result<Vec<RecordId>> {
        self.index(COMMITS, commit)
    }

    /// Returns the commits of the record `id`, by their ids.
    pub(crate) fn links(&self, id: &RecordId) -> Result<Vec<Link>> {
        let path = format!("{}/links", folder(id));
        let Some((0o40_000, tree_id)) = self.entry(&path)? else { return Ok(Vec::new()) };
        let mut links = Vec::new();
        for (name, is_tree, blob_id) in self.repo.tree_entries(tree_id)? {
            let Ok(commit) = ObjectId::from_hex(&name) else { continue };
            if !is_tree {
                let text = self.repo.read_blob(blob_id)?;
                links
                    .push(Link::from_toml(*id, commit, &text).map_err(|why| damaged(&format!("{path}/{name}"), &why))?);
            }
        }
        Ok(links)
    }

    /// Returns the ids of all records, sorted.
    pub(crate) fn all(&self) -> Result<Vec<RecordId>> {
        let mut ids = Vec::new();
        for (shard, is_tree, tree_id) in self.repo.tree_entries(self.tree_id)? {
            if !is_tree || shard.len() != 2 {
                continue;
            }
            let entries = self.repo.tree_entries(tree_id)?.into_iter().filter(|(_, is_tree, _)| *is_tree);
            ids.extend(entries.filter_map(|(rest, _, _)| parse_id(shard.as_bstr(), rest.as_bstr())));
        }
        Ok(ids)
    }
}

/// Returns the tree of `commit`, a commit of the log, if both can be read.
pub(crate) fn root_tree(repo: &Repo, commit: ObjectId) -> Result<ObjectId> {
    let tree_id = repo.tree_of_commit(commit)?;
    repo.find_entry(tree_id, ".".into())?;
    Ok(tree_id)
}

/// Returns true if `commit` can be read and is a commit of the log, as far as its message and its tree show.
pub(crate) fn is_of_log(repo: &Repo, commit: ObjectId) -> bool {
    let is_ours = repo.with_commit(commit, |commit| {
        let mut lines = commit.message.lines();
        let words = [" added or completed, ".as_bytes(), b" linked"];
        lines.next().is_some_and(|line| words.iter().all(|word| line.contains_str(word))) && lines.next().is_none()
    });
    let tree_id = if is_ours.unwrap_or(false) { root_tree(repo, commit).ok() } else { None };
    tree_id.is_some_and(|tree_id| repo.find_entry(tree_id, COMMITS.into()).is_ok_and(|entry| entry.is_some()))
}

fn parse_id(shard: &BStr, rest: &BStr) -> Option<RecordId> {
    RecordId::parse(&format!("{}{}", shard.to_str().ok()?, rest.to_str().ok()?))
}

/// Returns the directory of the record `id` in the log.
fn folder(id: &RecordId) -> String {
    let (shard, rest) = id.as_str().split_at(2);
    format!("{shard}/{rest}")
}

fn index_path(index: &str, key: ObjectId) -> String {
    let hex = key.to_string();
    let (shard, rest) = hex.split_at(2);
    format!("{index}/{shard}/{rest}")
}

fn damaged(path: &str, why: &str) -> Error {
    let outcome: std::result::Result<(), String> = Err(why.to_owned());
    let error = outcome.context(Kind::Corrupt, || format!("'{path}' of '{}' is damaged", refname::HISTORY));
    error.expect_err("it was one").with_hint("'git checkpoint doctor' names the damaged records")
}
