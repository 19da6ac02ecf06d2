//! Finds the records of commits that touch the files which git picks or reverts, where git does not name these commits.

use std::collections::{BTreeMap, BTreeSet};

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

/// For how many files we follow renames back.
const MOST_NAMES: usize = 64;

/// How many renames of a file in a row we follow back.
const MOST_RENAMES: usize = 4;

/// How a commit touches files that git picks or reverts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Touches {
    /// It has the message of the picked commit.
    Picked,
    /// It touches a file under its present name.
    Name,
    /// It touches a file under a name that it had before: git follows renames when it picks or reverts.
    FormerName,
}

/// Returns the records of commits that touch the files of `changes`. After `git cherry-pick -n` of several commits, git has prepared
/// the message of the last one only, `picked`, and a revert may bring back work of any commit.
pub(super) fn of_commits_touching(
    repo: &Repo,
    changes: &[Change],
    picked: Option<Vec<&[u8]>>,
) -> Result<Vec<(RecordId, Touches)>> {
    let picked = picked.filter(|lines| !lines.is_empty());
    let mut ids = Vec::new();
    for (commit, touches) in commits_touching(repo, changes)? {
        let is_picked = picked.is_some() && picked == Some(message::text_of(repo.message_of(commit)?.as_bytes()));
        let records = if is_picked { evidence::of_commit(repo, commit) } else { records::of_commit(repo, commit) }?;
        ids.extend(records.into_iter().map(|id| (id, if is_picked { Touches::Picked } else { touches })));
    }
    Ok(ids)
}

/// Returns the records of those commits that `sides` are or lead to, and that touch the files of `changes`.
pub(super) fn of_sides(repo: &Repo, changes: &[Change], sides: &[ObjectId]) -> Result<Vec<RecordId>> {
    let commits: Vec<ObjectId> = commits_touching(repo, changes)?.into_iter().map(|(commit, _)| commit).collect();
    let mut ids = Vec::new();
    for commit in repo.reached_from(sides, &commits)? {
        ids.extend(records::of_commit(repo, commit)?);
    }
    Ok(ids)
}

fn commits_touching(repo: &Repo, changes: &[Change]) -> Result<Vec<(ObjectId, Touches)>> {
    let exclude = [format!("{}*", refname::PREFIX), format!("{}*", refname::FETCHED)];
    let mut names: Vec<BString> = changes.iter().map(|change| change.path.clone()).collect();
    let (mut known, mut commits) = (BTreeSet::new(), Vec::new());
    let mut touches = Touches::Name;
    for _ in 0..=MOST_RENAMES {
        names.retain(|name| known.insert(name.clone()));
        if names.is_empty() {
            break;
        }
        let paths: Vec<&BStr> = names.iter().map(|name| name.as_bstr()).collect();
        let found = repo.commits_touching(&paths, &exclude, MOST_TOUCHING)?;
        let mut former = Vec::new();
        if names.len() <= MOST_NAMES {
            let mut new: BTreeMap<ObjectId, Vec<BString>> = BTreeMap::new();
            for step in repo.steps_of(&found)? {
                if step.after.is_some() && names.contains(&step.path) {
                    new.entry(step.commit).or_default().push(step.path);
                }
            }
            for (commit, names) in new {
                former.extend(former_names(repo, commit, &names)?);
            }
        }
        for commit in found {
            if commits.iter().all(|(known, _)| *known != commit) {
                commits.push((commit, touches));
            }
        }
        (names, touches) = (former, Touches::FormerName);
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
        is_any_new = is_any_new || repo.find_leaf(before, name.as_bstr())?.is_none();
    }
    if !is_any_new {
        return Ok(Vec::new());
    }
    let changes = repo.detect_renames(repo.diff_trees(before, after)?)?.into_iter();
    Ok(changes.filter(|change| names.contains(&change.path)).filter_map(|change| change.old_path).collect())
}
