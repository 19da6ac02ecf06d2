//! `op restore`: brings files and refs back to what they were after an operation. The undo of it uses the same steps for refs.

use std::time::Instant;

use bstr::ByteSlice as _;

use super::{
    RestoreOptions,
    before::{Before, BeforeOptions, Consider, Sight},
    carry_out::{Extent, RestoreRun, attempt_if_needed, expect_result},
    left_out, plan_of, refuse_lost,
    restored::Restored,
    run_below,
    snapshot::Snapshot,
};
use crate::{
    error::{Error, Result},
    git::{Repo, refs::RefUpdate},
    model::{
        operation::{Move, Role},
        operation_back::Back,
        path_text,
        verdict::{Left, Why},
    },
    ops::{Context, holding::archive_name, operations::Point, restored_target, verified_mark},
    state::failpoint,
};

/// Brings the worktree back to `point`. Returns what that did, or would do, to files and to refs.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused), before anything is changed, if something is in the way.
pub(crate) fn go_back(context: &Context, point: &Point, dry_run: bool) -> Result<(Restored, Vec<Move>)> {
    refuse_open_turns(context, "cannot go back")?;
    let moves = point.back(context)?.with_archive(&context.repo)?;
    let attempt = |extent| attempt(context, point, extent);
    let looked = expect_result(attempt(Extent::DryRun)?)?;
    if dry_run {
        return Ok((looked, moves));
    }
    refuse_left(&looked, "cannot go back")?;
    let restored = attempt_if_needed(attempt)?;
    let is_done = restored.kept.is_empty() && restored.conflicts.is_empty();
    Ok((restored, if is_done { context.repo.moves_recorded() } else { Vec::new() }))
}

fn attempt(context: &Context, point: &Point, extent: Extent) -> Result<Option<Restored>> {
    let start = Instant::now();
    let target = Snapshot::read(&context.repo, point.files(context)?)?;
    let options = RestoreOptions { all: true, ..RestoreOptions::default() };
    refuse_lost(&target, &options)?;
    let planned = |sight: Sight<'_>| plan_of(&sight.scene(context, &target), &options, None);
    let consider = |sight: Sight<'_>| Ok(point.back(context)?.has_work() || planned(sight)?.has_work(sight.repo)?);
    let before_options = BeforeOptions {
        subject: restored_target::subject_before(Some(target.id)),
        is_dry: extent == Extent::DryRun,
        keeps_index: false,
        force: false,
        after_crash: false,
        recurse: false,
        saved: None,
    };
    let consider = (extent == Extent::IfChanged).then_some(&consider as Consider<'_>);
    let Some(before) = Before::take(context, &before_options, consider)? else { return Ok(None) };
    failpoint::hit("restore:after-save");
    let back = point.back(context)?;
    let planned = planned(before.sight())?;
    let work = RestoreRun {
        context,
        repo: before.repo(),
        planned: &planned,
        from: &before.snapshot,
        to: &target,
        pre_restore: before.checkpoint_id,
        other_base: None,
        is_resumed: false,
        reverses: None,
        back: Some(&back),
        saved: None,
        role: Role::Plain,
        rescued: &before.rescued,
        inside: left_out(context, &options, before.sight()),
        below: Vec::new(),
        run_below,
        nonce: None,
        start,
    };
    if extent == Extent::DryRun { work.preview() } else { work.execute(&before) }.map(Some)
}

/// Refuses while a turn is under way: it counts from the checkpoints as they are.
pub(super) fn refuse_open_turns(context: &Context, what: &str) -> Result<()> {
    let turns = context.turns();
    if context.are_turns_known() && turns.entries.iter().all(|entry| entry.turn.is_none()) {
        return Ok(());
    }
    Err(Error::refused(format!("{what}: a session has a turn under way"))
        .with_hint("'git checkpoint session list' shows it, 'git checkpoint session stop <session>' ends it"))
}

/// Refuses if the files cannot all become what they were.
pub(super) fn refuse_left(looked: &Restored, what: &str) -> Result<()> {
    const MOST_NAMED: usize = 5;
    let left: Vec<&Left> = looked.kept.iter().chain(&looked.conflicts).collect();
    if left.is_empty() {
        return Ok(());
    }
    let cause = |left: &&Left| format!("'{}' ({})", path_text::escape(left.path.as_bstr()), left.why);
    let mut causes: Vec<String> = left.iter().take(MOST_NAMED).map(cause).collect();
    if left.len() > MOST_NAMED {
        causes.push(format!("and {} more", left.len() - MOST_NAMED));
    }
    let error = Error::refused(format!("{what}: these paths would stay as they are: {}", causes.join(", ")));
    let has_edits = left.iter().any(|left| left.why == Why::Since);
    Err(if has_edits { error.with_hint("'--all' saves them and takes them back, too") } else { error })
}

impl Back {
    /// Returns true if it changes something.
    pub(super) fn has_work(&self) -> bool {
        !self.moves.is_empty() || self.marker.is_some()
    }

    /// Returns its moves, and first those by which the archive holds what would be left.
    fn with_archive(&self, repo: &Repo) -> Result<Vec<Move>> {
        let hold = |id| Ok(Move { name: archive_name(repo, id)?, old: None, new: Some(id) });
        let held = self.left.iter().map(|id| hold(*id)).collect::<Result<Vec<Move>>>()?;
        Ok(held.into_iter().chain(self.moves.iter().cloned()).collect())
    }

    /// Moves the refs, all in one transaction. Returns false if there is nothing to move.
    pub(super) fn carry_out(&self, context: &Context) -> Result<bool> {
        if let Some((now, then)) = self.marker
            && verified_mark::wants_verification(context)? == now
        {
            verified_mark::set_marker(context, then)?;
        }
        let moves = self.with_archive(&context.repo)?;
        let update = |moved: Move| RefUpdate { name: moved.name, old: moved.old, new: moved.new };
        let updates: Vec<RefUpdate> = moves.into_iter().map(update).collect();
        failpoint::hit("undo:before-refs");
        context.repo.update_refs(&updates)?;
        failpoint::hit("undo:after-refs");
        Ok(!updates.is_empty())
    }
}
