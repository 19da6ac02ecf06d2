//! The commits that git notes as those that it merges, squashes, picks, applies or reverts.

use std::collections::BTreeMap;

use bstr::{BStr, BString, ByteSlice as _};
use gix::ObjectId;

use super::source::{Place, Source, is_file};
use crate::{
    error::Result,
    git::{Repo, prepared_message::PreparedMessage},
    model::{change::Leaf, refname},
    ops::{Worktree, chain::Shadow, rewrite::squashed_commits},
};

/// How many files of a commit we compare with one that may be any of them under a new name.
const MOST_NAMES: usize = 16;
/// How many commits of files staged by a cherry-pick we look at.
const MOST_PICKED: usize = 100;

/// Returns the commits that git notes; `staged` are the files that it may have staged for one of them.
pub(super) fn noted(
    worktree: &Worktree<'_>,
    shadow: &Shadow,
    staged: &BTreeMap<BString, Option<Leaf>>,
) -> Result<Vec<ObjectId>> {
    let repo = &worktree.repo;
    // Git lists the newest of the squashed commits first. It has the work of all of them.
    let mut noted: Vec<ObjectId> = squashed_commits(worktree)?.into_iter().take(1).collect();
    noted.extend(repo.merge_heads());
    for name in ["CHERRY_PICK_HEAD", "REBASE_HEAD"] {
        noted.extend(repo.find_ref(name)?);
    }
    noted.extend(repo.patched_commit());
    if let Some(reverted) = repo.find_ref("REVERT_HEAD")? {
        // What comes back is as it was before that commit.
        noted.extend(repo.parents_of(reverted)?.first());
    }
    if noted.is_empty()
        && let Some(message) = repo.prepared_message().filter(|message| !message.is_empty())
    {
        noted = picked(repo, [shadow.last_tree_id(), shadow.head_tree_id], &message, staged)?;
    }
    noted.retain(|commit| repo.is_commit(*commit).unwrap_or(false));
    Ok(noted)
}

/// Returns the commits with the message of the one that `git cherry-pick -n` picked last: git keeps nothing else of that. The trees
/// are those of the last checkpoint and of HEAD.
fn picked(
    repo: &Repo,
    trees: [ObjectId; 2],
    message: &PreparedMessage,
    staged: &BTreeMap<BString, Option<Leaf>>,
) -> Result<Vec<ObjectId>> {
    // A file that met a conflict may be as before after that.
    let in_conflict: Vec<&[u8]> = message.in_conflict().collect();
    let paths: Vec<&BStr> = staged.keys().map(|path| path.as_bstr()).collect();
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let exclude = [format!("{}*", refname::PREFIX), format!("{}*", refname::FETCHED)];
    let mut found = Vec::new();
    // If the file has another name by now, no such commit touches it.
    for paths in [paths.as_slice(), &[]] {
        for commit in repo.commits_touching(paths, &[], &exclude, MOST_PICKED)? {
            let has_message = message.is_of(repo.message_of(commit)?.as_bytes());
            let is_picked = |path: &BString| staged.contains_key(path) || in_conflict.contains(&path.as_slice());
            if has_message && is_everywhere(repo, trees, commit, is_picked)? {
                found.push(commit);
            }
        }
        if !found.is_empty() {
            break;
        }
    }
    Ok(found)
}

/// Returns true if each file that `commit` changes was picked, as `is_picked` says, or is in one of `trees` as the commit left it.
/// A file that is not at its path in the first one may have another name, and counts as well.
fn is_everywhere(
    repo: &Repo,
    trees: [ObjectId; 2],
    commit: ObjectId,
    is_picked: impl Fn(&BString) -> bool,
) -> Result<bool> {
    let parent = repo.parents_of(commit)?.first().copied();
    let before = parent.map_or_else(|| Ok(repo.empty_tree_id()), |parent| repo.tree_of_commit(parent))?;
    for change in repo.diff_trees(before, repo.tree_of_commit(commit)?)? {
        let [last, head] = trees.map(|tree_id| repo.find_leaf(tree_id, change.path.as_bstr()));
        let (last, head) = (last?, head?);
        if !is_picked(&change.path) && last.is_some() && last != change.after && head != change.after {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the file at `path` in `commit`. If the commit has none there, git may have merged a file that has a new name here. Then
/// returns the files that the commit changes and that the last checkpoint of `shadow` does not have.
pub(super) fn sources_in(repo: &Repo, shadow: &Shadow, commit: ObjectId, path: &BString) -> Result<Vec<Source>> {
    let tree_id = repo.tree_of_commit(commit)?;
    let place = Place::Commit(commit);
    let source = |path: &BString, leaf: Option<Leaf>| Source { place: place.clone(), path: path.clone(), leaf };
    if let Some(leaf) = repo.find_leaf(tree_id, path.as_bstr())? {
        return Ok(vec![source(path, Some(leaf))]);
    }
    let Some(parent) = repo.parents_of(commit)?.first().copied() else { return Ok(Vec::new()) };
    let mut sources = Vec::new();
    for change in repo.diff_trees(repo.tree_of_commit(parent)?, tree_id)? {
        if change.path == *path && change.after.is_none() {
            return Ok(vec![source(path, None)]);
        }
        let leaf = change.after.filter(|leaf| is_file(*leaf));
        if leaf.is_some() && repo.find_leaf(shadow.last_tree_id(), change.path.as_bstr())?.is_none() {
            sources.push(source(&change.path, leaf));
        }
    }
    sources.truncate(MOST_NAMES);
    Ok(sources)
}
