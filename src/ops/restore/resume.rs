//! Continues a restore that a crash has interrupted.

use std::time::Instant;

use super::{
    before::Before,
    carry_out::{RestoreRun, RunBelow},
    extent::Extent,
    planned::Planned,
    restored::Restored,
    snapshot::{self, Snapshot},
    staged::Staging,
};
use crate::{
    error::Result,
    git::check_blobs::ReadAhead,
    model::{operation::Role, plan, verdict::Verdict},
    ops::{Context, operations},
};

/// Takes the steps that are left. What was edited since the crash is a conflict, and stays.
pub(super) fn resume(context: &Context, dry_run: bool, run_below: RunBelow) -> Result<Restored> {
    let start = Instant::now();
    let before = Before::interrupted(context, dry_run)?;
    let journal = before.journal.clone().expect("an interrupted restore has one");
    let repo = &context.repo;
    let target = Snapshot::read(repo, journal.target)?;
    let log = operations::Log::read(context)?;
    let entry = operations::entry_of(context, &log, &journal);
    let role = entry.map_or(Role::Plain, |entry| Role::Continues(entry.id));
    let candidates = journal.steps.iter().map(|step| (step.clone(), Verdict::Go)).collect();
    let plan = plan::plan(candidates, repo.config_bool("core.ignoreCase") == Some(true));
    let staging = if dry_run || journal.index.is_empty() {
        Staging::default()
    } else {
        Staging::resumed(repo, &journal.index, &before.save_index()?)?
    };
    let (directories, removed) = (journal.directories.clone(), journal.removed.clone());
    let planned = Planned { plan, directories, removed, staging: Some(staging), committed: Vec::new() };
    let work = RestoreRun {
        is_resumed: true,
        is_called_off: entry.is_some_and(|entry| log.stack.interrupted(entry.id) != entry.id),
        role,
        below: journal.below.clone(),
        ..RestoreRun::new(&before, &planned, &target, run_below, start)
    };
    if dry_run {
        return work.preview(Extent::DryRun);
    }
    let ahead = snapshot::verify(repo, target.id, &planned.plan, ReadAhead::default())?;
    if let Some(staging) = &planned.staging {
        staging.verify(repo)?;
    }
    work.record(&journal)?;
    work.carry_out(journal.clone(), &before, ahead)
}
