//! The statistics of a chain of checkpoints.
//!
//! A chain never changes below its tip, so statistics stay valid for all tips that build on theirs. A save now and then caches
//! them, so that `status`, which writes nothing, need not walk all of a long chain.

use std::collections::{BTreeSet, HashMap};

use bstr::BString;
use gix::ObjectId;
use serde::{Deserialize, Serialize};

use super::{
    earliest::Earliest,
    provenance::{step::Step, steps::steps},
    restored_target::restored,
};
use crate::{
    error::{Kind, Result},
    git::Repo,
    model::{
        change::Leaf,
        checkpoint::{Checkpoint, Origin},
        path_text,
    },
    state,
};

/// A save caches the statistics if the last byte of its checkpoint's id is a multiple of this: about once in so many saves.
const ONCE_IN: u8 = 64;

/// How many results are cached, the latest first: with `storage = "session"`, each session has a chain.
const MOST_KEPT: usize = 16;

/// The statistics of a chain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stats {
    /// The last checkpoint, in hexadecimal digits.
    tip: String,
    /// The number of checkpoints.
    pub(super) checkpoints: usize,
    /// When the last one was taken, in Unix seconds.
    pub(super) tip_time: i64,
    /// The sessions that took them, the latest one first.
    pub(super) sessions: Vec<Part>,
    /// What the last one and all before it in time, also in other chains, say of the start.
    earliest: Option<Earliest>,
    /// What cannot be read and is not counted.
    #[serde(skip)]
    pub(super) broken: Option<String>,
}

/// The part of a session in a chain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Part {
    /// Its id.
    pub(super) id: String,
    /// The agent's name.
    pub(super) agent: Option<String>,
    /// The model.
    pub(super) model: Option<String>,
    /// The last turn that was saved.
    pub(super) turn: Option<u32>,
    /// How many checkpoints it has taken.
    pub(super) checkpoints: usize,
    /// When it took the last one, in Unix seconds.
    pub(super) last_seen: i64,
    /// The paths it changed, as [`path_text::escape`] writes them, so that they can be kept.
    paths: BTreeSet<String>,
}

impl Part {
    /// Returns those of `touched` that the session changed.
    pub(super) fn files(&self, touched: &[BString]) -> Vec<BString> {
        touched.iter().filter(|path| self.paths.contains(&key(path))).cloned().collect()
    }
}

/// Escapes a path: paths are bytes, and the cache is text.
fn key(path: &BString) -> String {
    path_text::escape(path.as_ref())
}

impl Stats {
    /// Returns the statistics of the chains that end with `tips`.
    pub(super) fn of_chains(repo: &Repo, tips: impl IntoIterator<Item = ObjectId>) -> Result<Self> {
        let mut sums = tips.into_iter().map(|tip| Self::of_chain(repo, tip)).collect::<Result<Vec<_>>>()?;
        sums.sort_by_key(|stats| std::cmp::Reverse(stats.tip_time));
        let mut all = sums.into_iter();
        let mut sum = all.next().unwrap_or_default();
        all.for_each(|stats| sum.append(&stats));
        Ok(sum)
    }

    /// Returns the statistics of the chain that ends with `tip`.
    pub(super) fn of_chain(repo: &Repo, tip: ObjectId) -> Result<Self> {
        Self::walk(repo, tip, &mut cached(repo))
    }

    /// Walks from `tip` to a checkpoint whose statistics are in `cached`, and takes them out of it.
    fn walk(repo: &Repo, tip: ObjectId, cached: &mut Vec<Self>) -> Result<Self> {
        let mut stats = Self { tip: tip.to_string(), ..Self::default() };
        for checkpoint in repo.chain(tip) {
            let checkpoint = match checkpoint {
                Err(error) if error.kind() == Kind::Corrupt => {
                    stats.broken = Some(error.to_string());
                    break;
                }
                checkpoint => checkpoint?,
            };
            let id = checkpoint.id.to_string();
            if let Some(at) = cached.iter().position(|cached| cached.checkpoints > 0 && cached.tip == id) {
                stats.append(&cached.remove(at));
                break;
            }
            match stats.add(repo, checkpoint) {
                Err(error) if error.kind() == Kind::Corrupt => stats.broken = Some(error.to_string()),
                added => added?,
            }
        }
        Ok(stats)
    }

    fn add(&mut self, repo: &Repo, checkpoint: Checkpoint) -> Result<()> {
        self.checkpoints += 1;
        if self.checkpoints == 1 {
            self.tip_time = checkpoint.seconds;
        }
        let changes = repo.diff_trees_if_damaged(repo.tree_of_commit(checkpoint.before_id())?, checkpoint.tree_id)?;
        let paths: BTreeSet<BString> = changes.into_iter().map(|change| change.path).collect();
        let source = checkpoint.origin.carried.map(|id| repo.find_checkpoint(id)).transpose()?.flatten();
        let Some(source) = source else {
            let is_own = restored(&checkpoint.origin).is_none();
            self.count(checkpoint.origin, checkpoint.seconds, is_own, paths.iter());
            return Ok(());
        };
        // A carried-forward checkpoint counts for the sessions whose work it carries.
        let steps = steps(repo, &source, &|path| paths.contains(path))?;
        let left = left_of(&steps);
        for (step, left) in steps.iter().zip(left).rev().filter(|(_, left)| !left.is_empty()) {
            self.count(step.origin.clone(), source.seconds, !step.is_put_back, left.into_iter());
        }
        Ok(())
    }

    /// Counts one checkpoint at `paths`. What a person has restored is the session's work, too, but no checkpoint of its own.
    fn count<'p>(&mut self, origin: Origin, seconds: i64, is_own: bool, paths: impl Iterator<Item = &'p BString>) {
        let Some(id) = origin.session else { return };
        let at = self.sessions.iter().position(|session| session.id == id).unwrap_or_else(|| {
            self.sessions.push(Part { id, ..Part::default() });
            self.sessions.len() - 1
        });
        let session = &mut self.sessions[at];
        session.paths.extend(paths.map(key));
        // The latest one comes first.
        if is_own && session.checkpoints == 0 {
            (session.agent, session.model, session.turn) = (origin.agent, origin.model, origin.turn);
            session.last_seen = seconds;
        }
        session.checkpoints += usize::from(is_own);
    }

    /// Adds the cached statistics of the checkpoints below those counted here.
    fn append(&mut self, earlier: &Self) {
        if self.checkpoints == 0 {
            self.tip_time = earlier.tip_time;
        }
        self.checkpoints += earlier.checkpoints;
        self.broken = self.broken.take().or_else(|| earlier.broken.clone());
        for session in &earlier.sessions {
            match self.sessions.iter_mut().find(|later| later.id == session.id) {
                Some(later) => {
                    if later.checkpoints == 0 {
                        (later.agent, later.model) = (session.agent.clone(), session.model.clone());
                        (later.turn, later.last_seen) = (session.turn, session.last_seen);
                    }
                    later.checkpoints += session.checkpoints;
                    later.paths.extend(session.paths.iter().cloned());
                }
                None => self.sessions.push(session.clone()),
            }
        }
    }
}

/// What a file was, the first state first.
struct States {
    known: Vec<(Option<Leaf>, Option<Made>)>,
    now: usize,
}

/// How a file came into a state.
#[derive(Clone, Copy)]
struct Made {
    /// The step that made it so.
    by: usize,
    /// The state before that step.
    from: usize,
}

impl States {
    fn new(first: Option<Leaf>) -> Self {
        Self { known: vec![(first, None)], now: 0 }
    }

    /// Notes that the step `at` made the file `leaf`. If it had been so before, as after a restore, that is the state again.
    fn add(&mut self, leaf: Option<Leaf>, at: usize, is_renamed: bool) {
        // A renamed file may have the content that it had.
        let same = if is_renamed { None } else { self.known.iter().rposition(|(known, _)| *known == leaf) };
        self.now = same.unwrap_or_else(|| {
            self.known.push((leaf, Some(Made { by: at, from: self.now })));
            self.known.len() - 1
        });
    }

    /// Returns the steps that led to the last state.
    fn steps(&self) -> impl Iterator<Item = usize> {
        std::iter::successors(self.known[self.now].1, |made| self.known[made.from].1).map(|made| made.by)
    }
}

/// Returns for each of `steps` the paths at which something is left of it.
fn left_of(steps: &[Step]) -> Vec<Vec<&BString>> {
    let mut by_path: HashMap<&BString, States> = HashMap::new();
    for (at, step) in steps.iter().enumerate() {
        for change in &step.changes {
            let is_renamed = change.old_path.is_some();
            by_path.entry(&change.path).or_insert_with(|| States::new(change.before)).add(change.after, at, is_renamed);
            if let Some(old_path) = &change.old_path {
                by_path.entry(old_path).or_insert_with(|| States::new(change.before)).add(None, at, false);
            }
        }
    }
    let mut left = vec![Vec::new(); steps.len()];
    for (path, states) in by_path {
        for at in states.steps() {
            left[at].push(path);
        }
    }
    left
}

/// Returns what is cached of the start, by the checkpoint up to which it holds.
pub(super) fn earliest(repo: &Repo) -> HashMap<ObjectId, Earliest> {
    earliest_in(&cached(repo))
}

fn earliest_in(cached: &[Stats]) -> HashMap<ObjectId, Earliest> {
    let known = |stats: &Stats| Some((ObjectId::from_hex(stats.tip.as_bytes()).ok()?, stats.earliest?));
    cached.iter().filter_map(known).collect()
}

/// Returns the cached statistics. Those that are damaged or of another version are as good as none.
fn cached(repo: &Repo) -> Vec<Stats> {
    std::fs::read(path(repo)).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
}

fn path(repo: &Repo) -> std::path::PathBuf {
    state::directory(repo.git_dir()).join("tally")
}

/// Caches the statistics of the chain that ends with the new checkpoint `tip`, if it is time to. A failure costs later commands some
/// time, and is none.
pub(super) fn cache_if_due(repo: &Repo, tip: ObjectId) {
    if tip.as_bytes().last().is_none_or(|byte| byte % ONCE_IN != 0) {
        return;
    }
    let mut all = cached(repo);
    let known = earliest_in(&all);
    let result = Stats::walk(repo, tip, &mut all).and_then(|mut stats| {
        if stats.broken.is_none() {
            stats.earliest = Some(Earliest::up_to(repo, tip, &known)?);
            all.insert(0, stats);
            all.truncate(MOST_KEPT);
            state::replace_file(&path(repo), &serde_json::to_vec(&all).unwrap_or_default())?;
        }
        Ok(())
    });
    if let Err(error) = result {
        tracing::debug!(%error, "cannot cache the statistics");
    }
}
