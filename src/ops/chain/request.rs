//! What is asked of a save.

use bstr::BString;
use gix::ObjectId;

use crate::model::{checkpoint::Origin, step::Step};

/// How a checkpoint is to be taken.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The message; the first line is the subject. None: one is made of the changed paths.
    pub message: Option<String>,
    /// Who made the change.
    pub origin: Origin,
    /// Nobody says who made the change: it is the work of the turn under way, if that may be.
    pub is_anybodys: bool,
    /// Look only at these paths (relative to the worktree's root); none: at all.
    pub paths: Option<Vec<BString>>,
    /// Mark it as the verified checkpoint.
    pub verify: bool,
    /// Take it even if nothing has changed.
    pub allow_empty: bool,
    /// Take it even in a protected directory.
    pub force: bool,
}

/// What other operations ask of a save.
#[derive(Clone, Debug, Default)]
pub(crate) struct Demands {
    /// Take it if what is staged differs in any way, so that the index can be put back exactly.
    pub(crate) exact_index: bool,
    /// Take one if no checkpoint holds this state yet, be it the base's.
    pub(crate) must_exist: bool,
    /// Take one if no ref leads to this state yet, neither to a checkpoint of it nor to the base.
    pub(crate) must_be_held: bool,
    /// Look at nothing: this is what has changed since the last checkpoint.
    pub(crate) known: Option<Known>,
    /// Look at the index all the same.
    pub(crate) looks_at_index: bool,
    /// The session in whose turn it is taken, if that is not whose change it is.
    pub(crate) turn_of: Option<String>,
    /// Leave named paths out that are nowhere.
    pub(crate) forgives_unknown_paths: bool,
}

/// What has changed since the last checkpoint.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    /// The steps that were taken.
    pub(crate) steps: Vec<Step>,
    /// The tree whose attributes say which bytes the new content stands for, and that of the commit below it.
    pub(crate) from: (ObjectId, Option<ObjectId>),
}
