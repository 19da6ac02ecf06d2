//! What a linked worktree finds that another one of its name has left: its refs have the name that git gave both.
//!
//! Nothing of it is about the files here. The archive keeps the shadows, from where their work may come back; the operation log
//! gets another name, under which `undo` does not look for it. Nothing is deleted: if this worktree is not new after all and has
//! only lost its files, all of it is still here.

use std::{collections::BTreeMap, time::UNIX_EPOCH};

use gix::ObjectId;

use super::{
    Worktree,
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
    state,
};

/// What shows whether git has made this worktree after another one of its name was removed.
#[derive(Clone, Copy, Debug)]
struct Signs {
    /// True if one of our files is here that goes when git removes a worktree.
    has_files: bool,
    /// When git made the worktree (Unix seconds); none if that is unknown.
    made: Option<i64>,
    /// The time of the newest operation or checkpoint that the refs of its name lead to; none if there is none to be read.
    last: Option<i64>,
}

impl Signs {
    /// Returns true if what the refs lead to is of a removed worktree. Within one second, the order is unknown: without our files,
    /// a new worktree is more likely than one that has lost them.
    fn is_made_again(self) -> bool {
        !self.has_files && self.made.is_some_and(|made| self.last.is_none_or(|last| last <= made))
    }
}

/// Sets aside what a removed worktree of the same name has left, if this worktree is a linked one that git has made since then.
pub(super) fn set_inherited_aside(worktree: &Worktree<'_>) -> Result<()> {
    let repo = &worktree.repo;
    if repo.worktree_id() == "main" || is_seen(worktree) {
        return Ok(());
    }
    let has_files = state::has_files_of_worktree(repo.git_dir());
    let signs = Signs { has_files, made: made(repo), last: if has_files { None } else { last(repo)? } };
    if !signs.is_made_again() {
        return Ok(());
    }
    let delete = |name: String, id| RefUpdate { name, old: Some(id), new: None };
    // First, and by itself: what follows begins the log of this worktree.
    let updates = set_log_aside(repo)?;
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

/// Returns when git made the linked worktree of `repo`: it writes this file then, and never again.
fn made(repo: &Repo) -> Option<i64> {
    let time = repo.git_dir().join("commondir").metadata().and_then(|metadata| metadata.modified()).ok()?;
    i64::try_from(time.duration_since(UNIX_EPOCH).ok()?.as_secs()).ok()
}

/// Returns the time of the newest operation of this worktree, or of its newest checkpoint; none if none can be read.
fn last(repo: &Repo) -> Result<Option<i64>> {
    // Both may have the date of GIT_COMMITTER_DATE, which is not the real one if it is still to come.
    let now = jiff::Timestamp::now().as_second();
    let newest = repo.operations(repo.worktree_id())?.next().and_then(Result::ok);
    let mut last = newest.map(|entry| if entry.seconds > now { entry.operation.since } else { entry.seconds });
    if last.is_some() {
        return Ok(last);
    }
    for (name, id) in repo.sound_refs(refname::SHADOWS)? {
        if ShadowName::from_ref(&name).is_some_and(|name| name.worktree == repo.worktree_id()) {
            let seconds = repo.find_checkpoint(id).ok().flatten().map(|checkpoint| checkpoint.seconds);
            last = last.max(seconds.filter(|seconds| *seconds <= now));
        }
    }
    Ok(last)
}

/// Returns the updates that give both parts of the operation log names under which only a person looks for them.
fn set_log_aside(repo: &Repo) -> Result<Vec<RefUpdate>> {
    let id = repo.worktree_id();
    let (mut seconds, logs) = (jiff::Timestamp::now().as_second().max(0), found(repo, operations_refs(repo))?);
    while !found(repo, refname::removed_operations_refs(id, seconds))?.is_empty() {
        seconds += 1;
    }
    let names = operations_refs(repo).into_iter().zip(refname::removed_operations_refs(id, seconds));
    let names: BTreeMap<String, String> = names.collect();
    let mut updates = Vec::new();
    for (name, id) in logs {
        updates.push(RefUpdate { name: names[&name].clone(), old: None, new: Some(id) });
        updates.push(RefUpdate { name, old: Some(id), new: None });
    }
    Ok(updates)
}

/// Returns the refs of the operation log of this worktree, and of its older part.
fn operations_refs(repo: &Repo) -> [String; 2] {
    [refname::operations_ref(repo.worktree_id()), refname::older_operations_ref(repo.worktree_id())]
}

/// Returns the refs among `names` that exist.
fn found<const N: usize>(repo: &Repo, names: [String; N]) -> Result<Vec<(String, ObjectId)>> {
    let mut found = Vec::new();
    for name in names {
        found.extend(repo.find_sound_ref(&name)?.map(|id| (name, id)));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::made_since(false, Some(20), Some(10), true)]
    #[case::within_one_second(false, Some(10), Some(10), true)]
    #[case::nothing_says_when(false, Some(20), None, true)]
    #[case::our_files_are_lost(false, Some(10), Some(20), false)]
    #[case::one_file_is_lost(true, Some(20), Some(10), false)]
    #[case::unknown_when_made(false, None, Some(10), false)]
    fn a_worktree_is_made_again(
        #[case] has_files: bool,
        #[case] made: Option<i64>,
        #[case] last: Option<i64>,
        #[case] is_made_again: bool,
    ) {
        assert_eq!(Signs { has_files, made, last }.is_made_again(), is_made_again);
    }
}
