//! Finds the records of commits that touch the files which git picks or reverts, where git does not name these commits.

use std::collections::BTreeSet;

use bstr::{BStr, BString, ByteSlice as _};
use gix::ObjectId;

use super::former_names::renamed;
use crate::{
    error::Result,
    git::{Repo, prepared_message::PreparedMessage},
    model::{change::Change, record::RecordId, refname},
    ops::records::{self, evidence},
};

/// How many commits that touch the files of a cherry-pick or revert we look at, for each name.
const MOST_TOUCHING: usize = 100;

/// For how many files we follow renames back. Of more files, we look at as many commits as of these.
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
    picked: Option<&PreparedMessage>,
) -> Result<Vec<(RecordId, Touches)>> {
    let commits = commits_touching(repo, changes, &[])?;
    let mut with_message = Vec::new();
    if let Some(prepared) = picked.filter(|message| !message.is_empty()) {
        for (commit, _) in &commits {
            with_message.extend(prepared.is_of(repo.message_of(*commit)?.as_bytes()).then_some(*commit));
        }
    }
    // Many commits may have one message: those of rounds that were committed for their agents, for example.
    if with_message.len() > 1 {
        let mut exact = Vec::new();
        for commit in &with_message {
            exact.extend(is_all_in(repo, *commit, changes)?.then_some(*commit));
        }
        with_message = if exact.is_empty() { with_message } else { exact };
    }
    let mut ids = Vec::new();
    for (commit, touches) in commits {
        let is_picked = with_message.contains(&commit);
        let records = if is_picked { evidence::of_commit(repo, commit) } else { records::of_commit(repo, commit) }?;
        ids.extend(records.into_iter().map(|id| (id, if is_picked { Touches::Picked } else { touches })));
    }
    Ok(ids)
}

/// Returns true if `changes` leave all files that `commit` changes as it does.
fn is_all_in(repo: &Repo, commit: ObjectId, changes: &[Change]) -> Result<bool> {
    let before = match repo.parents_of(commit)?.first() {
        // A shallow clone lacks the parent.
        Some(parent) if !repo.is_commit(*parent)? => return Ok(false),
        Some(parent) => repo.tree_of_commit(*parent)?,
        None => repo.empty_tree_id(),
    };
    let own = repo.diff_trees(before, repo.tree_of_commit(commit)?)?;
    Ok(own.iter().all(|own| changes.iter().any(|change| change.path == own.path && change.after == own.after)))
}

/// Returns the records of those commits that `sides` are or lead to, and that touch the files of `changes`.
pub(super) fn of_sides(repo: &Repo, changes: &[Change], sides: &[ObjectId]) -> Result<Vec<RecordId>> {
    let mut ids = Vec::new();
    for (commit, _) in commits_touching(repo, changes, sides)? {
        ids.extend(records::of_commit(repo, commit)?);
    }
    Ok(ids)
}

/// Returns the commits that touch the files of `changes`, of those that `tips` are or lead to; without tips, of all that HEADs and
/// refs lead to.
fn commits_touching(repo: &Repo, changes: &[Change], tips: &[ObjectId]) -> Result<Vec<(ObjectId, Touches)>> {
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
        let mut former = Vec::new();
        let found = if names.len() <= MOST_NAMES {
            let found = repo.commits_touching_each(&paths, tips, &exclude, MOST_TOUCHING)?;
            for (commit, touched) in &found {
                former.extend(former_names(repo, *commit, touched)?);
            }
            found.into_iter().map(|(commit, _)| commit).collect()
        } else {
            // This bounds how many records are read.
            repo.commits_touching(&paths, tips, &exclude, MOST_NAMES * MOST_TOUCHING)?
        };
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
    let changes = repo.diff_trees(before, after)?;
    let renamed = renamed(repo, &changes, &|path| names.contains(path))?.into_values();
    Ok(renamed.filter(|change| names.contains(&change.path)).filter_map(|change| change.old_path).collect())
}
