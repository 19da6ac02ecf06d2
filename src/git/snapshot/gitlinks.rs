//! Submodules and nested repositories in a snapshot.

use bstr::{BString, ByteSlice as _};

use super::Pass;
use crate::{
    error::Result,
    git::{
        limits::Limits,
        stat_cache::{Known, Stat},
    },
    model::{change::Mode, manifest::Nested},
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
            // A submodule that is not checked out keeps its recorded commit.
            if let Some(head) = self.repo.nested_head(path)?
                && head != entry.id
            {
                self.changes.insert(path.to_owned(), Some(Known { id: head, ..self.cache.known(entry) }));
            }
        }
        for path in nested {
            let head = self.repo.nested_head(path.as_bstr())?;
            let dirty = head.and_then(|_| self.repo.nested_is_dirty(path.as_bstr(), limits));
            let known = head.map(|id| Known {
                stat: Stat::default(),
                id,
                raw_id: None,
                mode: Mode::Gitlink,
                is_tracked: false,
                skips_worktree: false,
                is_racy: false,
                is_unfiltered: false,
            });
            let at = self.cache.find(path.as_bstr());
            if known.map(|known| known.id) != at.map(|entry| entry.id) {
                self.changes.insert(path.clone(), known);
            }
            self.manifest.nested.push(Nested { path, head, dirty });
        }
        Ok(())
    }

    /// Returns true if a tracked path becomes a gitlink, or stops being one. The cache cannot hold both what is there and
    /// what the index has, so the next pass must read the index again.
    pub(super) fn loses_index(&self) -> bool {
        let is_gitlink = |mode: Option<Mode>| mode == Some(Mode::Gitlink);
        self.changes.iter().any(|(path, known)| {
            let tracked = self.cache.find(path.as_bstr()).filter(|entry| entry.is_tracked);
            let now = known.and_then(|known| known.leaf()).map(|(_, mode)| mode);
            tracked.is_some_and(|entry| is_gitlink(Some(entry.mode)) != is_gitlink(now))
        })
    }
}
