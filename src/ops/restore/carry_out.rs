//! Carries out the plan of a restore, an undo, or an interrupted restore that is continued.
//!
//! [`RestoreRun`] writes the journal (`restore.json`), then the files, then the staged tree, and at last marks the journal as done.
//! After a crash, the journal thus names all that may have changed: `restore --continue` finishes it, `undo` reverses it.

use std::{collections::BTreeSet, time::Instant};

use bstr::BString;
use gix::ObjectId;

use super::{
    apply::{Applied, Applier},
    before::Before,
    extent::Extent,
    look::Site,
    permissions,
    planned::Planned,
    restored::{Restored, RestoredSubmodule},
    snapshot::{self, Snapshot},
    staged::Staging,
};
use crate::{
    error::{Error, Result},
    git::{Repo, check_blobs::ReadAhead, recorder::FilesChanged},
    model::{
        event::Event,
        manifest::{Part, Tied},
        operation::{Move, Role},
        operation_back::Back,
        plan,
        refname::Base,
        step::Step,
        step_below::StepBelow,
        verdict::{Left, Why},
    },
    ops::{Context, inside::LeftOut},
    state::{
        failpoint,
        journal::{Journal, Progress},
        temporary,
    },
};

/// Does what the step says in a repository inside the worktree, or only looks at what it would do.
pub(super) type RunBelow = fn(&Context, &StepBelow, bool) -> Result<RestoredSubmodule>;

/// What is known of a restore that is a part of one in the worktree above, and how to go on in the repositories below.
#[derive(Clone, Copy)]
pub(super) struct Depth<'a> {
    pub(super) nonce: Option<&'a str>,
    pub(super) run_below: RunBelow,
}

/// One run of a restore: the plan, and all that is needed to carry it out.
pub(super) struct RestoreRun<'a> {
    pub(super) context: &'a Context,
    pub(super) repo: &'a Repo,
    pub(super) planned: &'a Planned,
    /// The state of the worktree before the restore.
    pub(super) from: &'a Snapshot,
    /// The state to restore.
    pub(super) to: &'a Snapshot,
    /// The checkpoint of the state before. A dry run has none, unless it continues an interrupted restore.
    pub(super) pre_restore: Option<ObjectId>,
    /// The target's base, if the result reports it because the worktree is on another base.
    pub(super) other_base: Option<Base>,
    /// True if the run continues an interrupted restore: some steps may be done already.
    pub(super) is_resumed: bool,
    /// How the run relates to an earlier operation.
    pub(super) role: Role,
    /// What brings the refs back once all files are as they were.
    pub(super) back: Option<&'a Back>,
    /// True if an operation that was interrupted is taken back: no redo brings the half-way state back.
    pub(super) is_called_off: bool,
    /// Paths where the temporary file of an interrupted restore held another program's version. That file has been kept under a
    /// new name, which the result reports.
    pub(super) rescued: &'a [Left],
    /// The repositories inside the worktree whose changes the result reports as left alone.
    pub(super) inside: LeftOut,
    /// What is done in repositories inside the worktree, and by what.
    pub(super) below: Vec<StepBelow>,
    pub(super) run_below: RunBelow,
    /// The nonce of the journal, if the restore is a part of one in the worktree above.
    pub(super) nonce: Option<&'a str>,
    pub(super) start: Instant,
}

impl<'a> RestoreRun<'a> {
    /// Returns the run that carries out what is `planned`, from the state that `before` has found to the state `to`. Refs stay, and it
    /// is no part of another operation.
    pub(super) fn new(
        before: &'a Before<'a>,
        planned: &'a Planned,
        to: &'a Snapshot,
        run_below: RunBelow,
        start: Instant,
    ) -> Self {
        Self {
            context: before.context(),
            repo: before.repo(),
            planned,
            from: &before.snapshot,
            to,
            pre_restore: before.checkpoint_id,
            other_base: None,
            is_resumed: false,
            role: Role::Plain,
            back: None,
            is_called_off: false,
            rescued: &before.rescued,
            inside: LeftOut::default(),
            below: Vec::new(),
            run_below,
            nonce: None,
            start,
        }
    }

    fn staging(&self) -> Option<&'a Staging> {
        self.planned.staging.as_ref()
    }

    fn steps(&self) -> Vec<Step> {
        self.planned.plan.groups.iter().flat_map(plan::Group::steps).cloned().collect()
    }

    pub(super) fn applier(&self, nonce: &str, steps: &[Step]) -> Result<Applier<'a>> {
        let empty = &self.from.manifest.empty_directories;
        let site = Site::new(self.repo, nonce, (self.from, self.to), steps, empty)?;
        Ok(Applier::new(site, steps).resumed(self.is_resumed))
    }

    /// Returns what the plan would do, as the dry `extent` has it, and changes nothing.
    pub(super) fn preview(&self, extent: Extent) -> Result<Restored> {
        let steps = self.steps();
        snapshot::verify_there(self.repo, self.to.id, &self.planned.plan)?;
        if extent == Extent::Rehearsal {
            self.staging().map_or(Ok(()), |staging| staging.verify(self.repo))?;
            // What is unsaved is only in memory, and whole.
            snapshot::verify_stored(&self.context.repo, self.to.id, &self.planned.plan)?;
        }
        let applied = self.applier(&temporary::random(), &steps)?.preview(self.planned)?;
        let below = self.below(true)?;
        let moves = match self.back.filter(|_| self.takes_all(&applied, &below)) {
            Some(back) => back.with_archive(self.repo)?,
            None => Vec::new(),
        };
        let set_aside = moves.iter().filter_map(Move::archived).collect();
        Ok(Restored { set_aside, ..self.restored(&applied, below, true) })
    }

    /// Does in the repositories inside the worktree what is to be done there, or only looks at it.
    fn below(&self, is_dry: bool) -> Result<Vec<RestoredSubmodule>> {
        let step = |step| {
            self.context.check_interrupt()?;
            if !is_dry {
                failpoint::hit("restore:before-submodule");
            }
            (self.run_below)(self.context, step, is_dry)
        };
        self.below.iter().map(step).collect()
    }

    /// Makes sure that all content can be read, writes the journal, and carries the plan out.
    pub(super) fn execute(&self, before: &Before<'_>) -> Result<Restored> {
        if let Some(staging) = self.staging() {
            staging.verify(self.repo)?;
        }
        let pre_restore = self.pre_restore.ok_or_else(|| Error::internal("no checkpoint of the state before"))?;
        if snapshot::verify_before(self.repo, pre_restore, &self.planned.plan).is_err() {
            before.write_again()?;
            snapshot::verify_before(self.repo, pre_restore, &self.planned.plan)?;
        }
        let steps = self.steps();
        let journal = Journal {
            progress: Progress::Applying,
            target: self.to.id,
            pre_restore,
            nonce: self.nonce.map_or_else(temporary::random, ToOwned::to_owned),
            permissions: permissions::of_files_gone(self.repo, &steps, before.journal.as_ref())?,
            steps,
            directories: self.planned.directories.clone(),
            removed: self.planned.removed.clone(),
            index: self.staging().map(|staging| staging.changes.clone()).unwrap_or_default(),
            below: self.below.clone(),
        };
        let ahead = snapshot::verify(self.repo, self.to.id, &self.planned.plan, before.ahead.take())?;
        before.make_durable()?;
        failpoint::hit("restore:after-sync");
        self.record(&journal)?;
        failpoint::hit("restore:after-log");
        journal.write(self.repo.git_dir())?;
        failpoint::hit("restore:after-journal");
        self.carry_out(journal, before, ahead)
    }

    /// Carries out the plan whose `journal` is on the disk already. `ahead` has content that was read before.
    pub(super) fn carry_out(&self, mut journal: Journal, before: &Before<'_>, ahead: ReadAhead) -> Result<Restored> {
        let mut applier = self.applier(&journal.nonce, &journal.steps)?;
        let phase = Instant::now();
        applier.site.ahead = ahead;
        applier.site.checkout.permissions = journal.permissions.iter().cloned().collect();
        let applied = applier.run(self.planned).map_err(half_way)?;
        let (written, deleted) = (applied.written.len(), applied.deleted.len());
        tracing::debug!(took = ?phase.elapsed(), written, deleted, "files: restored");
        if let Some(staging) = self.staging().filter(|staging| !staging.is_empty()) {
            before.check_index(self.repo).and_then(|()| staging.apply(self.repo)).map_err(half_way)?;
            failpoint::hit("restore:after-staged");
        }
        let below = self.below(false).map_err(half_way)?;
        let has_changed: BTreeSet<_> = below.iter().filter(|it| it.has_changed).map(|it| it.path.clone()).collect();
        failpoint::hit("restore:after-submodules");
        journal.progress = Progress::Done;
        journal.below.retain(|step| has_changed.contains(&step.path));
        journal.steps.clone_from(&applied.steps);
        journal.directories.clone_from(&applied.directories);
        journal.removed.clone_from(&applied.removed);
        journal.index = self.staging().map(|staging| staging.changes.clone()).unwrap_or_default();
        failpoint::hit("restore:before-done");
        self.record_end(&journal, &applied, &below);
        // The next undo reverses the last restore that changed something. If this one changed nothing, put back the journal of
        // the one before; also if that is half-way, and all that was to be taken back of it was left alone.
        let is_all_left = self.takes_back() && !self.takes_all(&applied, &below);
        let is_idle = self.is_idle(&applied, &below);
        let is_last = |last: &&Journal| is_idle && (last.progress == Progress::Done || is_all_left);
        let last = before.journal.as_ref().filter(is_last);
        last.unwrap_or(&journal).write(self.repo.git_dir()).map_err(half_way)?;
        failpoint::hit("restore:after-done");
        let back = self.back.filter(|_| self.takes_all(&applied, &below));
        let moves = back.map_or_else(|| Ok(Vec::new()), |back| back.carry_out(self.context))?;
        if !back.is_some_and(|back| back.is_needed) {
            let is_restored = |tied: &&Tied| below.iter().any(|it| it.path == tied.path && it.is_complete());
            let tied = self.to.manifest.submodules.iter().filter(is_restored);
            before.save_after(&journal, self.to, tied.cloned().collect());
        }
        failpoint::hit("restore:after-checkpoint");
        let restored = Restored {
            set_aside: self.set_aside(&moves, before.journal.as_ref()),
            ..self.restored(&applied, below, false)
        };
        self.context.emit(&Event::Restore {
            to: restored.target.to_string(),
            written: restored.written.len(),
            deleted: restored.deleted.len(),
            kept: restored.kept.len(),
            conflicts: restored.conflicts.len(),
            duration_ms: u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX),
        });
        Ok(restored)
    }

    /// Returns which checkpoints `moves` have put into the archive, except those whose files are at hand. `last` is the restore before.
    fn set_aside(&self, moves: &[Move], last: Option<&Journal>) -> Vec<ObjectId> {
        let archived = moves.iter().filter_map(Move::archived);
        // If the files are as the restore wrote them, no edit is lost with the half-way state.
        let half_way =
            self.pre_restore.filter(|_| self.is_called_off && last.is_some_and(|last| last.has_left(&self.steps())));
        let is_worth = |id: &ObjectId| *id != self.to.id && Some(*id) != half_way;
        archived.filter(|id| is_worth(id) && !self.is_at_hand(*id).unwrap_or(false)).collect()
    }

    /// Returns true if all files of the checkpoint `id` are as they are now, or as the way back makes them.
    fn is_at_hand(&self, id: ObjectId) -> Result<bool> {
        let state = Snapshot::read(self.repo, id)?;
        let is_as = |other: &Snapshot| snapshot::differences(self.repo, other, &state).map(|it| it.is_empty());
        Ok(is_as(self.to)? || (!self.is_called_off && is_as(self.from)?))
    }

    /// Writes the entry of the operation log, before any file is changed.
    pub(super) fn record(&self, journal: &Journal) -> Result<()> {
        self.repo.note_role(self.role);
        self.repo.note_files(Some(files_of(journal)));
        self.repo.note_begin(&journal.nonce);
        self.repo.update_refs(&[])
    }

    /// Writes into the entry that all is done. Only then may the journal say so: the next restore replaces the journal, and an entry
    /// that is not finished counts only as long as it has one.
    fn record_end(&self, journal: &Journal, applied: &Applied, below: &[RestoredSubmodule]) {
        // A run that changes nothing leaves no entry, unless the entry marks the reversed operation as taken back.
        let (is_idle, is_all) = (self.is_idle(applied, below), self.takes_all(applied, below));
        let files = if is_idle && !(is_all && self.takes_back()) { None } else { Some(files_of(journal)) };
        if is_idle && !is_all {
            // All that was to be taken back was left alone, so the operation is not taken back.
            self.repo.note_role(Role::Plain);
        }
        self.repo.note_files(files);
        self.repo.note_end();
        if let Err(error) = self.repo.update_refs(&[]) {
            tracing::warn!(%error, "the operation log says that the restore was not finished");
        }
    }

    /// Returns true if the run takes an operation back.
    fn takes_back(&self) -> bool {
        matches!(self.role, Role::Undo(_) | Role::Redo(_))
    }

    /// Returns true if the run has changed nothing.
    fn is_idle(&self, applied: &Applied, below: &[RestoredSubmodule]) -> bool {
        applied.is_idle() && !below.iter().any(|it| it.has_changed) && self.staging().is_none_or(Staging::is_empty)
    }

    /// Returns true if the run has left nothing of what it was to do.
    fn takes_all(&self, applied: &Applied, below: &[RestoredSubmodule]) -> bool {
        below.iter().all(RestoredSubmodule::is_complete)
            && applied.kept.is_empty()
            && applied.conflicts.is_empty()
            && !self.leaves_paths()
    }

    /// Returns true if the plan leaves some paths as they are though they differ.
    fn leaves_paths(&self) -> bool {
        let (plan, staging) = (&self.planned.plan, self.staging());
        let is_left = staging.is_some_and(|staging| !staging.left.is_empty());
        is_left || !plan.kept.is_empty() || !plan.conflicts.is_empty() || !self.rescued.is_empty()
    }

    fn restored(&self, applied: &Applied, mut below: Vec<RestoredSubmodule>, dry_run: bool) -> Restored {
        below.retain(RestoredSubmodule::is_worth_a_word);
        let sorted = |mut paths: Vec<BString>| {
            paths.sort();
            paths
        };
        let staged = self.staging().map(|staging| staging.left.as_slice()).unwrap_or_default();
        let all = |planned: &[Left], found: &[Left], is_conflict: bool| {
            // If the file is left, too, that says enough.
            let is_said =
                |left: &Left| planned.iter().chain(found).any(|it| it.path == left.path && it.why == Why::Since);
            let staged = staged.iter().filter(|left| (left.why == Why::UnderWay) == is_conflict && !is_said(left));
            let mut all: Vec<Left> = planned.iter().chain(found).chain(staged).cloned().collect();
            all.sort_by(|a, b| a.path.cmp(&b.path));
            all.dedup();
            all
        };
        let with_slash = |path: &BString| BString::from([path.as_slice(), b"/"].concat());
        Restored {
            version: 1,
            target: self.to.id,
            pre_restore: self.pre_restore,
            written: sorted(
                applied.written.iter().cloned().chain(applied.directories.iter().map(with_slash)).collect(),
            ),
            deleted: sorted(applied.deleted.iter().cloned().chain(applied.removed.iter().map(with_slash)).collect()),
            staged: self.staging().map(Staging::paths).unwrap_or_default(),
            kept: all(&self.planned.plan.kept, &applied.kept, false),
            conflicts: all(&self.planned.plan.conflicts, &[self.rescued, &applied.conflicts].concat(), true),
            skipped: self.from.manifest.skipped.clone(),
            submodules: self.inside.submodules.clone(),
            nested: self.inside.nested.clone(),
            restored_submodules: below,
            committed: self.planned.committed.clone(),
            other_base: self.other_base,
            inexact: self.to.manifest.lacks(&[Part::Raw]) && !applied.written.is_empty(),
            dry_run,
            set_aside: Vec::new(),
            is_called_off: self.is_called_off,
            leaves_submodules: self.below.is_empty() && self.to.has_submodules_here(self.repo),
            saved_submodules: self.to.manifest.submodules.iter().map(|tied| tied.path.clone()).collect(),
        }
    }
}

/// Returns what the operation log keeps of `journal`, and the checkpoints that have the content.
pub(super) fn files_of(journal: &Journal) -> FilesChanged {
    FilesChanged { text: journal.to_text(), held: vec![journal.pre_restore, journal.target] }
}

/// Returns `error` with the hint for a restore that has begun to change files and has not finished.
fn half_way(error: Error) -> Error {
    // Its causes stand below the message, which has its own words.
    let message = format!("{}; the restore is not complete", error.message());
    error
        .with_message(message)
        .with_hint("'git checkpoint restore --continue' finishes it, 'git checkpoint undo' reverses it")
}
