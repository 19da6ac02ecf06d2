//! Finds the directories inside the worktree in which git keeps this very repository.
//!
//! The usual one has the name `.git`, which no pass over the worktree enters. It has another name after
//! `git init --separate-git-dir`, with `--git-dir`, and if `.git` is a symbolic link. A checkpoint of such a directory would
//! contain the repository that contains the checkpoint, and a restore would take back refs and delete objects.

use std::path::Path;

use bstr::{BStr, BString, ByteSlice as _, ByteVec as _};

use crate::error::{Context as _, Error, Kind, Result};

/// Paths of directories, relative to the root of the worktree. Most repositories have none.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnDirectories(Vec<BString>);

impl OwnDirectories {
    /// Finds those of a repository with the worktree `root`, a canonical path. None of them is called `.git`, nor is one
    /// above it.
    ///
    /// # Errors
    /// If the worktree and the git directory are the same.
    pub(super) fn find(root: &Path, git_dir: &Path, common_dir: &Path) -> Result<Self> {
        let mut paths = Vec::new();
        let real = |directory: &Path| {
            std::fs::canonicalize(directory)
                .context(Kind::User, || format!("cannot find the git directory '{}'", directory.display()))
        };
        let real_git_dir = real(git_dir)?;
        let real_common_dir = if common_dir == git_dir { real_git_dir.clone() } else { real(common_dir)? };
        let objects = real_common_dir.join("objects");
        // A directory directly inside of what is canonical is canonical, too.
        let is_directory = objects.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
        let objects = if is_directory { objects } else { real(&objects)? };
        for real in [real_git_dir, real_common_dir, objects] {
            let Ok(inside) = real.strip_prefix(root) else { continue };
            if inside.as_os_str().is_empty() {
                return Err(Error::user(format!("the worktree '{}' is the git directory itself", root.display()))
                    .with_hint("'git worktree add <path>' makes a worktree elsewhere"));
            }
            if !inside.components().any(|name| name.as_os_str() == ".git") {
                paths.push(Vec::from_path_lossy(inside).into_owned().into());
            }
        }
        Ok(Self(paths))
    }

    /// Returns true if `path` is one of them, or inside.
    pub(crate) fn contain(&self, path: &BStr) -> bool {
        let is_rest = |rest: &[u8]| rest.is_empty() || rest.starts_with(b"/");
        self.0.iter().any(|own| path.strip_prefix(own.as_slice()).is_some_and(is_rest))
    }

    /// Returns true if the entry `name` of `directory`, which ends with `/` unless it is the root, is one of them.
    pub(super) fn have(&self, directory: &BStr, name: &BStr) -> bool {
        self.0.iter().any(|own| own.strip_prefix(directory.as_bytes()).is_some_and(|rest| rest == name.as_bytes()))
    }
}
