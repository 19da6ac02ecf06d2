//! Knows work again that has a record already and is committed once more: after `git reset --soft`, in one part or in
//! several.

use std::collections::BTreeSet;

use bstr::ByteSlice as _;
use gix::ObjectId;

use super::{
    Context,
    records::{self, Log},
};
use crate::{
    error::Result,
    git::Repo,
    model::record::{Record, RecordId},
};

/// How many commits back from ORIG_HEAD are looked at.
const MOST_COMMITS: usize = 100;

/// Returns the records whose work is staged on `head`: of commits that stood there, and of those a reset left behind.
pub(super) fn records_again(context: &Context, head: Option<ObjectId>) -> Result<Vec<RecordId>> {
    let repo = &context.repo;
    let Some(log) = Log::open(repo)? else { return Ok(Vec::new()) };
    let root = ObjectId::null(repo.object_hash());
    let mut ids: BTreeSet<RecordId> = records::of_parent(repo, head.unwrap_or(root))?.into_iter().collect();
    for commit in left_behind(repo, head)? {
        ids.extend(log.of_commit(commit)?);
    }
    let mut found = Vec::new();
    for id in ids {
        // A damaged record is no reason to refuse a commit.
        if let Ok(Some(record)) = log.find(&id)
            && is_staged(context, head, &record)?
        {
            found.push(id);
        }
    }
    Ok(found)
}

/// Returns the commits that a reset to `head` has left behind: from ORIG_HEAD down to `head`, if it leads there.
fn left_behind(repo: &Repo, head: Option<ObjectId>) -> Result<Vec<ObjectId>> {
    let mut left = Vec::new();
    let mut next = repo.find_ref("ORIG_HEAD")?;
    while let Some(commit) = next.filter(|commit| Some(*commit) != head) {
        if left.len() == MOST_COMMITS || !repo.is_commit(commit)? {
            return Ok(Vec::new());
        }
        left.push(commit);
        next = repo.parents_of(commit)?.first().copied();
    }
    // Down to the root without having met it: another line of history.
    Ok(if next == head { left } else { Vec::new() })
}

/// Returns true if a file of `record` is staged as a session left it.
fn is_staged(context: &Context, head: Option<ObjectId>, record: &Record) -> Result<bool> {
    let repo = &context.repo;
    let head_tree_id = head.map_or_else(|| Ok(repo.empty_tree_id()), |id| repo.tree_of_commit(id))?;
    let files: Vec<_> = record.files.iter().filter(|file| !file.sessions.is_empty()).collect();
    let paths: Vec<_> = files.iter().map(|file| file.path.clone()).collect();
    let staged = repo.staged_leaves(&paths)?;
    for file in files {
        let now = staged.get(&file.path).copied().flatten().map(|leaf| leaf.id);
        let before = repo.find_leaf(head_tree_id, file.path.as_bstr())?.map(|leaf| leaf.id);
        if now == file.after && now != before {
            return Ok(true);
        }
    }
    Ok(false)
}
