//! Finds lines that were moved, since the last checkpoint, out of a file that the next commit does not take.
//!
//! The commit does not show where such lines come from, so a checkpoint has to: in one step, a file lost them and another one
//! gained them. Most commits need none, so the quick questions come first: [`has_files`], then [`may_be_any`].

use std::{collections::BTreeSet, io::ErrorKind};

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use crate::{
    config::Storage,
    error::Result,
    git::Repo,
    model::{change::Change, refname::Base},
    ops::{
        Context, Worktree,
        chain::{Shadow, look_at_all, look_at_paths, shadows},
        condense,
        known_base::known_base,
        provenance::moved_lines::{MOST_BYTES, MOST_CHANGED, all_moved_out, losing_rows, lost_to, moved_out, takers},
        turn,
    },
};

/// If a shadow has more files than this that are not staged, we do not look for moved lines.
const MOST_LEFT: usize = 1_000;

/// Returns true if there is a live shadow on `base`, or where HEAD was before.
pub(super) fn has_files(context: &Context, base: Base) -> Result<bool> {
    let known = known_base(context).filter(|known| *known != base);
    for base in [Some(base), known].into_iter().flatten() {
        if !shadows::live(&context.repo, base, context.repo.worktree_id())?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns true if a session has work in a live shadow with a file that is not `staged`, or of which lines were cut out since.
pub(super) fn may_be_any(context: &Context, base: Base, staged: &[Change]) -> Result<bool> {
    let repo = &context.repo;
    // `Worktree::catch_up` may carry that work to HEAD.
    if let Some(known) = known_base(context).filter(|known| *known != base)
        && condense::has_work_on(repo, known)?
    {
        return Ok(true);
    }
    let shadow = Shadow::read_at(repo, base)?;
    let trees = (shadow.head_tree_id, shadow.last_tree_id());
    let may_be = !files_left(repo, trees, staged)?.is_empty() || !cut_out(repo, trees.1, staged)?.is_empty();
    Ok(may_be && condense::has_work_on(repo, base)?)
}

/// Returns the paths to save if a file of the live shadow has lost lines since the last checkpoint that another file of the worktree has:
/// the staged files, that file, and those that have its lines. All that the file has lost must be new in other files since that
/// checkpoint, or the checkpoint must have a copy of lines in a row.
///
/// Without that checkpoint, nothing would show where these lines come from, and the work of the file would look undone. If the commit
/// renames the file, only the lines that it does not have under the new name count as lost. If the checkpoint is one in the turn of
/// `session` and the turn has none yet, its baseline is the last one.
pub(super) fn to_save(
    worktree: &Worktree<'_>,
    staged: &[Change],
    session: Option<&str>,
) -> Result<Option<Vec<BString>>> {
    if worktree.settings.storage == Storage::Session {
        // The lines of the session that a file still has might get another author when they are carried forward.
        return Ok(None);
    }
    let (repo, shadow) = (&worktree.repo, Shadow::read_for(worktree, None)?);
    let baseline = session.map_or(Ok(None), |id| turn::baseline(worktree, id, shadow.tip.as_ref()))?;
    let last_tree_id = baseline.map_or(shadow.last_tree_id(), |baseline| baseline.tree_id);
    let touched = repo.diff_trees(shadow.head_tree_id, last_tree_id)?;
    let cut = cut_out(repo, last_tree_id, staged)?;
    let left = files_left(repo, (shadow.head_tree_id, last_tree_id), staged)?;
    if left.len() > MOST_LEFT || staged.len() > MOST_CHANGED {
        return Ok(None);
    }
    let left = with_other_sizes(repo, left);
    if left.is_empty() && cut.is_empty() {
        return Ok(None);
    }
    let (seen, objects) = look_at_paths(worktree, &left, &shadow)?;
    let lost = objects.changes_of_trees(last_tree_id, seen.tree_id)?;
    let renamed = condense::renamed_since(repo, &touched, &repo.detect_renames(staged.to_vec())?)?;
    let now = |lost: &Change| match renamed.iter().find(|it| it.old_path.as_ref() == Some(&lost.path)) {
        Some(renamed) => renamed.after,
        None => lost.after,
    };
    let lost = lost.iter().filter_map(|it| Change::between(it.path.clone(), it.before, now(it)));
    let mut lost = losing_rows(&objects.in_memory(), lost.collect());
    lost.extend(cut);
    if lost.is_empty() {
        return Ok(None);
    }
    let mut gained = Vec::with_capacity(staged.len());
    for change in staged {
        let before = repo.find_leaf(last_tree_id, change.path.as_ref())?;
        gained.extend(Change::between(change.path.clone(), before, change.after));
    }
    let moved = all_moved_out(&objects.in_memory(), &gained, lost.clone(), &mut { MOST_BYTES });
    if moved.len() == lost.len() {
        return Ok(Some(paths_of([staged, &moved, &[]])));
    }
    // The other lines may have gone to files that are not staged, or were copied there before the last checkpoint.
    let (seen, objects) = look_at_all(worktree, &shadow)?;
    let (in_memory, mut others) = (objects.in_memory(), objects.changes_of_trees(last_tree_id, seen.tree_id)?);
    others.retain(|it| !is_in(staged, &it.path));
    let mut moved = copied(&in_memory, &lost, (staged, &touched));
    lost.retain(|it| moved.iter().all(|moved| moved.path != it.path));
    moved.extend(moved_out(&in_memory, &[gained.as_slice(), &others].concat(), lost, &mut { MOST_BYTES }));
    if moved.is_empty() {
        return Ok(None);
    }
    let mut paths = paths_of([staged, &moved, &takers(&in_memory, &moved, others)]);
    paths.retain(|path| seen.skipped.iter().all(|skipped| skipped.path != *path));
    Ok(Some(paths))
}

/// Returns the files that do not have as many bytes as the last checkpoint has of them, or are gone: no other one has lost lines that
/// another file has. Most commits find none, and read no file. Leaves out files that are too large to be read here.
fn with_other_sizes(repo: &Repo, left: Vec<Change>) -> Vec<BString> {
    let mut bytes_left = MOST_BYTES;
    let sizes = |change: &Change| {
        let stored = repo.size_of_object(change.after?.id)?;
        match repo.worktree_root().join(change.path.to_path().ok()?).symlink_metadata() {
            Ok(found) => Some((stored, found.len())),
            Err(cause) if cause.kind() == ErrorKind::NotFound => Some((stored, 0)),
            Err(_) => None,
        }
    };
    let mut may_be_read = |(stored, now): (u64, u64)| {
        let left = bytes_left.checked_sub(stored.saturating_add(now)).filter(|_| stored != now);
        bytes_left = left.unwrap_or(bytes_left);
        left.is_some()
    };
    left.into_iter().filter(|change| sizes(change).is_some_and(&mut may_be_read)).map(|change| change.path).collect()
}

/// Returns the paths of all `changes`, sorted.
fn paths_of(changes: [&[Change]; 3]) -> Vec<BString> {
    let paths: BTreeSet<BString> = changes.into_iter().flatten().map(|change| change.path.clone()).collect();
    paths.into_iter().collect()
}

/// Returns true if one of `changes`, which are sorted, is at `path`.
fn is_in(changes: &[Change], path: &BString) -> bool {
    changes.binary_search_by(|change| change.path.cmp(path)).is_ok()
}

/// Returns the files of `lost` that lost lines in a row which others have gained since HEAD, by what is staged, or else by what a shadow
/// has `touched`: they were copied before they were cut out.
fn copied(repo: &Repo, lost: &[Change], (staged, touched): (&[Change], &[Change])) -> Vec<Change> {
    let is_lost = |path: &BString| lost.iter().any(|it| it.path == *path);
    let mut places: Vec<Change> = touched.iter().filter(|it| !is_in(staged, &it.path)).cloned().collect();
    places.extend_from_slice(staged);
    places.retain(|it| !is_lost(&it.path));
    let found = lost_to(repo, &[lost.to_vec(), places], &|path| !is_lost(path), &mut { MOST_BYTES });
    lost.iter().filter(|it| found.contains(&it.path)).cloned().collect()
}

/// Returns those of the `staged` files that lost lines in a row since the last checkpoint, which has the tree `last_tree_id` and has changed
/// them.
fn cut_out(repo: &Repo, last_tree_id: ObjectId, staged: &[Change]) -> Result<Vec<Change>> {
    let mut cut = Vec::new();
    for change in staged.iter().take(MOST_CHANGED) {
        let last = repo.find_leaf(last_tree_id, change.path.as_ref())?;
        let is_touched = last.is_some() && last != change.before;
        cut.extend(Change::between(change.path.clone(), last, change.after).filter(|_| is_touched));
    }
    Ok(losing_rows(repo, cut))
}

/// Returns how the last checkpoint differs from HEAD in the files that are not `staged`.
fn files_left(repo: &Repo, (head, last): (ObjectId, ObjectId), staged: &[Change]) -> Result<Vec<Change>> {
    let touched = repo.diff_trees(head, last)?.into_iter();
    Ok(touched.filter(|it| it.after.is_some() && !is_in(staged, &it.path)).collect())
}
