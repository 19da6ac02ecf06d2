//! `restore`: puts a checkpoint back into the worktree. `undo` reverses that.
//!
//! [`restore()`] compares the worktree with the target, decides what to do with each path (`model::plan`), and lets `carry_out`
//! do it. Before it writes anything, it makes sure that all content of the target can be read, and takes a checkpoint of the
//! worktree.
//!
//! It changes a path only if the path still is as in that checkpoint. So it never deletes or overwrites what no checkpoint has.

mod apply;
mod back;
mod before;
mod carry_out;
pub(crate) mod choose;
mod chosen;
mod give_up;
mod go_back;
mod installed;
mod leftover;
mod look;
mod moved;
mod owners;
mod restored;
mod resume;
mod scope;
mod snapshot;
mod staged;
mod undo;

use std::time::Instant;

use bstr::BString;

use crate::{
    error::{Error, Result},
    model::{manifest::Part, operation::Role, plan},
    ops::{Context, lookup, restored_target},
    state::failpoint,
};
use before::{Before, BeforeOptions, Sight};
use carry_out::{Extent, Planned, RestoreRun, attempt_if_needed, expect_result};
use moved::{Moved, moved};
use scope::Scene;
use snapshot::Snapshot;
use staged::Staging;

pub use chosen::{ChosenHunks, NotOffered};
pub(crate) use go_back::go_back;
pub use restored::Restored;
pub(crate) use undo::undo_files;
pub use undo::{UndoOptions, undo};

/// What to restore, and how.
#[derive(Clone, Debug, Default)]
pub struct RestoreOptions {
    /// The name of the checkpoint, as for [`lookup::resolve`].
    pub target: String,
    /// Restores the state before that checkpoint; if the name is that of a turn, the state before its prompt.
    pub before: bool,
    /// Restores only paths that match one of these, relative to the worktree's root, no matter who has changed them since.
    pub pathspecs: Vec<BString>,
    /// Restores all paths, no matter who has changed them since.
    pub all: bool,
    /// Of that, restores only these hunks, which [`choose_hunks`](crate::choose_hunks) returns.
    pub chosen: Option<ChosenHunks>,
    /// Restores the staged tree too.
    pub staged: bool,
    /// Changes nothing, and takes no checkpoint.
    pub dry_run: bool,
    /// Continues an interrupted restore; of the other options, only `dry_run` counts then.
    pub resume: bool,
    /// Restores even in a protected directory.
    pub force: bool,
}

/// Puts the checkpoint that `options` name back into the worktree.
///
/// # Errors
/// If it does not exist or is not complete, if the worktree cannot be saved, or if an earlier restore was interrupted: nothing
/// has changed then. If the operating system fails half-way, `resume` finishes the restore and [`undo()`] reverses it.
pub fn restore(context: &Context, options: &RestoreOptions) -> Result<Restored> {
    context.repo.name_operation("restore");
    let done = if options.resume { resume::resume(context, options.dry_run) } else { restore_target(context, options) };
    context.emit_failure("restore", done)
}

fn restore_target(context: &Context, options: &RestoreOptions) -> Result<Restored> {
    let attempt_to = |extent| attempt(context, options, extent);
    if options.dry_run { expect_result(attempt_to(Extent::DryRun)?) } else { attempt_if_needed(attempt_to) }
}

/// Restores as far as `extent` says. Returns none only for [`Extent::IfChanged`].
fn attempt(context: &Context, options: &RestoreOptions, extent: Extent) -> Result<Option<Restored>> {
    let start = Instant::now();
    let (target, session) = read_target(context, options)?;
    let takes_tree = options.all && options.pathspecs.is_empty() && options.chosen.is_none();
    let planned = |sight: Sight<'_>| plan_of(&sight.scene(context, &target), options, session.as_deref());
    let consider = |sight: Sight<'_>| planned(sight)?.has_work(sight.repo);
    let before_options = BeforeOptions {
        subject: restored_target::subject_before(Some(target.id)),
        is_dry: extent == Extent::DryRun,
        keeps_index: options.staged,
        force: options.force,
        after_crash: false,
        saved: None,
    };
    let consider = (extent == Extent::IfChanged).then_some(&consider as before::Consider<'_>);
    let Some(before) = Before::take(context, &before_options, consider)? else { return Ok(None) };
    failpoint::hit("restore:after-save");
    let planned = planned(before.sight())?;
    let (steps, kept) = (planned.plan.groups.iter().flat_map(plan::Group::steps).count(), planned.plan.kept.len());
    tracing::debug!(took = ?start.elapsed(), target = %target.id, steps, kept, "plan: made");
    let work = RestoreRun {
        context,
        repo: before.repo(),
        planned: &planned,
        from: &before.snapshot,
        to: &target,
        pre_restore: before.checkpoint_id,
        other_base: target.base().filter(|base| takes_tree && Some(*base) != before.snapshot.base()),
        is_resumed: false,
        back: None,
        role: Role::Plain,
        rescued: &before.rescued,
        start,
    };
    if extent == Extent::DryRun { work.preview() } else { work.execute(&before) }.map(Some)
}

/// Returns what `options` name, and the session to whose paths the restore is limited.
fn read_target(context: &Context, options: &RestoreOptions) -> Result<(Snapshot, Option<String>)> {
    if let Some(chosen) = &options.chosen {
        return Ok((Snapshot::read(&context.repo, chosen.target)?, None));
    }
    let find = if options.before { lookup::find_before } else { lookup::find };
    let lookup::Found { id, session } = find(context, &options.target)?;
    let target = Snapshot::read(&context.repo, id)?;
    refuse_lost(&target, options)?;
    scope::refuse_unknown(&context.repo, &target, &options.pathspecs)?;
    Ok((target, session.filter(|_| !takes_all(options))))
}

/// Returns true if it does not matter who has changed a path since.
fn takes_all(options: &RestoreOptions) -> bool {
    options.all || !options.pathspecs.is_empty()
}

/// Decides what a restore does in `scene`. With `session`, it leaves the paths alone that others have changed since.
fn plan_of(scene: &Scene<'_>, options: &RestoreOptions, session: Option<&str>) -> Result<Planned> {
    let (repo, pre, target) = (scene.repo, scene.pre, scene.target);
    let steps = scene.limit(snapshot::differences(repo, pre, target)?, &options.pathspecs)?;
    let takes_all = takes_all(options);
    // If the user names a commit, its whole content is restored. Otherwise, what only commits have changed since is left alone.
    let takes_commits = takes_all || (target.checkpoint.is_none() && !options.before && session.is_none());
    let Moved { steps, committed, both } =
        if takes_commits { Moved { steps, ..Moved::default() } } else { moved(repo, steps, pre, target)? };
    let steps = match &options.chosen {
        Some(chosen) => chosen.limit(repo, steps)?,
        None => steps,
    };
    let candidates = scene.judge(steps, session, &both, &options.pathspecs)?;
    let plan = plan::plan(candidates, repo.config_bool("core.ignoreCase") == Some(true));
    let directories = if options.chosen.is_some() { Vec::new() } else { scene.directories(&options.pathspecs)? };
    let staging = options.staged.then(|| Staging::between(repo, pre, target, &options.pathspecs)).transpose()?;
    Ok(Planned { plan, directories, staging, committed })
}

/// Refuses to restore what `target` lacks because it is a damaged checkpoint, or the copy of one.
fn refuse_lost(target: &Snapshot, options: &RestoreOptions) -> Result<()> {
    if target.manifest.lacks(&[Part::Tree]) {
        return Err(lookup::without_files(target.id));
    }
    if options.staged && target.manifest.lacks(&[Part::Staged, Part::Manifest]) {
        let what = format!("what was staged in '{}' cannot be read: objects of it or its base are lost", target.id);
        return Err(
            Error::corrupt(what).with_hint("without '--staged' the worktree can be restored; nothing was changed")
        );
    }
    Ok(())
}
