//! The options of a save.

use bstr::BString;

use crate::{
    git::exact::Basis,
    model::{checkpoint::Origin, step::Step},
};

/// The options of a save.
#[derive(Clone, Debug, Default)]
pub struct SaveOptions {
    /// The message; its first line is the subject. None: the subject names the changed paths.
    pub message: Option<String>,
    /// Who made the change.
    pub origin: Origin,
    /// The caller does not know the author: infer it from the open turns and tool calls.
    pub infers_author: bool,
    /// Look only at these paths (relative to the worktree's root); none: at all.
    pub paths: Option<Vec<BString>>,
    /// Mark it as the verified checkpoint.
    pub verify: bool,
    /// Take it even if nothing has changed.
    pub allow_empty: bool,
    /// Take it even in a protected directory.
    pub force: bool,
}

/// What other operations require of a save.
#[derive(Clone, Debug, Default)]
pub(crate) struct Demands {
    /// Take it even if only the staged content differs, so that the index can be restored exactly.
    pub(crate) exact_index: bool,
    /// Take one even if the worktree is as in the base commit, unless a checkpoint holds this state.
    pub(crate) must_exist: bool,
    /// Make sure that a ref leads to this state: to a checkpoint that holds it, or to the base commit.
    pub(crate) must_be_held: bool,
    /// Do not read the worktree: this is what has changed since the last checkpoint.
    pub(crate) known: Option<Known>,
    /// Read the index nevertheless.
    pub(crate) looks_at_index: bool,
    /// The session whose turn the checkpoint belongs to, if another author made the changes.
    pub(crate) turn_of: Option<String>,
    /// Ignore named paths that exist neither in the worktree nor in the last checkpoint.
    pub(crate) forgives_unknown_paths: bool,
}

/// What has changed since the last checkpoint.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    /// The steps that were taken.
    pub(crate) steps: Vec<Step>,
    /// The checkpoint or commit that the new content is from.
    pub(crate) from: Basis,
}
