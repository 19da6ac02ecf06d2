//! Drops checkpoints, and deletes the objects that only they had.

use std::collections::{BTreeSet, HashMap, HashSet};

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::{
    files::remove_cache,
    locks::Locks,
    options::{Options, no},
    outcome::Purged,
    scan::{Commits, log_commits, objects_of},
};
use crate::{
    error::Result,
    git::{
        Repo,
        new_objects::{NewObjects, Target},
        notes::Notes,
    },
    model::{event::Event, note::is_subject_of_notes, refname},
    ops::{
        Context, Worktree,
        drop::{self, Step, drop_in},
        operations,
    },
    state::failpoint,
};

/// Drops the checkpoints of `options` and deletes their objects. Those that are dropped already may be named by their ids.
pub(super) fn purge(
    context: &Context,
    options: &Options,
    ask: &mut dyn FnMut(&Purged) -> Result<bool>,
) -> Result<Purged> {
    let (mut options, mut agreed) = (options.clone(), None::<Purged>);
    loop {
        let locks = Locks::take(context, &options)?;
        let targets: Vec<ObjectId> =
            drop::targets(&locks.worktree, &options.checkpoints)?.into_iter().map(|it| it.id).collect();
        let plan = plan(&locks.worktree, &options, &targets)?;
        if options.dry_run {
            return Ok(plan.purged);
        }
        if options.force || agreed.as_ref().is_some_and(|agreed| agreed.covers(&plan.purged)) {
            // No operation is to bring the checkpoints back.
            if operations::forget_all(context)? > 0 {
                continue;
            }
            return carry_out(context, locks, plan, targets);
        }
        // No lock is held during the question, so that other processes do not wait for the answer.
        std::mem::drop(locks);
        if !ask(&plan.purged)? {
            return Err(no());
        }
        // A name such as `@{0}` may be that of another one by now.
        options.checkpoints = targets.iter().map(ToString::to_string).collect();
        agreed = Some(plan.purged);
    }
}

struct Plan {
    purged: Purged,
    /// Those of the checkpoints that a ref leads to.
    live: Vec<String>,
}

/// Drops the checkpoints `live`. Returns how many others are written anew, and the paths whose content is lost.
fn drop_live(worktree: &Worktree<'_>, live: &[String], dry_run: bool) -> Result<(usize, Vec<BString>)> {
    if live.is_empty() {
        return Ok((0, Vec::new()));
    }
    let options = drop::Options { targets: live.to_vec(), force: true, dry_run };
    let (Step::Done(done) | Step::Question(done)) = drop_in(worktree, &options, None)?;
    Ok((done.rewritten, done.lost))
}

fn plan(worktree: &Worktree<'_>, options: &Options, targets: &[ObjectId]) -> Result<Plan> {
    let repo = &worktree.repo;
    let mut refs = repo.refs_below(refname::PREFIX)?;
    refs.retain(|(name, _)| !name.starts_with(refname::OPERATIONS));
    let tips = refs.into_iter().map(|(_, id)| id).collect::<Vec<_>>();
    let mut live = Vec::new();
    for id in targets {
        if repo.reaches(tips.clone(), *id, 0)? {
            live.push(id.to_string());
        }
    }
    let (rewritten, paths) = drop_live(worktree, &live, true)?;
    let (checkpoints, dry_run) = (targets.len(), options.dry_run);
    let mut purged = Purged { version: 1, checkpoints, rewritten, paths, dry_run, ..Purged::default() };
    purged.live = live.len();
    let held =
        repo.held(&targets.iter().copied().collect(), &Commits::read(repo)?.all(), Some(refname::PREFIX), None)?;
    purged.note_held(repo, &held.into_iter().collect())?;
    Ok(Plan { purged, live })
}

fn carry_out(context: &Context, locks: Locks<'_>, plan: Plan, targets: Vec<ObjectId>) -> Result<Purged> {
    let repo = &context.repo;
    let Plan { purged: mut plan, live } = plan;
    let mut dropped: HashSet<ObjectId> = targets.into_iter().collect();
    let targeted = dropped.clone();
    // Before the drop, which writes notes: what it has just written would count as in use.
    forget_notes(repo, &dropped)?;
    drop_live(&locks.worktree, &live, false)?;
    failpoint::hit("purge:after-drop");
    remove_cache(repo.git_dir())?;
    repo.forget_logs(refname::PREFIX, &tips_by_name(repo)?)?;
    let commits = Commits::read(repo)?;
    let checkpoints: HashSet<ObjectId> = commits.checkpoints.iter().copied().collect();
    let held = repo.held(&checkpoints, &commits.all(), None, None)?;
    let loose: Vec<ObjectId> = commits.checkpoints.into_iter().filter(|id| !held.contains(id)).collect();
    plan.note_held(repo, &dropped.intersection(&held).copied().collect::<BTreeSet<_>>())?;
    dropped.retain(|id| !held.contains(id));
    // What other checkpoints need that no ref leads to either stays.
    let mut own = leading_to(repo, &loose, &dropped)?;
    let behind = repo.objects_behind(&own.iter().copied().collect::<Vec<_>>(), Some(refname::PREFIX))?;
    own.extend(commits.sides.into_iter().filter(|id| behind.contains_key(id)));
    let old_notes = with_notes_of(repo, &commits.logs, &targeted)?;
    own.extend(&old_notes);
    let mut gone: HashSet<ObjectId> = behind.into_keys().collect();
    gone.extend(repo.objects_behind(&Vec::from_iter(old_notes), None)?.into_keys());
    gone.extend(objects_of(repo, &commits.operations)?);
    own.extend(&commits.operations);
    let removal = locks.release_and_remove(repo, &gone, &own)?;
    plan.note(&removal);
    // A restore may have brought one back meanwhile.
    plan.note_held(repo, &dropped.intersection(&removal.held).copied().collect::<BTreeSet<_>>())?;
    context.emit(&Event::Purge { checkpoints: plan.checkpoints, rewritten: plan.rewritten, objects: plan.objects });
    Ok(plan)
}

/// Removes the notes for `dropped` from the history of the notes.
fn forget_notes(repo: &Repo, dropped: &HashSet<ObjectId>) -> Result<()> {
    let (mut notes, mut objects) = (repo.notes()?, NewObjects::new(repo, Target::Loose));
    notes.forget(dropped, &mut objects)?;
    let written = objects.write()?;
    failpoint::hit("purge:before-notes");
    repo.update_refs(&Vec::from_iter(notes.update()))?;
    written.check_and_release()
}

/// Returns the commits of notes that the ref does not lead to any more, if one of `dropped` has a note in one of them.
fn with_notes_of(repo: &Repo, logs: &BTreeSet<ObjectId>, dropped: &HashSet<ObjectId>) -> Result<HashSet<ObjectId>> {
    let now = log_commits(repo, &Vec::from_iter(repo.notes()?.tip()))?;
    let (mut left, mut has_one) = (HashSet::new(), false);
    for id in logs.difference(&now) {
        if repo.with_commit(*id, |commit| is_subject_of_notes(commit.message.trim_end()))? {
            has_one |= Notes::at(repo, Some(*id))?.all().any(|(id, _)| dropped.contains(&id));
            left.insert(*id);
        }
    }
    Ok(if has_one { left } else { HashSet::new() })
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
