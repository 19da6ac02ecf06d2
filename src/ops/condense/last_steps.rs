//! The last steps of the replay, which no checkpoint has.
//!
//! Work may have been away, for example in a stash. When it was back, a person moved its lines to other files before the next checkpoint:
//! one step has both files. Or a person has put a file back from which a checkpoint had moved lines.

use std::collections::{BTreeMap, BTreeSet};

use bstr::{BString, ByteSlice as _};

use super::{candidates::Candidate, renamed::at};
use crate::{
    error::Result,
    git::{Repo, find_line::LONGEST_LINE},
    model::{
        attribution::moved_on::Enough,
        change::{Change, Leaf},
        checkpoint::Origin,
        refname::{self, ShadowName},
    },
    ops::{
        provenance::{
            moved_lines::{MOST_BYTES, MOST_CHANGED, leave_out_stashed},
            moved_on::{Gained, Left, lines_of, spans_from},
            step::Step,
            steps::steps,
        },
        share::share,
    },
};

/// At most so many files count as moved from, of all shadows together: the newest shadow comes first.
const MOST_FOUND: usize = 16;

/// Finds the files of each of `candidates` whose lines are in other files now. Returns, for each candidate, how these files have changed
/// since its last checkpoint. `all` are all changes from HEAD, or from the commit's parent.
///
/// Lines count as moved only if all lines that their file has lost are new in other files, and no session has written them there. They
/// were not moved if a stash entry still has them, if the worktree has them in their own file, or if another file had them before. A
/// shadow whose commit was undone is left out: its record says where its lines are.
pub(super) fn moved_on(repo: &Repo, candidates: &[Candidate], all: &[Change]) -> Result<Vec<Vec<Change>>> {
    let mut moved: Vec<Vec<Change>> = candidates.iter().map(|_| Vec::new()).collect();
    let (mut bytes_left, mut files_left) = (MOST_BYTES, MOST_CHANGED);
    // Reading the steps of the live shadow is slow, and most commits take no such lines.
    let (mut in_all, mut in_unwritten) = (None, None);
    let head = repo.head()?.id.map(|id| repo.tree_of_commit(id)).transpose()?;
    let now = |path: &BString| -> Result<Option<Leaf>> {
        match (at(all, path), head) {
            (Some(change), _) => Ok(change.after),
            (None, Some(tree_id)) => repo.find_leaf(tree_id, path.as_bstr()),
            (None, None) => Ok(None),
        }
    };
    let mut found: Vec<(usize, Change, Vec<u8>)> = Vec::new();
    for (number, candidate) in candidates.iter().enumerate().rev() {
        let touched = if may_come_back(repo, candidate) { candidate.touched.as_slice() } else { &[] };
        for own in touched {
            if found.len() == MOST_FOUND || files_left == 0 {
                break;
            }
            let now = now(&own.path)?;
            // A file that is as a whole under another name was renamed.
            if now == own.after || all.iter().any(|change| change.after == own.after) {
                continue;
            }
            let gained = in_all.get_or_insert_with(|| Gained::all(repo, all));
            if gained.is_empty() {
                return Ok(moved);
            }
            files_left -= 1;
            let left = Left::of_work(repo, own, now, &mut bytes_left).filter(|left| left.is_all_in(gained));
            let Some(left) = left else { continue };
            if !candidate.has_agent(repo)? {
                break;
            }
            if in_unwritten.is_none() {
                in_unwritten = Some(Gained::all(repo, &unwritten(repo, candidates, all)?));
            }
            let gained = in_unwritten.as_deref().unwrap_or_default();
            if left.is_all_in(gained)
                && let Some(longest) = longest_moved(&left, &left.sharing(gained))
                && !left.is_in_worktree(repo, &mut bytes_left)
            {
                found.extend(Change::between(own.path.clone(), own.after, now).map(|change| (number, change, longest)));
            }
        }
    }
    if found.is_empty() {
        return Ok(moved);
    }
    let longest = found.iter().map(|(.., longest)| longest.as_slice()).collect();
    let there = there_before(repo, &longest, all)?;
    let mut paths = found.iter().map(|(_, change, _)| change.path.clone()).collect();
    leave_out_stashed(repo, &mut paths);
    for (number, change, longest) in found {
        if !there.contains(&longest) && paths.contains(&change.path) {
            moved[number].push(change);
        }
    }
    Ok(moved)
}

/// Returns the longest of the lines that `left` has lost to `gained`, of those that git can search for, without the blanks around it.
fn longest_moved(left: &Left, gained: &[&Gained<'_>]) -> Option<Vec<u8>> {
    let spans = spans_from(&[left], gained, Enough::Half, &|_, _| false)?;
    let moved = gained.iter().zip(&spans).flat_map(|(gained, spans)| lines_of(&gained.after, spans));
    let moved = moved.map(bstr::ByteSlice::trim).filter(|line| line.len() <= LONGEST_LINE);
    moved.max_by_key(|line| line.len()).map(<[u8]>::to_vec)
}

/// Returns those of `lines` that a file had before the changes `all`: such a line, and those beside it, are a copy. If that takes too
/// long to find out, or a file cannot be read, returns all.
fn there_before(repo: &Repo, lines: &BTreeSet<&[u8]>, all: &[Change]) -> Result<BTreeSet<Vec<u8>>> {
    let all_lines = || Ok(lines.iter().copied().map(<[u8]>::to_vec).collect());
    let (mut there, mut bytes) = (BTreeSet::new(), 0);
    let mut note = |text: &[u8]| {
        let found = text.lines().map(bstr::ByteSlice::trim).filter(|line| lines.contains(line));
        there.extend(found.map(<[u8]>::to_vec));
    };
    for change in all.iter().filter(|change| change.before != change.after) {
        let Ok(text) = repo.text_of(change.before) else { return all_lines() };
        let text = text.unwrap_or_default();
        bytes += text.len() as u64;
        if bytes > MOST_BYTES {
            return all_lines();
        }
        note(&text);
    }
    if let Some(head) = repo.head()?.id {
        let tree_id = repo.tree_of_commit(head)?;
        let mut files = repo.files_with_lines(head, &lines.iter().copied().collect::<Vec<_>>())?;
        files.retain(|path| at(all, path).is_none());
        if files.len() > MOST_CHANGED {
            return all_lines();
        }
        for path in files {
            let Ok(text) = repo.text_of(repo.find_leaf(tree_id, path.as_bstr())?) else { return all_lines() };
            note(&text.unwrap_or_default());
        }
    }
    Ok(there)
}

/// Returns true if work of `candidate` may have come back in the worktree, and no record has it.
fn may_come_back(repo: &Repo, candidate: &Candidate) -> bool {
    if candidate.tip.archived {
        return !refname::is_settled(&candidate.tip.name);
    }
    // In another worktree, the lines are where they were.
    !candidate.is_live
        && ShadowName::from_ref(&candidate.tip.name).is_some_and(|name| name.worktree == *repo.worktree_id())
}

/// Returns true if lines of `candidate` may have been moved to other files: `staged`, the changes of its own files, does not have all of
/// them as it left them.
pub(super) fn may_be_moved_on(repo: &Repo, candidate: &Candidate, staged: &[Change]) -> bool {
    let is_left = |own: &Change| own.after.is_some() && at(staged, &own.path).is_none_or(|it| it.after != own.after);
    may_come_back(repo, candidate) && candidate.touched.iter().any(is_left)
}

/// Returns `committed` without what sessions have written in the same files: each change begins with what the last step of a session in
/// the live shadow left, or what another shadow left there.
fn unwritten(repo: &Repo, candidates: &[Candidate], committed: &[Change]) -> Result<Vec<Change>> {
    let live = candidates.iter().find(|candidate| candidate.is_live);
    let read = |live: &Candidate| steps(repo, &live.checkpoint, &|path| at(committed, path).is_some());
    let steps = live.map(read).transpose()?.unwrap_or_default();
    let of_sessions: Vec<&Step> = steps.iter().filter(|step| step.origin.may_be_of_session()).collect();
    let mut unwritten = Vec::new();
    for change in committed {
        let mut begin = of_sessions.iter().rev().find_map(|step| at(&step.changes, &change.path)).map(|it| it.after);
        for other in candidates.iter().rev().filter(|candidate| begin.is_none() && !candidate.is_live) {
            let own = at(&other.touched, &change.path).filter(|own| own.after.is_some());
            if let Some(own) = own
                && let Some(share) = other.unless_damaged(repo, share(repo, own, change.before, change.after))?
                && share.is_half()
                && other.has_agent(repo)?
            {
                begin = Some(own.after);
                break;
            }
        }
        unwritten.extend(Change::between(change.path.clone(), begin.unwrap_or(change.before), change.after));
    }
    Ok(unwritten)
}

/// Returns the steps of a person that have moved lines out of the files `moved`. The first step brings the work back. The second step
/// moves the lines: it leaves these files as they are now, and the other files as `committed` has them.
pub(super) fn last_steps(mut moved: Vec<Change>, committed: &[Change]) -> Vec<Step> {
    if moved.is_empty() {
        return Vec::new();
    }
    moved.sort_by(|one, other| one.path.cmp(&other.path));
    moved.dedup_by(|one, other| one.path == other.path);
    let others = committed.iter().filter(|change| change.old_path.is_none() && at(&moved, &change.path).is_none());
    let others: Vec<Change> = others.cloned().collect();
    let back = |change: &Change| Change::between(change.path.clone(), change.after, change.before);
    let back = Step::new(Origin::default(), moved.iter().filter_map(back).collect());
    moved.extend(others);
    moved.sort_by(|one, other| one.path.cmp(&other.path));
    vec![back, Step::new(Origin::default(), moved)]
}

/// Returns the step of a person that puts files back as HEAD has them, if the worktree has them so: those that `steps` changed and
/// `committed` does not change. Lines that a step moved out of them are there again.
pub(super) fn put_back(repo: &Repo, steps: &[Step], committed: &[Change]) -> Result<Option<Step>> {
    let Some(head) = repo.head()?.id else { return Ok(None) };
    let head_tree_id = repo.tree_of_commit(head)?;
    let is_committed =
        |path: &BString| committed.iter().any(|change| change.path == *path || change.old_path.as_ref() == Some(path));
    let mut left: BTreeMap<&BString, Option<Leaf>> = BTreeMap::new();
    for step in steps {
        left.extend(step.changes.iter().filter_map(|change| Some((change.old_path.as_ref()?, None))));
        left.extend(step.changes.iter().map(|change| (&change.path, change.after)));
    }
    let mut back = Vec::new();
    for (path, left) in left.into_iter().filter(|(path, _)| !is_committed(path)) {
        let head = repo.find_leaf(head_tree_id, path.as_bstr())?;
        back.extend(head.and_then(|head| Change::between(path.clone(), left, Some(head))));
    }
    let back = if back.is_empty() { back } else { repo.unchanged_in_worktree(back)? };
    Ok((!back.is_empty()).then(|| Step::new(Origin::default(), back)))
}
