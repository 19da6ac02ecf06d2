//! Makes a linked worktree, by git.

use std::{ffi::OsStr, path::Path, process::Stdio};

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::{Repo, process::REDIRECTIONS, subprocess::output_of};
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
        let mut words: Vec<&OsStr> = ["worktree", "add", "--quiet", "--no-track"].map(OsStr::new).to_vec();
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
        #[expect(clippy::disallowed_methods, reason = "this is the room that runs git")]
        let mut command = std::process::Command::new("git");
        for name in REDIRECTIONS {
            command.env_remove(name);
        }
        command.arg("--git-dir").arg(self.common_dir()).args(&words).current_dir(from).env("LC_ALL", "C");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let output = command.spawn().and_then(output_of);
        let output = output.context(Kind::Internal, || "cannot run 'git worktree add'".into())?;
        if output.status.success() {
            return Ok(());
        }
        let said = BString::from(output.stderr);
        Err(Error::user(format!("git cannot make the worktree '{}'", path.display()))
            .with_cause(said.trim().to_str_lossy().into_owned()))
    }
}
