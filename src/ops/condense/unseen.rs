//! Commits that an agent's command has made without our hooks.

use bstr::ByteSlice as _;

use super::made::Made;
use crate::{
    error::Result,
    git::{
        edit_tree::edit_tree,
        new_objects::{NewObjects, Target},
        refs::RefUpdate,
    },
    model::{checkpoint::Origin, contributor::Contributor},
    ops::{
        Worktree,
        chain::{Shadow, draft::Draft},
    },
    state::failpoint,
};

/// How many checkpoints back we look for the content of a file.
const MOST_CHECKPOINTS: usize = 64;

/// Takes a checkpoint of what the commit has and no checkpoint that it stands on: a command has changed and committed it, but it
/// may also have brought it with git. Its author is unknown.
pub(crate) fn take_unseen(worktree: &Worktree<'_>, made: &Made) -> Result<()> {
    let repo = &worktree.repo;
    let shadow = Shadow::read_at(repo, made.base)?;
    let mut changes = made.changes(repo)?;
    changes.retain(|change| repo.find_leaf(shadow.last_tree_id(), change.path.as_bstr()).ok() != Some(change.after));
    let chain = shadow.tip.iter().flat_map(|tip| repo.chain_in_time(tip.id).take(MOST_CHECKPOINTS));
    for checkpoint in chain.flatten() {
        changes.retain(|change| repo.find_leaf(checkpoint.tree_id, change.path.as_bstr()).ok() != Some(change.after));
    }
    if changes.is_empty() {
        return Ok(());
    }
    let edits: Vec<_> =
        changes.into_iter().map(|change| (change.path, change.after.map(|leaf| (leaf.id, leaf.mode)))).collect();
    let mut objects = NewObjects::new(repo, Target::Loose);
    let tree_id = edit_tree(shadow.last_tree_id(), &edits, &mut objects)?;
    let (parent_id, after) = shadow.links(&mut objects)?;
    let side_id = shadow.tip.as_ref().and_then(|tip| tip.side_id);
    let (name, time) = (&shadow.name, shadow.not_before(repo.now()));
    let (subject, body) = ("what a command has committed", format!("It is in {}.\n", made.commit));
    let origin = &Origin { contributor: Contributor::Unknown, ..Origin::default() };
    let id = Draft { name, tree_id, parent_id, after, side_id, origin, subject, body: &body, time }
        .write(repo, &mut objects)?;
    let written = objects.write()?;
    failpoint::hit("unseen:before-refs");
    repo.update_refs(&[RefUpdate { name: name.to_ref(), old: shadow.expected, new: Some(id) }])?;
    failpoint::hit("unseen:after-refs");
    written.settle()
}
