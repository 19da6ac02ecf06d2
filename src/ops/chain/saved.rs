//! The result of a save.

use std::{collections::BTreeMap, time::Duration};

use bstr::BString;
use gix::ObjectId;
use serde::Serialize;

use super::{look::Seen, request::Request};
use crate::{
    error::Result,
    model::{
        change::Status,
        checkpoint::Origin,
        contributor::Contributor,
        id_text,
        manifest::{Reason, Skipped, Unfiltered},
        path_text,
        refname::Base,
        set_aside::SetAside,
        submodule::Submodule,
    },
    ops::Worktree,
};

/// A path that a checkpoint changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SavedPath {
    /// The path.
    #[serde(flatten, serialize_with = "path_text::serialize_fields")]
    pub path: BString,
    /// What happened to it.
    pub status: Status,
}

/// A path that is not in the checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SkippedPath {
    /// The path.
    #[serde(flatten, serialize_with = "path_text::serialize_fields")]
    pub path: BString,
    /// Why.
    pub reason: &'static str,
    /// Bytes; of a directory with too many new files, one more than the limit.
    pub size: u64,
    /// The setting that has the limit, if there is one.
    #[serde(skip)]
    pub setting: Option<&'static str>,
}

impl SkippedPath {
    /// Returns true for a directory with too many new files.
    pub(crate) fn is_too_many(&self) -> bool {
        self.reason == Reason::TooManyFiles.as_str()
    }
}

impl From<&Skipped> for SkippedPath {
    fn from(skipped: &Skipped) -> Self {
        let (reason, setting) = (skipped.reason.as_str(), skipped.reason.setting());
        Self { path: skipped.path.clone(), reason, size: skipped.size, setting }
    }
}

/// A file that was saved unfiltered, because its filter failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct UnfilteredPath {
    /// The path.
    #[serde(flatten, serialize_with = "path_text::serialize_fields")]
    pub path: BString,
    /// The name of the filter (gitattributes(5)).
    pub filter: String,
    /// What went wrong; empty if that is not known.
    pub reason: String,
    /// True if the checkpoint before does not list it as unfiltered.
    #[serde(rename = "new")]
    pub is_new: bool,
}

impl UnfilteredPath {
    /// Returns `files`; those of `before` are not new.
    pub(crate) fn list(files: &[Unfiltered], before: &[Unfiltered]) -> Vec<Self> {
        let known: BTreeMap<&BString, &String> = before.iter().map(|file| (&file.path, &file.reason)).collect();
        let listed = |file: &Unfiltered| {
            let earlier = known.get(&file.path);
            let reason = earlier.filter(|_| file.reason.is_empty()).map_or(&file.reason, |reason| *reason).clone();
            let (path, filter) = (file.path.clone(), file.filter.to_string());
            Self { path, filter, reason, is_new: earlier.is_none() }
        };
        files.iter().map(listed).collect()
    }
}

/// A checkpoint in a repository inside the worktree that was taken, or found, with the one of the worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SavedSubmodule {
    /// The directory of the repository.
    #[serde(flatten, serialize_with = "path_text::serialize_fields")]
    pub path: BString,
    /// What was saved there; paths are relative to that directory.
    pub saved: Saved,
}

/// A submodule that a checkpoint is without, because none could be taken in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FailedSubmodule {
    /// Where it is.
    #[serde(flatten, serialize_with = "path_text::serialize_fields")]
    pub path: BString,
    /// Why none could be taken.
    pub why: String,
}

/// What a save did in the repositories inside the worktree.
#[derive(Clone, Debug, Default)]
pub(crate) struct SavedBelow {
    pub(crate) saved: Vec<SavedSubmodule>,
    pub(crate) failed: Vec<FailedSubmodule>,
}

/// The result of a save.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Saved {
    /// The version of the JSON format.
    pub version: u32,
    /// The checkpoint that holds the state of the worktree; none if the base does.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub id: Option<ObjectId>,
    /// The checkpoint before, or the base commit; none on an unborn branch without checkpoints.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub parent: Option<ObjectId>,
    /// The worktree's content.
    #[serde(serialize_with = "id_text::serialize")]
    pub tree: ObjectId,
    /// The base commit of the shadow.
    pub base: Base,
    /// The shadow's ref.
    pub r#ref: String,
    /// True if a checkpoint was taken; false if nothing has changed.
    pub created: bool,
    /// Who made the change.
    pub contributor: Contributor,
    /// The agent's session.
    pub session: Option<String>,
    /// The turn of the session.
    pub turn: Option<u32>,
    /// What changed since the checkpoint before.
    pub paths: Vec<SavedPath>,
    /// Paths that the checkpoint leaves out.
    pub skipped: Vec<SkippedPath>,
    /// Files that were saved unfiltered, because their filters failed.
    pub unfiltered: Vec<UnfilteredPath>,
    /// Submodules with changes of their own that the checkpoint leaves out.
    pub submodules: Vec<Submodule>,
    /// Repositories that are no submodules, with changes of their own that the checkpoint leaves out.
    #[serde(serialize_with = "path_text::serialize_list")]
    pub nested: Vec<BString>,
    /// The checkpoints in submodules and nested repositories that the checkpoint names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub saved_submodules: Vec<SavedSubmodule>,
    /// The submodules in which git's setting asks for a checkpoint, and none could be taken.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed_submodules: Vec<FailedSubmodule>,
    /// True if it is the verified checkpoint.
    pub verified: bool,
    /// True if the checkpoint was there before, and this save has marked it.
    #[serde(skip)]
    pub(crate) is_marked: bool,
    /// True if this save archived a shadow.
    pub reset: bool,
    /// Broken shadows that were archived before the save, as far as they can be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub broken: Vec<SetAside>,
    /// The sessions whose work was set aside and was in the worktree again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub taken_up: Vec<String>,
    /// How long it took.
    pub duration_ms: u64,
    /// Of how many of the paths the author is unknown.
    #[serde(skip)]
    pub(crate) of_unknown: usize,
}

impl Saved {
    /// Adds what the checkpoints `earlier` have saved, which the same command took right before this one.
    pub(crate) fn add_earlier(&mut self, earlier: impl IntoIterator<Item = Self>) {
        let took_none = !self.created;
        for earlier in earlier {
            if earlier.created && took_none {
                // The last of them holds the state of the worktree.
                (self.contributor, self.session, self.turn) = (earlier.contributor, earlier.session, earlier.turn);
            }
            (self.created, self.reset) = (self.created || earlier.created, self.reset || earlier.reset);
            self.of_unknown += earlier.of_unknown;
            self.paths.extend(earlier.paths);
        }
        self.paths.sort_by(|one, other| one.path.cmp(&other.path));
    }

    /// Adds what the same command has saved in the repositories inside the worktree before, as `below` says.
    pub(crate) fn add_below(&mut self, below: SavedBelow) {
        for first in below.saved {
            let is_same = |it: &&mut SavedSubmodule| it.path == first.path && it.saved.id == first.saved.id;
            if let Some(again) = self.saved_submodules.iter_mut().find(is_same) {
                *again = first;
            }
        }
    }
}

/// Takes a checkpoint in each repository inside the worktree as seen, and ties them to the one that is about to be taken.
pub(crate) type SaveBelow = fn(&Worktree<'_>, &Request, &Origin, &mut Seen) -> Result<SavedBelow>;

pub(crate) fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
