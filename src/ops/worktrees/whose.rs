//! Whose the files of a removed worktree are: the repository may have been copied or moved since.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::super::Context;
use crate::{
    git::registrations::{named_git_dir, noted_git_dir},
    state::removed::{self, Removed},
};

/// Whose the files of a removed worktree are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// This repository's.
    This,
    /// Those of a repository that is not where they say, with this common directory, or of another one there, which knows nothing
    /// of them: this one was moved.
    Moved(PathBuf),
    /// Those of the repository with this common directory, which knows them, and of which this one is a copy; without a path,
    /// nothing says whose.
    Another(Option<PathBuf>),
}

/// Returns whose the files of a removed worktree are.
pub(super) fn whose(context: &Context, removed: &Removed) -> Whose {
    let Some(tree) = removed.tree_outside() else { return Whose::This };
    if is_named(tree, &context.repo.git_dir_of(removed.worktree.as_ref())) {
        return Whose::This;
    }
    let common = named_git_dir(tree).and_then(|named| Some(named.parent()?.parent()?.to_owned()));
    match common {
        Some(common) if !removed::knows(&common, &removed.id) => Whose::Moved(common),
        common => Whose::Another(common),
    }
}

/// Returns true if the files of the removed worktree are those of the repository of which this one is a copy.
pub(super) fn is_of_another(context: &Context, removed: &Removed) -> bool {
    matches!(whose(context, removed), Whose::Another(Some(_)))
}

/// Returns true if the `.git` in the root of a worktree at `root` names the git directory `admin`, which need not be there.
pub(super) fn is_named(root: &Path, admin: &Path) -> bool {
    named_git_dir(root).is_some_and(|named| is_same(&named, admin))
}

/// Returns true if the `.git` in the directory `tree` will name the git directory `admin` when the directory is at `root`.
pub(super) fn names(tree: &Path, root: &Path, admin: &Path) -> bool {
    let Some(noted) = noted_git_dir(tree) else { return false };
    // Nothing is at the root yet, so that no path leads through it.
    let from_root = match (noted.strip_prefix(".."), root.parent()) {
        (Ok(rest), Some(parent)) => parent.join(rest),
        _ => noted,
    };
    is_same(&from_root, admin)
}

/// Returns true if both are the same git directory of a linked worktree, which need not be there.
fn is_same(named: &Path, admin: &Path) -> bool {
    // The directory above may have gone with the last one in it.
    let above = |path: &Path| fs::canonicalize(path.parent()?.parent()?).ok();
    named.file_name() == admin.file_name() && above(named).is_some_and(|common| Some(common) == above(admin))
}
