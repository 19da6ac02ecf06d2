//! Merges a commit into the branch at HEAD, and rebases that branch, by git: as the user would, with the user's hooks and settings.

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    fs,
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::Path,
};

use bstr::{BStr, BString, ByteSlice as _};
use gix::{ObjectId, index::entry::Stage};

use super::{Repo, process::run_plain_git};
use crate::error::{Context as _, Error, Kind, Result};

/// Overrides `merge.autoStash`, `rebase.autoStash` and `branch.<name>.mergeOptions`: a stash may not come back, and only git says so.
const NO_STASH: &str = "--no-autostash";

/// How a commit is merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MergeWords<'m> {
    /// As `git merge` does by itself, with this message if a merge commit is made.
    Plain(&'m str),
    /// Only staged.
    Squash,
    /// Only if no commit has to be made.
    FastForward,
}

/// What a merge would make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Foreseen {
    /// The tree of its commit; where there are conflicts, with both sides.
    pub(crate) tree: ObjectId,
    /// The paths with conflicts.
    pub(crate) conflicts: Vec<BString>,
}

/// How git has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GitEnded {
    /// True if its exit status is 0.
    pub(crate) succeeded: bool,
    /// What it has said of the files.
    pub(crate) report: BString,
    /// What else it, or a hook, has said.
    pub(crate) said: BString,
}

impl GitEnded {
    /// Returns `error` with all that git has said.
    pub(crate) fn cause_of(&self, error: Error) -> Error {
        let all = [self.said.trim(), self.report.trim()];
        let text = all.iter().filter(|text| !text.is_empty()).map(|text| text.to_str_lossy()).collect::<Vec<_>>();
        // A tab would be shown as what it is, as if it were one of a name.
        if text.is_empty() { error } else { error.with_cause(text.join("\n").replace('\t', "    ")) }
    }
}

impl Repo {
    /// Merges `commit` into the branch at HEAD.
    ///
    /// # Errors
    /// If git cannot be run.
    pub(crate) fn merge_commit(&self, commit: ObjectId, words: MergeWords<'_>) -> Result<GitEnded> {
        let id = commit.to_string();
        // The message has the log already, if the user wants one. Of the settings that a squash overrides, git would refuse one that
        // asks for a merge commit.
        match words {
            MergeWords::Plain(message) => {
                self.user_git(&["merge", NO_STASH, "--no-edit", "--no-log", "-m", message, &id])
            }
            MergeWords::Squash => self.user_git(&["merge", NO_STASH, "--squash", "--ff", &id]),
            MergeWords::FastForward => self.user_git(&["merge", NO_STASH, "--ff-only", &id]),
        }
    }

    /// Rebases the branch at HEAD onto `commit`.
    ///
    /// # Errors
    /// If git cannot be run.
    pub(crate) fn rebase_onto(&self, commit: ObjectId) -> Result<GitEnded> {
        self.user_git(&["rebase", NO_STASH, "--quiet", &commit.to_string()])
    }

    /// Returns the message with which git merges `branch`, a short name, whose commit is `commit`.
    ///
    /// # Errors
    /// If git fails.
    pub(crate) fn merge_message(&self, branch: &BStr, commit: ObjectId) -> Result<String> {
        // A line of FETCH_HEAD, as `git merge` itself makes it (merge_name() in builtin/merge.c).
        let line = [commit.to_string().as_bytes(), b"\t\tbranch '", branch, b"' of .\n"].concat();
        Ok(self.run_git(&["fmt-merge-msg"], Some(&line))?.to_str_lossy().into_owned())
    }

    /// Returns what a merge of `theirs` into `ours` would make; none if this git cannot say that (before 2.38), or does not merge them.
    pub(crate) fn foreseen_merge(&self, ours: ObjectId, theirs: ObjectId) -> Option<Foreseen> {
        let words = ["merge-tree", "--write-tree", "--name-only", "--no-messages", "-z"].map(str::to_owned);
        // In a conflict, git calls a file of ours that gives way to a directory by what it was asked for.
        let is_head = self.head().ok()?.id == Some(ours);
        let ours = if is_head { "HEAD".to_owned() } else { ours.to_string() };
        let output = self.try_git(&[&words[..], &[ours, theirs.to_string()]].concat(), None).ok()?;
        // The tree comes first (git-merge-tree(1)).
        let mut fields = output.stdout.split_str("\0").filter(|field| !field.is_empty());
        let tree =
            ObjectId::from_hex(fields.next()?.trim()).ok().filter(|_| matches!(output.status.code(), Some(0 | 1)))?;
        Some(Foreseen { tree, conflicts: fields.map(BString::from).collect() })
    }

    /// Returns true if `commit` is `tip` or one of its ancestors, whatever the dates of the commits are.
    ///
    /// # Errors
    /// If git cannot read the history.
    pub(crate) fn is_ancestor(&self, commit: ObjectId, tip: ObjectId) -> Result<bool> {
        let output = self.try_git(&["merge-base", "--is-ancestor", &commit.to_string(), &tip.to_string()], None)?;
        match output.status.code() {
            Some(code @ (0 | 1)) => Ok(code == 0),
            _ => Err(Error::corrupt("git cannot read the history").with_cause(output.stderr.trim().to_str_lossy())),
        }
    }

    /// Returns what is staged, changed and untracked, as git says it (git-status(1)): equal texts are of equal states, but for files
    /// that had changed already.
    ///
    /// # Errors
    /// If git fails.
    pub(crate) fn status(&self) -> Result<BString> {
        self.run_git(&["status", "--porcelain=v2", "-z", "--no-renames", "--untracked-files=all"], None)
    }

    /// Returns true if `branch`, a full name, has a reflog.
    pub(crate) fn has_reflog_of(&self, branch: &BStr) -> bool {
        let name = OsStr::from_bytes(branch.as_bytes());
        let words = ["reflog", "exists"].map(OsStr::new);
        self.try_git(&[&words[..], &[name]].concat(), None).is_ok_and(|output| output.status.success())
    }

    /// Returns the commits from which git merges `one` and `other`; none if their histories have nothing in common.
    ///
    /// # Errors
    /// If git cannot read the history.
    pub(crate) fn common_commits(&self, one: ObjectId, other: ObjectId) -> Result<Vec<ObjectId>> {
        let output = self.try_git(&["merge-base", "--all", &one.to_string(), &other.to_string()], None)?;
        if !matches!(output.status.code(), Some(0 | 1)) {
            return Err(Error::corrupt("git cannot read the history").with_cause(output.stderr.trim().to_str_lossy()));
        }
        Ok(output.stdout.lines().filter_map(|line| ObjectId::from_hex(line.trim()).ok()).collect())
    }

    /// Returns the paths that a commit of `to` which `from` does not have has added or changed; none of them is a merge.
    ///
    /// # Errors
    /// If git cannot read the history.
    pub(crate) fn written_between(&self, from: ObjectId, to: ObjectId) -> Result<BTreeSet<BString>> {
        let commits = self.run_git(&["rev-list", &format!("{from}..{to}")], None)?;
        let words = ["diff-tree", "--stdin", "--root", "-r", "-z", "--name-only", "--no-commit-id", "--no-renames"];
        let listed = self.run_git(&[&words[..], &["--diff-filter=d"]].concat(), Some(&commits))?;
        Ok(listed.split_str("\0").filter(|path| !path.is_empty()).map(BString::from).collect())
    }

    /// Returns the paths that the user's index has in several versions, each once.
    pub(crate) fn unmerged_paths(&self) -> Result<Vec<BString>> {
        let Some(index) = self.user_index()? else { return Ok(Vec::new()) };
        let unmerged = index.entries().iter().filter(|entry| entry.stage() != Stage::Unconflicted);
        let mut paths: Vec<BString> = unmerged.map(|entry| entry.path(&index).to_owned()).collect();
        paths.dedup();
        Ok(paths)
    }

    /// Returns how many commits `to` has that `from` does not have, and how many of these are merges.
    ///
    /// # Errors
    /// If git cannot read the history.
    pub(crate) fn commits_between(&self, from: ObjectId, to: ObjectId) -> Result<(usize, usize)> {
        let count = |more: &[&str]| {
            let range = format!("{from}..{to}");
            let printed = self.run_git(&[&["rev-list", "--count"], more, &[&range]].concat(), None)?;
            let number = printed.trim().to_str_lossy().parse();
            number.map_err(|cause| Error::internal("git counts no commits").with_cause(cause))
        };
        Ok((count(&[])?, count(&["--merges"])?))
    }

    /// Returns where `branch`, a full name, was before its last move; none if its reflog does not say that this led to `now`.
    pub(crate) fn branch_before(&self, branch: &BStr, now: ObjectId) -> Option<ObjectId> {
        let at = |number: &[u8]| {
            let name = OsString::from_vec([branch.as_bytes(), b"@{", number, b"}"].concat());
            let words = ["rev-parse", "--verify", "--quiet"].map(OsStr::new);
            let output = self.try_git(&[&words[..], &[&name]].concat(), None).ok()?;
            ObjectId::from_hex(output.stdout.trim()).ok().filter(|_| output.status.success())
        };
        at(b"1").filter(|_| at(b"0") == Some(now))
    }

    /// Runs git with `words` at the root of this worktree.
    fn user_git(&self, words: &[&str]) -> Result<GitEnded> {
        let root = self.worktree_root();
        let real = |path: &Path| fs::canonicalize(path).ok();
        // Hooks of the user's get variables from git if the repository is named, and may pass them on to git in another one.
        let is_found = Self::open(root).is_ok_and(|found| real(found.git_dir()) == real(self.git_dir()));
        let mut all: Vec<OsString> = Vec::new();
        if !is_found {
            let git_dir = std::path::absolute(self.git_dir()).unwrap_or_else(|_| self.git_dir().to_owned());
            all.extend(["--git-dir".into(), git_dir.into(), "--work-tree".into(), root.into()]);
        }
        all.extend(words.iter().map(Into::into));
        let all: Vec<&OsStr> = all.iter().map(OsString::as_os_str).collect();
        let output = run_plain_git(root, &all).context(Kind::Internal, || format!("cannot run 'git {}'", words[0]))?;
        Ok(GitEnded {
            succeeded: output.status.success(),
            report: output.stdout.trim().into(),
            said: output.stderr.trim().into(),
        })
    }
}
