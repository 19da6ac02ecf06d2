//! Finds the records of commits that touch the files which git picks or reverts, where git does not name these commits.

use std::collections::BTreeSet;

use bstr::{BStr, BString, ByteSlice as _};
use gix::ObjectId;

use crate::{
    error::Result,
    git::{Repo, message},
    model::{change::Change, record::RecordId, refname},
    ops::records::{self, evidence},
};

/// How many commits that touch the files of a cherry-pick or revert we look at, for each name.
const MOST_TOUCHING: usize = 100;

/// How many renames of a file in a row we follow back.
const MOST_RENAMES: usize = 4;

/// Returns the records of commits that touch the files of `changes`. The flag of a record is true if the commit has the message
/// `picked`. After `git cherry-pick -n` of several commits, git has prepared the message of the last one only, and a revert may
/// bring back work of any commit.
pub(super) fn of_commits_touching(
    repo: &Repo,
    changes: &[Change],
    picked: Option<Vec<&[u8]>>,
) -> Result<Vec<(RecordId, bool)>> {
    let picked = picked.filter(|lines| !lines.is_empty());
    let mut ids = Vec::new();
    for commit in commits_touching(repo, changes)? {
        let is_picked = picked.is_some() && picked == Some(message::text_of(repo.message_of(commit)?.as_bytes()));
        let records = if is_picked { evidence::of_commit(repo, commit) } else { records::of_commit(repo, commit) }?;
        ids.extend(records.into_iter().map(|id| (id, is_picked)));
    }
    Ok(ids)
}

/// Returns commits that touch the files of `changes`, also under names that they had before: git follows renames when it picks or
/// reverts.
fn commits_touching(repo: &Repo, changes: &[Change]) -> Result<Vec<ObjectId>> {
    let exclude = [format!("{}*", refname::PREFIX), format!("{}*", refname::FETCHED)];
    let mut names: Vec<BString> = changes.iter().map(|change| change.path.clone()).collect();
    let (mut known, mut commits) = (BTreeSet::new(), Vec::new());
    for _ in 0..=MOST_RENAMES {
        names.retain(|name| known.insert(name.clone()));
        if names.is_empty() {
            break;
        }
        let paths: Vec<&BStr> = names.iter().map(|name| name.as_bstr()).collect();
        let mut former = Vec::new();
        for commit in repo.commits_touching(&paths, &exclude, MOST_TOUCHING)? {
            former.extend(former_names(repo, commit, &names)?);
            if !commits.contains(&commit) {
                commits.push(commit);
            }
        }
        names = former;
    }
    Ok(commits)
}

/// Returns the names that `commit` has changed to one of `names`.
fn former_names(repo: &Repo, commit: ObjectId, names: &[BString]) -> Result<Vec<BString>> {
    let Some(parent) = repo.parents_of(commit)?.first().copied() else { return Ok(Vec::new()) };
    // A shallow clone lacks the parent.
    if !repo.is_commit(parent)? {
        return Ok(Vec::new());
    }
    let [before, after] = [repo.tree_of_commit(parent)?, repo.tree_of_commit(commit)?];
    let mut is_any_new = false;
    for name in names {
        let is_there = repo.find_leaf(after, name.as_bstr())?.is_some();
        is_any_new = is_any_new || is_there && repo.find_leaf(before, name.as_bstr())?.is_none();
    }
    if !is_any_new {
        return Ok(Vec::new());
    }
    let changes = repo.detect_renames(repo.diff_trees(before, after)?)?.into_iter();
    Ok(changes.filter(|change| names.contains(&change.path)).filter_map(|change| change.old_path).collect())
}
