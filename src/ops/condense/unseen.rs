//! Commits that an agent's command has made without our hooks.

use bstr::{BString, ByteSlice as _};

use super::made::Made;
use crate::{
    error::Result,
    git::{
        edit_tree::{Edit, edit_tree},
        new_objects::{NewObjects, Target},
        refs::RefUpdate,
        side::{Side, write_side_tree},
    },
    model::{checkpoint::Origin, contributor::Contributor, refname::Base},
    ops::{
        Worktree,
        chain::{Shadow, commit::Draft, side_commit},
    },
    state::failpoint,
};

/// How many checkpoints back we look for the content of a file.
const MOST_CHECKPOINTS: usize = 64;

/// Takes a checkpoint of the content that the commit has and the live shadow of `base` does not: a command committed it before a
/// save saw it. The author is unknown, because git may have brought the content from elsewhere.
pub(crate) fn take_unseen(worktree: &Worktree<'_>, made: &Made, base: Base) -> Result<()> {
    let repo = &worktree.repo;
    let shadow = Shadow::read_at(repo, base)?;
    let mut changes = made.changes(repo)?;
    // The command has only committed what was staged or saved before.
    let staged = shadow.tip_side.as_ref().and_then(|side| side.index_tree_id);
    let chain = shadow.tip.iter().flat_map(|tip| repo.chain_in_time(tip.id).take(MOST_CHECKPOINTS));
    let earlier = chain.flatten().map(|checkpoint| checkpoint.tree_id);
    for tree_id in [shadow.last_tree_id()].into_iter().chain(staged).chain(earlier) {
        changes.retain(|change| repo.find_leaf(tree_id, change.path.as_bstr()).ok() != Some(change.after));
    }
    if changes.is_empty() {
        return Ok(());
    }
    let edits: Vec<(BString, Edit)> =
        changes.into_iter().map(|change| (change.path, change.after.map(|leaf| (leaf.id, leaf.mode)))).collect();
    let mut objects = NewObjects::new(repo, Target::Loose);
    let tree_id = edit_tree(shadow.last_tree_id(), &edits, &mut objects)?;
    let (parent_id, after) = shadow.links(&mut objects)?;
    let side_tree_id = write_side_tree(&side_without(&shadow, &edits, &mut objects)?, &mut objects)?;
    let (name, time) = (&shadow.name, shadow.not_before(repo.now()));
    let (subject, body) = ("changes that a command committed", format!("It is in {}.\n", made.commit));
    let origin = &Origin { contributor: Contributor::Unknown, ..Origin::default() };
    let side_id = side_commit(repo, &shadow, side_tree_id, origin, &mut objects)?;
    let id = Draft { name, tree_id, parent_id, after, side_id, origin, subject, body: &body, time }
        .write(repo, &mut objects)?;
    let written = objects.write()?;
    failpoint::hit("unseen:before-refs");
    repo.update_refs(&[RefUpdate { name: name.to_ref(), old: shadow.expected, new: Some(id) }])?;
    failpoint::hit("unseen:after-refs");
    written.settle()
}

/// Returns the side data of the last checkpoint of `shadow`, but not those of the files in `edits`, nor what was staged.
fn side_without(shadow: &Shadow, edits: &[(BString, Edit)], objects: &mut NewObjects<'_>) -> Result<Side> {
    let Some(Side { raw_tree_id, mut manifest, .. }) = shadow.tip_side.clone() else { return Ok(Side::default()) };
    manifest.unmerged.clear();
    manifest.unfiltered.retain(|file| edits.iter().all(|(path, _)| *path != file.path));
    let gone: Vec<(BString, Edit)> = edits.iter().map(|(path, _)| (path.clone(), None)).collect();
    let raw_tree_id = raw_tree_id.map(|id| edit_tree(id, &gone, objects)).transpose()?.filter(|id| !id.is_empty_tree());
    Ok(Side { raw_tree_id, manifest, ..Side::default() })
}
