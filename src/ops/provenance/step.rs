//! A step of the replay: what one checkpoint changed.

use std::rc::Rc;

use bstr::BString;
use gix::ObjectId;

use crate::model::{
    attribution::{FileOwnership, text::Attribution},
    change::Change,
    checkpoint::Origin,
};

/// What one checkpoint changed in some files.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) origin: Origin,
    /// Sorted by path.
    pub(crate) changes: Vec<Change>,
    /// The owners of lines that git brought from elsewhere.
    pub(crate) moved: Option<Rc<Attribution>>,
    /// When the checkpoint was taken, in Unix seconds, and the commit before it; none if no checkpoint has the changes.
    pub(crate) taken: Option<(i64, ObjectId)>,
    /// False if git or git-checkpoint has brought the content: nobody has typed it then.
    pub(crate) is_typed: bool,
}

impl Step {
    /// Returns a step with `changes`, without lines from elsewhere.
    pub(crate) fn new(origin: Origin, changes: Vec<Change>) -> Self {
        Self { origin, changes, moved: None, taken: None, is_typed: true }
    }

    /// Returns a step with `changes` that nobody has typed: other commits have made them, or git has renamed files.
    pub(crate) fn untyped(changes: Vec<Change>) -> Self {
        Self { is_typed: false, ..Self::new(Origin::default(), changes) }
    }

    /// Returns true if the step changes the file at `path`, or gives it another name.
    pub(super) fn touches(&self, path: &BString) -> bool {
        self.changes.iter().any(|change| change.path == *path || change.old_path.as_ref() == Some(path))
    }

    /// Returns true if the file is the same after this step as after `change`.
    pub(super) fn leaves(&self, change: &Change) -> bool {
        match self.changes.binary_search_by(|it| it.path.cmp(&change.path)) {
            Ok(at) => self.changes[at].after == change.after,
            Err(_) => change.after.is_none() && self.touches(&change.path),
        }
    }

    /// Returns the owners of the lines that git brought into a changed file from elsewhere.
    pub(super) fn brought(&self, change: &Change) -> Option<&FileOwnership> {
        let id = change.after.map(|leaf| leaf.id);
        let files = &self.moved.as_ref()?.files;
        let file = files.iter().find(|file| file.ownership.path == change.path && file.blob == id)?;
        Some(&file.ownership)
    }
}
