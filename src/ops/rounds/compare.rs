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
    },
    changes::{Compared, compared_of},
    listing::{named, of_group},
};
use crate::{
    error::{Error, Result},
    model::{
        change::{Leaf, Status},
        path_text,
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
    /// The directory that was worked on.
    #[serde(serialize_with = "path_text::serialize")]
    pub(crate) context: BString,
    /// How far it has come.
    pub(crate) phase: Phase,
    /// What became of the program of a race; none if it is of no race.
    pub(crate) ran: Option<Ran>,
    /// How many files it has changed.
    pub(crate) files: usize,
    /// How many lines it has added; those of binary files do not count.
    pub(crate) added: u64,
    /// How many lines it has removed.
    pub(crate) deleted: u64,
    /// Where it can be looked at.
    #[serde(skip)]
    pub(super) there: Context,
    /// Its last commit; none: what is in its worktree now.
    #[serde(skip)]
    pub(super) to: Option<ObjectId>,
    /// The directory to work on, relative to the root of the worktree.
    #[serde(skip)]
    pub(super) inside: PathBuf,
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
}

/// Compares the rounds `names`, or those of `group`.
///
/// # Errors
/// [`Kind::User`](crate::error::Kind::User) if there are none; [`Kind::Refused`](crate::error::Kind::Refused) if the branch or the
/// worktree of one is gone.
pub(crate) fn compare(context: &Context, names: &[String], group: Option<&str>) -> Result<SideBySide> {
    let mut rounds: Vec<Round> = Vec::new();
    for name in names {
        let round = named(context, name)?;
        if !rounds.iter().any(|it| it.id == round.id) {
            rounds.push(round);
        }
    }
    if let Some(group) = group {
        rounds = of_group(context, Some(group))?.sound;
        if rounds.is_empty() {
            return Err(Error::user(format!("no round is of the group '{group}'"))
                .with_hint("'git checkpoint round list --all' shows the rounds of this repository"));
        }
        // The order of a race is that of its numbers.
        rounds.sort_by_key(|round| round.ran.map(|ran| ran.number));
    }
    let (mut entries, mut sides) = (Vec::new(), Vec::new());
    for round in &rounds {
        for (place, Compared { directory, context: there, from, to }) in compared_of(context, round)? {
            context.check_interrupt()?;
            let options =
                DiffOptions { from: Some(from.to_string()), to: to.map(|id| id.to_string()), ..DiffOptions::default() };
            let files = diff(&there, &options)?.files;
            let sum = |count: fn(&FileDiff) -> Option<u32>| files.iter().filter_map(count).map(u64::from).sum();
            entries.push(Entry {
                round: round.id.clone(),
                branch: place.branch.clone().unwrap_or_default(),
                context: directory,
                phase: round.phase,
                ran: round.ran,
                files: files.len(),
                added: sum(|file| file.added),
                deleted: sum(|file| file.deleted),
                there,
                to,
                inside: place.inside.to_path_lossy().into_owned(),
            });
            sides.push(files);
        }
    }
    let paths = paths(context, &entries, &sides)?;
    Ok(SideBySide { entries, paths })
}

/// What a round has done to a path: of a renamed file, to both of its names.
type Changes = BTreeMap<BString, (Status, Option<Leaf>)>;

fn changes(files: &[FileDiff]) -> Changes {
    let mut changes = Changes::new();
    for file in files {
        if let Some(old) = file.old_path.as_ref().filter(|_| file.status == Status::Renamed) {
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
        let changes = of_path.iter().map(|it| it.map(|(status, _)| *status)).collect();
        paths.push(ChangedPath { path: path.clone(), changes, state });
    }
    Ok(paths)
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
                sights.entry(at).or_insert_with(|| Sight::of(&entries[at].there, entries[at].to));
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
