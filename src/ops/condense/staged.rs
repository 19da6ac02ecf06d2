//! Whether the next commit, which takes what is staged, contains work of a session.

use std::collections::BTreeSet;

use bstr::ByteSlice as _;
use gix::ObjectId;

use super::{
    candidates::{Candidate, candidates, touched_live},
    commit::shadows_of_sessions,
    last_steps::may_be_moved_on,
    made::drop_brought,
    renamed::{left_out, renamed_since},
    work::{has_work_of, steps_to, work},
};
use crate::{
    error::Result,
    git::{Repo, counting::Counting},
    model::{attribution::Author, change::Change, record::RecordId, refname::Base},
    ops::{
        Context,
        chain::lost::{is_any_noted, lost_changes},
        provenance::{covered, replay::contributors},
    },
};

/// Returns true if what is staged contains work of a session that the records `recorded` do not cover.
pub(crate) fn holds_work(context: &Context, base: Base, recorded: &[RecordId]) -> Result<bool> {
    let repo = &context.repo;
    // Most commits take work of live shadows; only the others need to look at archived ones.
    let live = candidates(repo, base, false)?;
    if holds_work_of(context, base, &live, recorded)? {
        return Ok(true);
    }
    Ok(holds_work_of(context, base, &candidates(repo, base, true)?, recorded)? || holds_lost(context, base)?)
}

/// Returns the authors of what is staged on `base`, and of what it deletes, as the record of the commit will have them.
pub(crate) fn authors_of_staged(context: &Context, base: Base) -> Result<Vec<Author>> {
    let repo = &context.repo;
    let mut staged = repo.staged_changes(tree_of(repo, base)?)?;
    drop_brought(repo, &repo.merge_heads(), &mut staged)?;
    let staged = repo.detect_renames(staged)?;
    let found = candidates(repo, base, true)?;
    let renamed = renamed_since(repo, touched_live(&found), &staged)?;
    let (work, _) = work(context, &found, (&staged, None), renamed, &mut Counting::usual(repo))?;
    let ids: BTreeSet<_> = work.ownership.files.iter().flat_map(contributors).collect();
    Ok(ids.into_iter().filter_map(|id| work.authors.get(id as usize).cloned()).collect())
}

/// Returns true if what is staged may be work of shadows that were just found to be damaged.
fn holds_lost(context: &Context, base: Base) -> Result<bool> {
    let repo = &context.repo;
    if !is_any_noted(repo) {
        return Ok(false);
    }
    let mut staged = repo.staged_changes(tree_of(repo, base)?)?;
    drop_brought(repo, &repo.merge_heads(), &mut staged)?;
    Ok(!lost_changes(context, &staged)?.is_empty())
}

fn tree_of(repo: &Repo, base: Base) -> Result<ObjectId> {
    base.commit_id().map_or_else(|| Ok(repo.empty_tree_id()), |id| repo.tree_of_commit(id))
}

/// Returns true if a live shadow on `base` has work of a session: a commit that does not take it must carry it forward.
pub(crate) fn has_work_on(repo: &Repo, base: Base) -> Result<bool> {
    Ok(shadows_of_sessions(repo, base)?.is_some())
}

fn holds_work_of(context: &Context, base: Base, found: &[Candidate], recorded: &[RecordId]) -> Result<bool> {
    let repo = &context.repo;
    let mut paths: Vec<_> = found.iter().flat_map(|it| it.touched.iter().map(|change| change.path.clone())).collect();
    paths.sort();
    paths.dedup();
    if paths.is_empty() {
        return Ok(false);
    }
    let head_tree_id = tree_of(repo, base)?;
    let (mut staged, mut gone) = (Vec::new(), BTreeSet::new());
    for (path, leaf) in repo.staged_leaves(&paths)? {
        let before = repo.find_leaf(head_tree_id, path.as_bstr())?;
        gone.extend(leaf.is_none().then(|| path.clone()));
        staged.extend(Change::between(path, before, leaf));
    }
    // A path that the worktree no longer has may be staged under a new name; what was set aside may be of a time when
    // the file had another one, or its lines may be in other files.
    let is_new = left_out(touched_live(found), &staged).next().is_some();
    let is_gone = |own: &Change| own.after.is_some() && gone.contains(&own.path);
    let is_old = found.iter().any(|candidate| {
        !candidate.is_live && (candidate.touched.iter().any(is_gone) || may_be_moved_on(repo, candidate, &staged))
    });
    if is_new || is_old {
        let others = repo.staged_changes(head_tree_id)?.into_iter().filter(|it| it.after.is_some());
        staged.extend(others.filter(|it| paths.binary_search(&it.path).is_err()));
        staged.sort_by(|one, other| one.path.cmp(&other.path));
    }
    drop_brought(repo, &repo.merge_heads(), &mut staged)?;
    if !recorded.is_empty() {
        let steps = steps_to(repo, found, (&staged, None), &[])?;
        covered::drop_recorded(repo, recorded, &steps, &mut staged);
    }
    if staged.is_empty() {
        return Ok(false);
    }
    has_work_of(context, found, &staged, None)
}
