//! `round list` and `round show`.

use std::{os::unix::ffi::OsStrExt as _, path::Path};

use bstr::BString;
use gix::ObjectId;
use serde::Serialize;

use super::{super::Context, names::check_label};
use crate::{
    error::{Error, Result},
    model::{
        path_text,
        round::{Mode, is_id},
    },
    state::rounds::{self, Phase, Place, Ran, Round, Rounds},
};

/// Returns the commit at which the branch of `place` begins.
pub(super) fn base_of(place: &Place) -> Option<ObjectId> {
    place.base.as_deref().and_then(|base| ObjectId::from_hex(base.as_bytes()).ok())
}

/// One directory of a round. Serializes to an entry of `contexts`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ShownPlace {
    /// The directory to work on.
    #[serde(serialize_with = "path_text::serialize")]
    pub(crate) context: BString,
    /// Where the work is done.
    #[serde(serialize_with = "path_text::serialize_optional")]
    pub(crate) path: Option<BString>,
    /// The directory to work on there: where in the worktree the given one is in its own.
    #[serde(serialize_with = "path_text::serialize_optional")]
    pub(crate) directory: Option<BString>,
    /// How it is isolated.
    pub(crate) mode: Mode,
    /// Its branch.
    pub(crate) branch: Option<String>,
    /// The commit at which the branch begins.
    pub(crate) base: Option<String>,
    /// The folder for experiments.
    #[serde(serialize_with = "path_text::serialize_optional")]
    pub(crate) scratch: Option<BString>,
    /// Where that is kept, once the round has ended.
    #[serde(serialize_with = "path_text::serialize_optional")]
    pub(crate) archive: Option<BString>,
    /// Where the copy is in which the round has worked, once it has ended; none if that is deleted.
    #[serde(serialize_with = "path_text::serialize_optional")]
    pub(crate) aside: Option<BString>,
    /// True once that copy was moved, also if it is deleted.
    #[serde(skip)]
    pub(crate) is_put_aside: bool,
    /// What `worktree restore` takes, once the worktree is removed.
    pub(crate) removed: Option<String>,
    /// True if the branch is to be retired.
    pub(crate) superseded: bool,
    /// The last commit of the branch, once that is retired.
    pub(crate) retired: Option<String>,
}

/// A round. Serializes to an entry of what `round list --json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Shown {
    /// Its id.
    pub(crate) round: String,
    /// How far it has come.
    pub(crate) phase: Phase,
    /// What other agents call the one that works in it.
    pub(crate) agent: Option<String>,
    /// The session that works in it.
    pub(crate) session: Option<String>,
    /// What the program that gives the tasks calls its run.
    pub(crate) group: Option<String>,
    /// The directory of the agent.
    #[serde(serialize_with = "path_text::serialize_optional")]
    pub(crate) workspace: Option<BString>,
    /// The command that a race runs in it; none if it is of no race.
    pub(crate) ran: Option<ShownRan>,
    /// Its directories.
    pub(crate) contexts: Vec<ShownPlace>,
}

/// The command of a race. Serializes to `ran` of a round.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ShownRan {
    /// Which round of the race it is, its exit status, and how long it took.
    #[serde(flatten)]
    pub(crate) ran: Ran,
    /// The file that has what it has printed.
    #[serde(serialize_with = "path_text::serialize")]
    pub(crate) log: BString,
}

impl Shown {
    /// Returns its branches.
    pub(crate) fn branches(&self) -> impl Iterator<Item = &str> {
        self.contexts.iter().filter_map(|place| place.branch.as_deref())
    }
}

/// Returns the bytes of `path`.
pub(super) fn bytes(path: &Path) -> BString {
    path.as_os_str().as_bytes().into()
}

/// Returns where the copy of `place` is aside.
pub(super) fn aside_of(place: &Place) -> Option<BString> {
    place.aside.as_deref().filter(|aside| aside.is_dir()).map(bytes)
}

impl From<&Place> for ShownPlace {
    fn from(place: &Place) -> Self {
        Self {
            context: bytes(&place.context),
            path: place.path.as_deref().map(bytes),
            directory: place.directory().as_deref().map(bytes),
            mode: place.mode,
            branch: place.branch.clone(),
            base: place.base.clone(),
            scratch: place.scratch.as_deref().filter(|_| !place.is_done).map(bytes),
            archive: place.archive.as_deref().map(bytes),
            aside: aside_of(place),
            is_put_aside: place.is_done && place.aside.is_some(),
            removed: place.removed.clone(),
            superseded: place.superseded.is_some(),
            retired: place.retired.clone(),
        }
    }
}

impl Shown {
    /// Returns what is shown of `round`, which is in the repository of `context`.
    pub(super) fn of(context: &Context, round: &Round) -> Self {
        let log = bytes(&rounds::log_file(context.repo.common_dir(), &round.id));
        Self {
            round: round.id.clone(),
            phase: round.phase,
            agent: round.asked.agent.clone(),
            session: round.asked.session.clone(),
            group: round.asked.group.clone(),
            workspace: round.asked.workspace.as_deref().map(bytes),
            ran: round.ran.map(|ran| ShownRan { ran, log }),
            contexts: round.places.iter().map(ShownPlace::from).collect(),
        }
    }
}

/// Returns the rounds of this repository, of `group` if there is one, the oldest first: those that have ended only if `all`; and why
/// others cannot be read.
pub(crate) fn list(context: &Context, group: Option<&str>, all: bool) -> Result<(Vec<Shown>, Vec<Error>)> {
    let rounds = of_group(context, group)?;
    let shown = rounds
        .sound
        .iter()
        .filter(|round| all || round.phase != Phase::Ended)
        .map(|it| Shown::of(context, it))
        .collect();
    Ok((shown, rounds.damaged.into_iter().map(|(_, error)| error).collect()))
}

/// Returns the rounds of `group`, the oldest first; none: of this repository.
///
/// # Errors
/// [`Kind::User`](crate::error::Kind::User) if `group` can be no name of one.
pub(super) fn of_group(context: &Context, group: Option<&str>) -> Result<Rounds> {
    group.map_or(Ok(()), |group| check_label("the group", group))?;
    let mut all = rounds::all(context.repo.common_dir())?;
    all.sound.retain(|round| group.is_none() || round.asked.group.as_deref() == group);
    Ok(all)
}

/// Returns the round that `name` stands for.
///
/// # Errors
/// As [`named`].
pub(crate) fn find(context: &Context, name: &str) -> Result<Shown> {
    named(context, name).map(|round| Shown::of(context, &round))
}

/// Returns the round with this id, or with a branch of this name.
///
/// # Errors
/// [`Kind::User`](crate::error::Kind::User) if there is none.
pub(super) fn named(context: &Context, name: &str) -> Result<Round> {
    let common = context.repo.common_dir();
    if is_id(name)
        && let Some(round) = rounds::read(common, name)?
    {
        return Ok(round);
    }
    let has_branch = |round: &Round| round.places.iter().any(|place| place.branch.as_deref() == Some(name));
    // A later one may have got the name of a branch that was deleted.
    rounds::all(common)?.sound.into_iter().rev().find(has_branch).ok_or_else(|| {
        let shown = path_text::printable(name.as_bytes().into());
        Error::user(format!("no round matches '{shown}'"))
            .with_hint("'git checkpoint round list --all' shows the rounds of this repository")
    })
}
