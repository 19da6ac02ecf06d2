//! Finds shadows that were set aside and whose work comes back, for example by `git stash pop` or `git reset HEAD~1`.
//!
//! [`waiting`] and [`taken_back`] return the shadows that may be meant. [`take_up`] compares them with the worktree, before a
//! turn begins, after a reset during one, and when a person saves. It carries the work that is here forward to the live shadow,
//! so that it keeps its authors. Only the content decides: a file is as a checkpoint left it, or contains at least half of the
//! lines that the shadow added.

use std::{cell::OnceCell, collections::BTreeSet};

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::{
    super::{
        Context,
        chain::{
            Seen, Shadow,
            carriers::Carriers,
            carry_forward::{Carried, Destination, base_tree, carry, origin_of, put_on_top},
            stashed::Stashes,
            timeline::{Tip, live_tips},
        },
        records,
        share::share,
    },
    recorded::left_behind,
    replay::Work,
    steps::steps,
};
use crate::{
    error::{Kind, Result},
    git::{
        Repo,
        counting::Counting,
        new_objects::{NewObjects, Target},
        refs::RefUpdate,
    },
    model::{
        change::Change,
        checkpoint::{Checkpoint, Origin},
        contributor::Contributor,
        refname::{self, Base, Settled, ShadowName},
    },
    state::failpoint,
};

/// How many archived shadows are searched, the newest ones. Older work rarely comes back.
const MOST_SHADOWS: usize = 64;

/// A shadow whose work may come to this worktree: an archived one, or a live one on another base or in another worktree.
pub(crate) struct Waiting {
    pub(crate) tip: Tip,
    pub(crate) checkpoint: Checkpoint,
    /// True if a reset has removed from HEAD the commit that took the work.
    pub(crate) is_reset: bool,
}

/// Returns the shadows whose work is in no record yet, newest first: archived ones, and live ones except those with the base
/// and worktree of `except`. Includes shadows of other worktrees, because all worktrees share one stash.
pub(crate) fn waiting(repo: &Repo, except: &ShadowName) -> Result<Vec<Waiting>> {
    let mut tips = live_tips(repo, None)?;
    let is_excepted = |name: &ShadowName| (name.base, &name.worktree) == (except.base, &except.worktree);
    tips.retain(|tip| ShadowName::from_ref(&tip.name).is_some_and(|name| !is_excepted(&name)));
    tips.extend(newest_archived(repo, |name| !refname::is_settled(name))?);
    Ok(newest_first(repo, tips))
}

/// Returns true if a part of the work of the shadow `tip` may have moved here, so that one file with a part of `own`, one of its changes,
/// is its work. Otherwise, a person or another session may have typed that part, and only a copy of all of it counts:
/// - A commit has the work, and no reset has removed it from HEAD, which `is_reset` would say: it is on another branch.
/// - The shadow is a live one of another worktree, which still has the file as the shadow left it.
pub(crate) fn may_have_moved(repo: &Repo, tip: &Tip, is_reset: bool, own: &Change) -> Result<bool> {
    if refname::is_settled(&tip.name) {
        return Ok(is_reset);
    }
    let name = if tip.archived { None } else { ShadowName::from_ref(&tip.name) };
    match (name.filter(|name| name.worktree != *repo.worktree_id()), own.after) {
        (Some(name), Some(after)) => {
            Ok(!repo.has_other_worktree(name.worktree.as_ref(), own.path.as_bstr(), after.id)?)
        }
        _ => Ok(true),
    }
}

/// Returns the archived shadows whose work was committed in commits that a reset has removed from HEAD, newest first. HEAD is
/// at `base`.
pub(crate) fn taken_back(repo: &Repo, base: Base) -> Result<Vec<Waiting>> {
    let head = base.commit_id();
    let left = left_behind(repo, head)?;
    // If a commit with a record has HEAD as its parent, HEAD does not have that commit any more.
    let parent = head.unwrap_or(ObjectId::null(repo.object_hash()));
    if left.is_empty() && records::of_parent(repo, parent)?.is_empty() {
        return Ok(Vec::new());
    }
    // The work was based on the parent of its commit: another removed commit, or HEAD. After an amend or a rebase, only the
    // record still names the base. Skips damaged records.
    let mut bases = Vec::new();
    for commit in left {
        bases.push(Base::Commit(commit));
        let ids = records::of_commit(repo, commit)?.into_iter();
        bases.extend(ids.filter_map(|id| records::find(repo, &id).ok().flatten()).map(|record| record.base));
    }
    // A commit that has HEAD as its parent may be on another branch, without a reset.
    let removed = bases.len();
    bases.push(base);
    let place = |it: &Waiting| bases.iter().position(|base| *base == it.checkpoint.base);
    let mut found = newest_first(repo, newest_archived(repo, refname::is_settled)?);
    found.retain(|it| place(it).is_some());
    for waiting in &mut found {
        waiting.is_reset = place(waiting).is_some_and(|at| at < removed);
    }
    // Several checkpoints may have the same time.
    found.sort_by_key(|it| (std::cmp::Reverse(it.checkpoint.seconds), place(it)));
    Ok(found)
}

/// Returns the newest archived shadows whose name `is_asked_for` accepts. Looks at the names first and reads only these refs,
/// because most archived shadows are old, or their work is in records.
fn newest_archived(repo: &Repo, is_asked_for: impl Fn(&str) -> bool) -> Result<Vec<Tip>> {
    let mut names = repo.ref_names_below(refname::ARCHIVE)?;
    names.retain(|name| is_asked_for(name));
    names.sort_by_key(|name| std::cmp::Reverse(refname::archived_at(name)));
    let mut tips = Vec::new();
    for name in names.into_iter().take(MOST_SHADOWS) {
        if let Some(id) = repo.find_sound_ref(&name)? {
            tips.push(Tip { name, id, archived: true });
        }
    }
    Ok(tips)
}

fn newest_first(repo: &Repo, tips: Vec<Tip>) -> Vec<Waiting> {
    // Notes and skips broken shadows: `status` and `doctor` report them.
    let read = |tip: Tip| {
        let Some(checkpoint) = repo.find_checkpoint(tip.id).ok().flatten() else {
            repo.note_damaged(&tip.name);
            return None;
        };
        Some(Waiting { tip, checkpoint, is_reset: false })
    };
    let mut waiting: Vec<Waiting> = tips.into_iter().filter_map(read).collect();
    waiting.sort_by_key(|it| std::cmp::Reverse(it.checkpoint.seconds));
    waiting.truncate(MOST_SHADOWS);
    waiting
}

/// Returns true if a shadow that [`take_up`] looks at has changed one of `paths`. `name` is the live shadow.
pub(crate) fn may_come_back(repo: &Repo, name: &ShadowName, paths: &BTreeSet<BString>) -> Result<bool> {
    if paths.is_empty() {
        return Ok(false);
    }
    for Waiting { tip, checkpoint, .. } in candidates(repo, name)? {
        // A broken shadow is no reason to refuse a save; `doctor` reports it.
        let differ = base_tree(repo, &checkpoint).and_then(|base| differ_at(repo, (base, checkpoint.tree_id), paths));
        match differ {
            Ok(true) => return Ok(true),
            Ok(false) => {}
            Err(_) => repo.note_damaged(&tip.name),
        }
    }
    Ok(false)
}

/// Returns true if the two trees differ at one of `paths`.
///
/// # Errors
/// If they cannot be read where that matters.
fn differ_at(repo: &Repo, (before, after): (ObjectId, ObjectId), paths: &BTreeSet<BString>) -> Result<bool> {
    /// For so many paths, it is cheaper to look each up than to compare the trees.
    const FEW: usize = 16;
    if paths.len() <= FEW {
        let mut damage = Ok(false);
        for path in paths {
            let leaf = |tree| repo.find_leaf(tree, path.as_bstr());
            match (leaf(before), leaf(after)) {
                (Ok(before), Ok(after)) if before != after => return Ok(true),
                (Ok(_), Ok(_)) => {}
                (Err(error), _) | (_, Err(error)) => damage = Err(error),
            }
        }
        return damage;
    }
    Ok(repo.diff_trees(before, after)?.iter().any(|change| paths.contains(&change.path)))
}

/// Returns the shadows whose work may come back to the live shadow `name`.
fn candidates(repo: &Repo, name: &ShadowName) -> Result<Vec<Waiting>> {
    let mut found = waiting(repo, name)?;
    // A damaged record is no reason to refuse a save or a prompt; `doctor` reports it.
    found.extend(unless_damaged(repo, taken_back(repo, name.base))?.unwrap_or_default());
    Ok(found)
}

/// Returns none in the place of an error about what is stored. A race or an interrupt stays an error.
fn unless_damaged<T>(repo: &Repo, looked: Result<T>) -> Result<Option<T>> {
    match looked {
        Err(error) if error.kind() != Kind::Race => {
            repo.check_interrupt()?;
            tracing::warn!(%error, "work that was set aside cannot be looked for");
            Ok(None)
        }
        looked => looked.map(Some),
    }
}

/// Finds work of [`waiting`] and [`taken_back`] shadows in the files `dirty` of the worktree, and carries it forward to
/// `shadow`, unless `shadow` has it already. Returns the sessions of that work.
///
/// The work of a removed commit is taken up at once, because another session may change it before it is committed again. An
/// archived shadow stays in the archive. Leaves out this worktree's live shadows on `left`: the caller carries them forward
/// later.
pub(crate) fn take_up(
    context: &Context,
    shadow: &mut Shadow,
    seen: &Seen,
    dirty: &BTreeSet<BString>,
    left: Option<Base>,
) -> Result<Vec<String>> {
    let repo = &context.repo;
    let mut sessions = Vec::new();
    if dirty.is_empty() {
        return Ok(sessions);
    }
    // A chain may be long. It is read only if needed, and again only after the shadow has got a new checkpoint.
    let mut carriers = OnceCell::new();
    let is_left = |tip: &Tip| {
        ShadowName::from_ref(&tip.name)
            .is_some_and(|name| Some(name.base) == left && name.worktree == *repo.worktree_id())
    };
    for waiting in candidates(repo, &shadow.name)?.into_iter().filter(|it| !is_left(&it.tip)) {
        let Waiting { tip, checkpoint, .. } = &waiting;
        let mut new = NewObjects::new(repo, Target::Loose);
        // A broken shadow is no reason to refuse a save or a prompt; `doctor` reports it.
        let found = find_work(context, shadow, seen, dirty, &waiting, &mut carriers, &mut new);
        let Some(found) = unless_damaged(repo, found)? else {
            repo.note_damaged(&tip.name);
            continue;
        };
        let Some(Returned { origin, carried, sessions: of_work }) = found else { continue };
        sessions.extend(of_work);
        put_on_top(context, shadow, (checkpoint, &checkpoint.subject), origin, carried.tree_id, &mut new)?;
        carriers = OnceCell::new();
        let written = new.write()?;
        let id = shadow.tip.as_ref().map(|tip| tip.id);
        let mut updates = vec![RefUpdate { name: shadow.name.to_ref(), old: shadow.expected, new: id }];
        if tip.archived && !refname::is_settled(&tip.name) && !carried.leaves_some {
            let name = refname::settled_archive_ref(&tip.name, Settled::Carried);
            updates.push(RefUpdate { name, old: None, new: Some(tip.id) });
            updates.push(RefUpdate { name: tip.name.clone(), old: Some(tip.id), new: None });
        }
        failpoint::hit("recall:before-refs");
        repo.update_refs(&updates)?;
        failpoint::hit("recall:after-refs");
        written.check_and_release()?;
        if let Some(id) = id {
            shadow.was_moved(id);
        }
    }
    sessions.sort();
    sessions.dedup();
    Ok(sessions)
}

/// Work of a shadow that is in the worktree again.
struct Returned {
    origin: Origin,
    carried: Carried,
    sessions: BTreeSet<String>,
}

/// Returns the work of the chain `checkpoint` that is in the files `dirty` and that `shadow` does not have yet; none if there is
/// none of an agent. `carriers` are those of `shadow`. Adds its trees to `new`.
fn find_work(
    context: &Context,
    shadow: &Shadow,
    seen: &Seen,
    dirty: &BTreeSet<BString>,
    waiting: &Waiting,
    carriers: &mut OnceCell<Carriers>,
    new: &mut NewObjects<'_>,
) -> Result<Option<Returned>> {
    let (repo, Waiting { tip, checkpoint, is_reset }) = (&context.repo, waiting);
    let mut wanted = BTreeSet::new();
    for change in repo.diff_trees(base_tree(repo, checkpoint)?, checkpoint.tree_id)? {
        let path = change.path.as_bstr();
        if !dirty.contains(path) {
            continue;
        }
        let now = repo.find_leaf(seen.tree_id, path)?;
        let head = repo.find_leaf(shadow.head_tree_id, path)?;
        let last = repo.find_leaf(shadow.last_tree_id(), path)?;
        let is_known = last == now
            || shadow.tip.as_ref().is_some_and(|tip| {
                let carriers = carriers.get_or_init(|| Carriers::read(repo, tip.id));
                carriers.has(repo, checkpoint, &change.path)
            });
        // If the last checkpoint has this work, it names the authors, and lines that are gone since were deleted on purpose.
        let here = share(repo, &change, head, now)?;
        if !is_known
            && here.is_half()
            && share(repo, &change, last, now)?.is_any()
            && (here.is_copy() || may_have_moved(repo, tip, *is_reset, &change)?)
        {
            wanted.insert(change.path);
        }
    }
    if wanted.is_empty() {
        return Ok(None);
    }
    let origin = origin_of(context, checkpoint)?;
    if origin.contributor != Contributor::Agent {
        return Ok(None);
    }
    let (head_tree_id, last_tree_id, now_tree_id) = (shadow.head_tree_id, shadow.last_tree_id(), seen.tree_id);
    let to = Destination { head_tree_id, last_tree_id, now_tree_id, wanted: Some(wanted), is_now_seen: true };
    let carried = carry(repo, checkpoint, &to, new)?;
    if carried.paths.is_empty() {
        return Ok(None);
    }
    let sessions = sessions_of(repo, checkpoint, &carried.paths)?;
    Ok(Some(Returned { origin, carried, sessions }))
}

/// Returns the sessions that contributed to the uncommitted work at `paths` in the chain that ends with `tip`.
pub(crate) fn sessions_of(repo: &Repo, tip: &Checkpoint, paths: &[BString]) -> Result<BTreeSet<String>> {
    let has = |path: &BString| paths.contains(path);
    let mut changes = repo.diff_trees(base_tree(repo, tip)?, tip.tree_id)?;
    changes.retain(|change| has(&change.path));
    let work = Work::of(repo, &steps(repo, tip, &has)?, &changes, &mut Counting::usual(repo))?;
    Ok(work.all_sessions().into_iter().map(Into::into).collect())
}

/// Returns the sessions whose work is both in `shadow` and in a stash entry.
pub(crate) fn stashed(context: &Context, shadow: &Shadow) -> Result<Vec<String>> {
    let repo = &context.repo;
    let Some(tip) = &shadow.tip else { return Ok(Vec::new()) };
    let stashes = Stashes::read(repo)?;
    let mut paths: Vec<BString> = Vec::new();
    if !stashes.is_empty() {
        let changes = repo.diff_trees(base_tree(repo, tip)?, tip.tree_id)?.into_iter();
        paths.extend(changes.filter(|change| stashes.hold(&change.path, change.after)).map(|change| change.path));
    }
    Ok(sessions_of(repo, tip, &paths)?.into_iter().collect())
}
