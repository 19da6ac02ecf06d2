//! Drops checkpoints, and deletes the objects that only they had.

use std::collections::{HashMap, HashSet};

use gix::ObjectId;

use super::{
    files::remove_cache,
    options::{Options, no},
    outcome::Purged,
    scan::Commits,
};
use crate::{
    error::Result,
    git::Repo,
    model::{event::Event, refname},
    ops::{
        Worktree,
        drop::{self, drop_in},
    },
    state::failpoint,
};

/// Drops the checkpoints of `options` and deletes their objects. Those that are dropped already may be named by their ids.
pub(super) fn purge(
    worktree: &Worktree<'_>,
    options: &Options,
    ask: &mut dyn FnMut(&Purged) -> Result<bool>,
) -> Result<Purged> {
    let repo = &worktree.repo;
    let targets: Vec<ObjectId> = drop::targets(worktree, &options.checkpoints)?.into_iter().map(|it| it.id).collect();
    let tips = repo.refs_below(refname::PREFIX)?.into_iter().map(|(_, id)| id).collect::<Vec<_>>();
    let mut live = Vec::new();
    for id in &targets {
        if repo.reaches(tips.clone(), *id, 0)? {
            live.push(id.to_string());
        }
    }
    let mut plan = Purged { version: 1, checkpoints: targets.len(), dry_run: options.dry_run, ..Purged::default() };
    let to_drop = |dry_run| drop::Options { targets: live.clone(), force: true, dry_run };
    if !live.is_empty() {
        plan.rewritten = drop_in(worktree, &to_drop(true), &mut |_| Ok(true))?.rewritten;
    }
    if options.dry_run {
        return Ok(plan);
    }
    if !options.force && !ask(&plan)? {
        return Err(no());
    }
    let mut dropped: HashSet<ObjectId> = targets.into_iter().collect();
    if !live.is_empty() {
        drop_in(worktree, &to_drop(false), &mut |_| Ok(true))?;
    }
    failpoint::hit("purge:after-drop");
    remove_cache(repo.git_dir())?;
    repo.forget_logs(refname::PREFIX, &tips_by_name(repo)?)?;
    let Commits { checkpoints, sides, logs: _, mut others } = Commits::read(repo)?;
    let own: HashSet<ObjectId> = checkpoints.iter().copied().collect();
    let held = repo.held(&own, &others, None, None)?;
    let loose: Vec<ObjectId> = checkpoints.into_iter().filter(|id| !held.contains(id)).collect();
    dropped.retain(|id| !held.contains(id));
    let gone = leading_to(repo, &loose, &dropped)?;
    // What other checkpoints need that no ref leads to either stays.
    others.extend(loose.into_iter().filter(|id| !gone.contains(id)));
    let behind = repo.objects_behind(&gone.iter().copied().collect::<Vec<_>>(), refname::PREFIX)?;
    others.extend(sides.into_iter().filter(|id| !behind.contains_key(id)));
    let objects: HashSet<ObjectId> = behind.into_keys().collect();
    plan.note(&repo.remove_objects(&objects, &others)?);
    worktree.emit(&Event::Purge { checkpoints: plan.checkpoints, rewritten: plan.rewritten, objects: plan.objects });
    Ok(plan)
}

fn tips_by_name(repo: &Repo) -> Result<Vec<String>> {
    Ok(repo.refs_below(refname::PREFIX)?.into_iter().map(|(name, _)| name).collect())
}

/// Returns those of `checkpoints` that lead to one of `targets`, these included.
fn leading_to(repo: &Repo, checkpoints: &[ObjectId], targets: &HashSet<ObjectId>) -> Result<HashSet<ObjectId>> {
    let own: HashSet<ObjectId> = checkpoints.iter().copied().collect();
    let mut leads: HashMap<ObjectId, bool> = targets.iter().map(|id| (*id, true)).collect();
    for id in checkpoints {
        let mut work = vec![(*id, false)];
        while let Some((id, are_parents_done)) = work.pop() {
            if leads.contains_key(&id) {
                continue;
            }
            let parents = if own.contains(&id) { repo.parents_of(id)? } else { Vec::new() };
            if are_parents_done || parents.is_empty() {
                leads.insert(id, parents.iter().any(|id| leads.get(id) == Some(&true)));
            } else {
                work.push((id, true));
                work.extend(parents.into_iter().map(|id| (id, false)));
            }
        }
    }
    Ok(leads.into_iter().filter(|(_, leads)| *leads).map(|(id, _)| id).collect())
}
