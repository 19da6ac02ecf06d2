//! What a restore is to do.

use bstr::BString;

use super::staged::Staging;
use crate::model::plan::Plan;

/// What a restore is to do.
pub(super) struct Planned {
    pub(super) plan: Plan,
    /// Empty directories to create.
    pub(super) directories: Vec<BString>,
    /// Directories to remove if they are empty.
    pub(super) removed: Vec<BString>,
    pub(super) staging: Option<Staging>,
    /// Paths that it leaves alone because only commits have changed them since the target.
    pub(super) committed: Vec<BString>,
}
