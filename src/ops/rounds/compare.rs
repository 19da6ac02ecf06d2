//! `round compare`: what rounds have changed, side by side, and how their changes meet, as `overlap` has it.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;
use serde::Serialize;

use super::{
    super::{
        Context,
        compare::{DiffOptions, FileDiff, diff},
        overlap::{PathOverlap, Sight, meetings},
        records::Log,
        usage::{self, Usage},
    },
    changes::{Compared, compared_of},
    copies::bring_checkpoint,
    listing::{named, of_group},
    several::Failed,
};
use crate::{
    error::{Error, Kind, Result},
    git::Repo,
    model::{
        change::{Leaf, Status},
        path_text,
        round::Mode,
        three_way::Meeting,
    },
    state::rounds::{Phase, Ran, Round},
};

/// What a round has changed in one directory. Serializes to a part of an entry of `rounds`.
#[derive(Serialize)]
pub(crate) struct Entry {
    /// Its id.
    pub(crate) round: String,
    /// Its branch.
    pub(crate) branch: String,
    /// What the agent is called that works in it.
    pub(crate) agent: Option<String>,
    /// The directory that was worked on.
    #[serde(serialize_with = "path_text::serialize")]
    pub(crate) context: BString,
    /// How far it has come.
    pub(crate) phase: Phase,
    /// What became of the program of a race; none if it is of no race.
    pub(crate) ran: Option<Ran>,
    /// What the sessions have used whose work is in commits of the round; none if nothing was reported.
    pub(crate) usage: Option<Usage>,
    /// How many files it has changed.
    pub(crate) files: usize,
    /// How many lines it has added; those of binary files do not count.
    pub(crate) added: u64,
    /// How many lines it has removed.
    pub(crate) deleted: u64,
    /// Where it can be looked at.
    #[serde(skip)]
    pub(super) there: Context,
    /// Of a copy: where its files can be compared with those of other rounds, and the checkpoint that has them there.
    #[serde(skip)]
    seen: Option<(Context, ObjectId)>,
    /// Its last commit; none: what is in its worktree now.
    #[serde(skip)]
    pub(super) to: Option<ObjectId>,
    /// The directory to work on, relative to the root of the worktree.
    #[serde(skip)]
    pub(crate) inside: PathBuf,
}

impl Entry {
    /// Returns true if the round goes on in a copy that is a repository of its own.
    pub(crate) fn is_in_copy(&self) -> bool {
        self.seen.is_some()
    }
}

/// How the changes of several rounds to one path meet. The later one is the worse one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Together {
    /// All have the same there.
    Equal,
    /// As of the worst two that have not the same.
    #[serde(untagged)]
    Meeting(Meeting),
}

/// A path that one of the rounds has changed. Serializes to an entry of `paths`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ChangedPath {
    /// The path.
    #[serde(flatten, serialize_with = "path_text::serialize_fields")]
    pub(crate) path: BString,
    /// What each of the rounds has done to it, in their order; none: nothing.
    pub(crate) changes: Vec<Option<Status>>,
    /// How the changes meet; none if only one has changed it.
    pub(crate) state: Option<Together>,
}

/// Rounds, side by side.
pub(crate) struct SideBySide {
    pub(crate) entries: Vec<Entry>,
    pub(crate) paths: Vec<ChangedPath>,
    /// Those that cannot be compared.
    pub(crate) failed: Vec<Failed>,
}

/// Compares the rounds `names`, or those of `group`.
///
/// # Errors
/// [`Kind::User`] if there are none; if none can be compared, as [`compared_of`] for the first one.
pub(crate) fn compare(context: &Context, names: &[String], group: Option<&str>) -> Result<SideBySide> {
    let (mut rounds, mut damaged): (Vec<Round>, Vec<(String, Error)>) = (Vec::new(), Vec::new());
    for name in names {
        let round = named(context, name)?;
        if !rounds.iter().any(|it| it.id == round.id) {
            rounds.push(round);
        }
    }
    if let Some(group) = group {
        // Whose group a damaged one is of cannot be known.
        (rounds, damaged) = of_group(context, Some(group)).map(|found| (found.sound, found.damaged))?;
        if rounds.is_empty() {
            return Err(Error::user(format!("no round is of the group '{group}'"))
                .with_hint("'git checkpoint round list --all' shows the rounds of this repository"));
        }
        // The order of a race is that of its numbers.
        rounds.sort_by_key(|round| round.ran.map(|ran| ran.number));
    }
    let (mut entries, mut sides, mut failed, mut first) = (Vec::new(), Vec::new(), Vec::new(), None);
    for (id, error) in damaged {
        failed.push(Failed::of(&id, &error));
        first = first.or(Some(error));
    }
    for round in &rounds {
        match entries_of(context, round) {
            Ok(found) => found.into_iter().for_each(|(entry, files)| {
                entries.push(entry);
                sides.push(files);
            }),
            Err(error) => {
                context.check_interrupt()?;
                failed.push(Failed::of(&round.id, &error));
                first = first.or(Some(error));
            }
        }
    }
    if let Some(error) = first.filter(|_| entries.is_empty()) {
        return Err(error);
    }
    let paths = paths(context, &entries, &sides)?;
    Ok(SideBySide { entries, paths, failed })
}

/// Returns what `round` has changed, for each of its directories.
fn entries_of(context: &Context, round: &Round) -> Result<Vec<(Entry, Vec<FileDiff>)>> {
    let mut found = Vec::new();
    for (place, Compared { directory, context: there, from, to }) in compared_of(context, round)? {
        context.check_interrupt()?;
        let options =
            DiffOptions { from: Some(from.to_string()), to: to.map(|id| id.to_string()), ..DiffOptions::default() };
        let files = diff(&there, &options)?.files;
        let sum = |count: fn(&FileDiff) -> Option<u32>| files.iter().filter_map(count).map(u64::from).sum();
        let seen = if place.mode == Mode::Isolated && to.is_none() {
            let id = bring_checkpoint(context, &there)?;
            Some((context.with_repo(Repo::open(context.repo.worktree_root())?), id))
        } else {
            None
        };
        let entry = Entry {
            round: round.id.clone(),
            branch: place.branch.clone().unwrap_or_default(),
            agent: round.asked.agent.clone(),
            context: directory,
            phase: round.phase,
            ran: round.ran,
            usage: used(&there, from, to)?,
            files: files.len(),
            added: sum(|file| file.added),
            deleted: sum(|file| file.deleted),
            there,
            seen,
            to,
            inside: place.inside.to_path_lossy().into_owned(),
        };
        found.push((entry, files));
    }
    Ok(found)
}

/// Returns what the sessions have used whose work is in the commits between `from` and `to`, or HEAD there.
fn used(there: &Context, from: ObjectId, to: Option<ObjectId>) -> Result<Option<Usage>> {
    let log = match Log::open(&there.repo) {
        // What the round has changed is known all the same.
        Err(error) if error.kind() == Kind::Corrupt => None,
        log => log?,
    };
    let Some(log) = log else { return Ok(None) };
    let to = to.map_or_else(|| "HEAD".to_owned(), |id| id.to_string());
    let mut records = Vec::new();
    for commit in there.repo.commits_in(&format!("{from}..{to}"))?.unwrap_or_default() {
        records.extend(log.of_commit(commit)?);
    }
    let found = usage::of_records(there, records)?;
    Ok(found.map(|found| found.usage).filter(|usage| usage.total > 0))
}

/// What a round has done to a path: of a renamed file, to both of its names.
type Changes = BTreeMap<BString, (Status, Option<Leaf>)>;

fn changes(files: &[FileDiff]) -> Changes {
    let mut changes = Changes::new();
    for file in files {
        if let Some((old, _)) = renamed(file) {
            changes.entry(old.clone()).or_insert((Status::Deleted, None));
        }
        changes.insert(file.path.clone(), (file.status, file.after_leaf));
    }
    changes
}

/// Returns the paths that the rounds have changed, whose changes are `sides`.
fn paths(context: &Context, entries: &[Entry], sides: &[Vec<FileDiff>]) -> Result<Vec<ChangedPath>> {
    let all: Vec<Changes> = sides.iter().map(|files| changes(files)).collect();
    let meetings = meetings_of_all(context, entries, &all)?;
    let unclear = unclear(sides, &all);
    let names: BTreeSet<&BString> = all.iter().flat_map(BTreeMap::keys).collect();
    let mut paths = Vec::new();
    for path in names {
        let of_path: Vec<_> = all.iter().map(|changes| changes.get(path)).collect();
        let mut state = None;
        for (one, mine) in of_path.iter().enumerate() {
            for (other, theirs) in of_path.iter().enumerate().skip(one + 1) {
                let (Some((_, mine)), Some((_, theirs))) = (mine, theirs) else { continue };
                let is_it = |it: &&PathOverlap| it.here.path == *path || it.there.path == *path;
                let met = || match meetings.get(&(one, other)) {
                    Some(Ok(found)) => found.iter().filter(is_it).map(|it| it.state).max().unwrap_or(Meeting::Clean),
                    _ => Meeting::Unknown,
                };
                let now = if mine == theirs { Together::Equal } else { Together::Meeting(met()) };
                state = state.max(Some(now));
            }
        }
        state = state.max(unclear.contains(path).then_some(Together::Meeting(Meeting::Unknown)));
        let changes = of_path.iter().map(|it| it.map(|(status, _)| *status)).collect();
        paths.push(ChangedPath { path: path.clone(), changes, state });
    }
    Ok(paths)
}

/// Returns the paths about which the changes of single files do not say whether git could merge them: where one round has a file and
/// another one a directory, and names that one has given a file which another one has deleted, or has given another name.
fn unclear(sides: &[Vec<FileDiff>], all: &[Changes]) -> BTreeSet<BString> {
    let mut found = BTreeSet::new();
    for (one, mine) in all.iter().enumerate() {
        for (other, theirs) in all.iter().enumerate().filter(|(other, _)| *other != one) {
            for (path, _) in mine.iter().filter(|(_, (_, leaf))| leaf.is_some()) {
                let mut below = path.clone();
                below.push(b'/');
                let inside = theirs.range(below.clone()..).take_while(|(name, _)| name.starts_with(&below));
                for (name, _) in inside.filter(|(_, (_, leaf))| leaf.is_some()) {
                    found.extend([path.clone(), name.clone()]);
                }
            }
            for (old, new) in sides[one].iter().filter_map(renamed) {
                let is_gone = theirs.get(old).is_some_and(|(_, leaf)| leaf.is_none());
                if is_gone && !sides[other].iter().filter_map(renamed).any(|it| it == (old, new)) {
                    found.extend([old.clone(), new.clone()]);
                }
            }
        }
    }
    found
}

/// Returns the old and the new name of a renamed file.
fn renamed(file: &FileDiff) -> Option<(&BString, &BString)> {
    file.old_path.as_ref().filter(|_| file.status == Status::Renamed).map(|old| (old, &file.path))
}

/// What each two rounds have both changed, by their places in the order.
type Meetings = BTreeMap<(usize, usize), Result<Vec<PathOverlap>>>;

/// Compares each two rounds that have changed one path, and have not the same there. What cannot be compared is unknown.
///
/// # Errors
/// If the user interrupts it.
fn meetings_of_all(context: &Context, entries: &[Entry], all: &[Changes]) -> Result<Meetings> {
    let mut found = Meetings::new();
    let mut sights: BTreeMap<usize, Result<Sight<'_>>> = BTreeMap::new();
    for one in 0..entries.len() {
        for other in one + 1..entries.len() {
            let differs = |(path, (_, leaf)): (&BString, &(Status, Option<Leaf>))| {
                all[other].get(path).is_some_and(|it| it.1 != *leaf)
            };
            if !all[one].iter().any(differs) {
                continue;
            }
            context.check_interrupt()?;
            for at in [one, other] {
                sights.entry(at).or_insert_with(|| match &entries[at].seen {
                    Some((context, id)) => Sight::of(context, Some(*id)),
                    None => Sight::of(&entries[at].there, entries[at].to),
                });
            }
            let met = match (&sights[&one], &sights[&other]) {
                (Ok(here), Ok(there)) => meetings(here, there),
                (Err(error), _) | (_, Err(error)) => Err(Error::corrupt(error.message().to_owned())),
            };
            found.insert((one, other), met);
        }
    }
    Ok(found)
}
