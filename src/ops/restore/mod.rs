//! Puts a checkpoint back, and takes that back.
//!
//! Nothing is written before the target is known to be whole and the worktree as it is has its own checkpoint; a
//! path is changed only if it still is what that checkpoint saw; what is not in it is never deleted or overwritten.

mod apply;
mod before;
mod give_up;
mod leftover;
mod look;
mod moved;
mod resume;
mod scope;
mod snapshot;
mod staged;
mod undo;

use std::{collections::BTreeSet, time::Instant};

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;
use serde::{Serialize, Serializer, ser::SerializeSeq as _};

use crate::{
    error::{Error, Result},
    git::{Repo, objects::ReadAhead, threads},
    model::{
        event::Event,
        id_text,
        manifest::Skipped,
        path_text,
        plan::{self, Plan},
        refname::Base,
        step::Step,
        verdict::{Left, Why},
    },
    ops::{Context, lookup},
    state::{
        failpoint,
        journal::{Journal, Progress},
        temporary,
    },
};
use apply::{Applied, Applier};
use before::Before;
use look::Site;
use moved::{Moved, moved};
use scope::Scene;
use snapshot::Snapshot;
use staged::Staging;

pub(crate) use scope::restored;
pub use undo::{UndoOptions, undo};

/// What to restore, and how.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What names the checkpoint; see [`lookup::resolve`].
    pub target: String,
    /// Limits the restore to these, relative to the worktree's root; what they name is restored whoever changed it.
    pub pathspecs: Vec<BString>,
    /// Restores the whole tree, whoever changed a path since.
    pub all: bool,
    /// Restores the staged tree too.
    pub staged: bool,
    /// Changes nothing, and takes no checkpoint.
    pub dry_run: bool,
    /// Goes on with an interrupted restore; the other options but `dry_run` do not matter then.
    pub resume: bool,
    /// Works in directories that are refused otherwise.
    pub force: bool,
}

/// What was done; serializes as the JSON of `restore --json` and `undo --json`.
#[derive(Clone, Debug, Serialize)]
pub struct Restored {
    /// The version of this form.
    pub version: u32,
    /// The checkpoint (or base commit) that was put back.
    #[serde(serialize_with = "id_text::serialize")]
    pub target: ObjectId,
    /// The checkpoint that holds everything as it was before.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub pre_restore: Option<ObjectId>,
    /// Paths that were written; of directories without files, with final `/`.
    #[serde(serialize_with = "path_text::serialize_list")]
    pub written: Vec<BString>,
    /// Paths that were deleted.
    #[serde(serialize_with = "path_text::serialize_list")]
    pub deleted: Vec<BString>,
    /// Paths whose entry in the index was put back.
    #[serde(serialize_with = "path_text::serialize_list")]
    pub staged: Vec<BString>,
    /// Paths left alone because they are not the checkpoint's to change.
    #[serde(serialize_with = "serialize_left")]
    pub kept: Vec<Left>,
    /// Paths left alone because they changed under way or something is in the way.
    #[serde(serialize_with = "serialize_left")]
    pub conflicts: Vec<Left>,
    /// Paths that are in no checkpoint, and were not looked at.
    #[serde(serialize_with = "serialize_skipped")]
    pub skipped: Vec<Skipped>,
    /// The commit that the checkpoint stands on, if that is not the worktree's and its files are restored too.
    pub other_base: Option<Base>,
    /// True if all this was only looked at.
    pub dry_run: bool,
}

/// Puts the checkpoint that `options` name back into the worktree.
///
/// # Errors
/// If it does not exist or is not complete, if the worktree cannot be saved, or if an earlier restore was interrupted: nothing
/// has changed then. If the operating system fails half-way, the journal tells how to go on or back.
pub fn restore(context: &Context, options: &Options) -> Result<Restored> {
    let done = if options.resume { resume::resume(context, options.dry_run) } else { restore_target(context, options) };
    context.tell_failure("restore", done)
}

fn restore_target(context: &Context, options: &Options) -> Result<Restored> {
    let start = Instant::now();
    let target_id = lookup::resolve(context, &options.target)?;
    let target = Snapshot::read(&context.repo, target_id)?;
    scope::refuse_unknown(&context.repo, &target, &options.pathspecs)?;
    let before = Before::take(
        context,
        &before::Request {
            subject: format!("before restore of {}", target_id.to_hex_with_len(10)),
            is_dry: options.dry_run,
            keeps_index: options.staged,
            force: options.force,
            after_crash: false,
        },
    )?;
    failpoint::hit("restore:after-save");
    let repo = before.repo(context);
    let scene = Scene { context, repo, pre: &before.snapshot, target: &target, before: &before };
    let steps = snapshot::differences(repo, &before.snapshot, &target)?;
    let steps = scene.limit(steps, &options.pathspecs)?;
    let session = target.checkpoint.as_ref().and_then(|checkpoint| checkpoint.origin.session.as_deref());
    let takes_all = options.all || !options.pathspecs.is_empty();
    let session = session.filter(|_| !takes_all);
    let Moved { steps, both } =
        if takes_all { Moved { steps, ..Moved::default() } } else { moved(repo, steps, &before.snapshot, &target)? };
    let candidates = scene.judge(steps, session, &both)?;
    let plan = plan::plan(candidates, repo.config_bool("core.ignoreCase") == Some(true));
    let directories = scene.directories(&options.pathspecs)?;
    let (steps, kept) = (plan.groups.iter().flat_map(plan::Group::steps).count(), plan.kept.len());
    tracing::debug!(took = ?start.elapsed(), target = %target.id, steps, kept, "plan: know what to do");
    let staging = if options.staged {
        Some(Staging::between(repo, &before.snapshot, &target, &options.pathspecs)?)
    } else {
        None
    };
    let work = Work {
        context,
        repo,
        plan: &plan,
        directories: &directories,
        staging: staging.as_ref(),
        from: &before.snapshot,
        to: &target,
        pre_restore: before.checkpoint_id,
        other_base: target.base().filter(|base| takes_all && Some(*base) != before.snapshot.base()),
        is_resumed: false,
        swept: &before.swept,
        start,
    };
    if options.dry_run { work.preview() } else { work.execute(&before) }
}

/// How many bytes of files may be read before they are written.
const READ_AHEAD: usize = 8 << 20;

/// A plan with all that it takes to carry it out.
struct Work<'a> {
    context: &'a Context,
    repo: &'a Repo,
    plan: &'a Plan,
    directories: &'a [BString],
    staging: Option<&'a Staging>,
    from: &'a Snapshot,
    to: &'a Snapshot,
    pre_restore: Option<ObjectId>,
    other_base: Option<Base>,
    /// True if some steps may have been taken before a crash.
    is_resumed: bool,
    /// Paths of which an interrupted restore had another program's version.
    swept: &'a [Left],
    start: Instant,
}

impl<'a> Work<'a> {
    fn steps(&self) -> Vec<Step> {
        self.plan.groups.iter().flat_map(plan::Group::steps).cloned().collect()
    }

    fn applier(&self, nonce: &str, steps: &[Step]) -> Result<Applier<'a>> {
        let trees = (self.from.tree_id, self.to.tree_id);
        let empty = &self.from.manifest.empty_directories;
        let site = Site::new(self.repo, nonce, trees, steps, empty)?;
        Ok(Applier::new(site, steps).resumed(self.is_resumed))
    }

    /// Removes the directories without files that the restore of `journal` has created, if they still are.
    fn remove_directories(&self, journal: &Journal) -> Result<()> {
        let mut directories: BTreeSet<BString> = journal.directories.iter().cloned().collect();
        if journal.progress == Progress::Applying {
            // It may have died between making a directory and moving a file into it.
            for step in journal.steps.iter().filter(|step| step.before.is_none()) {
                directories.extend(step.path.find_iter("/").map(|at| step.path[..at].into()));
            }
        }
        for known in &self.to.manifest.empty_directories {
            directories.remove(known);
        }
        self.applier(&journal.nonce, &[])?.remove_directories(&directories)
    }

    /// Looks at everything, changes nothing.
    fn preview(&self) -> Result<Restored> {
        let steps = self.steps();
        let applied = self.applier(&temporary::random(), &steps)?.preview(self.plan, self.directories)?;
        Ok(self.restored(&applied, true))
    }

    /// Carries the plan out.
    fn execute(&self, before: &Before) -> Result<Restored> {
        snapshot::verify(self.repo, self.to.id, self.plan)?;
        if let Some(staging) = self.staging {
            staging.verify(self.repo)?;
        }
        let pre_restore = self.pre_restore.ok_or_else(|| Error::internal("there is no checkpoint from before"))?;
        if snapshot::verify_before(self.repo, pre_restore, self.plan).is_err() {
            before.write_again(self.context)?;
            snapshot::verify_before(self.repo, pre_restore, self.plan)?;
        }
        let journal = Journal {
            progress: Progress::Applying,
            target: self.to.id,
            pre_restore,
            nonce: temporary::random(),
            steps: self.steps(),
            directories: self.directories.to_vec(),
            index: self.staging.map(|staging| staging.changes.clone()).unwrap_or_default(),
        };
        let written = journal.steps.iter().filter_map(|step| step.after);
        let ids = written.map(|content| content.raw.unwrap_or(content.leaf.id)).collect();
        let read_ahead = self.repo.read_ahead(ids, READ_AHEAD);
        let ahead = std::thread::scope(|scope| {
            // While the disk is waited for.
            let reader = threads::start(scope, read_ahead);
            self.repo.make_durable()?;
            failpoint::hit("restore:after-sync");
            journal.write(self.repo.git_dir())?;
            failpoint::hit("restore:after-journal");
            Ok::<_, Error>(reader.and_then(|reader| reader.join().ok()).unwrap_or_default())
        })?;
        self.carry_out(journal, before, ahead)
    }

    /// Does what `journal`, which is already written, says.
    fn carry_out(&self, mut journal: Journal, before: &Before, ahead: ReadAhead) -> Result<Restored> {
        let mut applier = self.applier(&journal.nonce, &journal.steps)?;
        let phase = Instant::now();
        applier.site.ahead = ahead;
        let applied = applier.run(self.plan, self.directories).map_err(half_way)?;
        let (written, deleted) = (applied.written.len(), applied.deleted.len());
        tracing::debug!(took = ?phase.elapsed(), written, deleted, "files: have put them back");
        if let Some(staging) = self.staging {
            before.check_index(self.repo).and_then(|()| staging.apply(self.repo)).map_err(half_way)?;
            failpoint::hit("restore:after-staged");
        }
        journal.progress = Progress::Done;
        journal.steps.clone_from(&applied.steps);
        journal.directories.clone_from(&applied.directories);
        journal.index = self.staging.map(|staging| staging.changes.clone()).unwrap_or_default();
        failpoint::hit("restore:before-done");
        // A restore that changed nothing is not what the next undo takes back.
        let is_idle = applied.is_idle() && self.staging.is_none_or(Staging::is_empty);
        let last = before.journal.as_ref().filter(|last| is_idle && last.progress == Progress::Done);
        last.unwrap_or(&journal).write(self.repo.git_dir()).map_err(half_way)?;
        failpoint::hit("restore:after-done");
        before.save_after(self.context, &journal, self.to);
        failpoint::hit("restore:after-checkpoint");
        let restored = self.restored(&applied, false);
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

    fn restored(&self, applied: &Applied, dry_run: bool) -> Restored {
        let sorted = |mut paths: Vec<BString>| {
            paths.sort();
            paths
        };
        let staged = self.staging.map(|staging| staging.left.as_slice()).unwrap_or_default();
        let all = |planned: &[Left], found: &[Left], is_conflict: bool| {
            let staged = staged.iter().filter(|left| (left.why == Why::UnderWay) == is_conflict);
            let mut all: Vec<Left> = planned.iter().chain(found).chain(staged).cloned().collect();
            all.sort_by(|a, b| a.path.cmp(&b.path));
            all.dedup();
            all
        };
        let directories = applied.directories.iter().map(|path| BString::from([path.as_slice(), b"/"].concat()));
        Restored {
            version: 1,
            target: self.to.id,
            pre_restore: self.pre_restore,
            written: sorted(applied.written.iter().cloned().chain(directories).collect()),
            deleted: sorted(applied.deleted.clone()),
            staged: self.staging.map(Staging::paths).unwrap_or_default(),
            kept: all(&self.plan.kept, &applied.kept, false),
            conflicts: all(&self.plan.conflicts, &[self.swept, &applied.conflicts].concat(), true),
            skipped: self.from.manifest.skipped.clone(),
            other_base: self.other_base,
            dry_run,
        }
    }
}

fn half_way(error: Error) -> Error {
    let message = format!("{}; the restore is not complete", error.message());
    Error::new(error.kind(), message)
        .with_hint("'git checkpoint restore --continue' goes on with it, 'git checkpoint undo' takes it back")
        .with_cause(error)
}

/// A path beside what is to be said of it.
#[derive(Serialize)]
struct Described<T> {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_raw: Option<String>,
    #[serde(flatten)]
    rest: T,
}

impl<T> Described<T> {
    fn new(path: &BString, rest: T) -> Self {
        Self { path: path_text::escape(path.as_bstr()), path_raw: path_text::raw(path.as_bstr()), rest }
    }
}

fn serialize_left<S: Serializer>(left: &[Left], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Rest {
        why: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        kept_as: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        kept_as_raw: Option<String>,
    }
    let mut list = serializer.serialize_seq(Some(left.len()))?;
    for left in left {
        let kept = left.why.kept_as().map(|path| path.as_bstr());
        let (kept_as, kept_as_raw) = (kept.map(path_text::escape), kept.and_then(path_text::raw));
        list.serialize_element(&Described::new(&left.path, Rest { why: left.why.to_string(), kept_as, kept_as_raw }))?;
    }
    list.end()
}

fn serialize_skipped<S: Serializer>(skipped: &[Skipped], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Rest {
        reason: crate::model::manifest::Reason,
        size: u64,
    }
    let mut list = serializer.serialize_seq(Some(skipped.len()))?;
    for skipped in skipped {
        let rest = Rest { reason: skipped.reason, size: skipped.size };
        list.serialize_element(&Described::new(&skipped.path, rest))?;
    }
    list.end()
}
