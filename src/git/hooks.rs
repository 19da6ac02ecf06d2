//! Git's hooks: which of them we use, where git looks for them, and who owns that directory.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::Repo;
use crate::error::{Context as _, Error, Kind, Result};

/// A hook of git that calls us; see githooks(5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hook {
    /// Before the message of a commit is edited.
    PrepareCommitMsg,
    /// After that.
    CommitMsg,
    /// After a commit.
    PostCommit,
    /// After `git commit --amend` and `git rebase`.
    PostRewrite,
    /// After `git switch`, `git checkout` and the like.
    PostCheckout,
    /// After `git merge` and `git pull`.
    PostMerge,
    /// Before `git push` sends something.
    PrePush,
}

impl Hook {
    /// All of them.
    pub(crate) const ALL: [Self; 7] = [
        Self::PrepareCommitMsg,
        Self::CommitMsg,
        Self::PostCommit,
        Self::PostRewrite,
        Self::PostCheckout,
        Self::PostMerge,
        Self::PrePush,
    ];

    /// Returns those that git is to call; the last one only if `git push` is to send records, too.
    pub(crate) fn wanted(sends_records: bool) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |hook| sends_records || *hook != Self::PrePush)
    }

    /// Returns its name, which is that of its file.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::PrepareCommitMsg => "prepare-commit-msg",
            Self::CommitMsg => "commit-msg",
            Self::PostCommit => "post-commit",
            Self::PostRewrite => "post-rewrite",
            Self::PostCheckout => "post-checkout",
            Self::PostMerge => "post-merge",
            Self::PrePush => "pre-push",
        }
    }

    /// Returns the hook called `name`, if we use it.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|hook| hook.name() == name)
    }
}

/// Whether git will call us in a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    /// It will.
    Ok,
    /// Our script is missing, or git ignores it because it is not executable.
    Missing,
    /// Something else has taken the place of our script.
    Replaced,
}

/// Who owns a directory of hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// It is in the repository's git directory: private.
    GitDirectory,
    /// It is in the worktree, where it may be committed and shared.
    Worktree,
    /// It is elsewhere, and other repositories may use it, too.
    Outside,
}

/// Where git looks for hooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HooksDirectory {
    /// Absolute, without symbolic links; it need not exist.
    pub(crate) path: PathBuf,
    pub(crate) place: Place,
}

impl Repo {
    /// Returns where git looks for hooks: what `git rev-parse --git-path hooks` says.
    ///
    /// # Errors
    /// If `core.hooksPath` cannot be expanded, or names something that is no directory: git runs no hooks then.
    pub(crate) fn hooks_directory(&self) -> Result<HooksDirectory> {
        let setting = self
            .inner
            .config_snapshot()
            .trusted_path("core.hooksPath")
            .context(Kind::User, || "cannot tell where 'core.hooksPath' points to".into())?;
        // Git runs hooks at the root of the worktree, and resolves a relative path from there.
        let path = match setting {
            None => self.common_dir().join("hooks"),
            Some(path) if path.as_os_str().is_empty() => PathBuf::from("/"),
            Some(path) => self.worktree_root().join(path),
        };
        if path.exists() && !path.is_dir() {
            return Err(Error::user(format!("'{}' is no directory, so that git runs no hooks here", path.display()))
                .with_hint("'git config --show-origin core.hooksPath' shows where that is set"));
        }
        let path = resolved(&path);
        let place = if path.starts_with(resolved(self.common_dir())) {
            Place::GitDirectory
        } else if path.starts_with(self.worktree_root()) {
            Place::Worktree
        } else {
            Place::Outside
        };
        Ok(HooksDirectory { path, place })
    }

    /// Returns the id that a blob of `content` has.
    pub(crate) fn blob_id(&self, content: &[u8]) -> Result<gix::ObjectId> {
        gix::objs::compute_hash(self.object_hash(), gix::object::Kind::Blob, content)
            .context(Kind::Internal, || "cannot compute an id".into())
    }
}

/// Returns `path` without symbolic links, as far as it exists.
fn resolved(path: &Path) -> PathBuf {
    for ancestor in path.ancestors() {
        if let Ok(found) = std::fs::canonicalize(ancestor) {
            let rest = path.strip_prefix(ancestor).expect("it is an ancestor");
            return if rest.as_os_str().is_empty() { found } else { found.join(rest) };
        }
    }
    path.to_owned()
}
