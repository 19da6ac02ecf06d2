//! The logs of records, read: our own, and those that were fetched from remotes.
//!
//! Our own log has only what this clone has recorded, and nothing from a remote comes into it. A log that was fetched may say
//! anything: that a commit of ours is an agent's, or that an agent has written what a person types here. So which log is asked
//! depends on what the answer decides:
//!
//! - **What is written asks [`Log::own`]**: whether a commit gets a record, a link or a trailer, whether work is settled, what is found
//!   again, and which record is completed. All matching by parent or by content is of this kind. The functions of [`own`](super::own)
//!   do so.
//!   The one exception is `ci relink`, which the user runs to make records of what was fetched; it writes no link to records of others.
//! - **What is shown asks [`Log::open`]**, which has both. Of a record that several have, our own version counts, and what is shown
//!   of a record of others says so: [`Log::remote_of`].
//! - **What is rewritten asks [`evidence`](super::evidence)**. Commits of others are amended, rebased, squashed and picked here, and
//!   their lines must not become ours. So the record of exactly the commit that git rewrites says who wrote its lines, as the trailer in
//!   its message does, which stays. But not of a commit that was made here, and no link is ever written to a record that our own log
//!   does not have: such a commit is found again by its trailer, or by its change.

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
        record::{Chunk, JOINED, Link, Prompt, Record, RecordId},
        refname,
    },
};

/// The size limit for text files of a record. We never write larger ones.
const LARGEST: u64 = 256 << 20;

/// The index by commit.
pub(super) const COMMITS: &str = "commits";
/// The index by first parent.
pub(super) const PARENTS: &str = "parents";
/// The index by what a commit changes.
pub(super) const CHANGES: &str = "changes";

/// One log or several, as they are at one moment. Of a record that several logs have, the version of the first one counts, which is
/// our own if it is among them.
pub(crate) struct Log<'r> {
    pub(super) repo: &'r Repo,
    /// By the names of their refs, ours first.
    pub(super) trees: Vec<(String, ObjectId)>,
    /// The trees of the indices that were read.
    pub(super) indices: RefCell<HashMap<&'static str, Vec<(String, ObjectId)>>>,
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

/// Returns what was `read` in the log `name`; none if it is damaged and not ours: others can mend it, and it can be fetched again.
pub(super) fn unless_of_others<T>(name: &str, read: Result<Option<T>>) -> Result<Option<T>> {
    match read {
        Err(error) if error.kind() == Kind::Corrupt && name != refname::HISTORY => {
            tracing::warn!(%error, name, "records: a fetched log is damaged");
            Ok(None)
        }
        read => read,
    }
}

/// Returns the entries of the tree `id` of the log `name`; none if it is damaged and not ours.
fn entries_of(name: &str, repo: &Repo, id: ObjectId) -> Result<Vec<(BString, bool, ObjectId)>> {
    Ok(unless_of_others(name, repo.tree_entries(id).map(Some))?.unwrap_or_default())
}

impl<'r> Log<'r> {
    /// Opens our own log; none if this clone has recorded nothing yet.
    pub(crate) fn own(repo: &'r Repo) -> Result<Option<Self>> {
        let Some(tip) = repo.find_sound_ref(refname::HISTORY)? else { return Ok(None) };
        let tree_id = root_tree(repo, tip).map_err(|cause| {
            Error::new(cause.kind(), format!("the records in '{}' cannot be read", refname::HISTORY)).with_cause(cause)
        })?;
        Ok(Some(Self::at(repo, tree_id)))
    }

    /// Opens our own log and those that were fetched; none if there is no record.
    pub(crate) fn open(repo: &'r Repo) -> Result<Option<Self>> {
        let own = Self::own(repo)?;
        let mut log = own.unwrap_or_else(|| Self { repo, trees: Vec::new(), indices: RefCell::default() });
        for (name, tip) in fetched(repo)? {
            match root_tree(repo, tip) {
                Ok(tree_id) if log.trees.iter().all(|(_, known)| *known != tree_id) => log.trees.push((name, tree_id)),
                Ok(_) => {}
                // It can be fetched again.
                Err(error) => tracing::warn!(name, %error, "records: a fetched log cannot be read"),
            }
        }
        Ok((!log.trees.is_empty()).then_some(log))
    }

    /// Returns the log as it was when its tree was `tree_id`.
    pub(crate) fn at(repo: &'r Repo, tree_id: ObjectId) -> Self {
        let trees = vec![(refname::HISTORY.to_owned(), tree_id)];
        Self { repo, trees, indices: RefCell::default() }
    }

    /// Returns the first entry at `path`.
    pub(super) fn entry(&self, path: &str) -> Result<Option<(u32, ObjectId)>> {
        for (name, tree_id) in &self.trees {
            if let Some(found) = unless_of_others(name, self.repo.find_entry(*tree_id, path.into()))? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Returns the log with the version of the record `id` that counts, alone; none if there is none.
    fn of_record(&self, id: &RecordId) -> Result<Option<Self>> {
        let path = format!("{}/record.toml", folder(id));
        for (name, tree_id) in &self.trees {
            if unless_of_others(name, self.repo.find_entry(*tree_id, path.as_str().into()))?.is_some() {
                return Ok(Some(self.alone(name, *tree_id)));
            }
        }
        Ok(None)
    }

    /// Returns the log `name` alone.
    pub(super) fn alone(&self, name: &str, tree_id: ObjectId) -> Self {
        Self { trees: vec![(name.to_owned(), tree_id)], ..Self::at(self.repo, tree_id) }
    }

    /// Returns true if a log that was fetched is among these.
    pub(crate) fn is_with_fetched(&self) -> bool {
        self.trees.iter().any(|(name, _)| name != refname::HISTORY)
    }

    /// Returns the remote from which the record `id` was fetched; none if this clone has it itself.
    pub(crate) fn remote_of(&self, id: &RecordId) -> Result<Option<String>> {
        let log = self.of_record(id)?;
        Ok(log.and_then(|log| refname::remote_of_fetched(&log.trees[0].0)))
    }

    /// Returns true if the log keeps several versions of the record `id`, which clones have made apart.
    pub(crate) fn has_others(&self, id: &RecordId) -> Result<bool> {
        Ok(self.entry(&format!("{}/others", folder(id)))?.is_some())
    }

    /// Returns the error that `path` is damaged.
    pub(super) fn damaged(&self, path: &str, why: &str) -> Error {
        damaged(self.trees.first().map_or(refname::HISTORY, |(name, _)| name), path, why)
    }

    pub(super) fn read(&self, path: &str) -> Result<Option<Vec<u8>>> {
        self.read_entry(self.entry(path)?, path)
    }

    pub(super) fn read_entry(&self, entry: Option<(u32, ObjectId)>, path: &str) -> Result<Option<Vec<u8>>> {
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

    /// Returns the commits of the record `id`, by their ids.
    pub(crate) fn links(&self, id: &RecordId) -> Result<Vec<Link>> {
        let path = format!("{}/links", folder(id));
        let mut links = BTreeMap::new();
        for (name, tree_id) in &self.trees {
            let entry = unless_of_others(name, self.repo.find_entry(*tree_id, path.as_str().into()))?;
            let Some((0o40_000, tree_id)) = entry else { continue };
            for (file, is_tree, blob_id) in entries_of(name, self.repo, tree_id)? {
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

    /// Returns the link of the record `id` to `commit`; none if there is none, or if it is damaged in a log that was fetched.
    pub(super) fn link(&self, id: &RecordId, commit: ObjectId) -> Result<Option<Link>> {
        let path = format!("{}/links/{commit}", folder(id));
        for (name, tree_id) in &self.trees {
            let entry = unless_of_others(name, self.repo.find_entry(*tree_id, path.as_str().into()))?;
            let Some((0o100_644, blob_id)) = entry else { continue };
            let read = self.repo.read_blob(blob_id).and_then(|text| {
                Link::from_toml(*id, commit, &text).map_err(|why| damaged(name, &path, &why)).map(Some)
            });
            if let Some(link) = unless_of_others(name, read)? {
                return Ok(Some(link));
            }
        }
        Ok(None)
    }

    /// Returns the ids of all records, sorted.
    pub(crate) fn all(&self) -> Result<Vec<RecordId>> {
        let mut ids = BTreeSet::new();
        for (name, tree_id) in &self.trees {
            for (shard, is_tree, tree_id) in entries_of(name, self.repo, *tree_id)? {
                if !is_tree || shard.len() != 2 {
                    continue;
                }
                let entries = entries_of(name, self.repo, tree_id)?.into_iter().filter(|(_, is_tree, _)| *is_tree);
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

pub(super) fn parse_id(shard: &BStr, rest: &BStr) -> Option<RecordId> {
    RecordId::parse(&format!("{}{}", shard.to_str().ok()?, rest.to_str().ok()?))
}

/// Returns the directory of the record `id` in the log.
pub(super) fn folder(id: &RecordId) -> String {
    let (shard, rest) = id.as_str().split_at(2);
    format!("{shard}/{rest}")
}

fn damaged(name: &str, path: &str, why: &str) -> Error {
    let outcome: std::result::Result<(), String> = Err(why.to_owned());
    let error = outcome.context(Kind::Corrupt, || format!("'{path}' of '{name}' is damaged"));
    error.expect_err("it was one").with_hint("'git checkpoint doctor' names the damaged records")
}
