//! Commits that an agent's command has made without our hooks.

use std::collections::{HashMap, HashSet};

use bstr::{BString, ByteSlice as _};

use super::made::Made;
use crate::{
    error::{Error, Result},
    git::{
        Repo,
        edit_tree::{Edit, edit_tree},
        line_edits::{is_binary, step_edits},
        new_objects::{NewObjects, Target},
        side::{Side, write_side_tree},
    },
    model::{
        change::{Leaf, Mode},
        checkpoint::Origin,
        contributor::Contributor,
        refname::Base,
    },
    ops::{
        Worktree,
        chain::{Shadow, commit::Draft, publish, side_commit},
        turn::{self, OpenTurn},
    },
    state::failpoint,
};

/// How many checkpoints back we look for the content of a file.
const MOST_CHECKPOINTS: usize = 64;

/// Takes a checkpoint of the content that the commit has and the live shadow of `base` does not: a command committed it before a
/// save saw it. The author is unknown, because git may have brought the content from elsewhere.
pub(crate) fn checkpoint_unseen(worktree: &Worktree<'_>, made: &Made, base: Base) -> Result<()> {
    let repo = &worktree.repo;
    let mut shadow = Shadow::read_at(repo, base)?;
    let turns = OpenTurn::add_baselines(worktree, &mut shadow, Some(Contributor::Unknown))?;
    let mut changes = made.changes(repo)?;
    let renames = repo.detect_renames(changes.clone())?.into_iter().filter(|change| change.old_path.is_some());
    let former: HashMap<BString, Option<Leaf>> = renames.map(|change| (change.path, change.before)).collect();
    // The command has only committed what was staged or saved before.
    let staged = shadow.tip_side.as_ref().and_then(|side| side.index_tree_id);
    let chain = shadow.tip.iter().flat_map(|tip| repo.chain_in_time(tip.id).take(MOST_CHECKPOINTS));
    let earlier = chain.flatten().map(|checkpoint| checkpoint.tree_id);
    for tree_id in [shadow.last_tree_id()].into_iter().chain(staged).chain(earlier) {
        changes.retain(|change| repo.find_leaf(tree_id, change.path.as_bstr()).ok() != Some(change.after));
    }
    let mut unseen = Vec::new();
    for change in changes {
        let last = repo.find_leaf(shadow.last_tree_id(), change.path.as_bstr())?;
        let before = former.get(&change.path).copied().unwrap_or(change.before);
        // A partial clone, or a damaged repository, may lack the content: its author is unknown then, as of other unseen changes.
        let is_part = is_part(repo, [before, last, change.after]).unwrap_or(false);
        unseen.extend((!is_part).then_some(change));
    }
    if unseen.is_empty() {
        return Ok(());
    }
    let edits: Vec<(BString, Edit)> =
        unseen.into_iter().map(|change| (change.path, change.after.map(|leaf| (leaf.id, leaf.mode)))).collect();
    let mut objects = NewObjects::new(repo, Target::Loose);
    let tree_id = edit_tree(shadow.last_tree_id(), &edits, &mut objects)?;
    let (parent_id, after) = shadow.links(&mut objects)?;
    let side_tree_id = write_side_tree(&side_without(&shadow, &edits, &mut objects)?, &mut objects)?;
    let (name, time) = (shadow.name.clone(), shadow.not_before(repo.now()));
    let (subject, body) = ("changes that a command committed", format!("It is in {}.\n", made.commit));
    let origin = &Origin { contributor: Contributor::Unknown, ..Origin::default() };
    let side_id = side_commit(repo, &shadow, side_tree_id, origin, &mut objects)?;
    let id = Draft { name: &name, tree_id, parent_id, after, side_id, origin, subject, body: &body, time }
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

/// Returns true if a commit left no lines in a file but those that it had `before`, maybe under another name, or that `last` has, the
/// file in the last checkpoint: the command has committed a part of what was saved.
fn is_part(repo: &Repo, [before, last, after]: [Option<Leaf>; 3]) -> Result<bool> {
    let (Some(last), Some(after)) = (last, after) else { return Ok(false) };
    let is_text = |leaf: Leaf| matches!(leaf.mode, Mode::File | Mode::Executable);
    if last.mode != after.mode || !is_text(last) || !before.is_none_or(is_text) {
        return Ok(false);
    }
    let before = before.map(|leaf| repo.read_blob(leaf.id)).transpose()?.unwrap_or_default();
    let (last, after) = (repo.read_blob(last.id)?, repo.read_blob(after.id)?);
    if is_binary(&last) || is_binary(&after) {
        return Ok(false);
    }
    let (known, lines): (HashSet<&[u8]>, Vec<&[u8]>) = (before.lines().collect(), after.lines().collect());
    let mut new = step_edits(&last, &after).into_iter().flat_map(|(_, new)| new);
    Ok(new.all(|line| lines.get(line).is_none_or(|line| known.contains(line))))
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
