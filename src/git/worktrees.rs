//! The other worktrees of a repository.

use std::{
    fs,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use bstr::{BString, ByteSlice as _, ByteVec as _};

use super::{
    Repo,
    registrations::{Place, place},
    repo::id_of_linked,
};
use crate::error::Result;

/// Returns `path` relative to `root`; none if it is not below it. Links among the directories above it are followed; those
/// that are not there yet are none.
pub(crate) fn inside(root: &Path, path: &Path) -> Option<BString> {
    let root = fs::canonicalize(root).ok()?;
    let real = path.ancestors().skip(1).find_map(|parent| {
        let rest = path.strip_prefix(parent).ok()?;
        Some(fs::canonicalize(parent).ok()?.join(rest))
    })?;
    let inside = real.strip_prefix(&root).ok()?.to_owned();
    Some(Vec::from_path_lossy(&inside).into_owned().into())
}

/// Returns when git made the linked worktree with the git directory `admin`, in nanoseconds since 1970: it writes this file then,
/// and never again. None if that is unknown.
pub(crate) fn made(admin: &Path) -> Option<i64> {
    let time = admin.join("commondir").metadata().and_then(|metadata| metadata.modified()).ok()?;
    i64::try_from(time.duration_since(UNIX_EPOCH).ok()?.as_nanos()).ok()
}

impl Repo {
    /// Returns false if the repository is bare.
    pub(crate) fn has_worktree(&self) -> bool {
        self.inner.workdir().is_some()
    }

    /// Opens another worktree of this repository, whose canonical root is `root`, to work in it. Of the `GIT_*` variables, only the
    /// user's name and the dates count.
    ///
    /// # Errors
    /// If git would take another directory for its worktree.
    pub(crate) fn open_worktree(&self, root: &Path) -> Result<Self> {
        let mut there = self.open_below(root)?;
        there.above.clone_from(&self.above);
        Ok(there)
    }

    /// Returns the ids and canonical roots of the other worktrees of this repository whose directory is there.
    pub(crate) fn other_worktrees(&self) -> Vec<(BString, PathBuf)> {
        let linked = fs::read_dir(self.common_dir().join("worktrees"));
        if linked.is_err() && self.worktree_id() == "main" {
            return Vec::new();
        }
        let linked = linked.into_iter().flatten().flatten();
        let ids = linked.filter_map(|entry| Vec::from_os_string(entry.file_name()).ok()).map(id_of_linked);
        let linked = ids.filter_map(|id| self.linked_worktree(id.as_bstr()).map(|root| (id, root)));
        // Another repository may have taken the place of a worktree.
        let linked = linked.filter(|(id, root)| place(root, &self.git_dir_of(id.as_bstr())) == Place::Worktree);
        // `core.worktree` may say otherwise; then it is not known.
        let common = fs::canonicalize(self.common_dir()).ok().filter(|common| common.ends_with(".git"));
        let main = common.and_then(|common| Some((BString::from("main"), common.parent()?.to_owned())));
        let others = linked.chain(main).filter(|(id, _)| id != self.worktree_id());
        others.filter_map(|(id, root)| fs::canonicalize(root).ok().map(|root| (id, root))).collect()
    }

    /// Returns the id of the worktree with git directory `git_dir`, one of [`git_dirs`](Self::git_dirs).
    pub(super) fn worktree_of(&self, git_dir: &Path) -> BString {
        let name = git_dir.file_name().filter(|_| git_dir != self.common_dir());
        name.map_or_else(|| "main".into(), |name| id_of_linked(Vec::from_os_str_lossy(name).into_owned()))
    }
}
