//! The other worktrees of a repository.

use std::{
    fs,
    path::{Path, PathBuf},
};

use bstr::{BString, ByteSlice as _, ByteVec as _};

use super::{Repo, repo::id_of_linked};

/// Returns true if the worktree with the root `root` has the git directory `git_dir`.
fn is_worktree_of(root: &Path, git_dir: &Path) -> bool {
    let text = fs::read(root.join(".git")).unwrap_or_default();
    let Some(named) = text.strip_prefix(b"gitdir: ").and_then(|path| path.trim_end().to_path().ok()) else {
        return false;
    };
    let real = |path: &Path| fs::canonicalize(path).ok();
    real(&root.join(named)).is_some_and(|named| Some(named) == real(git_dir))
}

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

impl Repo {
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
        let linked = linked.filter(|(id, root)| is_worktree_of(root, &self.git_dir_of(id.as_bstr())));
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
