//! What `worktree merge` has done.

use bstr::BString;
use gix::ObjectId;
use serde::Serialize;

use crate::model::{id_text, path_text};

/// How a branch is merged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum How {
    /// As `git merge` does by itself.
    #[default]
    Merge,
    /// Its changes are staged.
    Squash,
    /// It is rebased first, in its worktree.
    Rebase,
    /// Only if no commit has to be made.
    FfOnly,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Outcome {
    /// The branch here has all commits, or changes, already.
    Nothing,
    /// The branch here is at the other one's commit.
    FastForward,
    /// The branch here has a new commit.
    Merged,
    /// The changes are staged.
    Staged,
    /// Git has stopped at conflicts.
    Conflicts,
    /// Git has stopped before it was done, without a conflict: a hook or a setting asks for that.
    Stopped,
}

/// A merge. Serializes to what `worktree merge --json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Merged {
    /// The version of this shape.
    pub(crate) version: u32,
    /// The root of the worktree whose branch is merged.
    #[serde(flatten, serialize_with = "path_text::serialize_fields")]
    pub(crate) path: BString,
    /// That branch.
    pub(crate) source: String,
    /// The branch that it is merged into.
    pub(crate) branch: String,
    /// The commit of the source that was looked at: no other one is merged, unless it was rebased.
    #[serde(serialize_with = "id_text::serialize")]
    pub(crate) commit: ObjectId,
    /// What `commit` became by a rebase.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub(crate) rebased: Option<ObjectId>,
    /// How it was to be merged.
    pub(crate) how: How,
    /// What came of it.
    pub(crate) result: Outcome,
    /// How many commits the branch here did not have.
    pub(crate) commits: usize,
    /// The commit at HEAD here before.
    #[serde(serialize_with = "id_text::serialize")]
    pub(crate) before: ObjectId,
    /// The commit at HEAD here afterwards.
    #[serde(serialize_with = "id_text::serialize")]
    pub(crate) after: ObjectId,
    /// The paths with conflicts; none: a dry run has not found out.
    #[serde(serialize_with = "serialize_paths")]
    pub(crate) conflicts: Option<Vec<BString>>,
    /// True if the source has moved on since it was looked at.
    pub(crate) moved: bool,
    /// The checkpoint of this worktree, taken before.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub(crate) checkpoint: Option<ObjectId>,
    /// The checkpoint of the other worktree, taken before.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub(crate) source_checkpoint: Option<ObjectId>,
    /// True if nothing was done.
    pub(crate) dry_run: bool,
    /// True if a rebase has moved the source, or HEAD of its worktree.
    #[serde(skip)]
    pub(crate) is_rebase_begun: bool,
    /// True if git has changed files here, or what is staged, and has ended without a result.
    #[serde(skip)]
    pub(crate) is_begun: bool,
    /// What git has said, if it may be more than what is in the other fields.
    #[serde(skip)]
    pub(crate) said: BString,
}

fn serialize_paths<S: serde::Serializer>(paths: &Option<Vec<BString>>, serializer: S) -> Result<S::Ok, S::Error> {
    match paths {
        Some(paths) => path_text::serialize_list(paths, serializer),
        None => serializer.serialize_none(),
    }
}
