//! Where git may have taken a file from.

use std::rc::Rc;

use bstr::BString;
use gix::ObjectId;

use crate::model::{
    change::{Leaf, Mode},
    checkpoint::Checkpoint,
};

/// A file in the place that git may have taken it from.
pub(super) struct Source {
    pub(super) place: Place,
    pub(super) path: BString,
    /// None if the place has no such file any more.
    pub(super) leaf: Option<Leaf>,
}

/// A commit, stash entry, patch or shadow.
#[derive(Clone)]
pub(super) enum Place {
    Commit(ObjectId),
    /// A stash entry that no shadow knows: its own lines are a person's.
    Entry(ObjectId),
    /// A patch whose commit is not here.
    Patch,
    /// A shadow that was set aside, or is of another worktree.
    Shadow(ShadowWork),
}

/// The work of a shadow.
#[derive(Clone)]
pub(super) struct ShadowWork {
    /// The last checkpoint.
    pub(super) tip: Rc<Checkpoint>,
    /// Of what the worktree was before a prompt, which is a chain of its own: the shadow that it came after.
    pub(super) after: Option<Rc<Checkpoint>>,
}

/// Returns true for a file that may have lines.
pub(super) fn is_file(leaf: Leaf) -> bool {
    matches!(leaf.mode, Mode::File | Mode::Executable)
}
