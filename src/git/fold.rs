//! Folds the small objects of many saves into one pack, so that a save costs a few hundred bytes instead of a disk block
//! for each object.

use gix::ObjectId;

use super::Repo;

impl Repo {
    /// Notes that the loose objects `written` are ours, each with the object that it took the place of.
    pub(super) fn note_loose(&self, written: &[(ObjectId, Option<ObjectId>)]) {
        let _ = written;
    }
}
