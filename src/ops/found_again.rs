//! Finds the commits of records again by their trees and patches.

use std::collections::HashMap;

use gix::ObjectId;
use serde::Serialize;

use crate::{
    error::Result,
    git::{Repo, revision::Reachable},
    model::{
        id_text,
        record::{Record, RecordId},
    },
};

/// A record whose commit was found again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Relinked {
    /// The record.
    pub record: RecordId,
    /// The commit.
    #[serde(serialize_with = "id_text::serialize")]
    pub commit: ObjectId,
    /// By what: `trailer`, `tree`, `patch`, `blob` or `change`.
    pub by: &'static str,
}

/// Returns those of `commits` of which a message, an author or an ancestor was changed, but no content.
pub(crate) fn by_tree(repo: &Repo, commits: &[Reachable], lost: &[&Record]) -> Result<Vec<Relinked>> {
    let mut wanted: HashMap<ObjectId, Vec<&Record>> = HashMap::new();
    for record in lost {
        wanted.entry(record.tree).or_default().push(record);
    }
    let mut found = Vec::new();
    for commit in commits {
        for record in wanted.get(&commit.tree_id).into_iter().flatten() {
            if has_same_parent(repo, record, commit.parent_id)? {
                found.push(Relinked { record: record.id, commit: commit.id, by: "tree" });
            }
        }
    }
    Ok(found)
}

fn has_same_parent(repo: &Repo, record: &Record, parent: Option<ObjectId>) -> Result<bool> {
    let (Some(before), Some(now)) = (record.parent, parent) else { return Ok(record.parent == parent) };
    if before == now {
        return Ok(true);
    }
    if !repo.is_commit(before)? {
        return Ok(false);
    }
    Ok(repo.tree_of_commit(before)? == repo.tree_of_commit(now)?)
}

/// Returns those of `commits` that make the same change somewhere else.
pub(crate) fn by_patch(repo: &Repo, commits: &[ObjectId], lost: &[&Record]) -> Result<Vec<Relinked>> {
    let mut wanted: HashMap<&str, Vec<RecordId>> = HashMap::new();
    for record in lost {
        if let Some(patch_id) = &record.patch_id {
            wanted.entry(patch_id).or_default().push(record.id);
        }
    }
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for (commit, patch_id) in repo.patch_ids(commits)? {
        let records = wanted.get(patch_id.as_str()).into_iter().flatten();
        found.extend(records.map(|record| Relinked { record: *record, commit, by: "patch" }));
    }
    found.sort_by_key(|relinked| (relinked.record, relinked.commit));
    Ok(found)
}
