//! Says in advance which objects a removal would remove.

use std::collections::HashSet;

use gix::ObjectId;

use super::{Repo, remove_objects::keep_harmless};
use crate::error::Result;

impl Repo {
    /// Returns those of `ids` that [`remove_objects`](Self::remove_objects) would remove once no ref that begins with `ours` leads to
    /// them.
    pub(crate) fn removable(
        &self,
        ids: &HashSet<ObjectId>,
        own: &HashSet<ObjectId>,
        ours: &str,
    ) -> Result<HashSet<ObjectId>> {
        let mut gone: HashSet<ObjectId> = ids.difference(&self.held(ids, own, Some(ours), None)?).copied().collect();
        let trees = self.entries_of_trees(&gone)?;
        keep_harmless(&mut gone, trees);
        Ok(gone)
    }
}
