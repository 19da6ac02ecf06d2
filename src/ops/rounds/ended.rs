//! What `round end` is asked for, and what it says.

use bstr::BString;
use gix::ObjectId;
use serde::Serialize;

use super::{
    listing::{aside_of, bytes},
    retire::Retired,
};
use crate::{
    model::{id_text, path_text, round::Mode},
    state::rounds::Place,
};

/// How to end it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct EndOptions {
    /// What its experiments are kept as.
    pub(crate) archive_label: Option<String>,
    /// The message of the commits.
    pub(crate) message: Option<String>,
    /// Do not run the commands of `worktree.teardown`.
    pub(crate) no_teardown: bool,
    /// Let the worktrees stay.
    pub(crate) keep_worktree: bool,
}

/// What became of one directory. Serializes to an entry of `contexts`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct EndedPlace {
    /// The directory that was worked on.
    #[serde(serialize_with = "path_text::serialize")]
    pub(crate) context: BString,
    /// How it was isolated.
    pub(crate) mode: Mode,
    /// Its branch, which stays.
    pub(crate) branch: Option<String>,
    /// The checkpoint of what was there.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub(crate) checkpoint: Option<ObjectId>,
    /// The commit that was made; none if there was nothing to commit.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub(crate) commit: Option<ObjectId>,
    /// Where the experiments are.
    #[serde(serialize_with = "path_text::serialize_optional")]
    pub(crate) archive: Option<BString>,
    /// Where the copy is in which the round has worked.
    #[serde(serialize_with = "path_text::serialize_optional")]
    pub(crate) aside: Option<BString>,
    /// What of that copy did not come along, or is elsewhere; none if all of it is on the branch.
    pub(crate) left_out: Option<String>,
    /// What `worktree restore` takes.
    pub(crate) removed: Option<String>,
    /// The worktree, if it stays.
    #[serde(serialize_with = "path_text::serialize_optional")]
    pub(crate) kept: Option<BString>,
    /// The ignored files and directories that were removed with the worktree.
    #[serde(serialize_with = "path_text::serialize_list")]
    pub(crate) ignored: Vec<BString>,
    /// True if another command had removed the worktree before.
    pub(crate) gone: bool,
    /// True if the round had ended before, and its branch is no more.
    #[serde(skip)]
    pub(crate) has_lost_branch: bool,
}

/// A round that has ended. Serializes to what `round end --json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Ended {
    /// The version of this shape.
    pub(crate) version: u32,
    /// Its id.
    pub(crate) round: String,
    /// True if it had ended before.
    #[serde(skip)]
    pub(crate) already: bool,
    /// Its directories.
    pub(crate) contexts: Vec<EndedPlace>,
    /// The branches that waited for its end, and are no more.
    pub(crate) retired: Vec<Retired>,
}

impl EndedPlace {
    pub(super) fn of(place: &Place) -> Self {
        Self {
            context: bytes(&place.context),
            mode: place.mode,
            branch: place.branch.clone(),
            checkpoint: place.committed.as_ref().map(|it| it.checkpoint),
            commit: place.committed.as_ref().and_then(|it| it.commit),
            archive: place.archive.as_deref().map(bytes),
            aside: aside_of(place),
            left_out: None,
            removed: place.removed.clone(),
            kept: place.path.as_deref().filter(|_| place.is_kept).map(bytes),
            ignored: Vec::new(),
            gone: false,
            has_lost_branch: false,
        }
    }
}
