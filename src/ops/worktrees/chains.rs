//! The checkpoints of a worktree whose id git gives to another one.

use bstr::{BStr, ByteSlice as _};

use super::super::{
    Context,
    chain::{
        archive::{archive_name, count, emit_reset, to_archive},
        shadows,
    },
};
use crate::{
    error::Result,
    git::refs::RefUpdate,
    model::{event::Event, refname},
    state::removed::Removed,
};

/// Moves the checkpoints of a worktree that is no more, whose id `worktree` git has given to the new one, to the archive.
pub(super) fn set_former_aside(context: &Context, worktree: &BStr) -> Result<()> {
    let repo = &context.repo;
    let (mut updates, mut archives) = (Vec::new(), Vec::new());
    for live in shadows::live_anywhere(repo, worktree)? {
        let archive = archive_name(repo, live.id)?;
        updates.extend(to_archive(&live, archive.clone()));
        archives.push((archive, live.id));
    }
    if updates.is_empty() {
        return Ok(());
    }
    repo.update_refs(&updates)?;
    for (archive, tip) in archives {
        emit_reset(context, archive, tip);
    }
    Ok(())
}

/// Lets the worktree, which is back, have its own checkpoints: another one may have had its id meanwhile.
pub(super) fn own_again(context: &Context, removed: &Removed) {
    if let Err(error) = try_own_again(context, removed) {
        tracing::warn!(%error, "the checkpoints of the worktree are in the archive; 'git checkpoint reset --list' shows them");
    }
}

fn try_own_again(context: &Context, removed: &Removed) -> Result<()> {
    let repo = &context.repo;
    // The checkpoint that was taken first is the last one of its chain.
    let Some(tip) = removed.checkpoint.filter(|id| repo.has_object(*id)) else { return Ok(()) };
    let is_live = shadows::live_anywhere(repo, removed.worktree.as_bstr())?.iter().any(|live| live.id == tip);
    let Some(checkpoint) = repo.find_checkpoint(tip)?.filter(|_| !is_live) else { return Ok(()) };
    set_former_aside(context, removed.worktree.as_bstr())?;
    let archived = repo.refs_below(refname::ARCHIVE)?.into_iter().find(|(_, id)| *id == tip);
    let Some((archive, _)) = archived else { return Ok(()) };
    let there = context.with_repo(repo.open_worktree(&removed.path)?);
    let live = shadows::name_for(&there, checkpoint.base, checkpoint.origin.session.as_deref()).to_ref();
    repo.update_refs(&[
        RefUpdate { name: live, old: None, new: Some(tip) },
        RefUpdate { name: archive.clone(), old: Some(tip), new: None },
    ])?;
    context.emit(&Event::RestoreArchived { archive, tip: tip.to_string(), checkpoints: count(repo, tip) });
    Ok(())
}
