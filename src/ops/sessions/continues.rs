//! Whether the work of a turn continues where the shadow ends: compares what the shadow has changed with the worktree.

use std::collections::BTreeSet;

use bstr::BString;
use gix::ObjectId;

use crate::{
    error::{Kind, Result},
    model::{
        change::Change,
        overlap::{Decision, Touched, decide},
    },
    ops::{
        Context,
        chain::{carry_forward::base_tree, changes},
        provenance::moved_lines::{MOST_BYTES, moved_out, takers},
        save::Shadow,
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
    let gone: Vec<_> = changes.iter().filter(is_gone).filter_map(|it| Some((it.path.clone(), it.before?.id))).collect();
    now.extend(repo.find_renamed(&gone, changes)?.into_keys());
    Ok(now)
}
