//! Work that git has thrown away: it has put files back as HEAD has them. What they have since is typed anew.
//!
//! The index shows it until git reads the file again: with the content of HEAD, git notes there when the file was modified, which it
//! cannot if the file has other content. `git checkout`, `git restore`, `git reset --hard` and `git stash` do so; a reset of the index
//! alone does not.

use std::collections::BTreeSet;

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::{
    super::records::evidence,
    place::{Place, head_tree},
};
use crate::{
    error::Result,
    git::Repo,
    model::record::{Parts, RecordId},
};

/// Returns those of the records `ids`, all of whose work git has brought to the index or the worktree, of which it has then put files
/// back as `head` has them: each with its other files.
pub(super) fn parts_left(
    repo: &Repo,
    head: Option<ObjectId>,
    place: Place,
    ids: impl IntoIterator<Item = RecordId>,
) -> Result<Parts> {
    let (head_tree_id, mut parts) = (head_tree(repo, head)?, Parts::new());
    for id in ids {
        // A damaged record is no reason to refuse a commit.
        let Some(record) = evidence::find(repo, &id).ok().flatten() else { continue };
        let mut paths: Vec<BString> = record.files.into_iter().map(|file| file.path).collect();
        let leaves = place.leaves(repo, &paths)?;
        let mut thrown: BTreeSet<BString> = BTreeSet::new();
        for (path, seen) in repo.seen_by_git(&paths)? {
            let head = repo.find_leaf(head_tree_id, path.as_bstr())?;
            if head == Some(seen.leaf) && leaves.get(path).copied().flatten().is_some_and(|now| now != seen.leaf) {
                thrown.insert(path.clone());
            }
        }
        if !thrown.is_empty() {
            paths.retain(|path| !thrown.contains(path));
            parts.insert(id, paths);
        }
    }
    Ok(parts)
}
