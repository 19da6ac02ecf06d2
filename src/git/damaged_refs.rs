//! Notes which refs lead to something that cannot be read, where what they lead to is read anyway: most commands read no more for
//! that, and those that need to know more look closer at these refs alone.

use std::sync::Arc;

use super::Repo;

impl Repo {
    /// Notes that not all that the ref `name` leads to can be read.
    pub(crate) fn note_damaged(&self, name: &str) {
        if let Ok(mut damaged) = self.damaged_refs.lock() {
            damaged.insert(name.to_owned());
        }
    }

    /// Returns the refs that were noted as damaged.
    pub(crate) fn damaged_refs(&self) -> Vec<String> {
        self.damaged_refs.lock().map(|damaged| damaged.iter().cloned().collect()).unwrap_or_default()
    }

    /// Shares these notes with `other`: all worktrees of a repository have the same refs.
    pub(crate) fn note_damaged_like(&mut self, other: &Self) {
        self.damaged_refs = Arc::clone(&other.damaged_refs);
    }
}
