//! Drops shadows from the archive by age, count and bytes. The objects are git's to collect.

mod copies;
mod needed;

use std::collections::{HashMap, HashSet};

pub use self::copies::{Copy, LeftCopy};
use self::needed::{needed_for_lines, noted_without_ref};
use gix::ObjectId;
use serde::Serialize;

use super::{
    Context,
    chain::timeline::{self, Tip},
    disk_usage, operations,
};
use crate::{
    error::{Kind, Result},
    git::{
        Repo,
        new_objects::{NewObjects, Target},
        notes::{NoteFate, Notes},
        refs::RefUpdate,
    },
    model::{
        event::Event,
        id_text, moment,
        refname::{self, Base, ShadowName},
    },
    state::failpoint,
};

const DAY: i64 = 24 * 60 * 60;

/// What to keep; if no limit is given, the settings in `[archive]` decide.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Drop shadows that were archived longer ago than this, in seconds.
    pub older_than: Option<i64>,
    /// Keep at most so many shadows.
    pub keep: Option<usize>,
    /// Keep at most so many bytes.
    pub max_size: Option<u64>,
    /// Only say what would happen.
    pub dry_run: bool,
    /// The time that ages are computed for, in Unix seconds; none: now.
    pub now: Option<i64>,
}

/// Why a shadow is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// It is older than allowed.
    Age,
    /// The archive has more shadows than allowed.
    Count,
    /// They hold more bytes than allowed.
    Size,
}

/// A shadow dropped from the archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Dropped {
    /// The ref.
    pub r#ref: String,
    /// Its last checkpoint.
    #[serde(serialize_with = "id_text::serialize")]
    pub tip: ObjectId,
    /// When it was set aside, in ISO 8601.
    pub archived: String,
    /// Why it is dropped.
    pub why: Why,
}

/// Why a shadow stays that is beyond the limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NeededFor {
    /// It has the verified checkpoint of a worktree.
    Verified,
    /// `undo` goes back to a checkpoint of it.
    Undo,
    /// Uncommitted work may have lines that only it says are an agent's.
    Uncommitted,
    /// Not all of it can be read: it may say that of lines of uncommitted work.
    Damaged,
}

/// A shadow that is beyond the limits and stays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stays {
    /// The ref.
    pub r#ref: String,
    /// Its last checkpoint.
    #[serde(serialize_with = "id_text::serialize")]
    pub tip: ObjectId,
    /// When it was set aside, in ISO 8601.
    pub archived: String,
    /// What it is needed for.
    pub needed_for: NeededFor,
}

/// The result of pruning. Serializes to what `prune --json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pruned {
    /// The version of the JSON format.
    pub version: u32,
    /// The shadows dropped, oldest first.
    pub dropped: Vec<Dropped>,
    /// How many stay in the archive.
    pub kept: usize,
    /// How many live shadows of this worktree stand on other commits than HEAD: `prune` drops none of them.
    #[serde(skip)]
    pub left: usize,
    /// Those among them that are beyond the limits, oldest first.
    pub stays: Vec<Stays>,
    /// The bytes that the dropped ones alone held; none if they were too many to weigh.
    pub bytes: Option<u64>,
    /// How many notes go with them: no ref leads to their checkpoints any more.
    pub notes: usize,
    /// The copies of isolated rounds that were deleted, oldest first.
    pub copies: Vec<Copy>,
    /// Those that were to be deleted, and stay.
    pub copies_left: Vec<LeftCopy>,
    /// True if nothing was done.
    pub dry_run: bool,
}

/// Drops the archived shadows beyond the limits of the options, or of the settings if there are none, oldest first.
///
/// Live shadows stay, and so does a shadow with a verified checkpoint until a newer one is verified.
///
/// # Errors
/// [`Kind::Race`] if the archive keeps changing.
pub fn prune(context: &Context, options: &Options) -> Result<Pruned> {
    context.repo.name_operation("prune");
    context.emit_failure("prune", try_prune(context, options))
}

fn try_prune(context: &Context, options: &Options) -> Result<Pruned> {
    let now = options.now.unwrap_or_else(|| jiff::Timestamp::now().as_second());
    let oldest = Limits::new(context, options).older_than.map(|age| now.saturating_sub(age));
    let due = copies::due(context, oldest)?;
    // Copies come last: `undo` brings the shadows back alone.
    let pruned = prune_shadows(context, options)?;
    failpoint::hit("prune:before-copies");
    let (copies, copies_left) = copies::delete(context, due, options.dry_run);
    Ok(Pruned { copies, copies_left, ..pruned })
}

fn prune_shadows(context: &Context, options: &Options) -> Result<Pruned> {
    const ATTEMPTS: u32 = 3;
    let mut attempt = 0;
    if !options.dry_run {
        context.repo.remove_dead_locks();
        operations::forget_removed(context)?;
    }
    loop {
        attempt += 1;
        let plan = Plan::make_sound(context, options)?;
        if options.dry_run || plan.dropped.is_empty() {
            return plan.result(context, options.dry_run);
        }
        let bytes = plan.bytes(context)?;
        let (mut notes, mut objects) = (context.repo.readable_notes()?, NewObjects::new(&context.repo, Target::Loose));
        let gone = plan.noted(&context.repo, notes.as_ref())?;
        let fate = |id| if gone.contains(&id) { NoteFate::Goes } else { NoteFate::Stays };
        notes.iter_mut().try_for_each(|notes| notes.carry(fate, &mut objects))?;
        let update = |(tip, _): &(Tip, Why)| RefUpdate { name: tip.name.clone(), old: Some(tip.id), new: None };
        let updates: Vec<_> =
            notes.and_then(|it| it.update()).into_iter().chain(plan.dropped.iter().map(update)).collect();
        let written = objects.write()?;
        match context.repo.update_refs(&updates) {
            Ok(()) => {
                written.check_and_release()?;
                context.emit(&Event::Prune { dropped: plan.dropped.len() });
                return Ok(plan.into_pruned(bytes, gone.len(), false));
            }
            Err(error) if error.kind() == Kind::Race && attempt < ATTEMPTS => {}
            Err(error) => return Err(error),
        }
    }
}

struct Limits {
    older_than: Option<i64>,
    keep: Option<usize>,
    max_size: Option<u64>,
}

impl Limits {
    fn new(context: &Context, options: &Options) -> Self {
        let &Options { older_than, keep, max_size, .. } = options;
        if older_than.is_some() || keep.is_some() || max_size.is_some() {
            return Self { older_than, keep, max_size };
        }
        let archive = &context.settings.archive;
        let days = |days: u64| i64::try_from(days).unwrap_or(i64::MAX).saturating_mul(DAY);
        let count = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        Self {
            older_than: archive.keep_days.map(days),
            keep: archive.keep_count.map(count),
            max_size: archive.max_size,
        }
    }
}

struct Plan {
    kept: Vec<Tip>,
    dropped: Vec<(Tip, Why)>,
    /// Those of `kept` that are beyond the limits.
    stays: Vec<Stays>,
    /// As in [`Pruned`].
    left: usize,
}

impl Plan {
    /// Returns a plan that drops nothing that says whose lines uncommitted work has.
    fn make_sound(context: &Context, options: &Options) -> Result<Self> {
        let (mut needed, mut places) = (HashMap::new(), None);
        loop {
            let plan = Self::make(context, options, &needed)?;
            let dropped = plan.dropped.iter().map(|(tip, _)| tip);
            let more = needed_for_lines(context, &plan.kept, dropped, &mut places)?;
            if more.is_empty() {
                return Ok(plan);
            }
            let why = |is_known| if is_known { NeededFor::Uncommitted } else { NeededFor::Damaged };
            needed.extend(more.into_iter().map(|(tip, is_known)| (tip, why(is_known))));
        }
    }

    /// Returns the plan in which the shadows stay whose tips are `needed` for uncommitted work.
    fn make(context: &Context, options: &Options, needed: &HashMap<ObjectId, NeededFor>) -> Result<Self> {
        let repo = &context.repo;
        let limits = Limits::new(context, options);
        let tips = timeline::archived_tips(repo, None)?;
        let mut protected = protected(context, &tips)?;
        for (tip, needed_for) in needed {
            protected.entry(*tip).or_insert(*needed_for);
        }
        let mut plan = Self { kept: tips, dropped: Vec::new(), stays: Vec::new(), left: left(repo)? };
        if let Some(age) = limits.older_than {
            // The real time, not GIT_COMMITTER_DATE: names in the archive have the real time, too.
            let now = options.now.unwrap_or_else(|| jiff::Timestamp::now().as_second());
            let oldest = now.saturating_sub(age);
            let is_old = |tip: &Tip| refname::archived_at(&tip.name).is_some_and(|seconds| seconds < oldest);
            plan.drop_where(Why::Age, |tip| is_old(tip) && !protected.contains_key(&tip.id));
            plan.note_needed(&protected, is_old);
        }
        if let Some(keep) = limits.keep {
            let mut surplus = plan.kept.len().saturating_sub(keep);
            plan.drop_where(Why::Count, |tip| {
                let drops = surplus > 0 && !protected.contains_key(&tip.id);
                surplus -= usize::from(drops);
                drops
            });
            plan.note_needed(&protected, |_| surplus > 0);
        }
        if let Some(max_size) = limits.max_size {
            let mut too_much = weigh(repo, &plan.kept)?;
            plan.drop_where(Why::Size, |tip| {
                let drops = too_much.total > max_size && !protected.contains_key(&tip.id);
                if drops {
                    too_much.total -= too_much.each.get(&tip.name).copied().unwrap_or(0);
                }
                drops
            });
            plan.note_needed(&protected, |_| too_much.total > max_size);
        }
        plan.stays.sort_by(|a, b| a.archived.cmp(&b.archived));
        Ok(plan)
    }

    /// Notes those that stay only because something needs them: without that, `is_beyond` would be true of them.
    fn note_needed(&mut self, protected: &HashMap<ObjectId, NeededFor>, is_beyond: impl Fn(&Tip) -> bool) {
        for tip in self.kept.iter().filter(|tip| is_beyond(tip)) {
            let is_known = self.stays.iter().any(|stays| stays.r#ref == tip.name);
            if let Some(needed_for) = protected.get(&tip.id).filter(|_| !is_known) {
                let archived = moment::iso(refname::archived_at(&tip.name).unwrap_or_default(), 0);
                let (r#ref, tip, needed_for) = (tip.name.clone(), tip.id, *needed_for);
                self.stays.push(Stays { r#ref, tip, archived, needed_for });
            }
        }
    }

    fn drop_where(&mut self, why: Why, mut drops: impl FnMut(&Tip) -> bool) {
        let (dropped, kept) = std::mem::take(&mut self.kept).into_iter().partition::<Vec<_>, _>(|tip| drops(tip));
        self.kept = kept;
        self.dropped.extend(dropped.into_iter().map(|tip| (tip, why)));
    }

    /// Returns how many bytes no other ref of ours holds after the dropped shadows are gone.
    fn bytes(&self, context: &Context) -> Result<Option<u64>> {
        let repo = &context.repo;
        let mut budget = disk_usage::Budget::new();
        let mut stay = HashSet::new();
        let live = timeline::live_tips(repo, None)?;
        for tip in self.kept.iter().chain(&live) {
            if !disk_usage::collect(repo, tip.id, &mut stay, &mut budget)? {
                return Ok(None);
            }
        }
        let mut go = stay.clone();
        for (tip, _) in &self.dropped {
            if !disk_usage::collect(repo, tip.id, &mut go, &mut budget)? {
                return Ok(None);
            }
        }
        repo.disk_size(go.difference(&stay).copied()).map(Some)
    }

    fn result(self, context: &Context, dry_run: bool) -> Result<Pruned> {
        let bytes = if self.dropped.is_empty() { Some(0) } else { self.bytes(context)? };
        let notes = self.noted(&context.repo, context.repo.readable_notes()?.as_ref())?.len();
        Ok(self.into_pruned(bytes, notes, dry_run))
    }

    /// Returns what has a note that goes with the shadows.
    fn noted(&self, repo: &Repo, notes: Option<&Notes<'_>>) -> Result<HashSet<ObjectId>> {
        let Some(notes) = notes else { return Ok(HashSet::new()) };
        noted_without_ref(notes, repo, &self.kept, self.dropped.iter().map(|(tip, _)| tip))
    }

    fn into_pruned(self, bytes: Option<u64>, notes: usize, dry_run: bool) -> Pruned {
        let dropped = |(tip, why): (Tip, Why)| Dropped {
            archived: moment::iso(refname::archived_at(&tip.name).unwrap_or_default(), 0),
            r#ref: tip.name,
            tip: tip.id,
            why,
        };
        let mut dropped: Vec<Dropped> = self.dropped.into_iter().map(dropped).collect();
        dropped.sort_by(|a, b| a.archived.cmp(&b.archived));
        let (kept, copies, copies_left) = (self.kept.len(), Vec::new(), Vec::new());
        let (version, left, stays) = (1, self.left, self.stays);
        Pruned { version, dropped, kept, left, stays, bytes, notes, copies, copies_left, dry_run }
    }
}

/// Returns how many live shadows of this worktree stand on other commits than HEAD.
fn left(repo: &Repo) -> Result<usize> {
    let head = Base::of_head(repo.head()?.id);
    let live = timeline::live_tips(repo, Some(repo.worktree_id()))?;
    Ok(live.iter().filter_map(|tip| ShadowName::from_ref(&tip.name)).filter(|name| name.base != head).count())
}

/// Returns the tips of shadows that contain a worktree's verified checkpoint, or a checkpoint that `undo` needs.
fn protected(context: &Context, tips: &[Tip]) -> Result<HashMap<ObjectId, NeededFor>> {
    let repo = &context.repo;
    let undone = context.repo.needed_to_undo()?.into_iter().map(|id| (id, NeededFor::Undo));
    let mut needed: HashMap<ObjectId, NeededFor> = undone.collect();
    needed.extend(repo.refs_below(refname::VERIFIED)?.into_iter().map(|(_, id)| (id, NeededFor::Verified)));
    let mut protected = HashMap::new();
    // There are few such checkpoints, mostly in live shadows: search from them instead of along every archived chain.
    let mut bases = HashSet::new();
    for id in needed.keys() {
        bases.extend(repo.find_checkpoint(*id)?.map(|checkpoint| (checkpoint.base, checkpoint.worktree)));
    }
    for tip in tips {
        let Some(checkpoint) = repo.find_checkpoint(tip.id)? else { continue };
        if !bases.contains(&(checkpoint.base, checkpoint.worktree)) {
            continue;
        }
        for checkpoint in repo.chain(tip.id) {
            if let Some(needed_for) = needed.get(&checkpoint?.id) {
                protected.insert(tip.id, *needed_for);
                break;
            }
        }
    }
    Ok(protected)
}

struct Weight {
    total: u64,
    /// What each shadow alone brought in, by ref; objects that several share count for the newest.
    each: HashMap<String, u64>,
}

/// Weighs the shadows, newest first. Those that the budget does not reach count as too large, so they are dropped
/// first.
fn weigh(repo: &Repo, tips: &[Tip]) -> Result<Weight> {
    let mut budget = disk_usage::Budget::new();
    let mut seen = HashSet::new();
    for tip in timeline::live_tips(repo, None)? {
        disk_usage::collect(repo, tip.id, &mut seen, &mut budget)?;
    }
    let mut weight = Weight { total: 0, each: HashMap::new() };
    for tip in tips.iter().rev() {
        let mut with = seen.clone();
        let is_complete = disk_usage::collect(repo, tip.id, &mut with, &mut budget)?;
        let bytes = if is_complete { repo.disk_size(with.difference(&seen).copied())? } else { u64::MAX / 2 };
        weight.total = weight.total.saturating_add(bytes);
        weight.each.insert(tip.name.clone(), bytes);
        seen = with;
    }
    Ok(weight)
}
