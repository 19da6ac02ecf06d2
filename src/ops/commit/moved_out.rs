//! Finds lines that were moved, since the last checkpoint, out of a file that the next commit does not take.
//!
//! The commit does not show where such lines come from, so a checkpoint has to: in one step, a file lost them and another one
//! gained them. Most commits need none, so the quick questions come first: [`has_files`], then [`may_be_any`].

use bstr::BString;

use crate::{
    error::Result,
    git::Repo,
    model::{change::Change, refname::Base},
    ops::{
        Context, Worktree,
        chain::{Shadow, look_at_all, look_at_paths, shadows},
        condense,
        known_base::known_base,
        provenance::moved_lines::{MOST_BYTES, MOST_CHANGED, moved_out, take_sources},
    },
};

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

/// Returns true if a session has work in a live shadow with a file that is not `staged`.
pub(super) fn may_be_any(context: &Context, base: Base, staged: &[Change]) -> Result<bool> {
    let repo = &context.repo;
    // `Worktree::catch_up` may carry that work to HEAD.
    if let Some(known) = known_base(context).filter(|known| *known != base)
        && condense::has_work_on(repo, known)?
    {
        return Ok(true);
    }
    Ok(!files_left(repo, &Shadow::read_at(repo, base)?, staged)?.is_empty() && condense::has_work_on(repo, base)?)
}

/// Returns true if lines of the `staged` files are those that another file of the live shadow has lost since the last checkpoint, and
/// if at least half of what that file has lost is new elsewhere in the worktree. A file that has a new name in the commit has lost
/// those lines that it does not have there: the commit shows where the others come from.
pub(super) fn is_any(worktree: &Worktree<'_>, staged: &[Change]) -> Result<bool> {
    let (repo, shadow) = (&worktree.repo, Shadow::read_for(worktree, None)?);
    let left = files_left(repo, &shadow, staged)?;
    if left.is_empty() || left.len() > MOST_CHANGED || staged.is_empty() || staged.len() > MOST_CHANGED {
        return Ok(false);
    }
    let last_tree_id = shadow.last_tree_id();
    let (seen, objects) = look_at_paths(worktree, &left, &shadow)?;
    let lost = objects.changes_of_trees(last_tree_id, seen.tree_id)?;
    let mut gained = Vec::with_capacity(staged.len());
    for change in staged {
        let before = repo.find_leaf(last_tree_id, change.path.as_ref())?;
        gained.extend(Change::between(change.path.clone(), before, change.after));
    }
    let lost = take_sources(&objects.in_memory(), &gained, lost, &mut { MOST_BYTES });
    if lost.is_empty() {
        return Ok(false);
    }
    let touched = repo.diff_trees(shadow.head_tree_id, last_tree_id)?;
    let renamed = condense::renamed_since(repo, &touched, &repo.detect_renames(staged.to_vec())?)?;
    let now = |lost: &Change| match renamed.iter().find(|it| it.old_path.as_ref() == Some(&lost.path)) {
        Some(renamed) => renamed.after,
        None => lost.after,
    };
    let lost = lost.iter().filter_map(|it| Change::between(it.path.clone(), it.before, now(it))).collect();
    let (seen, objects) = look_at_all(worktree, &shadow)?;
    let all = objects.changes_of_trees(last_tree_id, seen.tree_id)?;
    Ok(!moved_out(&objects.in_memory(), &[gained, all].concat(), lost).is_empty())
}

/// Returns the files that `shadow` has changed and that are not `staged`.
fn files_left(repo: &Repo, shadow: &Shadow, staged: &[Change]) -> Result<Vec<BString>> {
    let touched = repo.diff_trees(shadow.head_tree_id, shadow.last_tree_id())?.into_iter();
    let is_staged = |path: &BString| staged.binary_search_by(|it| it.path.cmp(path)).is_ok();
    Ok(touched.filter(|it| it.after.is_some() && !is_staged(&it.path)).map(|change| change.path).collect())
}
