//! What a linked worktree finds that another one of its name has left: its refs have the name that git gave both.
//!
//! Nothing of it is about the files here. The archive keeps the shadows, from where their work may come back; the operation log
//! gets another name, under which `undo` does not look for it. Nothing is deleted: if this worktree is not new after all and has
//! only lost its files, all of it is still here.

use std::collections::BTreeMap;

use bstr::BStr;
use gix::ObjectId;

use super::{
    Worktree,
    chain::made_again::is_made_again,
    holding::{archive_name, hold_when_left},
    known_base::{is_seen, known_head, note_base},
};
use crate::{
    error::Result,
    git::{Repo, refs::RefUpdate},
    model::{
        operation,
        refname::{self, Base, ShadowName},
    },
};

/// Sets aside what a removed worktree of the same name has left, if this worktree is a linked one that git has made since then.
pub(super) fn set_inherited_aside(worktree: &Worktree<'_>) -> Result<()> {
    let repo = &worktree.repo;
    if repo.worktree_id() == "main" || is_seen(worktree) {
        return Ok(());
    }
    if !is_made_again(repo)? {
        return Ok(());
    }
    let delete = |name: String, id| RefUpdate { name, old: Some(id), new: None };
    // First, and by itself: what follows begins the log of this worktree.
    let updates = set_log_aside(repo, repo.worktree_id())?;
    let mut is_found = !updates.is_empty();
    if is_found {
        repo.update_refs(&updates)?;
    }
    let _way = repo.on_the_way(operation::FOLLOW);
    let (mut updates, mut held) = (Vec::new(), BTreeMap::new());
    for (name, id) in repo.sound_refs(refname::SHADOWS)? {
        let is_own = ShadowName::from_ref(&name).is_some_and(|name| name.worktree == repo.worktree_id());
        // What is broken is set aside in another way.
        if is_own && repo.can_read(id) {
            held.insert(id, archive_name(repo, id)?);
            updates.push(delete(name, id));
        }
    }
    let keep = |(id, name): (ObjectId, String)| RefUpdate { name, old: None, new: Some(id) };
    updates.splice(0..0, held.into_iter().map(keep));
    for (name, id) in found(repo, [refname::verified_ref(repo.worktree_id())])? {
        updates.extend(hold_when_left(repo, id, &name)?);
        updates.push(delete(name, id));
    }
    if !updates.is_empty() {
        is_found = true;
        repo.update_refs(&updates)?;
    }
    if is_found { note_seen(worktree) } else { Ok(()) }
}

/// Notes that a command has run in this worktree: what it finds from now on is its own.
pub(super) fn note_seen(worktree: &Worktree<'_>) -> Result<()> {
    let repo = &worktree.repo;
    if repo.worktree_id() == "main" || is_seen(worktree) {
        return Ok(());
    }
    let (base, end) = known_head(worktree).map_or_else(|| Ok((Base::of_head(repo.head()?.id), None)), Ok)?;
    note_base(worktree, base, end)
}

/// Returns the updates that give both parts of the operation log of the worktree `id` names under which only a person looks for them.
pub(super) fn set_log_aside(repo: &Repo, id: &BStr) -> Result<Vec<RefUpdate>> {
    let (mut seconds, logs) = (jiff::Timestamp::now().as_second().max(0), found(repo, operations_refs(id))?);
    while !found(repo, refname::removed_operations_refs(id, seconds))?.is_empty() {
        seconds += 1;
    }
    let names = operations_refs(id).into_iter().zip(refname::removed_operations_refs(id, seconds));
    let names: BTreeMap<String, String> = names.collect();
    let mut updates = Vec::new();
    for (name, id) in logs {
        updates.push(RefUpdate { name: names[&name].clone(), old: None, new: Some(id) });
        updates.push(RefUpdate { name, old: Some(id), new: None });
    }
    Ok(updates)
}

/// Returns the refs of the operation log of the worktree `id`, and of its older part.
pub(super) fn operations_refs(id: &BStr) -> [String; 2] {
    [refname::operations_ref(id), refname::older_operations_ref(id)]
}

/// Returns the refs among `names` that exist.
pub(super) fn found<const N: usize>(repo: &Repo, names: [String; N]) -> Result<Vec<(String, ObjectId)>> {
    let mut found = Vec::new();
    for name in names {
        found.extend(repo.find_sound_ref(&name)?.map(|id| (name, id)));
    }
    Ok(found)
}
