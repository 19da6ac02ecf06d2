//! What a tool has brought back from the stash is not the work of its session.

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use crate::{
    error::Result,
    git::Repo,
    ops::{
        Worktree,
        chain::{leave_out_unknown_paths, look_at_paths, stashed::Stashes},
        save::{self, Request, Scope, Shadow},
    },
};

/// If stash entries hold more files than this, we do not look: each tool would have to read all of them.
const MOST_FILES: usize = 1_000;
/// How many checkpoints back we look for the content of a file.
const MOST_CHECKPOINTS: usize = 64;

/// After a tool of `session`: takes a checkpoint of the files that are exactly as in a stash entry from before the turn, or in
/// one that took work back since then, which is in the archive.
///
/// The checkpoint names no session. Lines that an archived shadow contains keep their author; the others are a person's. A
/// failure is only logged.
pub(super) fn save_popped(worktree: &Worktree<'_>, session: &str) -> Result<()> {
    if let Err(error) = try_save(worktree, session) {
        worktree.check_interrupt()?;
        tracing::warn!(%error, "what came back from the stash counts as the work of the session");
    }
    Ok(())
}

fn try_save(worktree: &Worktree<'_>, session: &str) -> Result<()> {
    let paths = brought_back(worktree, session)?;
    if paths.is_empty() {
        return Ok(());
    }
    let request = Request {
        scope: Scope::PathsIfThere(paths),
        turn_of: Some(session.to_owned()),
        message: Some("what the stash brought back".to_owned()),
        ..Request::default()
    };
    save::save_worktree(worktree, &request).map(drop)
}

/// Returns the paths that have changed since the last checkpoint and are as a noted stash entry holds them.
fn brought_back(worktree: &Worktree<'_>, session: &str) -> Result<Vec<BString>> {
    let repo: &Repo = &worktree.repo;
    let turns = worktree.turns();
    let noted = [turns.stashes.as_slice(), &turns.stashed].concat();
    if noted.is_empty() {
        return Ok(Vec::new());
    }
    let stashes = Stashes::of(repo, noted.iter().filter_map(|id| ObjectId::from_hex(id.as_bytes()).ok()))?;
    let mut paths = stashes.paths();
    if paths.len() > MOST_FILES {
        tracing::debug!(files = paths.len(), "too many files are stashed to look for popped ones");
        return Ok(Vec::new());
    }
    // The first checkpoint of a turn may set aside the chain that has the stashed work.
    let is_afresh = turns.turn_of(session).is_some_and(|turn| turn.should_reset_shadow && !turn.has_checkpoint);
    let read = if is_afresh { Shadow::without_tip } else { Shadow::read_for };
    let shadow = read(worktree, Some(session))?;
    leave_out_unknown_paths(repo, &mut paths, &shadow)?;
    if paths.is_empty() {
        return Ok(paths);
    }
    let (seen, objects) = look_at_paths(worktree, &paths, &shadow)?;
    let mut changes = objects.changes_of_trees(shadow.last_tree_id(), seen.tree_id)?;
    changes.retain(|change| stashes.hold(&change.path, change.after));
    // What this chain had before, as after the agent's own `git stash`, keeps its authors.
    let chain = shadow.tip.iter().flat_map(|tip| repo.chain_in_time(tip.id).take(MOST_CHECKPOINTS));
    for tree_id in chain.flatten().map(|checkpoint| checkpoint.tree_id) {
        if changes.is_empty() {
            break;
        }
        changes.retain(|change| repo.find_leaf(tree_id, change.path.as_bstr()).ok() != Some(change.after));
    }
    Ok(changes.into_iter().map(|change| change.path).collect())
}
