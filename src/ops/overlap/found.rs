//! What was found: the shapes that `overlap --json` prints.

use std::os::unix::ffi::OsStrExt as _;

use bstr::BString;
use gix::ObjectId;
use serde::Serialize;

use super::sides::branch;
use crate::git::registrations::Registration;
use crate::model::{
    both_changed::Kind,
    change::{Change, Status},
    id_text, path_text,
    three_way::{Meeting, Place},
};

/// What this worktree and others have both changed. Serializes to what `overlap --json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Overlaps {
    /// The version of this shape.
    pub version: u32,
    /// `main`, or git's id of the linked worktree.
    #[serde(serialize_with = "path_text::serialize")]
    pub worktree: BString,
    /// The other worktrees.
    pub worktrees: Vec<WorktreeOverlap>,
}

impl Overlaps {
    /// Returns true if a merge by git would stop nowhere, as far as can be known: nothing is unknown.
    pub(crate) fn is_clean(&self) -> bool {
        self.worktrees.iter().all(|it| it.unknown.is_none() && it.paths.iter().all(|path| path.state == Meeting::Clean))
    }
}

/// What this worktree and another one have both changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct WorktreeOverlap {
    /// `main`, or git's id of the linked worktree.
    #[serde(serialize_with = "path_text::serialize")]
    pub worktree: BString,
    /// Its root, as git has registered it.
    #[serde(serialize_with = "path_text::serialize")]
    pub path: BString,
    /// The branch at HEAD there; none if it is detached, or cannot be read.
    pub branch: Option<String>,
    /// The commit from which both have gone on.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub base: Option<ObjectId>,
    /// Why the overlap is not known; none if it is.
    pub unknown: Option<String>,
    /// Why it is not known which sessions made the changes; none if it is.
    pub sessions_unknown: Option<String>,
    /// The paths that both have changed, sorted.
    pub paths: Vec<PathOverlap>,
}

impl WorktreeOverlap {
    pub(super) fn of(other: &Registration) -> Self {
        Self {
            worktree: other.id.clone(),
            path: other.path.as_os_str().as_bytes().into(),
            branch: branch(other),
            base: None,
            unknown: None,
            sessions_unknown: None,
            paths: Vec::new(),
        }
    }
}

/// What this worktree and another one have both changed, in numbers. Serializes to an entry of `overlaps` in `status --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// `main`, or git's id of the linked worktree.
    #[serde(serialize_with = "path_text::serialize")]
    pub worktree: BString,
    /// How many paths both have changed.
    pub paths: usize,
    /// How many of them are in conflict.
    pub conflicts: usize,
    /// In how many of them the changed lines are next to each other.
    pub touching: usize,
    /// Why the overlap, or that of a path, is not known; none if it is.
    pub unknown: Option<String>,
}

impl Summary {
    /// Returns the numbers of `paths`, what both have changed, or why that is not known.
    pub(super) fn new(worktree: BString, paths: Result<Vec<PathOverlap>, String>) -> Self {
        let (paths, why) = paths.map_or_else(|why| (Vec::new(), Some(why)), |paths| (paths, None));
        let count = |state| paths.iter().filter(|path| path.state == state).count();
        Self {
            worktree,
            paths: paths.len(),
            conflicts: count(Meeting::Conflict),
            touching: count(Meeting::Touching),
            unknown: why.or_else(|| paths.iter().find_map(|path| path.unknown.clone())),
        }
    }
}

/// A path that both worktrees have changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct PathOverlap {
    /// How the changes meet.
    pub state: Meeting,
    /// Why git could not merge them; none if it could, or if that is not known.
    pub kind: Option<Kind>,
    /// Why it is not known; none if it is.
    pub unknown: Option<String>,
    /// The lines where they meet, in order.
    pub lines: Vec<Place>,
    /// The change in this worktree.
    pub here: OfSide,
    /// The change in the other one.
    pub there: OfSide,
}

impl PathOverlap {
    /// Says that it is not known how the changes meet, because of `why`.
    pub(super) fn hide(&mut self, why: String) {
        (self.state, self.kind, self.unknown) = (Meeting::Unknown, None, Some(why));
        self.lines.clear();
    }
}

/// What one side has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct OfSide {
    /// The path; of a deleted file, what it was.
    #[serde(flatten, serialize_with = "path_text::serialize_fields")]
    pub path: BString,
    /// The path before a rename.
    #[serde(skip)]
    pub old_path: Option<BString>,
    /// What happened to it.
    pub status: Status,
    /// The sessions that changed it, the latest first.
    pub sessions: Vec<Maker>,
}

impl OfSide {
    pub(super) fn new(change: &Change) -> Self {
        Self {
            path: change.path.clone(),
            old_path: change.old_path.clone(),
            status: change.status,
            sessions: Vec::new(),
        }
    }
}

/// A session that changed a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Maker {
    /// Its id.
    pub id: String,
    /// The agent's name.
    pub agent: Option<String>,
    /// The last turn in which it changed the path, if that is known.
    pub turn: Option<u32>,
    /// The first line of the prompt of that turn, if it is stored.
    pub prompt: Option<String>,
}
