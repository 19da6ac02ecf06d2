//! Makes a linked worktree, by git.

use std::{ffi::OsStr, path::Path};

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::{Repo, process::run_plain_git};
use crate::error::{Context as _, Error, Kind, Result};

/// What a new worktree checks out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NewHead {
    /// This branch, by its short name.
    Branch(String),
    /// A branch with this short name, which is made at the commit.
    NewBranch(String, ObjectId),
}

impl Repo {
    /// Returns true if `name` is a name that git accepts for a branch.
    pub(crate) fn is_branch_name(name: &str) -> bool {
        let full = format!("refs/heads/{name}");
        name != "HEAD" && !name.starts_with('-') && gix::validate::reference::name(full.as_str().into()).is_ok()
    }

    /// Makes a linked worktree at `path`, an absolute path that is free or an empty directory, from the directory `from`. The user's
    /// hooks run as in `git worktree add`.
    ///
    /// # Errors
    /// If git refuses it; then it has left no worktree there.
    pub(crate) fn add_worktree(&self, from: &Path, path: &Path, head: &NewHead) -> Result<()> {
        let id;
        let mut words = vec![OsStr::new("--git-dir"), self.common_dir().as_os_str()];
        words.extend(["worktree", "add", "--quiet", "--no-track"].map(OsStr::new));
        match head {
            NewHead::Branch(name) => {
                // Only with a new branch.
                words.pop();
                words.extend([OsStr::new("--"), path.as_os_str(), OsStr::new(name)]);
            }
            NewHead::NewBranch(name, commit) => {
                id = commit.to_string();
                words.extend([OsStr::new("-b"), OsStr::new(name), OsStr::new("--"), path.as_os_str(), OsStr::new(&id)]);
            }
        }
        let output = run_plain_git(from, &words).context(Kind::Internal, || "cannot run 'git worktree add'".into())?;
        if output.status.success() {
            return Ok(());
        }
        let said = BString::from(output.stderr);
        Err(Error::user(format!("git cannot make the worktree '{}'", path.display()))
            .with_cause(said.trim().to_str_lossy().into_owned()))
    }
}
