//! Takes a checkpoint of content that the worktree may not have any more.

use bstr::BString;

use crate::{
    error::{Error, Result},
    git::{
        edit_tree::{Edit, edit_tree},
        new_objects::{NewObjects, Target},
        side::{Side, write_side_tree},
    },
    model::checkpoint::Origin,
    ops::{
        Worktree,
        chain::{Shadow, commit::Draft, publish, side_commit},
        turn::{self, OpenTurn},
    },
    state::failpoint,
};

/// Takes a checkpoint of the last one of `shadow` with `edits`, which `origin` has made; `turns` are those that begin with it.
pub(super) fn take_extra(
    worktree: &Worktree<'_>,
    mut shadow: Shadow,
    turns: Vec<OpenTurn<'_>>,
    edits: &[(BString, Edit)],
    origin: &Origin,
    (subject, body): (&str, &str),
) -> Result<()> {
    let repo = &worktree.repo;
    let mut objects = NewObjects::new(repo, Target::Loose);
    let tree_id = edit_tree(shadow.last_tree_id(), edits, &mut objects)?;
    let (parent_id, after) = shadow.links(&mut objects)?;
    let side_tree_id = write_side_tree(&side_without(&shadow, edits, &mut objects)?, &mut objects)?;
    let (name, time) = (shadow.name.clone(), shadow.not_before(repo.now()));
    let side_id = side_commit(repo, &shadow, side_tree_id, origin, &mut objects)?;
    let id = Draft { name: &name, tree_id, parent_id, after, side_id, origin, subject, body, time }
        .write(repo, &mut objects)?;
    let written = objects.write()?;
    let taken = repo.checkpoint(id)?.ok_or_else(|| Error::internal(format!("'{id}' is no checkpoint")))?;
    shadow.follow(repo, taken)?;
    failpoint::hit("unseen:before-refs");
    publish(worktree, &mut shadow)?;
    failpoint::hit("unseen:after-refs");
    written.check_and_release()?;
    for turn in turns {
        turn.took_checkpoint(worktree);
    }
    turn::write(worktree)
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
