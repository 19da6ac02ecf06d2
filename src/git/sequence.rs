//! Whether a git operation is in progress: rebase, am, cherry-pick, revert.

use std::{fs, io::Read as _};

use bstr::ByteSlice as _;
use gix::ObjectId;

use super::Repo;
use crate::error::Result;

/// The files of a rebase that is squashing commits (git's sequencer.c).
const JOINING: [&str; 3] = ["rebase-merge/message-squash", "rebase-merge/message-fixup", "rebase-merge/current-fixups"];

/// How many bytes of a mail we read for the id in its first line.
const LONGEST_LINE: u64 = 128;

/// The kind of the next commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GitOperation {
    /// A new commit: no operation is in progress, or it has stopped and the user commits in between.
    New,
    /// A repetition of an existing commit; for a cherry-pick, that commit.
    Again(Option<ObjectId>),
}

/// What git has under way in a worktree (wt-status.c): a file of it, what it is called, and what ends it.
const UNDER_WAY: [(&str, &str, &str); 7] = [
    ("rebase-merge", "a rebase", "git rebase --abort"),
    ("rebase-apply/applying", "an am", "git am --abort"),
    ("rebase-apply", "a rebase", "git rebase --abort"),
    ("MERGE_HEAD", "a merge", "git merge --abort"),
    ("CHERRY_PICK_HEAD", "a cherry-pick", "git cherry-pick --abort"),
    ("REVERT_HEAD", "a revert", "git revert --abort"),
    ("BISECT_LOG", "a bisection", "git bisect reset"),
];

impl Repo {
    /// Returns what git has under way in the worktree with the git directory `git_dir`, and the command that ends it.
    pub(crate) fn under_way(git_dir: &std::path::Path) -> Option<(&'static str, &'static str)> {
        let found = UNDER_WAY.iter().find(|(name, ..)| git_dir.join(name).exists());
        found.map(|(_, what, end)| (*what, *end))
    }

    /// Returns true if git has an operation under way here, also between two of its commits.
    pub(crate) fn is_under_way(&self) -> bool {
        Self::under_way(self.git_dir()).is_some() || self.git_dir().join("sequencer").exists()
    }

    /// Returns the full name of the branch that is rebased in the worktree with the git directory `git_dir`.
    pub(crate) fn rebased_branch(git_dir: &std::path::Path) -> Option<bstr::BString> {
        let read = |name: &str| fs::read(git_dir.join(name).join("head-name")).ok();
        let text = read("rebase-merge").or_else(|| read("rebase-apply"))?;
        Some(text.trim_end().into())
    }

    /// Returns true during a rebase or am: HEAD is at an intermediate commit.
    pub(crate) fn is_rebasing(&self) -> bool {
        ["rebase-merge", "rebase-apply"].iter().any(|name| self.git_dir().join(name).exists())
    }

    /// Returns true if a rebase has stopped, for example at a conflict, and has not made the commit where it continues.
    pub(crate) fn has_stopped_rebase(&self) -> bool {
        self.git_dir().join("rebase-merge/stopped-sha").exists()
    }

    /// Returns true if git picks or reverts more commits after this one.
    pub(crate) fn has_more_to_pick(&self) -> bool {
        // The first line is the commit that is picked now (save_todo() in git's sequencer.c).
        let todo = fs::read(self.git_dir().join("sequencer/todo")).unwrap_or_default();
        todo.lines().filter(|line| !line.is_empty() && !line.starts_with(b"#")).nth(1).is_some()
    }

    /// Returns true during a merge whose commit has not been made.
    pub(crate) fn is_merging(&self) -> bool {
        self.git_dir().join("MERGE_HEAD").exists()
    }

    /// Returns the other parents of a merge in progress.
    pub(crate) fn merge_heads(&self) -> Vec<ObjectId> {
        let text = fs::read(self.git_dir().join("MERGE_HEAD")).unwrap_or_default();
        text.lines().filter_map(|line| ObjectId::from_hex(line.trim()).ok()).collect()
    }

    /// Returns true while `git am` applies patches.
    pub(crate) fn is_applying(&self) -> bool {
        self.git_dir().join("rebase-apply/applying").exists()
    }

    /// Returns the commit whose patch `git am` applies now, as the mail names it: see git-format-patch(1).
    pub(crate) fn patched_commit(&self) -> Option<ObjectId> {
        let directory = self.git_dir().join("rebase-apply");
        let next: u32 = fs::read_to_string(directory.join("next")).ok()?.trim().parse().ok()?;
        let mut line = Vec::new();
        fs::File::open(directory.join(format!("{next:04}"))).ok()?.take(LONGEST_LINE).read_to_end(&mut line).ok()?;
        ObjectId::from_hex(line.strip_prefix(b"From ")?.split_str(" ").next()?).ok()
    }

    /// Returns the kind of a commit made now in this worktree.
    pub(crate) fn git_operation(&self) -> Result<GitOperation> {
        let has = |name: &str| self.git_dir().join(name).exists();
        if has("CHERRY_PICK_HEAD") {
            // A rebase reports its commits at its end.
            let copied = if self.is_rebasing() { None } else { self.find_ref("CHERRY_PICK_HEAD")? };
            return Ok(GitOperation::Again(copied));
        }
        let is_again = has("rebase-apply") || JOINING.iter().any(|name| has(name));
        Ok(if is_again { GitOperation::Again(None) } else { GitOperation::New })
    }

    /// Returns the commits that a rebase joins with HEAD now, by `squash` or `fixup`.
    pub(crate) fn joined_commits(&self) -> Vec<ObjectId> {
        let text = fs::read(self.git_dir().join("rebase-merge/current-fixups")).unwrap_or_default();
        text.lines().filter_map(|line| ObjectId::from_hex(line.split_once_str(" ")?.1.trim()).ok()).collect()
    }

    /// Returns when `git fetch` was last run in this worktree, in Unix milliseconds; none if it never was.
    pub(crate) fn last_fetch(&self) -> Option<i64> {
        let fetched = fs::metadata(self.git_dir().join("FETCH_HEAD")).and_then(|metadata| metadata.modified()).ok()?;
        i64::try_from(fetched.duration_since(std::time::UNIX_EPOCH).ok()?.as_millis()).ok()
    }

    /// Returns true if git has prepared the next commit, by `merge`, `merge --squash`, `cherry-pick` or `revert`.
    pub(crate) fn has_prepared_commit(&self) -> bool {
        ["MERGE_MSG", "SQUASH_MSG"].iter().any(|name| self.git_dir().join(name).exists())
    }
}
