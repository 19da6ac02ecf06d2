//! Submodules and nested repositories in a snapshot.

use bstr::{BStr, BString, ByteSlice as _};
use gix::ObjectId;

use super::Pass;
use crate::{
    error::Result,
    git::{
        limits::Limits,
        stat_cache::{Known, Stat},
    },
    model::change::Mode,
};

impl Pass<'_, '_> {
    /// Records submodules and nested repositories: their HEAD, but not their content.
    pub(super) fn gitlinks(&mut self, known: &[usize], nested: Vec<BString>, limits: &Limits) -> Result<()> {
        for &position in known {
            let entry = &self.cache.entries()[position];
            let path = self.cache.path(entry);
            if !entry.is_tracked || entry.skips_worktree {
                continue;
            }
            // A submodule that is not checked out keeps its recorded commit; one whose directory comes back, that of the index.
            let mut id = self.repo.nested_head(path)?;
            if id.is_none() && entry.is_known_absent() {
                id = self.staged_commit(path)?;
            }
            if let Some(id) = id.filter(|id| *id != entry.id) {
                self.changes.insert(path.to_owned(), Some(Known { id, ..self.cache.known(entry) }));
            }
        }
        for path in nested {
            let nested = self.repo.look_into(path, limits)?;
            let path = &nested.path;
            // Another worktree of this repository has checkpoints of its own: its commits are no changes here.
            let known = nested.head.filter(|_| !nested.is_worktree).map(|id| Known {
                stat: Stat::default(),
                id,
                raw_id: None,
                mode: Mode::Gitlink,
                is_tracked: false,
                skips_worktree: false,
                is_racy: false,
                is_unfiltered: false,
            });
            let at = self.cache.find(path.as_bstr()).map(|entry| entry.id);
            match known {
                Some(known) if at == Some(known.id) => {}
                Some(_) => drop(self.changes.insert(path.clone(), known)),
                None if at.is_some() => self.note_absent(path.clone())?,
                None => {}
            }
            self.manifest.nested.push(nested);
        }
        Ok(())
    }

    /// Returns the commit that the index has for the submodule `path`.
    fn staged_commit(&self, path: &BStr) -> Result<Option<ObjectId>> {
        let Some(tree_id) = self.cache.index_tree_id else { return Ok(None) };
        let staged = self.repo.find_leaf(tree_id, path)?;
        Ok(staged.filter(|leaf| leaf.mode == Mode::Gitlink).map(|leaf| leaf.id))
    }

    /// Returns true if a gitlink takes the place of a tracked file, or the reverse. The cache cannot hold both the file and the
    /// index entry, so the next pass must read the index again.
    pub(super) fn loses_index(&self) -> bool {
        self.changes.iter().any(|(path, known)| {
            let tracked = self.cache.find(path.as_bstr()).filter(|entry| entry.is_tracked);
            let now = known.and_then(|known| known.leaf()).map(|(_, mode)| mode);
            let is_gitlink = |mode: Mode| mode == Mode::Gitlink;
            tracked.zip(now).is_some_and(|(entry, now)| is_gitlink(entry.mode) != is_gitlink(now))
        })
    }
}
