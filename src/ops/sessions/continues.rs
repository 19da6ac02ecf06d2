//! Whether the work of a turn continues where the shadow ends: compares what the shadow has changed with the worktree.

use std::collections::BTreeSet;

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use crate::{
    error::{Kind, Result},
    git::new_names::{By, Old},
    model::{
        change::Change,
        overlap::{Decision, Touched, decide},
    },
    ops::{
        Context,
        chain::{carry_forward::base_tree, changes},
        provenance::moved_lines::{MOST_BYTES, moved_out, takers},
        save::Shadow,
        share::share,
    },
};

/// Returns the paths in which the work of `shadow` differs from its base; none if there is no such shadow.
pub(super) fn touched_by(context: &Context, shadow: &Shadow) -> Result<Option<BTreeSet<BString>>> {
    let repo = &context.repo;
    let paths = |changes: Vec<Change>| changes.into_iter().map(|change| change.path).collect::<BTreeSet<_>>();
    if shadow.name.session.is_none() {
        let Some(tip) = &shadow.tip else { return Ok(None) };
        return Ok(Some(paths(repo.diff_trees_if_damaged(base_tree(repo, tip)?, tip.tree_id)?)));
    }
    // The checkpoints of a session's own shadow contain the changes of others, too.
    let Some(tip) = shadow.expected.map(|id| repo.find_checkpoint(id)).transpose()?.flatten() else { return Ok(None) };
    let mut own = BTreeSet::new();
    for checkpoint in repo.chain(tip.id) {
        own.extend(paths(changes(repo, &checkpoint?)?));
    }
    let all = paths(repo.diff_trees_if_damaged(base_tree(repo, &tip)?, tip.tree_id)?);
    Ok(Some(all.intersection(&own).cloned().collect()))
}

/// Returns whether the next turn continues `shadow`, if the worktree has the tree `tree_id` and differs from HEAD in the paths `dirty`.
pub(super) fn decide_for(
    context: &Context,
    shadow: &Shadow,
    is_broken: bool,
    tree_id: ObjectId,
    dirty: &BTreeSet<BString>,
) -> Result<Decision> {
    let touched = touched_by(context, shadow).and_then(|touched| {
        let Some(mut touched) = touched else { return Ok(None) };
        if touched.is_disjoint(dirty) && !dirty.is_empty() {
            touched.extend(places_now(context, shadow, tree_id, &touched)?);
        }
        if touched.is_disjoint(dirty) {
            // A damaged checkpoint before the last one says nothing about the last one.
            touched.extend(back_again(context, shadow, tree_id, dirty).or_else(|error| match error.kind() {
                Kind::Corrupt => Ok(BTreeSet::new()),
                _ => Err(error),
            })?);
        }
        Ok(Some(touched))
    });
    match touched {
        Ok(None) if is_broken => Ok(decide(Touched::Unreadable, dirty)),
        Ok(None) => Ok(decide(Touched::NoShadow, dirty)),
        Ok(Some(touched)) => Ok(decide(Touched::Paths(&touched), dirty)),
        // The base commit is damaged. We cannot repair it, and the turn begins all the same.
        Err(error) if error.kind() == Kind::Corrupt => Ok(decide(Touched::Unreadable, dirty)),
        Err(error) => Err(error),
    }
}

/// How many checkpoints back we look for work that is in the worktree again.
const MOST_CHECKPOINTS: usize = 64;

/// Returns those of the files `dirty` that have all work of an earlier checkpoint of `shadow`, which its last one does not have: it was
/// stashed then, for example.
fn back_again(
    context: &Context,
    shadow: &Shadow,
    tree_id: ObjectId,
    dirty: &BTreeSet<BString>,
) -> Result<BTreeSet<BString>> {
    let (repo, mut found) = (&context.repo, BTreeSet::new());
    let Some(tip) = shadow.tip.as_ref().filter(|_| !dirty.is_empty()) else { return Ok(found) };
    let base_tree_id = base_tree(repo, tip)?;
    let mut bytes_left = MOST_BYTES;
    for checkpoint in repo.chain(tip.id).take(MOST_CHECKPOINTS) {
        for Change { path, after, .. } in changes(repo, &checkpoint?)? {
            if !dirty.contains(&path) || found.contains(&path) {
                continue;
            }
            let leaf = |tree_id| repo.find_leaf(tree_id, path.as_bstr());
            let (base, now) = (leaf(base_tree_id)?, leaf(tree_id)?);
            let Some(work) = Change::between(path.clone(), base, after) else { continue };
            let sizes = [base, after, now].into_iter().flatten().filter_map(|leaf| repo.size_of_object(leaf.id));
            let left = if now == after { Some(bytes_left) } else { bytes_left.checked_sub(sizes.sum()) };
            bytes_left = left.unwrap_or(bytes_left);
            if left.is_some() && share(repo, &work, base, now)?.is_all() {
                found.insert(path);
            }
        }
    }
    Ok(found)
}

/// Returns the files of the worktree that have the work of `shadow` under other names than those `touched` by it: its files were
/// renamed since, or all their lines were moved to these files.
fn places_now(
    context: &Context,
    shadow: &Shadow,
    tree_id: ObjectId,
    touched: &BTreeSet<BString>,
) -> Result<BTreeSet<BString>> {
    let repo = &context.repo;
    let Some(tip) = &shadow.tip else { return Ok(BTreeSet::new()) };
    let changes = repo.diff_trees_if_damaged(tip.tree_id, tree_id)?;
    let (lost, others): (Vec<_>, Vec<_>) = changes.iter().cloned().partition(|it| touched.contains(&it.path));
    let moved = moved_out(repo, &changes, lost, &mut { MOST_BYTES });
    let mut now: BTreeSet<BString> = takers(repo, &moved, others).into_iter().map(|change| change.path).collect();
    let is_gone = |change: &&Change| change.after.is_none() && touched.contains(&change.path);
    let gone: Vec<Old> = changes.iter().filter(is_gone).filter_map(Old::before).collect();
    let renamed = repo.new_names(&gone, &changes, By::Git, |change| change.before.is_none())?;
    now.extend(renamed.into_iter().map(|change| change.path));
    Ok(now)
}
