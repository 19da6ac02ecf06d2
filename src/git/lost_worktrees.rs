//! Worktrees that git has registered, and whose directory is not there.

use std::{fs, path::PathBuf};

use bstr::{BString, ByteSlice as _, ByteVec as _};

use super::Repo;

impl Repo {
    /// Returns the ids and roots of the linked worktrees of this repository that [`other_worktrees`](Self::other_worktrees) leaves
    /// out: their directory is gone, or on a disk that is not mounted, or another repository has taken its place.
    pub(crate) fn lost_worktrees(&self) -> Vec<(BString, PathBuf)> {
        let Ok(linked) = fs::read_dir(self.common_dir().join("worktrees")) else { return Vec::new() };
        let here = self.other_worktrees();
        let names = linked.flatten().filter_map(|entry| Vec::from_os_string(entry.file_name()).ok());
        let ids = names.map(|name| match &name[..] {
            b"main" => BString::from("worktrees/main"),
            _ => BString::from(name),
        });
        let lost = ids.filter(|id| id != self.worktree_id() && here.iter().all(|(other, _)| other != id));
        let mut lost: Vec<_> =
            lost.filter_map(|id| self.linked_worktree(id.as_bstr()).map(|root| (id, root))).collect();
        lost.sort();
        lost
    }
}
