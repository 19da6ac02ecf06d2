//! Commits a tree to the branch at HEAD, as `git commit` does, but without hooks; switches branches; makes a repository.

use std::{ffi::OsStr, path::Path};

use bstr::{BStr, ByteSlice as _};
use gix::ObjectId;

use super::{
    Head, Repo,
    commit::{Identity, NewCommit},
    new_objects::{NewObjects, Target},
    process::run_plain_git,
};
use crate::error::{Context as _, Error, Kind, Result};

/// The message of the first commit of a repository that [`Repo::make_in`] makes.
pub(crate) const FIRST_COMMIT: &str = "[INIT] Workspace";

impl Repo {
    /// Commits `tree_id` to `branch`, a full name, whose commit is `parent`; none: it has none. No hook runs. Returns the commit.
    ///
    /// # Errors
    /// [`Kind::Race`] if the branch is not at `parent` any more.
    pub(crate) fn commit_to(
        &self,
        branch: &BStr,
        parent: Option<ObjectId>,
        tree_id: ObjectId,
        message: &str,
    ) -> Result<ObjectId> {
        self.commit_to_as(branch, parent, tree_id, message, self.identity())
    }

    /// The same by `identity`, which the settings of this repository may not have.
    ///
    /// # Errors
    /// As [`commit_to`](Self::commit_to).
    pub(crate) fn commit_to_as(
        &self,
        branch: &BStr,
        parent: Option<ObjectId>,
        tree_id: ObjectId,
        message: &str,
        identity: Identity,
    ) -> Result<ObjectId> {
        let mut objects = NewObjects::new(self, Target::Loose);
        if tree_id == self.empty_tree_id() {
            // Git knows the empty tree without storing it, but git-fsck(1) reports it as missing.
            objects.add(gix::objs::Kind::Tree, b"")?;
        }
        let text = format!("{}\n", message.trim_end());
        let new = NewCommit {
            tree_id,
            parents: parent.into_iter().collect(),
            author: identity.clone(),
            committer: identity,
            time: self.now(),
            message: &text,
        };
        let id = Self::write_commit(&new, &mut objects)?;
        let written = objects.write()?;
        let old = parent.unwrap_or_else(|| ObjectId::null(self.object_hash()));
        let kind = if parent.is_none() { "commit (initial)" } else { "commit" };
        let note = format!("{kind}: {}", message.lines().next().unwrap_or_default());
        let words = ["update-ref", "-m", &note, "--", &branch.to_str_lossy(), &id.to_string(), &old.to_string()];
        let output = self.try_git(&words, None)?;
        if !output.status.success() {
            let cause = output.stderr.trim().to_str_lossy().into_owned();
            return Err(if self.find_ref(&branch.to_str_lossy())? == parent {
                Error::user(format!("git cannot move the branch '{branch}' in '{}'", self.common_dir().display()))
                    .with_cause(cause)
            } else {
                Error::race(format!("the branch '{branch}' has just been moved")).with_cause(cause)
            });
        }
        written.check_and_release()?;
        Ok(id)
    }

    /// Lets the index have what HEAD has. No file of the worktree changes.
    ///
    /// # Errors
    /// If git fails.
    pub(crate) fn stage_head(&self) -> Result<()> {
        self.run_git(&["reset", "--quiet", "--", ":/"], None).map(drop)
    }

    /// Switches this worktree to `branch`, a short name; with `detach`, to a commit. Changes that are not committed come along;
    /// git refuses if one would be lost, be it an ignored file. No hook runs.
    ///
    /// # Errors
    /// [`Kind::Refused`] if git refuses it. Nothing has changed then.
    pub(crate) fn switch_to(&self, branch: &str, detach: bool) -> Result<()> {
        let option = if detach { "--detach" } else { "--no-guess" };
        let words = ["switch", "--quiet", "--no-overwrite-ignore", option, branch];
        let output = self.try_git(&words, None)?;
        if output.status.success() {
            return Ok(());
        }
        let root = self.worktree_root().display();
        Err(Error::refused(format!("git cannot switch to '{branch}' in '{root}'"))
            .with_cause(output.stderr.trim().to_str_lossy().into_owned()))
    }

    /// Returns true if the repository in the directory `dir` is as `git init` makes it: without any commit, ref or index. The process
    /// that made it may have been killed.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(crate) fn is_unfinished(dir: &Path) -> Result<bool> {
        if !Self::is_inside_repository(dir) {
            // Git was killed.
            return Ok(true);
        }
        let repo = Self::open(dir)?;
        Ok(repo.head()?.id.is_none() && repo.user_index()?.is_none() && repo.refs_below("refs/")?.is_empty())
    }

    /// Makes a repository in the directory `dir`, or completes it, with a first commit that has no files.
    ///
    /// # Errors
    /// If git fails.
    pub(crate) fn make_in(dir: &Path) -> Result<()> {
        let what = || format!("cannot make a repository in '{}'", dir.display());
        let output = run_plain_git(dir, &["init", "--quiet"].map(OsStr::new)).context(Kind::User, what)?;
        if !output.status.success() {
            return Err(Error::user(what()).with_cause(output.stderr.trim().to_str_lossy().into_owned()));
        }
        let repo = Self::open(dir)?;
        if let Head { id: None, branch: Some(branch) } = repo.head()? {
            repo.commit_to(branch.as_bstr(), None, repo.empty_tree_id(), FIRST_COMMIT)?;
        }
        Ok(())
    }
}
