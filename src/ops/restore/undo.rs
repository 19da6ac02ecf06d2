//! Takes a restore back: only the paths that it changed, and only as far as they have not changed since.

use std::{collections::BTreeMap, time::Instant};

use bstr::{BStr, BString, ByteSlice as _};
use gix::ObjectId;

use super::{
    back::{refuse_left, refuse_open_turns},
    before::{Before, BeforeOptions, Consider, Sight},
    carry_out::{Depth, RestoreRun, RunBelow, files_of},
    elsewhere::is_elsewhere,
    extent::{Extent, attempt_if_needed, expect_result},
    planned::Planned,
    restored::Restored,
    scope::{Scene, SkippedPaths},
    snapshot::Snapshot,
    staged::Staging,
};
use crate::{
    error::{Error, Result},
    git::{exact::Exact, refs::RefUpdate},
    model::{
        operation::{self, Move, Role},
        operation_back::Back,
        plan::{self, is_below},
        refname::ShadowName,
        step::{Content, Step},
        step_below::StepBelow,
        submodule::Recurse,
        verdict::{Verdict, Why},
    },
    ops::{
        Context, Worktree,
        enter::Purpose,
        operations::{Log, Picked, Which, back_over, pick, recorded_meanwhile, refuse},
        restored_target,
    },
    state::{
        journal::{Journal, Progress},
        temporary,
    },
};

/// How to undo.
#[derive(Clone, Debug, Default)]
pub struct UndoOptions {
    /// Changes nothing, and takes no checkpoint.
    pub dry_run: bool,
    /// Also takes back what was edited since the restore.
    pub all: bool,
}

/// Takes back the operation that `which` asks for, which must have changed files.
///
/// # Errors
/// As [`undo`](super::undo()); [`Kind::Refused`](crate::error::Kind::Refused) if the operation changed no files.
pub(super) fn undo_files(
    context: &Context,
    options: &UndoOptions,
    which: &Which,
    depth: Depth<'_>,
) -> Result<Restored> {
    let mut picked = pick(context, which)?;
    if !options.dry_run && mark_interrupted(context, &picked)? {
        picked = pick(context, which)?;
    }
    let journal = journal_of(&picked)?;
    let is_of_more = picked.is_of_more;
    if is_of_more {
        refuse_open_turns(context, CANNOT)?;
        back_of(context, &picked)?;
    }
    let saved = if options.dry_run { None } else { saved_before(context, &picked)? };
    let target = Target { which, picked: &picked, saved, depth };
    let attempt = |extent| attempt(context, options, &target, extent);
    if is_of_more {
        let looked = expect_result(attempt(Extent::DryRun)?)?;
        if options.dry_run {
            return Ok(looked);
        }
        refuse_left(&looked, CANNOT)?;
    }
    match journal.progress {
        _ if options.dry_run => expect_result(attempt(Extent::DryRun)?),
        Progress::Done if journal.directories.is_empty() && target.saved.is_none() && journal.below.is_empty() => {
            let restored = attempt_if_needed(attempt)?;
            // What finds nothing to do may take no checkpoint, and then has no entry. The operation is taken back all the same.
            if restored.pre_restore.is_none() && restored.is_idle() && restored.is_complete() {
                note_taken_back(context, which, picked.id())?;
            }
            Ok(restored)
        }
        // An interrupted restore is finished in any case, even if it has changed nothing yet. No plan has the directories
        // that are to be removed.
        _ => expect_result(attempt(Extent::Full)?),
    }
}

/// Versions before this one did not mark in the log what is half-way. Adds an entry that does, as if it had been continued: so no
/// redo brings the half-way state back. Returns false if there is nothing to mark.
fn mark_interrupted(context: &Context, picked: &Picked) -> Result<bool> {
    let (Some(entry), Some(journal)) = (&picked.entry, &picked.journal) else { return Ok(false) };
    if journal.progress == Progress::Done || entry.operation.nonce.is_some() {
        return Ok(false);
    }
    let _worktree = Worktree::enter(context, Purpose::Change)?;
    let _way = context.repo.on_the_way(operation::RESTORE);
    context.repo.note_role(Role::Continues(entry.id));
    context.repo.note_files(Some(files_of(journal)));
    context.repo.note_begin(&journal.nonce);
    context.repo.update_refs(&[])?;
    Ok(true)
}

/// How an error begins, if not all can be taken back of an operation that is taken back as a whole or not at all.
const CANNOT: &str = "cannot take it back";

/// What is to be taken back.
struct Target<'t> {
    which: &'t Which,
    picked: &'t Picked,
    /// As in [`BeforeOptions`].
    saved: Option<(RefUpdate, Role)>,
    depth: Depth<'t>,
}

impl Target<'_> {
    /// Returns what is to be taken back, under the lock.
    fn pick_again(&self, context: &Context) -> Result<Picked> {
        // If the redo has put a checkpoint back, the log has the redo already.
        if self.saved.is_some() {
            return Ok(self.picked.clone());
        }
        let picked = pick(context, self.which)?;
        if picked.id() == self.picked.id() {
            // What is recorded by now is this undo.
            Ok(Picked { latest: self.picked.latest, ..picked })
        } else {
            Err(recorded_meanwhile())
        }
    }
}

/// Notes in the operation log that the operation `id` is taken back, if no file had to change for that.
fn note_taken_back(context: &Context, which: &Which, id: Option<ObjectId>) -> Result<()> {
    let _worktree = Worktree::enter(context, Purpose::Change)?;
    let picked = pick(context, which)?;
    if let (Some(journal), true) = (&picked.journal, id.is_some() && picked.id() == id) {
        let done = Journal { progress: Progress::Done, nonce: temporary::random(), ..journal.clone() };
        let idle = Journal { steps: Vec::new(), index: Vec::new(), below: Vec::new(), ..done };
        let idle = Journal { directories: Vec::new(), removed: Vec::new(), ..idle };
        context.repo.note_role(picked.role);
        context.repo.note_files(Some(files_of(&idle)));
        context.repo.update_refs(&[])?;
    }
    Ok(())
}

/// Returns what takes the refs of `picked` back, if they are to go back. The shadow of a restore stays where something was saved
/// since, or where an open turn began at its value of now.
fn back_of(context: &Context, picked: &Picked) -> Result<Option<Back>> {
    let Some((entry, journal)) = picked.entry.as_ref().zip(picked.journal.as_ref()) else { return Ok(None) };
    let (log, is_whole) = (Log::read(context)?, picked.is_of_more);
    let known = [journal.pre_restore, journal.target];
    let is_elsewhere = |tips: &[ObjectId], id| is_elsewhere(context, &known, tips, id);
    let back = back_over(context, &log, (entry, picked.latest), is_whole, &is_elsewhere)?;
    if is_whole {
        refuse(&context.repo, &log, &back.obstacles, CANNOT)?;
    }
    let goes = is_whole || (back.obstacles.is_empty() && context.turns().entries.is_empty());
    Ok(Some(back).filter(|_| goes))
}

/// For a redo of a restore: returns the update that puts the checkpoint that the restore took first back on the shadow. None if
/// something has moved since, or if the undo has not removed it, but added another checkpoint: the shadow would lose what was saved
/// between the restore and the undo.
fn saved_before(context: &Context, picked: &Picked) -> Result<Option<(RefUpdate, Role)>> {
    let (Role::Redo(_), Some(entry), Some(journal)) = (picked.role, &picked.entry, &picked.journal) else {
        return Ok(None);
    };
    let repo = &context.repo;
    // Besides, the archive may hold what was saved first.
    let moves: Vec<&Move> = entry.operation.moves.iter().filter(|moved| moved.archived().is_none()).collect();
    let [moved] = moves.as_slice() else { return Ok(None) };
    let Some(saved) = repo.find_checkpoint(journal.target)?.filter(|_| moved.new != Some(journal.target)) else {
        return Ok(None);
    };
    let is_its = ShadowName::from_ref(&moved.name)
        .is_some_and(|name| name.base == saved.base && name.worktree == saved.worktree);
    let is_free = context.turns().entries.is_empty() && repo.find_ref(&moved.name)? == moved.new;
    if !is_its || !is_free {
        return Ok(None);
    }
    let was_removed = moved.new.map_or(Ok(true), |now| repo.reaches(moved.old.into_iter().collect(), now, 0))?;
    let update = RefUpdate { name: moved.name.clone(), old: moved.new, new: Some(saved.id) };
    Ok(was_removed.then_some((update, picked.role)))
}

fn journal_of(picked: &Picked) -> Result<&Journal> {
    picked.journal.as_ref().ok_or_else(|| Error::refused("the operation changed no files"))
}

fn attempt(context: &Context, options: &UndoOptions, target: &Target<'_>, extent: Extent) -> Result<Option<Restored>> {
    let start = Instant::now();
    let pick_again = || target.pick_again(context);
    let consider = |sight: Sight<'_>| {
        let picked = pick_again()?;
        let has_work = picked.is_of_more && back_of(context, &picked)?.is_some_and(|back| back.has_work());
        let journal = journal_of(&picked)?;
        let target = Snapshot::read(sight.repo, journal.pre_restore)?;
        plan_of(&sight.scene(context, &target), journal, options.all)?.outlook(&context.repo, sight, &target, has_work)
    };
    let consider = (extent == Extent::IfChanged).then_some(&consider as Consider<'_>);
    let before = Before::take(context, &before_options(extent, target.saved.clone()), consider)?;
    let Some(before) = before else { return Ok(None) };
    let run = Run { context, before: &before, all: options.all, depth: target.depth, start };
    run.take_back(&pick_again()?, extent).map(Some)
}

fn before_options(extent: Extent, saved: Option<(RefUpdate, Role)>) -> BeforeOptions {
    BeforeOptions {
        subject: restored_target::subject_before(None),
        is_dry: extent.is_dry(),
        keeps_index: true,
        force: true,
        after_crash: true,
        recurse: Recurse::No,
        saved,
    }
}

/// The worktree as it is, looked at once, to see what there is to take back of several operations.
pub(crate) struct Look<'c> {
    context: &'c Context,
    before: Before<'c>,
    run_below: RunBelow,
}

impl<'c> Look<'c> {
    /// Looks at the worktree of `context`.
    pub(super) fn open(context: &'c Context, run_below: RunBelow) -> Result<Self> {
        let before = Before::take(context, &before_options(Extent::DryRun, None), None)?;
        let before = before.ok_or_else(|| Error::internal("the worktree was not looked at"))?;
        Ok(Self { context, before, run_below })
    }

    /// Returns what the attempt to take `picked` back would do to files; with `all`, also to what was edited since.
    pub(crate) fn preview(&self, picked: &Picked, all: bool) -> Result<Restored> {
        let depth = Depth { nonce: None, run_below: self.run_below };
        Run { context: self.context, before: &self.before, all, depth, start: Instant::now() }
            .take_back(picked, Extent::DryRun)
    }
}

/// One attempt to take an operation back.
struct Run<'r> {
    context: &'r Context,
    before: &'r Before<'r>,
    all: bool,
    depth: Depth<'r>,
    start: Instant,
}

impl Run<'_> {
    /// Takes `picked` back, or only looks at what that would do.
    fn take_back(&self, picked: &Picked, extent: Extent) -> Result<Restored> {
        let Run { context, before, all, depth, start } = *self;
        let (journal, repo) = (journal_of(picked)?, before.repo());
        let target = Snapshot::read(repo, journal.pre_restore)?;
        let planned = plan_of(&before.sight().scene(context, &target), journal, all)?;
        // What is unsaved in a dry run would be saved first, and then the shadow stays where it is.
        let goes = !extent.is_dry() || picked.is_of_more || before.has_nothing_unsaved();
        let back = if goes { back_of(context, picked)? } else { None };
        let is_done = journal.progress == Progress::Done;
        let reversed = |step: &StepBelow| step.reversed(temporary::random(), all, is_done);
        let work = RestoreRun {
            back: back.as_ref(),
            is_called_off: picked.is_interrupted(),
            role: picked.role,
            below: journal.below.iter().map(reversed).collect(),
            nonce: depth.nonce,
            ..RestoreRun::new(before, &planned, &target, depth.run_below, start)
        };
        if extent.is_dry() {
            return work.preview(extent);
        }
        let restored = work.execute(before)?;
        work.remove_half_made(journal)?;
        Ok(restored)
    }
}

/// Decides what takes the restore of `journal` back in `scene`; with `all`, also what was edited since.
fn plan_of(scene: &Scene<'_>, journal: &Journal, all: bool) -> Result<Planned> {
    let mut reversal = Reversal::new(scene, journal)?;
    for step in &journal.steps {
        reversal.add(scene, step, all)?;
    }
    let mut candidates = scene.judge(reversal.steps, None, &BTreeMap::new(), &[])?;
    candidates.extend(reversal.judged);
    let plan = plan::plan(candidates, scene.repo.config_bool("core.ignoreCase") == Some(true));
    let mut directories = scene.directories(&[])?;
    directories.retain(|directory| {
        // The restore may have filled it, too.
        let is_of = |step: &Step| {
            let (path, directory) = (step.path.as_bstr(), directory.as_bstr());
            path == directory || is_below(directory, path) || is_below(path, directory)
        };
        let has_more = |made: &BString| is_below(made.as_bstr(), directory.as_bstr());
        let is_changed = || journal.steps.iter().any(is_of) || journal.directories.iter().any(has_more);
        journal.removed.contains(directory) || is_changed()
    });
    let stays = |directory: &&BString| scene.target.manifest.empty_directories.contains(directory);
    let mut removed: Vec<BString> = journal.directories.iter().filter(|it| !stays(it)).cloned().collect();
    removed.sort();
    let staging = Some(Staging::reversed(scene.repo, &journal.index, scene.pre, all)?);
    Ok(Planned { plan, directories, removed, staging, committed: Vec::new() })
}

/// The steps of a restore, backwards.
struct Reversal<'s> {
    /// Still to be judged.
    steps: Vec<Step>,
    judged: Vec<(Step, Verdict)>,
    skipped: SkippedPaths<'s>,
    /// What files are now, what they were before the restore, and what it made of them.
    now: Exact<'s>,
    before: Exact<'s>,
    after: Exact<'s>,
}

impl<'s> Reversal<'s> {
    fn new(scene: &'s Scene<'_>, journal: &Journal) -> Result<Self> {
        let paths: Vec<BString> = journal.steps.iter().map(|step| step.path.clone()).collect();
        let restored = Snapshot::read(scene.repo, journal.target)?;
        let exact = |state: &Snapshot| state.exact(scene.repo, &paths);
        let (now, before, after) = (exact(scene.pre)?, exact(scene.target)?, exact(&restored)?);
        Ok(Self { steps: Vec::new(), judged: Vec::new(), skipped: scene.skipped(), now, before, after })
    }

    fn add(&mut self, scene: &Scene<'_>, done: &Step, all: bool) -> Result<()> {
        let path = done.path.as_bstr();
        let now = scene.pre.content(scene.repo, path)?;
        // The same bytes may be stored in another way by now: attributes may have changed.
        let is = Held::find(&mut self.now, path, now);
        let was = Held::find(&mut self.before, path, done.before);
        let became = Held::find(&mut self.after, path, done.after);
        scene.repo.check_interrupt()?;
        let step = Step { path: done.path.clone(), before: now, after: done.before };
        let is_unedited = is_same(is, became);
        if self.skipped.reason(path).is_some() {
            // No checkpoint has it as it is now, so no redo could bring it back.
            self.steps.push(step);
        } else if now.is_none() && done.after.is_some() && scene.has_file(path) {
            // Written by the restore, and now ignored, so not in the checkpoint of now. Its bytes are in the one
            // that was restored, and are compared before it goes.
            let exact = became.map(|Held { content, bytes }| Content { raw: bytes, ..content });
            self.judged.push((Step { before: exact, ..step }, Verdict::Go));
        } else if is_same(is, was).unwrap_or(now == done.before)
            && !is_same(was, became).unwrap_or(done.before == done.after)
        {
            // It has not changed since, or was changed back.
        } else if is_unedited == Some(true) && done.before.is_none() {
            // The restore wrote it where no file was. Ignore rules, which may have come back with it, do not matter.
            self.judged.push((step, Verdict::Go));
        } else if is_unedited == Some(true) || all {
            self.steps.push(step);
        } else if is_unedited.is_none() && now.map(|content| content.leaf) == done.after.map(|content| content.leaf) {
            // What was edited may be the same for git: only the filter would know.
            self.judged.push((step, Verdict::Refuse(Why::Unconvertible)));
        } else {
            self.judged.push((step, Verdict::Keep(Why::Since)));
        }
        Ok(())
    }
}

/// What a checkpoint has at a path.
#[derive(Clone, Copy)]
struct Held {
    content: Content,
    /// The exact bytes, as a blob; none if a filter fails that would say which they are.
    bytes: Option<ObjectId>,
}

impl Held {
    fn find(exact: &mut Exact<'_>, path: &BStr, content: Option<Content>) -> Option<Self> {
        content.map(|content| Self { content, bytes: exact.id(path, content).ok() })
    }
}

/// Returns true if both have the same bytes and mode; none if that is not known.
fn is_same(one: Option<Held>, other: Option<Held>) -> Option<bool> {
    let (Some(one), Some(other)) = (one, other) else { return Some(one.is_none() && other.is_none()) };
    if one.content.leaf.mode != other.content.leaf.mode {
        return Some(false);
    }
    one.bytes.zip(other.bytes).map(|(one, other)| one == other)
}
