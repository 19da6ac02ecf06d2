//! Removes a text from all that we store: checkpoints, records, transcripts, our files, reflogs of our refs, and objects.
//!
//! What the user holds as well (branches, tags, reflogs, the index, lost commits) stays, and is named. The plan comes first. No
//! lock is held while the user is asked; then, all are held from a second plan until the refs have moved. New objects and files
//! come before that, and old objects go last, so that after a crash, the same command does the rest.

mod checkpoints;
mod contents;
mod fetched;
mod files;
mod leaves;
mod locks;
mod logs;
mod options;
mod outcome;
mod refuse;
mod removed;
mod scan;
mod text;

use std::{
    cell::RefCell,
    collections::{BTreeSet, HashMap, HashSet},
    path::PathBuf,
};

use bstr::BStr;
use gix::ObjectId;

use self::{
    contents::{Contents, paths_of},
    locks::{Locks, git_dirs_of},
    logs::{Counts, Logs},
    scan::{Commits, Scan, is_in_any_object, objects_of},
};
use super::{
    Context, Worktree, operations,
    replace::{Copier, Edit as _, Finished, Replaced, follow_in, ref_moves, updates},
    turn,
};
use crate::{
    error::{Error, Kind, Result},
    git::{
        Repo,
        new_objects::NewObjects,
        notes::{NoteFate, Notes},
        refs::RefUpdate,
    },
    model::{event::Event, refname, secret::Secret},
    state::failpoint,
};

pub use options::Options;
pub use outcome::{By, Kept, Purged};

/// What is purged, and the error that kept a later round from its end.
pub type Outcome = (Purged, Result<()>);

/// Removes texts from all that we store. Asks `ask` first, unless `options` say to force it.
///
/// # Errors
/// If nothing was purged:
/// [`Kind::User`] if a text is too short to be searched for; [`Kind::Refused`] if the answer is no; [`Kind::Race`] if another
/// command works in one of the worktrees.
pub fn purge(context: &Context, options: &Options, ask: &mut dyn FnMut(&Purged) -> Result<bool>) -> Result<Outcome> {
    context.emit_failure("purge", try_purge(context, options, ask))
}

fn try_purge(context: &Context, options: &Options, ask: &mut dyn FnMut(&Purged) -> Result<bool>) -> Result<Outcome> {
    context.repo.refuse_other_index()?;
    context.repo.refuse_recent_objects_hook()?;
    context.repo.refuse_lost_refs()?;
    let secret = Secret::new(&options.texts).map_err(Error::user)?;
    if !options.checkpoints.is_empty() {
        return Ok((checkpoints::purge(context, options, ask)?, Ok(())));
    }
    let (mut agreed, mut done, mut rounds) = (None, Purged::default(), 0);
    loop {
        let step = purge_once(context, options, &secret, agreed.as_ref()).and_then(|step| match step {
            // No lock is held during the question, so that other processes do not wait for the answer.
            Step::Question(plan) if !ask(&plan)? => Err(options::no()),
            step => Ok(step),
        });
        match step {
            Ok(Step::Question(plan)) => agreed = Some(plan),
            Ok(Step::Forgotten(plan)) => {
                done.forgotten.extend(plan.forgotten.clone());
                agreed = Some(plan);
            }
            Ok(Step::Again(plan)) => {
                done.add(plan);
                rounds += 1;
                if rounds == MOST_ROUNDS {
                    let error = Error::race("other commands store it again and again");
                    let error = error.with_hint("run it again when they are done");
                    return Ok((done, context.emit_failure("purge", Err(error))));
                }
            }
            Ok(Step::Done(plan)) => {
                done.add(plan);
                return Ok((done, Ok(())));
            }
            Err(error) if rounds == 0 => return Err(error),
            Err(error) => return Ok((done, context.emit_failure("purge", Err(error)))),
        }
    }
}

/// How often a purge begins again because of what others do meanwhile.
const MOST_ROUNDS: usize = 3;

/// How far a purge came.
enum Step {
    /// To the question whether that may be done.
    Question(Purged),
    /// To where the operation logs, and the fetched logs with the text, are gone: what they led to can go now.
    Forgotten(Purged),
    /// To its end, but another worktree was made meanwhile, or a checkpoint leads to what has the text: a save found the text in the
    /// worktree, or a restore brought it back.
    Again(Purged),
    /// To its end.
    Done(Purged),
}

/// Purges what the user has `agreed` to.
fn purge_once(context: &Context, options: &Options, secret: &Secret, agreed: Option<&Purged>) -> Result<Step> {
    let repo = &context.repo;
    let locks = Locks::take(context, options)?;
    let (worktree, git_dirs) = (&locks.worktree, &locks.git_dirs);
    let scan = Scan::of(repo, secret, &options.paths)?;
    let mut contents = Contents::new(repo, secret, &scan, repo.pathspec(&options.paths)?);
    let work = Work::plan(repo, secret, &scan, &mut contents)?;
    let found = files::find(git_dirs, secret)?;
    let with_turns = purge_turns(worktree, git_dirs, secret, true)?;
    let stored: HashSet<ObjectId> = work.stored.iter().chain(&scan.at_paths).copied().collect();
    let mut plan = outcome::of(context, secret, &scan, &found, &with_turns, &contents.removed, &stored)?;
    plan.checkpoints = contents.checkpoints.len();
    let having: HashSet<ObjectId> = contents.checkpoints.iter().copied().collect();
    let of_user = having.intersection(&scan.held).copied().collect();
    plan.note_held(repo, &of_user)?;
    plan.rewritten = work.copied.len();
    plan.live = work.copied.intersection(&contents.checkpoints).count();
    (plan.prompts, plan.transcripts, plan.notes) = work.counts.each();
    plan.paths = paths_of(&scan, work.blobs.iter().chain(&scan.at_paths)).into_iter().collect();
    plan.objects = work.gone.len();
    plan.forgotten = scan.fetched.iter().map(|(name, _)| name.clone()).collect();
    plan.dry_run = options.dry_run;
    if plan.is_empty() {
        if !secret.is_nothing() {
            plan.is_elsewhere = is_in_any_object(repo, secret)?;
            let is_gone = refuse::if_a_save_would_store_it(context, secret);
            if options.dry_run { plan.note_refusal(is_gone)? } else { is_gone? }
        }
        return Ok(Step::Done(plan));
    }
    let is_agreed = options.force || agreed.is_some_and(|agreed| agreed.covers(&plan));
    if options.dry_run || !is_agreed {
        // The operation logs would go as well.
        let all = work.gone.union(&objects_of(repo, &scan.operations)?).copied().collect();
        plan.objects = repo.removable(&all, &scan.own, scan.ours())?.len();
    }
    let may_purge = refuse::if_it_would_mix(context, secret, &options.paths, !work.blobs.is_empty());
    if options.dry_run {
        plan.note_refusal(may_purge)?;
        return Ok(Step::Done(plan));
    }
    may_purge?;
    if !is_agreed {
        return Ok(Step::Question(plan));
    }
    // Nothing that was fetched is to hold what is purged, and no operation is to bring it back: neither this one.
    if fetched::forget(repo, &scan.fetched)? + operations::forget_all(context)? > 0 {
        return Ok(Step::Forgotten(plan));
    }
    let pathspec = RefCell::new(repo.pathspec(&options.paths)?);
    let is_removed = |path: &BStr, id: &ObjectId| scan.at_paths.contains(id) && pathspec.borrow_mut().matches(path);
    let new_blob = |id: ObjectId| contents.blobs.new.get(&id).copied();
    let written = work.objects.write()?;
    failpoint::hit("purge:before-files");
    let replaced = |id: ObjectId| work.replaced.get(&id).copied();
    for git_dir in git_dirs {
        files::follow_blobs(git_dir, &new_blob, &is_removed)?;
        files::remove_cache(git_dir)?;
        if git_dir != repo.git_dir() {
            follow_in(git_dir, &replaced)?;
        }
    }
    super::replace::follow(worktree, &replaced)?;
    files::remove_cache(repo.git_dir())?;
    purge_turns(worktree, git_dirs, secret, false)?;
    files::write(&found, secret)?;
    failpoint::hit("purge:before-refs");
    repo.update_refs(&work.updates)?;
    failpoint::hit("purge:after-refs");
    let names: Vec<String> = work.updates.iter().map(|update| update.name.clone()).collect();
    repo.forget_logs(refname::PREFIX, &names)?;
    written.check_and_release()?;
    let git_dirs = git_dirs.clone();
    let mut gone = work.gone;
    gone.extend(objects_of(repo, &scan.operations)?);
    let removal = locks.release_and_remove(repo, &gone, &scan.own)?;
    plan.note(&removal);
    let held_now = |ids: &BTreeSet<ObjectId>| ids.iter().copied().filter(|id| removal.held.contains(id)).collect();
    plan.note_held(repo, &held_now(&contents.checkpoints))?;
    plan.kept.extend(outcome::kept(repo, &scan, &held_now(&work.blobs), &stored)?);
    context.emit(&Event::Purge { checkpoints: plan.checkpoints, rewritten: plan.rewritten, objects: plan.objects });
    let has_text = |id: &ObjectId| scan.found.contains(id) || scan.at_paths.contains(id) || having.contains(id);
    let back: HashSet<ObjectId> = removal.held.iter().copied().filter(has_text).collect();
    // An object that the user's own refs, index or worktrees hold stays, also if one of our refs leads to it.
    let is_back = !back.is_empty()
        && repo.held(&back, &Commits::read(repo)?.all(), Some(refname::PREFIX), None)?.len() < back.len();
    // A worktree that was made meanwhile may have saved the text, too.
    Ok(if is_back || git_dirs_of(repo)? != git_dirs { Step::Again(plan) } else { Step::Done(plan) })
}

/// Changes the open turns of all worktrees. Returns the git directories whose turns have the text.
fn purge_turns(worktree: &Worktree<'_>, git_dirs: &[PathBuf], secret: &Secret, dry_run: bool) -> Result<Vec<PathBuf>> {
    let mut changed = Vec::new();
    for git_dir in git_dirs {
        if git_dir != worktree.repo.git_dir() {
            if files::purge_turns(git_dir, secret, dry_run)? {
                changed.push(git_dir.clone());
            }
        } else if let Some(new) = files::turns_without(&worktree.turns(), secret)? {
            changed.push(git_dir.clone());
            if !dry_run {
                worktree.edit_turns(|turns| *turns = new);
                turn::write(worktree)?;
            }
        }
    }
    Ok(changed)
}

/// What takes the place of all that has the text.
struct Work<'r> {
    /// The blobs of checkpoints that have it.
    blobs: BTreeSet<ObjectId>,
    updates: Vec<RefUpdate>,
    replaced: HashMap<ObjectId, Replaced>,
    /// The checkpoints that are written anew and that a ref leads to.
    copied: BTreeSet<ObjectId>,
    objects: NewObjects<'r>,
    /// The objects that nothing needs afterwards.
    gone: HashSet<ObjectId>,
    /// The blobs of checkpoints and records that have it.
    stored: HashSet<ObjectId>,
    /// How many lists of prompts, pieces of transcripts and notes have the text.
    counts: Counts,
}

/// Returns the commit `tip` of the notes with each note at the checkpoint that has taken the place of its own. `repo` has the new objects.
fn carried(
    repo: &Repo,
    tip: ObjectId,
    replaced: &HashMap<ObjectId, Replaced>,
    objects: &mut NewObjects<'_>,
) -> Result<ObjectId> {
    let mut notes = Notes::at(repo, Some(tip))?;
    let fate = |id| replaced.get(&id).map_or(NoteFate::Stays, |replaced| replaced.note_fate(id));
    notes.carry(fate, objects)?;
    Ok(notes.tip().unwrap_or(tip))
}

impl<'r> Work<'r> {
    fn plan(repo: &'r Repo, secret: &Secret, scan: &Scan, contents: &mut Contents<'_>) -> Result<Self> {
        let none = HashSet::new();
        let mut copier = Copier::editing(repo, &none, contents);
        let refs = ref_moves(repo, &mut copier)?;
        let copied: BTreeSet<ObjectId> = copier.copies.keys().copied().collect();
        let mut broken = Vec::new();
        for id in &scan.checkpoints {
            match copier.replace(*id) {
                // Git has removed some of what no ref leads to.
                Err(error) if error.kind() == Kind::Corrupt => broken.push(*id),
                replaced => drop(replaced?),
            }
        }
        let Finished { replaced, copies, mut objects } = copier.finish();
        let blobs: BTreeSet<ObjectId> = contents.blobs.new.keys().copied().collect();
        let mut gone: HashSet<ObjectId> = copies.into_keys().collect();
        for id in broken {
            let checkpoint = repo.checkpoint(id)?;
            if checkpoint.is_some_and(|it| contents.edit(&it, &mut objects).is_ok_and(|edited| edited.is_some())) {
                gone.insert(id);
            }
        }
        for id in &scan.noted {
            if repo.kind_of(*id)? == Some(gix::objs::Kind::Tree) {
                // The trees below it may be gone.
                drop(contents.tree(*id, &mut objects));
            }
        }
        let mut logs = Logs::new(repo, secret, scan);
        let mut updates = updates(&refs);
        for (name, old) in repo.refs_below(refname::PREFIX)? {
            let is_notes = name == refname::NOTES;
            if refname::is_notes(&name) || refname::is_log(&name) {
                let mut new = logs.replace(old, &mut objects)?;
                if is_notes {
                    new = carried(&objects.in_memory(), new, &replaced, &mut objects)?;
                }
                updates.extend((new != old).then_some(RefUpdate { name, old: Some(old), new: Some(new) }));
            }
        }
        for id in &scan.logs {
            logs.replace(*id, &mut objects)?;
        }
        gone.extend(contents.blobs.new.keys().copied().chain(contents.trees.changed()));
        gone.extend(contents.left_trees.iter().chain(&scan.at_paths));
        for side in &contents.sides {
            let tree_id = repo.tree_of_commit(*side)?;
            gone.extend([*side, tree_id]);
            gone.extend(
                repo.tree_entries(tree_id)?.into_iter().filter(|(_, is_tree, _)| !is_tree).map(|(_, _, id)| id),
            );
        }
        gone.extend(logs.commits.iter().filter(|(old, new)| old != new).map(|(old, _)| *old));
        gone.extend(logs.trees.changed().chain(logs.changed_blobs()));
        let noted: HashSet<ObjectId> = scan.noted.iter().copied().collect();
        gone.extend(scan.found.intersection(&noted));
        let stored = blobs.iter().copied().chain(logs.changed_blobs()).collect();
        // What the user holds stays; nothing of ours leads to it any more.
        gone.retain(|id| !scan.of_user.contains(id));
        Ok(Self { blobs, updates, replaced, copied, objects, gone, stored, counts: logs.counts() })
    }
}
