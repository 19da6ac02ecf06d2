//! `op restore`: brings files and refs back to what they were after an operation. The undo of it uses the same steps for refs.

use std::time::Instant;

use super::{
    RestoreOptions,
    back::{refuse_left, refuse_open_turns},
    before::{Before, BeforeOptions, Consider, Sight},
    carry_out::RestoreRun,
    extent::{Extent, attempt_if_needed, expect_result},
    left_out, plan_of,
    restored::Restored,
    run_below, scope,
    snapshot::Snapshot,
};
use crate::{
    error::Result,
    model::{operation::Move, submodule::Recurse},
    ops::{Context, operations::Point, restored_target},
    state::failpoint,
};

/// How an error begins if not all can go back.
const CANNOT: &str = "cannot go back";

/// Brings the worktree back to `point`. Returns what that did, or would do, to files and to refs.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused), before anything is changed, if something is in the way.
pub(crate) fn go_back(context: &Context, point: &Point, dry_run: bool) -> Result<(Restored, Vec<Move>)> {
    refuse_open_turns(context, CANNOT)?;
    let (looked, moves) = look(context, point)?;
    if dry_run {
        return Ok((looked, moves));
    }
    refuse_left(&looked, CANNOT)?;
    let restored = attempt_if_needed(|extent| attempt(context, point, extent))?;
    let is_done = restored.kept.is_empty() && restored.conflicts.is_empty();
    Ok((restored, if is_done { context.repo.moves_recorded() } else { Vec::new() }))
}

/// Returns what going back to `point` would do to files and to refs.
fn look(context: &Context, point: &Point) -> Result<(Restored, Vec<Move>)> {
    let moves = point.back(context)?.with_archive(&context.repo)?;
    Ok((expect_result(attempt(context, point, Extent::DryRun)?)?, moves))
}

/// Makes sure that the worktree can go back to `point`, now or once no turn is open.
///
/// # Errors
/// If it cannot.
pub(crate) fn check_way_back(context: &Context, point: &Point) -> Result<()> {
    refuse_left(&look(context, point)?.0, CANNOT)
}

fn attempt(context: &Context, point: &Point, extent: Extent) -> Result<Option<Restored>> {
    let start = Instant::now();
    let target = Snapshot::read(&context.repo, point.files(context)?)?;
    let options = RestoreOptions { all: true, ..RestoreOptions::default() };
    scope::refuse_lost(&target, options.staged)?;
    let planned = |sight: Sight<'_>| plan_of(&sight.scene(context, &target), &options, None);
    let consider =
        |sight: Sight<'_>| planned(sight)?.outlook(&context.repo, sight, &target, point.back(context)?.has_work());
    let before_options = BeforeOptions {
        subject: restored_target::subject_before(Some(target.id)),
        is_dry: extent.is_dry(),
        keeps_index: false,
        force: false,
        after_crash: false,
        recurse: Recurse::No,
        saved: None,
    };
    let consider = (extent == Extent::IfChanged).then_some(&consider as Consider<'_>);
    let Some(before) = Before::take(context, &before_options, consider)? else { return Ok(None) };
    failpoint::hit("restore:after-save");
    let back = point.back(context)?;
    let planned = planned(before.sight())?;
    let work = RestoreRun {
        back: Some(&back),
        inside: left_out(context, &options, before.sight()),
        ..RestoreRun::new(&before, &planned, &target, run_below, start)
    };
    if extent.is_dry() { work.preview(extent) } else { work.execute(&before) }.map(Some)
}
