//! Reads all records for a search: each tree once, in the order in which they are stored.

use bstr::ByteSlice as _;
use gix::ObjectId;

use std::collections::BTreeMap;

use super::log::{Log, parse_id, unless_of_others};
use crate::{
    error::Result,
    git::Repo,
    model::{
        record::{Prompt, Record, RecordId},
        refname,
    },
};

/// A record that is stored.
pub(crate) struct Stored {
    pub(crate) id: RecordId,
    /// The remote that it was fetched from; none if this clone has recorded it.
    pub(crate) remote: Option<String>,
    tree_id: ObjectId,
}

/// The files of a record as they are stored.
#[derive(Default)]
pub(crate) struct Texts {
    pub(crate) record: Vec<u8>,
    /// By the number of the session.
    pub(crate) prompts: Vec<(usize, Vec<u8>)>,
}

/// Returns the ids of the records that the `most` last commits of our own log have added or completed.
pub(crate) fn newest(repo: &Repo, most: usize) -> Result<Vec<RecordId>> {
    let Some(tip) = repo.find_sound_ref(refname::HISTORY)? else { return Ok(Vec::new()) };
    let mut before = Some(tip);
    for _ in 0..most {
        let Some(commit) = before else { break };
        before = repo.parents_of(commit)?.first().copied();
    }
    let before = before.map_or_else(|| Ok(repo.empty_tree_id()), |commit| repo.tree_of_commit(commit))?;
    let changes = repo.diff_trees(before, repo.tree_of_commit(tip)?)?;
    let ids = changes.iter().filter(|change| change.after.is_some()).filter_map(|change| {
        let (shard, rest) = change.path.strip_suffix(b"/record.toml")?.split_once_str("/")?;
        parse_id(shard.as_bstr(), rest.as_bstr())
    });
    Ok(ids.collect())
}

impl Log<'_> {
    /// Returns the records; of one that several logs have, the version that counts.
    pub(crate) fn stored(&self) -> Result<Vec<Stored>> {
        let mut found: BTreeMap<RecordId, Stored> = BTreeMap::new();
        for (name, tree_id) in &self.trees {
            let remote = refname::remote_of_fetched(name);
            for (shard, is_tree, tree_id) in self.repo.tree_entries(*tree_id)? {
                if !is_tree || shard.len() != 2 {
                    continue;
                }
                let read = self.repo.tree_entries(tree_id).map(Some);
                for (rest, is_tree, tree_id) in unless_of_others(name, read)?.unwrap_or_default() {
                    let Some(id) = parse_id(shard.as_bstr(), rest.as_bstr()).filter(|_| is_tree) else { continue };
                    found.entry(id).or_insert_with(|| Stored { id, remote: remote.clone(), tree_id });
                }
            }
        }
        Ok(found.into_values().collect())
    }
}

impl Stored {
    /// Reads the files that have words in them.
    pub(crate) fn texts(&self, repo: &Repo, with_prompts: bool) -> Result<Texts> {
        let mut texts = Texts::default();
        for (name, is_tree, id) in repo.tree_entries(self.tree_id)? {
            if name == "record.toml" && !is_tree {
                texts.record = repo.read_blob(id)?;
            } else if name == "sessions" && is_tree && with_prompts {
                for (number, is_tree, id) in repo.tree_entries(id)? {
                    let Some(number) = number.to_str().ok().and_then(|it| it.parse().ok()).filter(|_| is_tree) else {
                        continue;
                    };
                    if let Some((_, id)) = repo.find_entry(id, "prompts.toml".into())? {
                        texts.prompts.push((number, repo.read_blob(id)?));
                    }
                }
            }
        }
        Ok(texts)
    }
}

impl Texts {
    /// Returns the record without its chunks; none if it makes no sense.
    pub(crate) fn record(&self) -> Option<Record> {
        Record::from_toml(&self.record).ok()
    }

    /// Returns the commit that the record was made for, without a look at the rest.
    pub(crate) fn commit(&self) -> Option<ObjectId> {
        let line = self.record.lines().find_map(|line| line.strip_prefix(b"commit = \""))?;
        ObjectId::from_hex(line.strip_suffix(b"\"")?).ok()
    }
}

/// Returns the prompts in `text`, or none if they make no sense.
pub(crate) fn prompts_in(text: &[u8]) -> Vec<Prompt> {
    Prompt::list_from_toml(text).unwrap_or_default()
}
