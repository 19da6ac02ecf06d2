//! Our own files that name checkpoints: the journal of the last restore, the open turns, and the stat cache.

use std::path::Path;

use gix::ObjectId;

use super::copies::Replaced;
use crate::{
    error::{Context as _, Kind, Result},
    git::{Repo, stat_cache::StatCache},
    model::turns::Turns,
    ops::{Worktree, chain::cache_path, turn},
    state::{
        journal::{self, Journal},
        turns,
    },
};

/// Makes the files of `worktree` name what takes the place of the checkpoints that they name. After a restore to or from a
/// checkpoint that is left out, there is nothing to undo.
pub(crate) fn follow(worktree: &Worktree<'_>, replaced: &impl Fn(ObjectId) -> Option<Replaced>) -> Result<()> {
    follow_in_journal(worktree.repo.git_dir(), replaced)?;
    worktree.edit_turns(|turns| follow_in_turns(turns, replaced));
    turn::write(worktree)?;
    if let Err(error) = follow_in_cache(&worktree.repo, replaced) {
        // Without it, the next save reads all files.
        tracing::warn!(%error, "the stat cache names a checkpoint that is gone");
    }
    Ok(())
}

/// The same for the worktree with git directory `git_dir`, whose lock the caller holds.
pub(crate) fn follow_in(git_dir: &Path, replaced: &impl Fn(ObjectId) -> Option<Replaced>) -> Result<()> {
    follow_in_journal(git_dir, replaced)?;
    let held = turns::Held::read(git_dir)?;
    held.edit(|turns| follow_in_turns(turns, replaced));
    held.write().map(drop)
}

fn follow_in_turns(turns: &mut Turns, replaced: &impl Fn(ObjectId) -> Option<Replaced>) {
    for tip in turns.entries.iter_mut().filter_map(|entry| entry.turn.as_mut()?.shadow_tip.as_mut()) {
        if let Some(Replaced::By(id) | Replaced::LeftOut { in_time: id, .. }) = replaced(*tip) {
            *tip = id;
        }
    }
}

fn follow_in_journal(git_dir: &Path, replaced: &impl Fn(ObjectId) -> Option<Replaced>) -> Result<()> {
    let Some(mut journal) = Journal::read(git_dir)? else { return Ok(()) };
    let named = [journal.target, journal.pre_restore];
    for id in [&mut journal.target, &mut journal.pre_restore] {
        match replaced(*id) {
            Some(Replaced::By(new)) => *id = new,
            Some(Replaced::LeftOut { .. }) => {
                let path = journal::path(git_dir);
                return std::fs::remove_file(&path)
                    .context(Kind::Internal, || format!("cannot remove '{}'", path.display()));
            }
            None => {}
        }
    }
    if named == [journal.target, journal.pre_restore] { Ok(()) } else { journal.write(git_dir) }
}

fn follow_in_cache(repo: &Repo, replaced: &impl Fn(ObjectId) -> Option<Replaced>) -> Result<()> {
    let path = cache_path(repo)?;
    let Some(mut cache) = StatCache::load(&path, repo.object_hash()) else { return Ok(()) };
    match cache.anchor.and_then(replaced) {
        Some(Replaced::By(id)) if cache.anchor != Some(id) => {
            cache.anchor = Some(id);
            cache.store(&path, repo.object_hash())
        }
        _ => Ok(()),
    }
}
