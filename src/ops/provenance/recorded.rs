//! Finds records whose work is committed again: after `git reset --soft`, after `git cherry-pick -n`, or after
//! `git merge --squash` with a message that does not list the squashed commits.
//!
//! [`records_again`] and its variants first collect candidates: records of commits that git says the work may come from, for
//! example by a reset in the reflog. Then they compare content: [`Evidence`] says how much of the work is enough.

use std::collections::BTreeSet;

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::{
    super::{
        Context,
        records::{self, Log, evidence},
        share::Least,
    },
    amended::{Amended, is_kept, is_undone},
    earlier::{Common, beyond, of_earlier_versions, of_other_branches},
    left_lately::{LeftLately, is_reset},
    place::{FoundAt, Place, found_at, head_tree, records_found_at},
    put_back::records_put_back,
    shown::{Candidates, Evidence, by_file},
    thrown_away::parts_left,
    touching::{Touches, of_commits_touching, of_sides},
};
use crate::{
    error::Result,
    git::Repo,
    model::{
        change::Change,
        copied::Copied,
        head_move::MoveKind,
        record::{Parts, Record, RecordId, ids_in_message},
    },
};

/// The last paragraph of a revert's message begins with this and a commit id.
const REVERTS: &str = "This reverts commit ";
/// How many digits of an id git prints at least.
const SHORTEST_ID: usize = 4;

/// Returns the records of other commits whose work is staged on `head`.
pub(crate) fn records_again(context: &Context, head: Option<ObjectId>) -> Result<Again> {
    let place = Place::Staged;
    let changes = place.changes(&context.repo, head_tree(&context.repo, head)?)?;
    again(&context.repo, head, place, &changes, false)
}

/// Returns the records of other commits whose work is in `changes`, the changes from `head` to the worktree. The worktree has the
/// tree `tree_id` in `repo`.
pub(crate) fn records_again_in_worktree(
    repo: &Repo,
    head: Option<ObjectId>,
    tree_id: ObjectId,
    changes: &[Change],
) -> Result<Again> {
    again(repo, head, Place::Worktree(tree_id), changes, false)
}

/// Returns the records of commits that `sides`, which git picks or squashes, lead to, and whose work is in files that had a conflict,
/// with these files: git has written there what a side has beside its change, which may be of any of its commits. The records of the
/// sides themselves are left out: the commit has all of them. Asks the index, or the worktree if it has the tree `tree_id`.
pub(crate) fn records_of_sides(
    repo: &Repo,
    head: Option<ObjectId>,
    tree_id: Option<ObjectId>,
    sides: &[ObjectId],
) -> Result<Again> {
    let Some(prepared) = repo.prepared_message() else { return Ok(Again::default()) };
    let in_conflict: BTreeSet<&[u8]> = prepared.in_conflict().collect();
    if in_conflict.is_empty() || sides.is_empty() || !records::are_here(repo)? {
        return Ok(Again::default());
    }
    let place = tree_id.map_or(Place::Staged, Place::Worktree);
    let head_tree_id = head_tree(repo, head)?;
    let mut changes = place.changes(repo, head_tree_id)?;
    changes.retain(|change| in_conflict.contains(change.path.as_slice()));
    let asked = of_sides(repo, &changes, sides)?.into_iter().map(|id| (id, Least::Line));
    let mut own = Vec::new();
    for side in sides {
        own.extend(evidence::of_commit(repo, *side)?);
    }
    let asked: Vec<_> = asked.filter(|(id, _)| !own.contains(id)).collect();
    let (mut certain, mut parts) = (Vec::new(), Parts::new());
    for FoundAt { id, mut files, .. } in found_at(place, repo, head_tree_id, Some(&changes), asked)? {
        let now = place.leaves(repo, &files)?;
        files.retain(|path| in_conflict.contains(path.as_slice()) || now.get(path).copied().flatten().is_none());
        if !files.is_empty() {
            parts.insert(id, files);
            certain.push(id);
        }
    }
    Ok(Again { certain, parts, ..Again::default() })
}

/// Returns, of those of the records `ids` of which git has thrown files away, the other files. Git has brought the work of the records
/// to the index, or to the worktree if it has the tree `tree_id`.
pub(crate) fn parts_brought(
    repo: &Repo,
    head: Option<ObjectId>,
    tree_id: Option<ObjectId>,
    ids: &[RecordId],
) -> Result<Parts> {
    parts_left(repo, head, tree_id.map_or(Place::Staged, Place::Worktree), ids.iter().copied(), |_, _| true, |_| true)
}

/// The records of other commits whose work a commit, the index or the worktree contains again.
#[derive(Debug, Default)]
pub(crate) struct Again {
    pub(crate) certain: Vec<RecordId>,
    /// Of those of them of which it has the work of some files only, these files.
    pub(crate) parts: Parts,
    /// Those of which it has too little to be sure, although git says that the work may be there.
    pub(crate) perhaps: Vec<RecordId>,
}

/// Returns the records of other commits whose work `commit` contains again. `head` is its parent, or the commit that it amends.
/// The commit `is_quiet` if no hook of ours has reported it.
pub(crate) fn records_again_in(
    context: &Context,
    head: Option<ObjectId>,
    commit: ObjectId,
    is_quiet: bool,
) -> Result<Again> {
    let repo = &context.repo;
    let linked = evidence::of_commit(repo, commit)?;
    let seconds = repo.with_commit(commit, |commit| commit.committer().map_or(i64::MAX, |who| who.seconds()))?;
    let place = Place::In(commit);
    let mut again = again(repo, head, place, &place.changes(repo, head_tree(repo, head)?)?, is_quiet)?;
    // A commit repeats only work that was recorded before. If a record is of the same second, we know that it is older only if it
    // is of this worktree.
    let was_earlier = |record: Record| {
        record.seconds < seconds || (record.seconds == seconds && record.worktree == *repo.worktree_id())
    };
    // An amend may bring other files of a record that the amended commit has a part of.
    let is_amend = head.is_some_and(|head| repo.parents_of(commit).is_ok_and(|parents| !parents.contains(&head)));
    let Again { certain, perhaps, parts } = &mut again;
    let is_new = |id: &RecordId| !linked.contains(id) || is_amend && parts.contains_key(id);
    for ids in [certain, perhaps] {
        ids.retain(|id| is_new(id) && evidence::find(repo, id).ok().flatten().is_some_and(was_earlier));
    }
    Ok(again)
}

/// Returns the records of other commits whose work is in `changes`, the changes from `head` to `place`.
fn again(repo: &Repo, head: Option<ObjectId>, place: Place, changes: &[Change], is_quiet: bool) -> Result<Again> {
    if !records::are_here(repo)? {
        return Ok(Again::default());
    }
    // Content alone shows only what this clone has recorded.
    let log = Log::own(repo)?.unwrap_or_else(|| Log::at(repo, repo.empty_tree_id()));
    let root = ObjectId::null(repo.object_hash());
    let mut ids = Candidates::default();
    let (prepared, searches_by_path) = match place {
        Place::Staged | Place::Worktree(_) => {
            let prepared = repo.prepared_message();
            (prepared.clone(), prepared.is_some())
        }
        Place::In(commit) => (None, names_reverted(repo, &repo.message_of(commit)?)?),
    };
    // Without our hooks, git may have merged or picked work of another branch. A reset may have removed work from HEAD.
    let of_branch = if is_quiet { Evidence::Content } else { Evidence::Elsewhere };
    let lately = LeftLately::read(repo)?;
    let (removed, elsewhere) = on_no_branch(repo, &log, records::of_parent(repo, head.unwrap_or(root))?)?;
    ids.add(removed, Evidence::Content);
    ids.add(elsewhere, of_branch);
    for (id, common) in of_other_branches(repo, &log, head, lately.starts(|_| true), changes)? {
        let is_content = common == Common::Content;
        ids.add([id], if is_content { Evidence::Content } else { of_branch });
    }
    // What a restore of another branch, or `round apply`, has put here is committed here.
    for (id, only) in records_put_back(repo, &log, head)? {
        ids.add_removed(id, only);
        ids.restored.insert(id);
    }
    let [by_resets, by_amends] = [lately.starts(is_reset), lately.starts(|kind| kind == Some(MoveKind::Amend))];
    let left = beyond(repo, head, by_resets.clone())?;
    let mut removed_trees = Vec::new();
    for commit in by_resets.iter().chain(&by_amends).filter(|commit| Some(**commit) != head) {
        removed_trees.extend(repo.is_commit(*commit)?.then(|| repo.tree_of_commit(*commit)).transpose()?);
    }
    // Without either, both are the commit of `ORIG_HEAD`.
    let amended = if by_amends == by_resets { left.clone() } else { beyond(repo, head, by_amends)? };
    // What an amend has removed may be committed again as well: for example, a file that was renamed and not staged yet.
    for commit in amended {
        ids.add_of_removed(repo, &log, commit)?;
    }
    for commit in &left {
        ids.add_of_removed(repo, &log, *commit)?;
        // An earlier reset may have removed other children of this commit.
        ids.add(records::of_parent(repo, *commit)?, Evidence::Content);
    }
    // Git has prepared the message of the commit that `git cherry-pick -n` picked last.
    ids.add(prepared.iter().flat_map(|message| ids_in_message(message.as_bytes())), Evidence::Named);
    if searches_by_path {
        for (id, touches) in of_commits_touching(repo, changes, prepared.as_ref())? {
            ids.add(
                [id],
                match touches {
                    Touches::Picked => Evidence::Named,
                    Touches::Name => Evidence::Content,
                    Touches::FormerName => Evidence::FormerName,
                },
            );
        }
    }
    if let Some(head) = head {
        for (id, is_by_git) in of_earlier_versions(repo, &log, head, changes)? {
            ids.add([id], if is_by_git { Evidence::Brought } else { Evidence::Content });
        }
    }
    // For the worktree, the caller may give only a part of the changes. So there, `records_found_at` compares the trees itself.
    let all = Some(changes).filter(|_| !matches!(place, Place::Worktree(_)));
    let head_tree_id = head_tree(repo, head)?;
    let asked = ids.known.iter().map(|(id, evidence)| (*id, evidence.least()));
    let found = found_at(place, repo, head_tree_id, all, asked)?;
    let (mut certain, mut parts) = by_file(repo, &log, (head, place), changes, found, |id| ids.known[id])?;
    // A later commit may have edited the lines, so that none is as recorded.
    for (id, evidence) in &ids.known {
        if matches!(evidence, Evidence::Brought | Evidence::Removed)
            && !certain.contains(id)
            && is_kept(repo, id, place, head_tree_id, &removed_trees)?
        {
            certain.push(*id);
        }
    }
    let of_all = certain.iter().copied().filter(|id| ids.known[id].is_of_all());
    parts.extend(parts_left(repo, head, place, of_all, |id, path| ids.had(id, path), |id| !ids.restored.contains(id))?);
    certain.retain(|id| parts.get(id).is_none_or(|files| !files.is_empty()));
    let others = ids.known.iter().filter(|(id, _)| !certain.contains(id));
    let asked = others.filter_map(|(id, evidence)| Some((*id, evidence.least_for_doubt()?)));
    let mut found = Again { perhaps: records_found_at(place, repo, head_tree_id, all, asked)?, certain, parts };
    // A commit that a reset removed may have made the same change independently of the record. Then the work comes from that
    // commit, not from the record.
    for found in [&mut found.certain, &mut found.perhaps] {
        let mut kept = Vec::with_capacity(found.len());
        for id in found.drain(..) {
            let is_by_git = ids.known.get(&id).is_some_and(|evidence| *evidence > Evidence::Content);
            kept.extend((is_by_git || !is_made_without_copy_in(repo, &left, &id)?).then_some(id));
        }
        *found = kept;
    }
    Ok(found)
}

/// Returns those of the records `ids` whose commit is on no branch here, and the others.
pub(super) fn on_no_branch(repo: &Repo, log: &Log<'_>, ids: Vec<RecordId>) -> Result<(Vec<RecordId>, Vec<RecordId>)> {
    let (mut removed, mut elsewhere) = (Vec::new(), Vec::new());
    if ids.is_empty() {
        return Ok((removed, elsewhere));
    }
    let tips: Vec<ObjectId> = repo.refs_below("refs/heads/")?.into_iter().map(|(_, id)| id).collect();
    for id in ids {
        // Skips damaged records.
        let Some(record) = log.find(&id).ok().flatten() else { continue };
        let is_on_branch = repo.is_commit(record.commit)? && repo.reaches(tips.clone(), record.commit, 0)?;
        if is_on_branch { &mut elsewhere } else { &mut removed }.push(id);
    }
    Ok((removed, elsewhere))
}

/// Returns true if one of `commits` has half of the work of the record `id` and is no copy of the record's commit. Then the work
/// is not from the record alone: it was also made in `commits`.
fn is_made_without_copy_in(repo: &Repo, commits: &[ObjectId], id: &RecordId) -> Result<bool> {
    // A damaged record is no reason to refuse a commit.
    let Ok(Some(record)) = evidence::find(repo, id) else { return Ok(false) };
    for commit in commits {
        let parent = repo.parents_of(*commit)?.first().copied();
        let is_here = parent.map_or(Ok(true), |parent| repo.is_commit(parent))?;
        if is_here && records::copied(repo, *commit, &record)? == Copied::No {
            let found =
                records_found_at(Place::In(*commit), repo, head_tree(repo, parent)?, None, [(*id, Least::Half)])?;
            if !found.is_empty() {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Returns true if commands like `blame` would take `commit` for a copy of a commit with a record, although its change is not
/// from there alone: `amended`, or a commit that a reset has removed from HEAD, has half of the recorded work, too, and is no
/// copy of the recorded commit. `head` is the parent of `commit`, or `amended`. These commands see records of others, too.
pub(crate) fn is_mistakable(
    context: &Context,
    head: Option<ObjectId>,
    commit: ObjectId,
    amended: Option<ObjectId>,
) -> Result<bool> {
    let repo = &context.repo;
    let Some(log) = Log::open(repo)? else { return Ok(false) };
    let copied = if log.of_commit(commit)?.is_empty() { log.of_change(commit)?.copied } else { Vec::new() };
    if copied.is_empty() {
        return Ok(false);
    }
    let mut left = left_behind(repo, head)?;
    left.extend(amended);
    for id in &copied {
        if !is_made_without_copy_in(repo, &left, id)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns true if `message` says that it reverts a commit of this repository. With `revert.reference`, the id is abbreviated.
fn names_reverted(repo: &Repo, message: &str) -> Result<bool> {
    for rest in message.split(REVERTS).skip(1) {
        let end = rest.find(|it: char| !it.is_ascii_hexdigit()).unwrap_or(rest.len());
        if !(SHORTEST_ID..=repo.object_hash().len_in_hex()).contains(&end) {
            continue;
        }
        for id in repo.ids_with_prefix(&rest[..end])? {
            if repo.is_commit(id)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Returns the commits that resets removed from HEAD. For each reset, these are the commit where HEAD was and its ancestors,
/// without those that `head` still has. Of a merge, these are the commits that it brought, too.
///
/// `ORIG_HEAD` alone does not say that, because `git stash` resets, too, and sets it to HEAD. So this reads the reflog as well.
pub(crate) fn left_behind(repo: &Repo, head: Option<ObjectId>) -> Result<Vec<ObjectId>> {
    beyond(repo, head, LeftLately::read(repo)?.starts(is_reset))
}

/// Returns true if the index may have a line that the records of `commits` attribute to a session. One line is enough: git says
/// that it has squashed these commits.
pub(crate) fn is_any_staged(context: &Context, head: Option<ObjectId>, commits: &[ObjectId]) -> Result<bool> {
    let repo = &context.repo;
    let head_tree_id = head_tree(repo, head)?;
    for commit in commits {
        for id in evidence::of_commit(repo, *commit)? {
            // A damaged record is no reason to refuse a commit.
            let Ok(Some(Record { files, .. })) = evidence::find(repo, &id) else { continue };
            let paths: Vec<BString> =
                files.into_iter().filter(|file| !file.sessions.is_empty()).map(|file| file.path).collect();
            let mut is_changed = false;
            for (path, leaf) in repo.staged_leaves(&paths)? {
                // A file that is not in the index counts as changed, because it may have been renamed.
                is_changed = is_changed || leaf.is_none() || repo.find_leaf(head_tree_id, path.as_bstr())? != leaf;
            }
            if is_changed && !is_undone(repo, &id, *commit, Amended::Staged)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Returns true if a file of the record `id` is staged as the commit had it, or with half of the lines that sessions added.
pub(crate) fn is_staged(context: &Context, head: Option<ObjectId>, id: &RecordId) -> Result<bool> {
    let head_tree_id = head_tree(&context.repo, head)?;
    records_found_at(Place::Staged, &context.repo, head_tree_id, None, [(*id, Least::Half)])
        .map(|found| !found.is_empty())
}

/// Returns true if `commit`, a child of `head`, has at least `least` of the work of the record `id` in one of its files.
pub(crate) fn is_in(
    context: &Context,
    head: Option<ObjectId>,
    commit: ObjectId,
    id: &RecordId,
    least: Least,
) -> Result<bool> {
    Ok(files_in(context, head, commit, id, least)?.is_some())
}

/// Does the same, and returns the only files of the record of which `commit` has any work; empty: all. None if it has less than `least`.
pub(crate) fn files_in(
    context: &Context,
    head: Option<ObjectId>,
    commit: ObjectId,
    id: &RecordId,
    least: Least,
) -> Result<Option<Vec<BString>>> {
    let head_tree_id = head_tree(&context.repo, head)?;
    let found = found_at(Place::In(commit), &context.repo, head_tree_id, None, [(*id, least)])?;
    Ok(found.into_iter().next().map(|found| if found.files.len() < found.count { found.files } else { Vec::new() }))
}
