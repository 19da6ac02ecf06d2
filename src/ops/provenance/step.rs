//! A step of the replay: what one checkpoint changed.

use std::rc::Rc;

use bstr::BString;
use gix::ObjectId;

use crate::model::{
    attribution::{FileOwnership, text::Attribution},
    change::Change,
    checkpoint::Origin,
    contributor::Contributor,
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
    /// True if a person has restored what the step left: it says whose lines came back, but not who has changed the file.
    pub(crate) is_put_back: bool,
}

impl Step {
    /// Returns a step with `changes`, without lines from elsewhere.
    pub(crate) fn new(origin: Origin, changes: Vec<Change>) -> Self {
        Self { origin, changes, moved: None, taken: None, is_put_back: false }
    }

    /// Returns the step as one that a restore has put back, if `is_put_back`.
    pub(super) fn or_put_back(self, is_put_back: bool) -> Self {
        Self { is_put_back: self.is_put_back || is_put_back, ..self }
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

/// Returns the step of a session that left the file as the commit has it.
pub(crate) fn left_by<'s>(steps: &'s [Step], change: &Change) -> Option<&'s Step> {
    let last = steps.iter().rev().find(|step| step.leaves(change))?;
    // If git brought lines into the file, they have authors of their own, and the file as a whole has none.
    let is_own = last.origin.contributor == Contributor::Agent && last.brought(change).is_none();
    Some(last).filter(|_| is_own && last.origin.session.is_some())
}
