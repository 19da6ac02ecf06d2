//! Finds the records of earlier versions of files whose lines come back, for example by `git checkout <commit> -- <path>`.
//!
//! `recorded` calls [`of_earlier_versions`]: such a command leaves nothing in the reflog, so only the content shows it. Old
//! blobs have to be read for that, so each loop has a limit.

use std::collections::{BTreeSet, HashMap, HashSet};

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::super::{
    records::{Log, evidence},
    share::is_telling,
};
use crate::{
    error::Result,
    git::Repo,
    model::{
        change::{Change, Leaf},
        record::{Parts, RecordFile, RecordId},
    },
};

/// How many commits back from HEAD we look for earlier versions of files, and for the commit where removed commits branch off.
const MOST_KEPT: usize = 32;
/// How many of the last moves of HEAD we search for commits that it has left.
pub(super) const MOST_MOVES: usize = 32;
/// How many commits that HEAD does not have we look at.
const MOST_BEYOND: usize = 100;
/// How many commits we read to find them.
const MOST_COMMITS: usize = 256;
/// If a commit changes more files than this, we look for no earlier versions.
const MOST_RESTORED: usize = 64;
/// How many bytes of earlier versions we read, so that a commit does not take noticeably longer.
const MOST_READ: usize = 8 << 20;

/// Returns the records of recent commits with lines that `head` no longer has and that come back in `changes`. The flag of a
/// record is true if a whole file is as in an earlier commit, since git has brought it, or if it was renamed.
pub(super) fn of_earlier_versions(
    repo: &Repo,
    log: &Log<'_>,
    head: ObjectId,
    changes: &[Change],
) -> Result<Vec<(RecordId, bool)>> {
    let is_changed = |change: &&Change| match (change.before, change.after) {
        (before, Some(after)) => before.is_none_or(|before| before.id != after.id),
        _ => false,
    };
    let changed: Vec<&Change> = changes.iter().filter(is_changed).collect();
    let changed = if changed.len() > MOST_RESTORED { Vec::new() } else { changed };
    let renamed = renamed_from_gone(repo, head, &changed)?;
    let (mut ids, mut files, mut new) = (Vec::new(), Vec::new(), HashSet::new());
    for change in changed {
        let former = renamed.iter().find(|it| it.path == change.path).and_then(|it| it.old_path.as_ref());
        let is_old = former.is_some() || change.after.is_some_and(|after| repo.was_stored_before(after.id, head));
        let path = former.unwrap_or(&change.path);
        let is_renamed = change.before.is_none() && is_old;
        // Only a commit that has changed the file makes it worth while to read it.
        let lines = if is_renamed { Some(new_lines(repo, change)?) } else { None };
        if is_renamed && lines.as_ref().is_some_and(|lines| !lines.is_empty()) {
            new.extend(change.after.map(|after| after.id));
        }
        // What the commit of this number, counted back from HEAD, has there.
        let known = (0, change.before);
        files.push((change, path, known, lines, is_old));
    }
    if files.is_empty() {
        return Ok(ids);
    }
    let head_tree_id = repo.tree_of_commit(head)?;
    let (line, _) = first_parents(repo, Some(head), MOST_KEPT, |_, _| true)?;
    let mut left_to_read = MOST_READ;
    for (at, commit) in line.iter().enumerate() {
        let tree_id = match line.get(at + 1) {
            Some(parent) => repo.tree_of_commit(*parent)?,
            None if repo.parents_of(*commit)?.is_empty() => repo.empty_tree_id(),
            None => break,
        };
        let records = log.of_commit(*commit)?;
        if records.is_empty() {
            continue;
        }
        let (mut has_some, mut is_by_git) = (false, false);
        for (change, path, known, lines, is_old) in &mut files {
            let leaf = match known {
                (number, leaf) if *number == at => *leaf,
                _ => repo.find_leaf(repo.tree_of_commit(*commit)?, path.as_bstr())?,
            };
            let before = repo.find_leaf(tree_id, path.as_bstr())?;
            let version = leaf.filter(|leaf| Some(*leaf) != before && Some(*leaf) != change.before);
            // Read the blob only if it may still change the answer for this commit.
            if version.is_some() && !(has_some && (is_by_git || !*is_old)) {
                let lines = match lines {
                    Some(lines) => lines,
                    None => lines.insert(new_lines(repo, change)?),
                };
                let text = if lines.is_empty() { Vec::new() } else { text_of(repo, version)? };
                let Some(rest) = left_to_read.checked_sub(text.len()) else { return Ok(ids) };
                left_to_read = rest;
                if telling_lines(&text).any(|line| lines.contains(line)) {
                    (has_some, is_by_git) = (true, is_by_git || *is_old);
                }
            }
            *known = (at + 1, before);
        }
        // A new file may have the content that a recorded commit left under another name.
        for id in if new.is_empty() { &[] } else { records.as_slice() } {
            // Skips damaged records.
            for file in log.find(id).ok().flatten().into_iter().flat_map(|record| record.files) {
                let is_new = !file.sessions.is_empty() && file.after.is_some_and(|after| new.contains(&after));
                if is_new && repo.find_leaf(head_tree_id, file.path.as_bstr())?.map(|leaf| leaf.id) != file.after {
                    (has_some, is_by_git) = (true, true);
                }
            }
        }
        if has_some {
            ids.extend(records.into_iter().map(|id| (id, is_by_git)));
        }
    }
    Ok(ids)
}

/// Returns those of `changed` that are new names of files which the commit `head` has deleted: a person renamed them, and
/// `git commit -a` took the deletions only.
fn renamed_from_gone(repo: &Repo, head: ObjectId, changed: &[&Change]) -> Result<Vec<Change>> {
    let new: Vec<&&Change> = changed.iter().filter(|change| change.before.is_none()).collect();
    let parent = if new.is_empty() { None } else { repo.parent_and_time(head)?.and_then(|(parent, _)| parent) };
    let Some(parent) = parent else { return Ok(Vec::new()) };
    // A shallow clone lacks the parent.
    if !repo.is_commit(parent)? {
        return Ok(Vec::new());
    }
    let mut ends = repo.diff_trees(repo.tree_of_commit(parent)?, repo.tree_of_commit(head)?)?;
    ends.retain(|change| change.after.is_none());
    if ends.is_empty() || ends.len() > MOST_RESTORED {
        return Ok(Vec::new());
    }
    ends.extend(new.into_iter().map(|change| Change { old_path: None, ..(*change).clone() }));
    ends.sort_by(|one, other| one.path.cmp(&other.path));
    let mut renamed = repo.detect_renames(ends)?;
    renamed.retain(|change| change.old_path.is_some());
    Ok(renamed)
}

/// Returns the lines that [`telling_lines`] accepts and the file did not have before `change`.
fn new_lines(repo: &Repo, change: &Change) -> Result<HashSet<Vec<u8>>> {
    let (before, after) = (text_of(repo, change.before)?, text_of(repo, change.after)?);
    let before: HashSet<&[u8]> = telling_lines(&before).collect();
    Ok(telling_lines(&after).filter(|line| !before.contains(line)).map(<[u8]>::to_vec).collect())
}

/// Returns the content of a text file; nothing for other files, and if the blob is missing.
fn text_of(repo: &Repo, leaf: Option<Leaf>) -> Result<Vec<u8>> {
    Ok(repo.text_of(leaf.filter(|leaf| repo.has_object(leaf.id)))?.unwrap_or_default())
}

/// Returns the trimmed lines of `text`. Leaves out lines without letters and digits, such as `}`: they are no evidence.
fn telling_lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let has_word = |line: &&[u8]| line.iter().any(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii());
    text.lines().map(<[u8]>::trim_ascii).filter(has_word)
}

/// Returns up to `most` commits, from `start` back along first parents, and the time of the last one. Stops at a commit that
/// this repository does not have, or that `accepts` refuses by its id and time.
fn first_parents(
    repo: &Repo,
    start: Option<ObjectId>,
    most: usize,
    mut accepts: impl FnMut(ObjectId, i64) -> bool,
) -> Result<(Vec<ObjectId>, i64)> {
    let (mut line, mut next, mut oldest) = (Vec::new(), start, i64::MAX);
    while let Some(commit) = next.filter(|_| line.len() < most) {
        let Some((parent, seconds)) = repo.parent_and_time(commit)? else { break };
        if !accepts(commit, seconds) {
            break;
        }
        line.push(commit);
        (next, oldest) = (parent, seconds);
    }
    Ok((line, oldest))
}

/// Returns the commits `starts` and their ancestors, without those that `head` has.
pub(super) fn beyond(repo: &Repo, head: Option<ObjectId>, mut starts: Vec<ObjectId>) -> Result<Vec<ObjectId>> {
    starts.retain(|start| Some(*start) != head);
    if starts.is_empty() {
        return Ok(Vec::new());
    }
    // Usually, `head` contains all of them.
    let (kept, _) = first_parents(repo, head, MOST_KEPT, |commit, _| {
        starts.retain(|start| *start != commit);
        !starts.is_empty()
    })?;
    if starts.is_empty() {
        return Ok(Vec::new());
    }
    let mut left = repo.commits_beyond(&starts, &kept, MOST_COMMITS)?;
    left.truncate(MOST_BEYOND);
    Ok(left)
}

/// What a record of another branch and `changes` have in common.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Common {
    /// A change leaves a file exactly as one of the records of that file does: a person may have brought it with
    /// `git checkout <branch> -- <path>`, which leaves no other trace.
    Content,
    /// The path of a file.
    Path,
}

/// Returns the records of commits that HEAD does not have, and that are on another branch or reachable from `lately`, the commits
/// where HEAD was lately, if they have something in common with `changes`. Of branches where HEAD was not lately, only common
/// content counts.
pub(super) fn of_other_branches(
    repo: &Repo,
    log: &Log<'_>,
    head: Option<ObjectId>,
    lately: Vec<ObjectId>,
    changes: &[Change],
) -> Result<Vec<(RecordId, Common)>> {
    let by_path: HashMap<&BString, &Change> = changes.iter().map(|change| (&change.path, change)).collect();
    let mut commits = beyond(repo, head, lately)?;
    let of_lately = commits.len();
    if changes.iter().any(|change| change.after.is_some_and(|after| log.may_name(after.id))) {
        let tips = repo.refs_below("refs/heads/")?.into_iter().map(|(_, id)| id).collect();
        let others = beyond(repo, head, tips)?;
        commits.extend(others.into_iter().filter(|commit| !commits.contains(commit)).collect::<Vec<_>>());
    }
    if !changes_any(repo, &commits, &by_path)? {
        return Ok(Vec::new());
    }
    let mut files = Vec::new();
    for (at, commit) in commits.into_iter().enumerate() {
        for id in log.of_commit(commit)? {
            files.extend(files_at(log, id, &by_path).map(|file| (id, file, at < of_lately)));
        }
    }
    let same = same_files(repo, files.iter().map(|(_, file, _)| file), &by_path)?;
    let common = |(id, file, is_of_lately): (RecordId, RecordFile, bool)| {
        let is_same = same.contains(&file.path);
        (is_same || is_of_lately).then_some((id, if is_same { Common::Content } else { Common::Path }))
    };
    Ok(files.into_iter().filter_map(common).collect())
}

/// Returns the records of others that were fetched, of commits that HEAD does not have and a branch or a remote-tracking branch has, if
/// `changes` leave a file exactly as one of the records of that file does; and these files.
pub(crate) fn brought_from_others(repo: &Repo, head: Option<ObjectId>, changes: &[Change]) -> Result<Parts> {
    let Some(log) = Log::open(repo)?.filter(Log::is_with_fetched) else { return Ok(Parts::new()) };
    let by_path: HashMap<&BString, &Change> = changes.iter().map(|change| (&change.path, change)).collect();
    if !changes.iter().any(|change| change.after.is_some_and(|after| log.may_name(after.id))) {
        return Ok(Parts::new());
    }
    let mut tips = Vec::new();
    for prefix in ["refs/heads/", "refs/remotes/"] {
        tips.extend(repo.refs_below(prefix)?.into_iter().map(|(_, id)| id));
    }
    let commits = beyond(repo, head, tips)?;
    if !changes_any(repo, &commits, &by_path)? {
        return Ok(Parts::new());
    }
    let mut files = Vec::new();
    for commit in commits {
        for id in evidence::of_others(repo, commit)? {
            files.extend(files_at(&log, id, &by_path).map(|file| (id, file)));
        }
    }
    let same = same_files(repo, files.iter().map(|(_, file)| file), &by_path)?;
    let mut brought = Parts::new();
    for (id, file) in files.into_iter().filter(|(_, file)| same.contains(&file.path)) {
        brought.entry(id).or_default().push(file.path);
    }
    Ok(brought)
}

/// Returns the files of the record `id` that have work of sessions and are among those of `by_path`; none if it is damaged.
fn files_at(log: &Log<'_>, id: RecordId, by_path: &HashMap<&BString, &Change>) -> impl Iterator<Item = RecordFile> {
    let files = log.find(&id).ok().flatten().into_iter().flat_map(|record| record.files);
    files.filter(|file| !file.sessions.is_empty() && by_path.contains_key(&file.path))
}

/// Returns the paths of the changes of `by_path` that leave a file with much text exactly as one of the recorded `files`: git may have
/// brought the work of several commits in that file.
fn same_files<'f>(
    repo: &Repo,
    files: impl Iterator<Item = &'f RecordFile>,
    by_path: &HashMap<&BString, &Change>,
) -> Result<HashSet<BString>> {
    let mut same = HashSet::new();
    for file in files {
        let Some(change) = by_path.get(&file.path) else { continue };
        let is_same = change.after.map(|leaf| leaf.id) == file.after;
        if is_same && !same.contains(&file.path) && is_telling(repo, change)? {
            same.insert(file.path.clone());
        }
    }
    Ok(same)
}

/// Returns true if one of the files of `by_path` is not the same where `commits` begin and where they end: reading two trees is
/// much faster than reading the records of all commits.
fn changes_any(repo: &Repo, commits: &[ObjectId], by_path: &HashMap<&BString, &Change>) -> Result<bool> {
    let mut ends: BTreeSet<ObjectId> = commits.iter().copied().collect();
    let mut begins = BTreeSet::new();
    for commit in commits {
        let parents = repo.parents_of(*commit)?;
        for parent in &parents {
            ends.remove(parent);
            // A shallow clone lacks the parent.
            if repo.is_commit(*parent)? {
                begins.insert(*parent);
            }
        }
        if parents.is_empty() && !by_path.is_empty() {
            return Ok(true);
        }
    }
    let trees = begins.iter().filter(|begin| !commits.contains(begin)).chain(&ends).map(|id| repo.tree_of_commit(*id));
    let trees = trees.collect::<Result<Vec<_>>>()?;
    for pair in trees.windows(2) {
        if repo.diff_trees(pair[0], pair[1])?.iter().any(|change| by_path.contains_key(&change.path)) {
            return Ok(true);
        }
    }
    Ok(false)
}
