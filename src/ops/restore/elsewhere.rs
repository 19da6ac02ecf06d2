//! Whether a checkpoint has a version of a file that nothing else has.

use std::collections::{BTreeSet, HashSet};

use bstr::BString;
use gix::ObjectId;

use super::snapshot::{Snapshot, differences};
use crate::{
    error::Result,
    git::Repo,
    model::{change::Mode, contributor::Contributor, taken_off::has_nothing_of_its_own},
    ops::{Context, restored_target::restored},
};

/// Returns true if nothing is lost when no chain leads to the checkpoint `id` any more, and those that end with `tips` stay: each file
/// is, byte for byte, as in a state that stays, and no agent may have written anything. `known` may have the files, too, if they stay.
///
/// A state stays if one of `tips` or HEAD leads to it.
pub(crate) fn is_elsewhere(context: &Context, known: &[ObjectId], tips: &[ObjectId], id: ObjectId) -> bool {
    look(&context.repo, known, tips, id).unwrap_or_else(|error| {
        tracing::debug!(%error, "what cannot be compared counts as a version of its own");
        false
    })
}

fn look(repo: &Repo, known: &[ObjectId], tips: &[ObjectId], id: ObjectId) -> Result<bool> {
    let state = Snapshot::read(repo, id)?;
    let Some(checkpoint) = state.checkpoint.clone() else { return Ok(false) };
    // Who wrote a line is known by the checkpoint in which it came.
    if checkpoint.origin.contributor != Contributor::Human || checkpoint.origin.note.is_some() {
        return Ok(false);
    }
    let side_tree = |id: Option<ObjectId>| id.map(|id| repo.tree_of_commit(id)).transpose();
    let side_tree_id = side_tree(checkpoint.side_id)?;
    for tip in tips {
        let tip = repo.find_checkpoint(*tip)?.filter(|tip| tip.tree_id == checkpoint.tree_id);
        if tip.is_some_and(|tip| side_tree(tip.side_id).is_ok_and(|id| id == side_tree_id)) {
            return Ok(true);
        }
    }
    let head = repo.head()?.id;
    let holders: Vec<ObjectId> = tips.iter().copied().chain(head).collect();
    let stays = |id: ObjectId| repo.reaches(holders.clone(), id, 0);
    let mut states = Vec::new();
    let mut before = None;
    for earlier in repo.chain(id).skip(1) {
        let earlier = earlier?.id;
        if stays(earlier)? {
            before = Some(earlier);
            break;
        }
    }
    // Without another one, the chain begins with the commit.
    let mut candidates: Vec<ObjectId> = before.or(checkpoint.base.commit_id()).into_iter().chain(head).collect();
    candidates.extend(known);
    let mut seen = HashSet::from([id]);
    while let Some(candidate) = candidates.pop() {
        if !seen.insert(candidate) {
            continue;
        }
        if stays(candidate)? {
            states.push(candidate);
        } else if let Some(gone) = repo.find_checkpoint(candidate)? {
            // What a restore has made has its files from another one.
            candidates.extend(restored(&gone.origin));
        }
    }
    let states = states.into_iter().map(|id| Snapshot::read(repo, id)).collect::<Result<Vec<_>>>()?;
    let is_tied = |of: &Snapshot| of.manifest.submodules == state.manifest.submodules;
    let has_same_stages = |of: &Snapshot| of.manifest.unmerged == state.manifest.unmerged;
    if !(state.manifest.submodules.is_empty() || states.iter().any(is_tied))
        || !(state.manifest.unmerged.is_empty() || states.iter().any(has_same_stages))
    {
        return Ok(false);
    }
    let staged = |of: ObjectId| {
        let changes = repo.diff_trees(of, state.index_tree)?.into_iter();
        let is_file = |mode: Mode| mode != Mode::Gitlink;
        Ok(changes.filter(|it| it.after.is_some_and(|after| is_file(after.mode))).map(|it| it.path).collect())
    };
    let files = |of: &Snapshot| -> Result<BTreeSet<BString>> {
        let steps = differences(repo, of, &state)?.into_iter();
        Ok(steps.filter(|step| step.after.is_some_and(|it| it.leaf.mode != Mode::Gitlink)).map(|it| it.path).collect())
    };
    Ok(has_nothing_of_its_own(states.iter().map(files))?
        && has_nothing_of_its_own(states.iter().flat_map(|of| [of.index_tree, of.tree_id]).map(staged))?)
}
