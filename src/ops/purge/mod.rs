//! Removes a text from all that we store: checkpoints, records, transcripts, our files, reflogs of our refs, and objects.
//!
//! What the user holds as well (branches, tags, reflogs, the index, lost commits) stays, and is named. The plan comes first. All
//! locks are held from the plan to the end. New objects and files come before the refs move, and old objects go last, so that
//! after a crash, the same command does the rest.

mod checkpoints;
mod contents;
mod files;
mod logs;
mod options;
mod outcome;
mod scan;
mod text;

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    fs,
    path::PathBuf,
};

use gix::ObjectId;

use self::{
    contents::{Contents, paths_of},
    logs::Logs,
    scan::Scan,
};
use super::{
    Context, Worktree,
    follow::lock_and_follow,
    locking::lock,
    records,
    replace::{Copier, Edit as _, Finished, Replaced, follow_in, ref_moves, updates},
    turn,
};
use crate::{
    error::{Error, Kind, Result},
    git::{Repo, new_objects::NewObjects, refs::RefUpdate},
    model::{event::Event, refname, secret::Secret},
    state::{
        self, failpoint,
        journal::{Journal, Progress},
        lock::Lock,
    },
};

pub use options::Options;
pub use outcome::Purged;

/// Removes texts from all that we store. Asks `ask` first, unless `options` say to force it.
///
/// # Errors
/// [`Kind::User`] if a text is too short to be searched for; [`Kind::Refused`] if the answer is no; [`Kind::Race`] if another
/// command works in one of the worktrees.
pub fn purge(context: &Context, options: &Options, ask: &mut dyn FnMut(&Purged) -> Result<bool>) -> Result<Purged> {
    context.emit_failure("purge", try_purge(context, options, ask))
}

fn try_purge(context: &Context, options: &Options, ask: &mut dyn FnMut(&Purged) -> Result<bool>) -> Result<Purged> {
    let secret = Secret::new(&options.texts).map_err(Error::user)?;
    let repo = &context.repo;
    if !options.dry_run {
        repo.wait_for_git()?;
    }
    let worktree = if options.dry_run { lock(context)? } else { lock_and_follow(context)? };
    let (git_dirs, _locks) = lock_others(context)?;
    let _records = records::lock(context)?;
    for git_dir in &git_dirs {
        if Journal::read(git_dir)?.is_some_and(|journal| journal.progress == Progress::Applying) {
            return Err(Error::refused(format!("a restore was interrupted in '{}'", git_dir.display())).with_hint(
                "'git checkpoint restore --continue' there finishes it, 'git checkpoint undo' reverses it",
            ));
        }
    }
    if !options.checkpoints.is_empty() {
        return checkpoints::purge(&worktree, options, ask);
    }
    let scan = Scan::of(repo, &secret, &options.paths)?;
    let mut contents = Contents::new(repo, &secret, &scan, repo.pathspec(&options.paths)?);
    let work = Work::plan(repo, &secret, &scan, &mut contents)?;
    let found = files::find(&git_dirs, &secret)?;
    let with_turns = purge_turns(&worktree, &git_dirs, &secret, true)?;
    let mut plan = outcome::of(context, &secret, &scan, &found, &with_turns, &contents.removed)?;
    plan.checkpoints = contents.checkpoints.len();
    let having: HashSet<ObjectId> = contents.checkpoints.iter().copied().collect();
    let held = repo.held(&having, &scan.others, Some(refname::PREFIX), None)?;
    plan.note_held(repo, &held.into_iter().collect())?;
    plan.rewritten = work.copied.len();
    (plan.prompts, plan.transcripts) = work.counts;
    plan.paths = paths_of(&scan, work.blobs.iter().chain(&scan.at_paths)).into_iter().collect();
    plan.objects = work.gone.len();
    plan.dry_run = options.dry_run;
    if options.dry_run || plan.is_empty() {
        return Ok(plan);
    }
    if !options.force && !ask(&plan)? {
        return Err(options::no());
    }
    let is_removed = |id: &ObjectId| scan.at_paths.contains(id);
    let new_blob = |id: ObjectId| contents.blobs.new.get(&id).copied();
    let written = work.objects.write()?;
    failpoint::hit("purge:before-files");
    let replaced = |id: ObjectId| work.replaced.get(&id).copied();
    for git_dir in &git_dirs {
        files::follow_blobs(git_dir, &new_blob, &is_removed)?;
        files::remove_cache(git_dir)?;
        if git_dir != repo.git_dir() {
            follow_in(git_dir, &replaced)?;
        }
    }
    super::replace::follow(&worktree, &replaced)?;
    files::remove_cache(repo.git_dir())?;
    purge_turns(&worktree, &git_dirs, &secret, false)?;
    files::write(&found)?;
    failpoint::hit("purge:before-refs");
    repo.update_refs(&work.updates)?;
    failpoint::hit("purge:after-refs");
    let names: Vec<String> = work.updates.iter().map(|update| update.name.clone()).collect();
    repo.forget_logs(refname::PREFIX, &names)?;
    written.check_and_release()?;
    let removal = repo.remove_objects(&work.gone, &scan.others)?;
    plan.note(&removal);
    let held_now = |ids: &BTreeSet<ObjectId>| ids.iter().copied().filter(|id| removal.held.contains(id)).collect();
    plan.note_held(repo, &held_now(&contents.checkpoints))?;
    plan.kept.extend(outcome::kept(repo, &scan, &held_now(&work.blobs))?);
    context.emit(&Event::Purge { checkpoints: plan.checkpoints, rewritten: plan.rewritten, objects: plan.objects });
    Ok(plan)
}

/// Takes the locks of all other worktrees. Returns the git directories of all, this one included.
fn lock_others(context: &Context) -> Result<(Vec<PathBuf>, Vec<Lock>)> {
    let repo = &context.repo;
    let linked = fs::read_dir(repo.common_dir().join("worktrees")).into_iter().flatten().flatten();
    let others = linked.map(|entry| entry.path()).chain([repo.common_dir().to_owned()]);
    let real = |path: &PathBuf| fs::canonicalize(path).ok();
    let own = real(&repo.git_dir().to_owned());
    let (mut git_dirs, mut locks) = (vec![repo.git_dir().to_owned()], Vec::new());
    for git_dir in others.filter(|git_dir| git_dir.is_dir() && real(git_dir) != own) {
        let path = state::ensure_directory(&git_dir)?.join("lock");
        locks.push(Lock::acquire(&path, context.settings.lock_timeout, &|| context.check_interrupt())?);
        git_dirs.push(git_dir);
    }
    Ok((git_dirs, locks))
}

/// Changes the open turns of all worktrees. Returns the git directories whose turns have the text.
fn purge_turns(worktree: &Worktree<'_>, git_dirs: &[PathBuf], secret: &Secret, dry_run: bool) -> Result<Vec<PathBuf>> {
    let mut changed = Vec::new();
    for git_dir in git_dirs {
        if git_dir != worktree.repo.git_dir() {
            if files::purge_turns(git_dir, secret, dry_run)? {
                changed.push(git_dir.clone());
            }
        } else if let Some(new) = files::turns_without(&worktree.turns(), secret) {
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
    /// How many lists of prompts and pieces of transcripts have the text.
    counts: (usize, usize),
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
        let blobs = contents.blobs.new.keys().copied().collect();
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
            if name == refname::HISTORY || name.starts_with(refname::TRANSCRIPTS) {
                let new = logs.replace(old, &mut objects)?;
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
        Ok(Self { blobs, updates, replaced, copied, objects, gone, counts: logs.counts() })
    }
}
