//! Files that are gone.

use bstr::BString;

use super::Pass;
use crate::{
    error::Result,
    git::stat_cache::{Known, Stat},
};

impl Pass<'_, '_> {
    /// Notes that there is no file at `path`. The cache keeps a path that git tracks: when the file comes back, it is captured
    /// whatever the ignore rules and limits say.
    pub(super) fn note_absent(&mut self, path: BString) -> Result<()> {
        let entry = self.cache.find(path.as_ref());
        let is_tracked = entry.is_some_and(|entry| entry.is_tracked);
        if let Some(entry) = entry.filter(|entry| is_tracked && !entry.skips_worktree) {
            if !entry.is_known_absent() {
                self.changes.insert(path, Some(self.cache.known(entry).absent()));
            }
            return Ok(());
        }
        // A file that sparse checkout leaves out is not deleted when it goes: it has its staged content again.
        let staged = if self.repo.is_sparse() { self.cache.index_tree_id } else { None };
        let leaf = staged.map(|tree_id| self.repo.find_leaf(tree_id, path.as_ref())).transpose()?.flatten();
        match leaf {
            Some(leaf) => {
                let known = Known {
                    stat: Stat::default(),
                    id: leaf.id,
                    raw_id: None,
                    mode: leaf.mode,
                    is_tracked: true,
                    skips_worktree: true,
                    is_racy: false,
                    is_unfiltered: false,
                };
                self.changes.insert(path, Some(known));
            }
            // The user hides a tracked file from git.
            None if is_tracked => {}
            None => drop(self.changes.insert(path, None)),
        }
        Ok(())
    }
}
