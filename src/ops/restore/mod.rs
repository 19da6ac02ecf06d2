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
mod below;
mod carry_out;
pub(crate) mod choose;
mod chosen;
mod directories;
mod elsewhere;
mod extent;
mod give_up;
mod go_back;
mod installed;
mod leftover;
mod look;
mod moved;
mod outlook;
mod permissions;
mod planned;
mod restored;
mod resume;
mod scope;
mod snapshot;
mod staged;
mod undo;
mod versions;

use std::{collections::BTreeMap, time::Instant};

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use crate::{
    error::{Error, Result},
    model::{
        change::Leaf,
        path_text::shell_word,
        plan,
        refname::Base,
        step_below::{ActionBelow, StepBelow},
        submodule::Recurse,
    },
    ops::{
        Context,
        inside::{self, LeftOut},
        lookup,
        operations::{Log, Which, entry_of, entry_with, pick, recorded_meanwhile},
        restored_target,
    },
    state::{
        failpoint,
        journal::{Journal, Progress},
        temporary,
    },
};
use before::{Before, BeforeOptions, Sight};
use carry_out::{Depth, RestoreRun};
use extent::{Extent, attempt_if_needed, expect_result};
use moved::{Moved, moved};
use planned::Planned;
use scope::Scene;
use snapshot::Snapshot;
use staged::Staging;

pub(crate) use back::{causes_of_left, refuse_open_turns, turns_at_work};
pub use chosen::{ChosenHunks, NotOffered};
pub(crate) use elsewhere::is_elsewhere;
pub(crate) use go_back::{check_way_back, go_back};
pub(crate) use restored::serialize_left;
pub use restored::{Restored, RestoredSubmodule};
pub(crate) use undo::Look;
pub use undo::UndoOptions;

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
    /// Leaves files alone that neither the checkpoint nor the commit at HEAD has.
    pub keep_new: bool,
    /// Of that, restores only these paths, each as long as it is in the worktree what it is here.
    pub only: Option<BTreeMap<BString, Option<Leaf>>>,
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
    /// Restores the checkpoints in submodules and nested repositories, too, that were taken with this one; not with `chosen`.
    pub recurse_submodules: Recurse,
}

/// Puts the checkpoint that `options` name back into the worktree.
///
/// # Errors
/// If it does not exist or is not complete, if the worktree cannot be saved, or if an earlier restore was interrupted: nothing
/// has changed then. If the operating system fails half-way, `resume` finishes the restore and [`undo()`] reverses it.
pub fn restore(context: &Context, options: &RestoreOptions) -> Result<Restored> {
    restore_known_by(context, options, None)
}

/// As [`restore()`]; the journal gets this `nonce`, if there is one, by which the caller finds it after a crash.
pub(crate) fn restore_known_by(context: &Context, options: &RestoreOptions, nonce: Option<&str>) -> Result<Restored> {
    context.repo.name_operation("restore");
    let done = if options.resume {
        resume::resume(context, options.dry_run, run_below)
    } else {
        restore_target(context, options, Call { nonce, session: None })
    };
    context.emit_failure("restore", done)
}

/// Brings the paths that the last restore changed back to what they were before it. A second undo goes further back, and
/// operations that changed no files are left alone.
///
/// # Errors
/// If there is nothing to undo, and as [`restore`].
pub fn undo(context: &Context, options: &UndoOptions) -> Result<Restored> {
    context.repo.name_operation("undo");
    context.emit_failure("undo", undo_files(context, options, &Which::LastOfFiles, None))
}

/// Takes the operation that `which` asks for back, which changed files; that is `chosen` unless another one was recorded since.
///
/// # Errors
/// As [`undo`](undo()); [`Kind::Refused`](crate::error::Kind::Refused) if the operation changed no files; [`recorded_meanwhile`] if
/// it is another one.
pub(crate) fn undo_files(
    context: &Context,
    options: &UndoOptions,
    which: &Which,
    chosen: Option<ObjectId>,
) -> Result<Restored> {
    if chosen.is_some() && pick(context, which)?.id() != chosen {
        return Err(recorded_meanwhile());
    }
    undo::undo_files(context, options, which, Depth { nonce: None, run_below })
}

/// Looks at the worktree, to see what of several operations can be taken back.
pub(crate) fn look_at_worktree(context: &Context) -> Result<Look<'_>> {
    Look::open(context, run_below)
}

/// What the caller has to say, for example a restore of the worktree above, of which this one is a part.
#[derive(Clone, Copy, Debug, Default)]
struct Call<'c> {
    /// What the journal is to be known by.
    nonce: Option<&'c str>,
    /// The session whose checkpoint is restored there.
    session: Option<&'c str>,
}

fn restore_target(context: &Context, options: &RestoreOptions, call: Call<'_>) -> Result<Restored> {
    let attempt_to = |extent| attempt(context, options, extent, call);
    if options.dry_run { expect_result(attempt_to(Extent::DryRun)?) } else { attempt_if_needed(attempt_to) }
}

/// Restores as far as `extent` says. Returns none only for [`Extent::IfChanged`].
fn attempt(context: &Context, options: &RestoreOptions, extent: Extent, call: Call<'_>) -> Result<Option<Restored>> {
    let start = Instant::now();
    let (target, session) = read_target(context, options)?;
    let session = session.or_else(|| call.session.map(ToOwned::to_owned).filter(|_| !takes_all(options)));
    let takes_tree = options.all && options.pathspecs.is_empty() && options.only.is_none() && options.chosen.is_none();
    let planned = |sight: Sight<'_>| plan_of(&sight.scene(context, &target), options, session.as_deref());
    // Nothing is changed before it is known that all of them can be restored.
    let below::Possible { steps: below, has_work: has_work_below, left: left_below } =
        below::possible(context, steps_below(context, options, &target, session.as_deref())?, run_below)?;
    let before_options = BeforeOptions {
        subject: restored_target::subject_before(Some(target.id)),
        is_dry: extent.is_dry(),
        keeps_index: options.staged,
        force: options.force,
        after_crash: false,
        recurse: if below.is_empty() { Recurse::No } else { options.recurse_submodules },
        saved: None,
    };
    let consider = |sight: Sight<'_>| planned(sight)?.outlook(&context.repo, sight, &target, has_work_below);
    let consider = (extent == Extent::IfChanged).then_some(&consider as before::Consider<'_>);
    let Some(before) = Before::take(context, &before_options, consider)? else { return Ok(None) };
    failpoint::hit("restore:after-save");
    let planned = planned(before.sight())?;
    let (steps, kept) = (planned.plan.groups.iter().flat_map(plan::Group::steps).count(), planned.plan.kept.len());
    tracing::debug!(took = ?start.elapsed(), target = %target.id, steps, kept, "plan: made");
    let work = RestoreRun {
        other_base: target.base().filter(|base| takes_tree && Some(*base) != before.snapshot.base()),
        inside: left_out(context, options, before.sight()).without(|path| below.iter().any(|step| step.path == *path)),
        below,
        nonce: call.nonce,
        ..RestoreRun::new(&before, &planned, &target, run_below, start)
    };
    let mut restored = if extent.is_dry() { work.preview(extent) } else { work.execute(&before) }?;
    restored.leaves_submodules &= left_below.is_empty();
    restored.restored_submodules.extend(left_below);
    Ok(Some(restored))
}

/// Returns what `options` name, and the session to whose paths the restore is limited.
fn read_target(context: &Context, options: &RestoreOptions) -> Result<(Snapshot, Option<String>)> {
    if let Some(chosen) = &options.chosen {
        return Ok((Snapshot::read(&context.repo, chosen.target)?, None));
    }
    let find = if options.before { lookup::find_before } else { lookup::find };
    let lookup::Found { id, session } = find(context, &options.target)?;
    let target = Snapshot::read(&context.repo, id)?;
    scope::refuse_lost(&target, options.staged)?;
    scope::refuse_unknown(&context.repo, &target, &options.pathspecs)?;
    Ok((target, session.filter(|_| !takes_all(options))))
}

/// Returns which repositories inside the worktree have changes that a restore of the whole worktree leaves alone.
fn left_out(context: &Context, options: &RestoreOptions, sight: Sight<'_>) -> LeftOut {
    if options.pathspecs.is_empty() && options.only.is_none() && options.chosen.is_none() {
        LeftOut::find(context, sight.cache, &sight.snapshot.manifest.nested)
    } else {
        LeftOut::default()
    }
}

/// Returns true if it does not matter who has changed a path since.
fn takes_all(options: &RestoreOptions) -> bool {
    options.all || !options.pathspecs.is_empty()
}

/// Decides what a restore does in `scene`. With `session`, it leaves the paths alone that others have changed since.
fn plan_of(scene: &Scene<'_>, options: &RestoreOptions, session: Option<&str>) -> Result<Planned> {
    let (repo, pre, target) = (scene.repo, scene.pre, scene.target);
    let mut steps = scene.limit(snapshot::differences(repo, pre, target)?, &options.pathspecs)?;
    if options.keep_new {
        let new = snapshot::new_files(repo, pre)?;
        steps.retain(|step| step.after.is_some() || !new.contains(&step.path));
    }
    if let Some(only) = &options.only {
        steps = scope::limit_to(steps, only)?;
    }
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
    let mut plan = plan::plan(candidates, repo.config_bool("core.ignoreCase") == Some(true));
    if options.chosen.is_none() {
        plan.kept.extend(scene.gone_without_commit(&options.pathspecs)?);
    }
    let directories = if options.chosen.is_some() { Vec::new() } else { scene.directories(&options.pathspecs)? };
    let staging = options.staged.then(|| Staging::between(repo, pre, target, &options.pathspecs)).transpose()?;
    Ok(Planned { plan, directories, removed: Vec::new(), staging, committed })
}

/// Returns what a restore of `target` does in the repositories inside the worktree, as far as `options` ask for it.
/// `session` limits it, as in the worktree.
fn steps_below(
    context: &Context,
    options: &RestoreOptions,
    target: &Snapshot,
    session: Option<&str>,
) -> Result<Vec<StepBelow>> {
    if options.recurse_submodules == Recurse::No || options.chosen.is_some() {
        return Ok(Vec::new());
    }
    let mut search = context.repo.pathspec(&options.pathspecs)?;
    let mut steps = Vec::new();
    for tied in &target.manifest.submodules {
        // The checkpoint may be one of 'save --recurse-submodules', which has all repositories.
        let only_submodules = options.recurse_submodules == Recurse::Setting;
        if only_submodules && target.manifest.nested.iter().any(|nested| nested.path == tied.path) {
            continue;
        }
        if options.pathspecs.is_empty() || search.matches(tied.path.as_bstr()) {
            let action = ActionBelow::Restore { checkpoint: tied.checkpoint, staged: options.staged };
            let (path, nonce, all) = (tied.path.clone(), temporary::random(), takes_all(options));
            steps.push(StepBelow {
                path,
                nonce,
                action,
                all,
                session: session.map(ToOwned::to_owned),
                only_submodules,
            });
        }
    }
    Ok(steps)
}

/// Does what `step` says in the repository inside the worktree, unless that was done before an interruption; with `is_dry`, only
/// looks at it. What cannot be taken back any more is left alone, and the result says why.
///
/// # Errors
/// If it cannot be restored.
fn run_below(context: &Context, step: &StepBelow, is_dry: bool) -> Result<RestoredSubmodule> {
    let left = |why: String| {
        Ok(RestoredSubmodule { path: step.path.clone(), restored: None, why: Some(why), has_changed: false })
    };
    let below = context.below(step.path.as_bstr());
    match below.and_then(|below| below.map(|below| run_in(&below, step, is_dry)).transpose()) {
        Ok(Some((restored, has_changed))) => {
            Ok(RestoredSubmodule { path: step.path.clone(), restored, why: None, has_changed })
        }
        Ok(None) => left(match step.action {
            ActionBelow::Restore { .. } => "no repository is there".into(),
            ActionBelow::TakeBack { .. } => format!(
                "no repository is there; once it is populated again, 'git -C {} checkpoint undo' takes its part back",
                shell_word(&step.path.to_string())
            ),
        }),
        Err(error) => {
            context.check_interrupt()?;
            match step.action {
                // Otherwise, a submodule that is damaged by now would keep the rest from being taken back.
                ActionBelow::TakeBack { .. } => left(error.to_string()),
                ActionBelow::Restore { .. } => Err(inside::failed("restore", &step.path, error)),
            }
        }
    }
}

/// Does what `step` says in its repository, `below`. Returns what was done now, and whether anything was changed, now or before.
fn run_in(below: &Context, step: &StepBelow, is_dry: bool) -> Result<(Option<Restored>, bool)> {
    let live = Journal::read(below.repo.git_dir())?.filter(|live| live.nonce == step.nonce);
    if live.as_ref().is_some_and(|live| live.progress == Progress::Applying) {
        return resume::resume(below, is_dry, run_below).map(|restored| (Some(restored), true));
    }
    let log = Log::read(below)?;
    let find = |nonce: &str| entry_with(below, &log, nonce, usize::MAX);
    // An entry that says otherwise was written just before an interruption: nothing was changed, and it does not count.
    let is_done = |(_, journal): (_, Journal)| journal.progress == Progress::Done;
    if live.is_some() || find(&step.nonce).is_some_and(is_done) {
        return Ok((None, true));
    }
    let restored = match &step.action {
        ActionBelow::Restore { checkpoint, staged } => {
            if !below.repo.can_read(*checkpoint) {
                return Err(Error::refused(format!("the checkpoint '{checkpoint}' is not in this repository")));
            }
            let target = lookup::checkpoint(below, *checkpoint)?;
            // HEAD stays where it is. So what commits have changed since is restored, too, unless one session is asked for.
            let is_elsewhere = step.session.is_none() && target.base != Base::of_head(below.repo.head()?.id);
            let options = RestoreOptions {
                target: checkpoint.to_string(),
                all: step.all || is_elsewhere,
                staged: *staged,
                dry_run: is_dry,
                force: true,
                recurse_submodules: if step.only_submodules { Recurse::Setting } else { Recurse::All },
                ..RestoreOptions::default()
            };
            restore_target(below, &options, Call { nonce: Some(&step.nonce), session: step.session.as_deref() })?
        }
        ActionBelow::TakeBack { nonce, has_begun } => {
            let Some((entry, _)) = find(nonce) else {
                let lost = || Error::refused("its operation log does not have the operation any more");
                return if *has_begun { Err(lost()) } else { Ok((None, false)) };
            };
            // What takes it back already may have been interrupted, too: the undo above has begun before this one.
            let (end, is_undone) = log.stack.end(entry.id);
            let under_way = Journal::read(below.repo.git_dir())?.filter(|live| live.progress == Progress::Applying);
            if let Some(live) = under_way.filter(|_| is_undone) {
                if entry_of(below, &log, &live).is_some_and(|last| last.id == end) {
                    return resume::resume(below, is_dry, run_below).map(|restored| (Some(restored), true));
                }
            } else if log.stack.not_begun.contains(&entry.id) || (is_undone && !has_begun) {
                return Ok((None, false));
            }
            let (options, which) = (UndoOptions { dry_run: is_dry, all: step.all }, Which::Named(entry.id.to_string()));
            undo::undo_files(below, &options, &which, Depth { nonce: Some(&step.nonce), run_below })?
        }
    };
    let has_changed = !restored.is_idle();
    Ok((Some(restored), has_changed))
}
