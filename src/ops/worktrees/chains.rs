//! The refs of a worktree whose id git gives to another one: its checkpoints, its operation log and its verified mark.

use std::collections::BTreeMap;

use bstr::{BStr, ByteSlice as _};
use gix::ObjectId;

use super::super::{
    Context,
    chain::{
        archive::{archive_name, count, emit_reset, to_archive},
        shadows::{self, Live},
    },
    holding::hold_when_left,
    inherited::{found, operations_refs, set_log_aside},
};
use crate::{
    error::Result,
    git::{Repo, refs::RefUpdate},
    model::{
        event::Event,
        refname::{self, ShadowName},
    },
    state::removed::Removed,
};

/// Returns the refs of the worktree with git's id `worktree`, as the record of its removal has them.
pub(super) fn of_worktree(repo: &Repo, worktree: &BStr) -> Result<BTreeMap<String, ObjectId>> {
    let live = shadows::live_anywhere(repo, worktree)?.into_iter();
    let mut all: BTreeMap<_, _> = live.map(|live| (live.name.to_ref(), live.id)).collect();
    all.extend(found(repo, operations_refs(worktree))?);
    all.extend(found(repo, [refname::verified_ref(worktree)])?);
    Ok(all)
}

/// Moves the checkpoints of a worktree that is no more, whose id `worktree` git has given to the new one, to the archive.
pub(super) fn set_former_aside(context: &Context, worktree: &BStr) -> Result<()> {
    set_aside(context, &shadows::live_anywhere(&context.repo, worktree)?)
}

/// Moves the shadows `all` to the archive.
fn set_aside(context: &Context, all: &[Live]) -> Result<()> {
    let repo = &context.repo;
    // Two shadows may end with one checkpoint: that needs one name in the archive.
    let (mut updates, mut archives) = (Vec::new(), BTreeMap::new());
    for live in all {
        let [keep, delete] = to_archive(live, archive_name(repo, live.id)?);
        if let std::collections::btree_map::Entry::Vacant(entry) = archives.entry(live.id) {
            entry.insert(keep.name.clone());
            updates.push(keep);
        }
        updates.push(delete);
    }
    if updates.is_empty() {
        return Ok(());
    }
    repo.update_refs(&updates)?;
    for (tip, archive) in archives {
        emit_reset(context, archive, tip);
    }
    Ok(())
}

/// Lets the worktree, which is about to be back, have its own refs: another one may have had its id meanwhile.
pub(super) fn own_again(context: &Context, removed: &Removed) {
    if let Err(error) = shadows_again(context, removed) {
        tracing::warn!(%error, "the checkpoints of the worktree are in the archive; 'git checkpoint reset --list' shows them");
    }
    if let Err(error) = log_again(&context.repo, removed) {
        tracing::warn!(%error, "the operation log of the worktree begins anew");
    }
}

fn shadows_again(context: &Context, removed: &Removed) -> Result<()> {
    let repo = &context.repo;
    let archived: BTreeMap<ObjectId, String> =
        repo.refs_below(refname::ARCHIVE)?.into_iter().map(|(name, id)| (id, name)).collect();
    let is_own = |live: &Live| match removed.refs.get(&live.name.to_ref()) {
        None => false,
        // Whatever has changed it since, it was not set aside for another one, which has the name now.
        Some(tip) => live.id == *tip || !archived.contains_key(tip) || leads_to(repo, live.id, *tip),
    };
    let live = shadows::live_anywhere(repo, removed.worktree.as_bstr())?;
    let (own, others): (Vec<_>, Vec<_>) = live.into_iter().partition(is_own);
    set_aside(context, &others)?;
    let (mut updates, mut back) = (Vec::new(), BTreeMap::new());
    for (name, tip) in &removed.refs {
        let is_its = ShadowName::from_ref(name).is_some_and(|name| name.worktree == removed.worktree);
        let is_live = own.iter().any(|live| live.name.to_ref() == *name);
        if let Some(archive) = archived.get(tip).filter(|_| is_its && !is_live) {
            updates.push(RefUpdate { name: name.clone(), old: None, new: Some(*tip) });
            back.insert(*tip, archive.clone());
        }
    }
    updates.extend(back.iter().map(|(tip, name)| RefUpdate { name: name.clone(), old: Some(*tip), new: None }));
    if updates.is_empty() {
        return Ok(());
    }
    repo.update_refs(&updates)?;
    for (tip, archive) in back {
        context.emit(&Event::RestoreArchived { archive, tip: tip.to_string(), checkpoints: count(repo, tip) });
    }
    Ok(())
}

/// Returns true if `earlier` is in the chain that ends with `tip`.
fn leads_to(repo: &Repo, tip: ObjectId, earlier: ObjectId) -> bool {
    repo.chain(tip).map_while(Result::ok).any(|checkpoint| checkpoint.id == earlier)
}

/// Gives the worktree its operation log and its verified mark back, if both were set aside for another one, whose log has the name
/// now: `undo` would take back what was done there.
fn log_again(repo: &Repo, removed: &Removed) -> Result<()> {
    let id = removed.worktree.as_bstr();
    let [log, _] = operations_refs(id);
    let aside = repo.refs_below(&format!("{log}@/"))?;
    let mut back = Vec::new();
    for name in operations_refs(id) {
        let Some(tip) = removed.refs.get(&name) else { continue };
        if let Some((aside, _)) = aside.iter().find(|(aside, id)| id == tip && *aside != name) {
            back.push(RefUpdate { name, old: None, new: Some(*tip) });
            back.push(RefUpdate { name: aside.clone(), old: Some(*tip), new: None });
        }
    }
    if back.is_empty() {
        return Ok(());
    }
    let verified = refname::verified_ref(id);
    let mut updates = set_log_aside(repo, id)?;
    for (name, id) in found(repo, [verified.clone()])? {
        updates.extend(hold_when_left(repo, id, &name)?);
        updates.push(RefUpdate { name, old: Some(id), new: None });
    }
    // By itself: no update names a ref twice.
    if !updates.is_empty() {
        repo.update_refs(&updates)?;
    }
    let mark = removed.refs.get(&verified).filter(|id| repo.has_object(**id));
    back.extend(mark.map(|id| RefUpdate { name: verified, old: None, new: Some(*id) }));
    repo.update_refs(&back)
}
