//! Whose the files of a removed worktree are: the repository may have been copied or moved since.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{super::Context, in_use::is_there};
use crate::{git::registrations::named_git_dir, state::removed::Removed};

/// Whose the files of a removed worktree are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// This repository's.
    This,
    /// Those of a repository that is not where they say: this one, if it was moved.
    Moved,
    /// Those of the repository with this common directory, of which this one is a copy; without a path, nothing says whose.
    Another(Option<PathBuf>),
}

/// Returns whose the files of a removed worktree are.
pub(super) fn whose(context: &Context, removed: &Removed) -> Whose {
    let Some(tree) = removed.tree.as_ref().filter(|_| !removed.is_tree_in_folder()) else { return Whose::This };
    if is_named(tree, &context.repo.git_dir_of(removed.worktree.as_ref())) {
        return Whose::This;
    }
    let common = named_git_dir(tree).and_then(|named| Some(named.parent()?.parent()?.to_owned()));
    match common {
        Some(common) if !is_there(&common) => Whose::Moved,
        common => Whose::Another(common),
    }
}

/// Returns true if the `.git` in the root of a worktree at `root` names the git directory `admin`, which need not be there.
pub(super) fn is_named(root: &Path, admin: &Path) -> bool {
    let Some(named) = named_git_dir(root) else { return false };
    // The directory above may have gone with the last one in it.
    let above = |path: &Path| fs::canonicalize(path.parent()?.parent()?).ok();
    named.file_name() == admin.file_name() && above(&named).is_some_and(|common| Some(common) == above(admin))
}
