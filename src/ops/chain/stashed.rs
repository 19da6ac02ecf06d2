//! Work that is in a stash entry.

use std::collections::{HashMap, HashSet};

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::{
    archive::archive_name,
    look::{Seen, leave_out_unknown_paths, look_at_paths},
    shadow::Shadow,
};
use crate::{
    error::Result,
    git::{Repo, edit_tree::edit_tree, new_objects::NewObjects, refs::RefUpdate, side::Side},
    model::{
        change::{Change, Leaf},
        refname,
    },
    ops::{Context, share::share},
};

/// How many archived shadows are compared, newest first.
const MOST_ARCHIVED: usize = 64;

/// The files that stash entries hold, with what each entry has.
pub(crate) struct Stashes(HashMap<BString, Vec<Leaf>>);

impl Stashes {
    /// Reads the newest stash entries; skips unreadable ones.
    pub(crate) fn read(repo: &Repo) -> Result<Self> {
        Self::of(repo, repo.stash_entries()?)
    }

    /// Reads these stash entries, which may have been dropped since; skips unreadable ones.
    pub(crate) fn of(repo: &Repo, entries: impl IntoIterator<Item = ObjectId>) -> Result<Self> {
        let mut files = HashMap::new();
        for stash in entries {
            repo.check_interrupt()?;
            if let Err(error) = add(repo, stash, &mut files) {
                repo.check_interrupt()?;
                tracing::warn!(%error, "cannot read a stash entry");
            }
        }
        Ok(Self(files))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if an entry has changed the file at `path`.
    pub(crate) fn touch(&self, path: &BString) -> bool {
        self.0.contains_key(path)
    }

    /// Returns true if an entry has `leaf` at `path`.
    pub(crate) fn hold(&self, path: &BString, leaf: Option<Leaf>) -> bool {
        leaf.is_some_and(|leaf| self.0.get(path).is_some_and(|held| held.contains(&leaf)))
    }
}

/// Adds the files of the entry `stash`.
fn add(repo: &Repo, stash: ObjectId, files: &mut HashMap<BString, Vec<Leaf>>) -> Result<()> {
    for change in changes_of(repo, stash)? {
        files.entry(change.path).or_default().extend(change.after);
    }
    Ok(())
}

/// Returns the changes in the entry `stash`: from the commit it was made on, and the untracked files.
fn changes_of(repo: &Repo, stash: ObjectId) -> Result<Vec<Change>> {
    let parents = repo.parents_of(stash)?;
    let mut trees = Vec::new();
    if let Some(base) = parents.first() {
        trees.push((repo.tree_of_commit(*base)?, repo.tree_of_commit(stash)?));
    }
    if let Some(untracked) = parents.get(2) {
        trees.push((repo.empty_tree_id(), repo.tree_of_commit(*untracked)?));
    }
    let mut changes = Vec::new();
    for (base, tree_id) in trees {
        changes.extend(repo.diff_trees(base, tree_id)?);
    }
    Ok(changes)
}

/// Returns the stash entries that were made since the open turn began and that no save has seen, oldest first; none if no turn
/// is open, as it is not known then since when to look.
pub(crate) fn unseen(context: &Context) -> Result<Vec<ObjectId>> {
    let turns = context.turns();
    if turns.entries.iter().all(|entry| entry.turn.is_none()) {
        return Ok(Vec::new());
    }
    let mut entries = context.repo.stash_entries()?;
    if entries.is_empty() {
        return Ok(entries);
    }
    let seen: HashSet<&String> = turns.stashes.iter().chain(&turns.stashed).collect();
    let is_seen = |entry: &ObjectId| seen.contains(&entry.to_string());
    // The newest entry comes first, so every entry after a seen one is older.
    entries.truncate(entries.iter().position(is_seen).unwrap_or(entries.len()));
    entries.reverse();
    Ok(entries)
}

/// Returns true if the stash entry `id` was made in this worktree, as far as that is known: all worktrees share one stash.
pub(crate) fn is_of_this_worktree(repo: &Repo, id: ObjectId) -> bool {
    repo.other_worktrees().is_empty() || repo.was_stashed_here(id)
}

/// Returns the worktree as it was before `git stash` made the entry `stash`: the last state of `shadow`, with the files that the
/// entry took away. Takes nothing from an entry that was made on another commit.
pub(crate) fn look_at_stashed<'r>(
    context: &'r Context,
    stash: ObjectId,
    shadow: &Shadow,
) -> Result<(Seen, NewObjects<'r>)> {
    let repo = &context.repo;
    let mut changes = Vec::new();
    if repo.parents_of(stash)?.first().copied() == shadow.name.base.commit_id() {
        changes = changes_of(repo, stash)?;
    }
    let mut paths: Vec<BString> = changes.iter().map(|change| change.path.clone()).collect();
    leave_out_unknown_paths(repo, &mut paths, shadow)?;
    let (mut seen, mut objects) = look_at_paths(context, &paths, shadow)?;
    let at = |changes: Vec<Change>| changes.into_iter().map(|change| change.path).collect::<HashSet<_>>();
    let changed = at(objects.changes_of_trees(shadow.last_tree_id(), seen.tree_id)?);
    let differs = at(objects.changes_of_trees(shadow.head_tree_id, seen.tree_id)?);
    // Leaves out the files that the stash did not reset to HEAD: they still have the changes that the last checkpoint has.
    changes.retain(|change| changed.contains(&change.path) || !differs.contains(&change.path));
    let edit = |change: Change| (change.path, change.after.map(|leaf| (leaf.id, leaf.mode)));
    let edits: Vec<_> = changes.into_iter().map(edit).collect();
    seen.tree_id = edit_tree(shadow.last_tree_id(), &edits, &mut objects)?;
    seen.side = shadow.tip_side.as_ref().map(Side::for_next).unwrap_or_default();
    Ok((seen, objects))
}

/// Archives the tip of `shadow` if `changes`, those of the next checkpoint, remove work that a stash entry holds: after
/// `git stash pop`, that work is found in the archive. Returns all stash entries then, and otherwise none. A failure is only
/// logged, and the save continues.
pub(crate) fn keep_stashed(repo: &Repo, shadow: &Shadow, changes: &[Change]) -> Result<Vec<ObjectId>> {
    try_keep(repo, shadow, changes).or_else(|error| {
        repo.check_interrupt()?;
        tracing::warn!(%error, "cannot note stashed work; its author may be lost when it is popped");
        Ok(Vec::new())
    })
}

fn try_keep(repo: &Repo, shadow: &Shadow, changes: &[Change]) -> Result<Vec<ObjectId>> {
    let Some(tip) = &shadow.tip else { return Ok(Vec::new()) };
    if !changes.iter().any(|change| change.before.is_some()) {
        return Ok(Vec::new());
    }
    let entries = repo.stash_entries()?;
    let stashes = Stashes::of(repo, entries.iter().copied())?;
    let mut is_stashed = false;
    for change in changes.iter().filter(|change| stashes.hold(&change.path, change.before)) {
        let head = repo.find_leaf(shadow.head_tree_id, change.path.as_bstr())?;
        // The file need not be as in HEAD, because others may have changed it since: it is enough if some of the work is gone.
        let work = Change::between(change.path.clone(), head, change.before);
        is_stashed = is_stashed
            || head == change.after
            || work
                .map_or(Ok(false), |work| share(repo, &work, work.before, change.after).map(|share| !share.is_all()))?;
    }
    if !is_stashed {
        return Ok(Vec::new());
    }
    let mut names = repo.ref_names_below(refname::ARCHIVE)?;
    names.retain(|name| !refname::is_settled(name));
    names.sort_by_key(|name| std::cmp::Reverse(refname::archived_at(name)));
    for name in names.into_iter().take(MOST_ARCHIVED) {
        // The same work may have been stashed and archived before.
        let archived = repo.find_sound_ref(&name)?.and_then(|id| repo.find_checkpoint(id).ok().flatten());
        if archived.is_some_and(|archived| archived.tree_id == tip.tree_id && archived.base == tip.base) {
            return Ok(entries);
        }
    }
    repo.update_refs(&[RefUpdate { name: archive_name(repo, tip.id)?, old: None, new: Some(tip.id) }])?;
    Ok(entries)
}
