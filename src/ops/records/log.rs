//! The log of records, read: our own, and those that were fetched from remotes.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet, HashMap},
};

use bstr::{BStr, BString, ByteSlice as _};
use gix::ObjectId;

use crate::{
    error::{Context as _, Error, Kind, Result},
    git::Repo,
    model::{
        attribution::text::Attribution,
        record::{self, Chunk, JOINED, Link, Prompt, Record, RecordId},
        refname,
    },
};

/// The size limit for text files of a record. We never write larger ones.
const LARGEST: u64 = 256 << 20;

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
    match Log::open(repo)? {
        Some(log) => log.attribution(id),
        None => Ok(None),
    }
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

/// The index by commit.
pub(super) const COMMITS: &str = "commits";
/// The index by first parent.
pub(super) const PARENTS: &str = "parents";
/// The index by what a commit changes.
pub(super) const CHANGES: &str = "changes";

/// The log as it is at one moment: our own records, and those that were fetched from remotes. Of a record that several logs have, the
/// version of the first one counts, which is our own.
pub(crate) struct Log<'r> {
    pub(super) repo: &'r Repo,
    /// By the names of their refs, ours first.
    trees: Vec<(String, ObjectId)>,
    /// The trees of the logs that were fetched.
    fetched: Vec<ObjectId>,
    /// The trees of the indices that were read.
    indices: RefCell<HashMap<&'static str, Vec<ObjectId>>>,
}

/// Returns the logs of records that were fetched from remotes: the names of the refs, and what they point to.
pub(crate) fn fetched(repo: &Repo) -> Result<Vec<(String, ObjectId)>> {
    let mut refs = repo.refs_below(refname::FETCHED)?;
    refs.retain(|(name, _)| refname::is_fetched_history(name));
    Ok(refs)
}

/// Returns true if there are records here, our own or those of others.
pub(crate) fn are_here(repo: &Repo) -> Result<bool> {
    Ok(repo.find_sound_ref(refname::HISTORY)?.is_some() || !fetched(repo)?.is_empty())
}

impl<'r> Log<'r> {
    /// Opens the current log; none if there is no record yet.
    pub(crate) fn open(repo: &'r Repo) -> Result<Option<Self>> {
        let mut log = Self { repo, trees: Vec::new(), fetched: Vec::new(), indices: RefCell::default() };
        if let Some(tip) = repo.find_sound_ref(refname::HISTORY)? {
            let tree_id = root_tree(repo, tip).map_err(|cause| {
                Error::new(cause.kind(), format!("the records in '{}' cannot be read", refname::HISTORY))
                    .with_cause(cause)
            })?;
            log.trees.push((refname::HISTORY.to_owned(), tree_id));
        }
        for (name, tip) in fetched(repo)? {
            match root_tree(repo, tip) {
                Ok(tree_id) => {
                    log.fetched.push(tree_id);
                    if log.trees.iter().all(|(_, known)| *known != tree_id) {
                        log.trees.push((name, tree_id));
                    }
                }
                // It can be fetched again.
                Err(error) => tracing::warn!(name, %error, "records: a fetched log cannot be read"),
            }
        }
        Ok((!log.trees.is_empty()).then_some(log))
    }

    /// Returns the log as it was when its tree was `tree_id`.
    pub(crate) fn at(repo: &'r Repo, tree_id: ObjectId) -> Self {
        let trees = vec![(refname::HISTORY.to_owned(), tree_id)];
        Self { repo, trees, fetched: Vec::new(), indices: RefCell::default() }
    }

    /// Returns the first entry at `path`.
    pub(super) fn entry(&self, path: &str) -> Result<Option<(u32, ObjectId)>> {
        for (_, tree_id) in &self.trees {
            if let Some(found) = self.repo.find_entry(*tree_id, path.into())? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Returns the log with the version of the record `id` that counts, alone; none if there is none.
    fn of_record(&self, id: &RecordId) -> Result<Option<Self>> {
        let path = format!("{}/record.toml", folder(id));
        for (name, tree_id) in &self.trees {
            if self.repo.find_entry(*tree_id, path.as_str().into())?.is_some() {
                return Ok(Some(Self { trees: vec![(name.clone(), *tree_id)], ..Self::at(self.repo, *tree_id) }));
            }
        }
        Ok(None)
    }

    /// Returns true if a log that was fetched has the record `id`.
    pub(crate) fn is_of_others(&self, id: &RecordId) -> Result<bool> {
        let path = format!("{}/record.toml", folder(id));
        for tree_id in &self.fetched {
            if self.repo.find_entry(*tree_id, path.as_str().into())?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns true if the log keeps several versions of the record `id`, which clones have made apart.
    pub(crate) fn has_others(&self, id: &RecordId) -> Result<bool> {
        Ok(self.entry(&format!("{}/others", folder(id)))?.is_some())
    }

    /// Returns the files of the record `id` by their paths, links excepted.
    pub(super) fn files(&self, id: &RecordId) -> Result<Vec<(BString, ObjectId)>> {
        let Some(log) = self.of_record(id)? else { return Ok(Vec::new()) };
        let (folder, tree_id) = (folder(id), log.trees[0].1);
        let mut files = Vec::new();
        for path in self.repo.leaves_below(tree_id, folder.as_str().into())? {
            let is_link = path[folder.len()..].starts_with(b"/links/");
            let leaf = self.repo.find_leaf(tree_id, path.as_bstr())?;
            files.extend(leaf.filter(|_| !is_link).map(|leaf| (path, leaf.id)));
        }
        Ok(files)
    }

    /// Returns the error that `path` is damaged.
    fn damaged(&self, path: &str, why: &str) -> Error {
        damaged(self.trees.first().map_or(refname::HISTORY, |(name, _)| name), path, why)
    }

    pub(super) fn read(&self, path: &str) -> Result<Option<Vec<u8>>> {
        self.read_entry(self.entry(path)?, path)
    }

    fn read_entry(&self, entry: Option<(u32, ObjectId)>, path: &str) -> Result<Option<Vec<u8>>> {
        match entry {
            Some((0o100_644, id)) => {
                if self.repo.object_size(id)?.is_some_and(|size| size > LARGEST) {
                    return Err(self.damaged(path, "it is too large"));
                }
                self.repo.read_blob(id).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Returns false if no record can name the blob `id`, because it is newer than the last record.
    pub(crate) fn may_name(&self, id: ObjectId) -> bool {
        self.trees.iter().any(|(_, tree_id)| self.repo.may_be_older(id, *tree_id))
    }

    /// Returns true if the log has the record `id`, damaged or not.
    pub(crate) fn has(&self, id: &RecordId) -> Result<bool> {
        Ok(self.entry(&format!("{}/record.toml", folder(id)))?.is_some())
    }

    /// Returns what was `read` in this log; as if it were not there, if it is damaged and not ours: others can mend it.
    fn if_readable<T: Default>(&self, read: Result<T>) -> Result<T> {
        match read {
            Err(error)
                if error.kind() == Kind::Corrupt && self.trees.iter().all(|(name, _)| name != refname::HISTORY) =>
            {
                tracing::warn!(%error, "records: a fetched log is damaged");
                Ok(T::default())
            }
            read => read,
        }
    }

    /// Returns the record `id`.
    pub(crate) fn find(&self, id: &RecordId) -> Result<Option<Record>> {
        match self.of_record(id)? {
            Some(log) => log.if_readable(log.read_record(id)),
            None => Ok(None),
        }
    }

    fn read_record(&self, id: &RecordId) -> Result<Option<Record>> {
        let (log, path) = (self, format!("{}/record.toml", folder(id)));
        let Some(text) = log.read(&path)? else { return Ok(None) };
        let mut record = Record::from_toml(&text).map_err(|why| log.damaged(&path, &why))?;
        if record.id != *id {
            return Err(log.damaged(&path, "it is another record"));
        }
        for (index, part) in record.sessions.iter_mut().enumerate() {
            let path = format!("{}/sessions/{index}/session.toml", folder(id));
            if let Some(text) = log.read(&path)? {
                part.chunks = Chunk::list_from_toml(&text).map_err(|why| log.damaged(&path, &why))?;
            }
        }
        Ok(Some(record))
    }

    /// Returns the prompts of the session at `index` of the record `id`.
    pub(crate) fn prompts(&self, id: &RecordId, index: usize) -> Result<Vec<Prompt>> {
        let path = format!("{}/sessions/{index}/prompts.toml", folder(id));
        let Some(log) = self.of_record(id)? else { return Ok(Vec::new()) };
        let read = log.read(&path).and_then(|text| {
            let Some(text) = text else { return Ok(Vec::new()) };
            Prompt::list_from_toml(&text).map_err(|why| log.damaged(&path, &why))
        });
        log.if_readable(read)
    }

    /// Returns the attribution of the record `id` as it is stored.
    pub(crate) fn attribution(&self, id: &RecordId) -> Result<Option<Vec<u8>>> {
        let Some(log) = self.of_record(id)? else { return Ok(None) };
        let path = format!("{}/attribution", folder(id));
        let text = log.if_readable(log.read(&path))?;
        // The caller would name our own log.
        let is_ours = log.trees.iter().any(|(name, _)| name == refname::HISTORY);
        let check = |text: &Vec<u8>| is_ours || Attribution::from_text(text).is_ok();
        Ok(text.filter(check))
    }

    pub(super) fn index_trees(&self, index: &'static str) -> Result<Vec<ObjectId>> {
        if let Some(known) = self.indices.borrow().get(index) {
            return Ok(known.clone());
        }
        let mut found = Vec::new();
        for (_, tree_id) in &self.trees {
            let entry = self.repo.find_entry(*tree_id, index.into())?;
            found.extend(entry.and_then(|(mode, id)| (mode == 0o40_000).then_some(id)));
        }
        self.indices.borrow_mut().insert(index, found.clone());
        Ok(found)
    }

    pub(super) fn index(&self, index: &'static str, key: ObjectId) -> Result<Vec<RecordId>> {
        let path = index_path(index, key);
        let mut ids = Vec::new();
        for tree_id in self.index_trees(index)? {
            let entry = self.repo.find_entry(tree_id, path[index.len() + 1..].into())?;
            let text = self.read_entry(entry, &path)?.unwrap_or_default();
            let found = text.lines().filter_map(|line| RecordId::parse(line.to_str().ok()?));
            ids.extend(found.filter(|id| !ids.contains(id)).collect::<Vec<_>>());
        }
        Ok(ids)
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
        let mut links = BTreeMap::new();
        for (name, tree_id) in &self.trees {
            let Some((0o40_000, tree_id)) = self.repo.find_entry(*tree_id, path.as_str().into())? else { continue };
            for (file, is_tree, blob_id) in self.repo.tree_entries(tree_id)? {
                let Ok(commit) = ObjectId::from_hex(&file) else { continue };
                if is_tree || links.contains_key(&commit) {
                    continue;
                }
                let read = self.repo.read_blob(blob_id).and_then(|text| {
                    Link::from_toml(*id, commit, &text).map_err(|why| damaged(name, &format!("{path}/{file}"), &why))
                });
                match read {
                    // It can be fetched again.
                    Err(error) if error.kind() == Kind::Corrupt && name != refname::HISTORY => {
                        tracing::warn!(%error, "records: a fetched log is damaged");
                    }
                    read => drop(links.insert(commit, read?)),
                }
            }
        }
        Ok(links.into_values().collect())
    }

    /// Returns the ids of all records, sorted.
    pub(crate) fn all(&self) -> Result<Vec<RecordId>> {
        let mut ids = BTreeSet::new();
        for (_, tree_id) in &self.trees {
            for (shard, is_tree, tree_id) in self.repo.tree_entries(*tree_id)? {
                if !is_tree || shard.len() != 2 {
                    continue;
                }
                let entries = self.repo.tree_entries(tree_id)?.into_iter().filter(|(_, is_tree, _)| *is_tree);
                ids.extend(entries.filter_map(|(rest, _, _)| parse_id(shard.as_bstr(), rest.as_bstr())));
            }
        }
        Ok(ids.into_iter().collect())
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
        let is_subject = |line: &[u8]| line == JOINED.as_bytes() || words.iter().all(|word| line.contains_str(word));
        lines.next().is_some_and(is_subject) && lines.next().is_none()
    });
    let tree_id = if is_ours.unwrap_or(false) { root_tree(repo, commit).ok() } else { None };
    tree_id.is_some_and(|tree_id| repo.find_entry(tree_id, COMMITS.into()).is_ok_and(|entry| entry.is_some()))
}

fn parse_id(shard: &BStr, rest: &BStr) -> Option<RecordId> {
    RecordId::parse(&format!("{}{}", shard.to_str().ok()?, rest.to_str().ok()?))
}

/// Returns the directory of the record `id` in the log.
pub(super) fn folder(id: &RecordId) -> String {
    let (shard, rest) = id.as_str().split_at(2);
    format!("{shard}/{rest}")
}

pub(super) fn index_path(index: &str, key: ObjectId) -> String {
    let hex = key.to_string();
    let (shard, rest) = hex.split_at(2);
    format!("{index}/{shard}/{rest}")
}

fn damaged(name: &str, path: &str, why: &str) -> Error {
    let outcome: std::result::Result<(), String> = Err(why.to_owned());
    let error = outcome.context(Kind::Corrupt, || format!("'{path}' of '{name}' is damaged"));
    error.expect_err("it was one").with_hint("'git checkpoint doctor' names the damaged records")
}
