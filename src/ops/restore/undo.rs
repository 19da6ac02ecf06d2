//! Takes the last restore back: only the paths that it changed, and only as far as they have not changed since.

use std::{collections::BTreeSet, time::Instant};

use bstr::{BString, ByteSlice as _};

use super::{
    before::{Before, BeforeOptions, Consider, Sight},
    carry_out::{Extent, Planned, RestoreRun, attempt_if_needed, expect_result},
    restored::Restored,
    scope::Scene,
    snapshot::Snapshot,
    staged::Staging,
};
use crate::{
    error::{Error, Result},
    git::exact::Exact,
    model::{
        plan::{self, is_below},
        step::{Content, Step},
        verdict::{Verdict, Why},
    },
    ops::{Context, restored_target},
    state::journal::{Journal, Progress},
};

/// How to undo.
#[derive(Clone, Debug, Default)]
pub struct UndoOptions {
    /// Changes nothing, and takes no checkpoint.
    pub dry_run: bool,
    /// Also takes back what was edited since the restore.
    pub all: bool,
}

/// Brings the paths that the last restore changed back to what they were before it. That is a restore, too: a second undo brings
/// back what the first has taken.
///
/// # Errors
/// If nothing was restored yet, and as [`restore`](super::restore).
pub fn undo(context: &Context, options: &UndoOptions) -> Result<Restored> {
    context.emit_failure("undo", undo_last(context, options))
}

fn undo_last(context: &Context, options: &UndoOptions) -> Result<Restored> {
    let journal = Journal::read(context.repo.git_dir())?.ok_or_else(nothing_to_undo)?;
    let attempt = |extent| attempt(context, options, extent);
    match journal.progress {
        _ if options.dry_run => expect_result(attempt(Extent::DryRun)?),
        Progress::Done if journal.directories.is_empty() => attempt_if_needed(attempt),
        // An interrupted restore is finished in any case, even if it has changed nothing yet. No plan has the directories
        // that are to be removed.
        _ => expect_result(attempt(Extent::Full)?),
    }
}

fn attempt(context: &Context, options: &UndoOptions, extent: Extent) -> Result<Option<Restored>> {
    let start = Instant::now();
    let before_options = BeforeOptions {
        subject: restored_target::subject_before(None),
        is_dry: extent == Extent::DryRun,
        keeps_index: true,
        force: true,
        after_crash: true,
    };
    let consider = |sight: Sight<'_>| {
        let journal = Journal::read(context.repo.git_dir())?.ok_or_else(nothing_to_undo)?;
        let target = Snapshot::read(sight.repo, journal.pre_restore)?;
        plan_of(&sight.scene(context, &target), &journal, options.all)?.has_work(sight.repo)
    };
    let consider = (extent == Extent::IfChanged).then_some(&consider as Consider<'_>);
    let Some(before) = Before::take(context, &before_options, consider)? else { return Ok(None) };
    let journal = before.journal.as_ref().ok_or_else(nothing_to_undo)?;
    let repo = before.repo();
    let target = Snapshot::read(repo, journal.pre_restore)?;
    let planned = plan_of(&before.sight().scene(context, &target), journal, options.all)?;
    let work = RestoreRun {
        context,
        repo,
        planned: &planned,
        from: &before.snapshot,
        to: &target,
        pre_restore: before.checkpoint_id,
        other_base: None,
        is_resumed: false,
        rescued: &before.rescued,
        start,
    };
    if extent == Extent::DryRun {
        return work.preview().map(Some);
    }
    let restored = work.execute(&before)?;
    work.remove_directories(journal)?;
    Ok(Some(restored))
}

/// Decides what takes the restore of `journal` back in `scene`; with `all`, also what was edited since.
fn plan_of(scene: &Scene<'_>, journal: &Journal, all: bool) -> Result<Planned> {
    let mut reversal = Reversal::new(scene, journal)?;
    for step in &journal.steps {
        reversal.add(scene, step, all)?;
    }
    let mut candidates = scene.judge(reversal.steps, None, &BTreeSet::new(), &[])?;
    candidates.extend(reversal.judged);
    let plan = plan::plan(candidates, scene.repo.config_bool("core.ignoreCase") == Some(true));
    let mut directories = scene.directories(&[])?;
    directories.retain(|directory| {
        let is_of = |step: &Step| step.path == *directory || is_below(directory.as_bstr(), step.path.as_bstr());
        journal.steps.iter().any(is_of)
    });
    let staging = Some(Staging::reversed(scene.repo, &journal.index, scene.pre, all)?);
    Ok(Planned { plan, directories, staging, committed: Vec::new() })
}

fn nothing_to_undo() -> Error {
    Error::user("nothing was restored in this worktree yet")
        .with_hint("'git checkpoint list' shows the checkpoints, 'git checkpoint restore <checkpoint>' puts one back")
}

/// The steps of a restore, backwards.
struct Reversal<'s> {
    /// Still to be judged.
    steps: Vec<Step>,
    judged: Vec<(Step, Verdict)>,
    /// What files are now, what they were before the restore, and what it made of them.
    now: Exact<'s>,
    before: Exact<'s>,
    after: Exact<'s>,
}

impl<'s> Reversal<'s> {
    fn new(scene: &Scene<'s>, journal: &Journal) -> Result<Self> {
        let paths: Vec<BString> = journal.steps.iter().map(|step| step.path.clone()).collect();
        let restored = Snapshot::read(scene.repo, journal.target)?;
        let exact = |state: &Snapshot| state.exact(scene.repo, &paths);
        let (now, before, after) = (exact(scene.pre)?, exact(scene.target)?, exact(&restored)?);
        Ok(Self { steps: Vec::new(), judged: Vec::new(), now, before, after })
    }

    fn add(&mut self, scene: &Scene<'_>, done: &Step, all: bool) -> Result<()> {
        let path = done.path.as_bstr();
        let now = scene.pre.content(scene.repo, path)?;
        // The same bytes may be stored in another way by now: attributes may have changed.
        let (is, was) = (self.now.identity(path, now), self.before.identity(path, done.before));
        let became = self.after.identity(path, done.after);
        scene.repo.check_interrupt()?;
        let step = Step { path: done.path.clone(), before: now, after: done.before };
        if now.is_none() && done.after.is_some() && scene.has_file(path) {
            // Written by the restore, and now ignored or skipped, so not in the checkpoint of now. Its bytes are in the one
            // that was restored, and are compared before it goes.
            let exact = done.after.zip(became).map(|(after, (id, _))| Content { raw: Some(id), ..after });
            self.judged.push((Step { before: exact, ..step }, Verdict::Go));
        } else if is == was && was != became {
            // It has not changed since, or was changed back.
        } else if is == became && done.before.is_none() {
            // The restore wrote it where no file was. Ignore rules, which may have come back with it, do not matter.
            self.judged.push((step, Verdict::Go));
        } else if is == became || all {
            self.steps.push(step);
        } else {
            self.judged.push((step, Verdict::Keep(Why::Since)));
        }
        Ok(())
    }
}
