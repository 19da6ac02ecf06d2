//! Makes a linked worktree, and the branch for it, and moves one, by git.

use std::{
    ffi::OsStr,
    os::unix::{ffi::OsStrExt as _, process::ExitStatusExt as _},
    path::Path,
    process::{ExitStatus, Output},
    time::Duration,
};

use bstr::{BStr, BString, ByteSlice as _};
use gix::ObjectId;

use super::{
    Repo,
    process::run_plain_git,
    registrations::{Place, Registration},
    threads,
};
use crate::{
    error::{Context as _, Error, Kind, Result},
    model::path_text::shell_word,
};

/// The reason of git's own lock on a worktree that it is making (builtin/worktree.c).
const UNFINISHED: &str = "initializing";

/// A hook that failed after the worktree was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FailedHook {
    /// Its exit status as a shell gives it: 128 and the number of the signal, if one ended it.
    pub(crate) status: i32,
    /// What git and the hook printed.
    pub(crate) said: BString,
}

/// What is there after `git worktree add`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// The worktree.
    Made,
    /// The worktree; the user's hook `post-checkout`, which git runs last, has failed.
    HookFailed,
    /// A part of the worktree: git was killed before it could complete or remove that.
    Part,
    /// Nothing.
    Nothing,
}

/// Decides what git has left if it `succeeded` or not, and has `found` registered where the worktree was to be.
fn outcome(succeeded: bool, found: Option<&Registration>) -> Outcome {
    match found {
        _ if succeeded => Outcome::Made,
        // Git unlocks the worktree before it runs the hook, and until then removes it whatever fails.
        Some(found) if found.lock.as_ref().is_some_and(|reason| reason == UNFINISHED) => Outcome::Part,
        Some(found) if found.place == Place::Worktree => Outcome::HookFailed,
        // Git may have another one there, whose directory is gone.
        _ => Outcome::Nothing,
    }
}

/// Returns the exit status as a shell gives it.
fn shell_status(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(128)
}

/// Runs git with `words` in `from` for the git directory `git_dir` of a worktree, to do `what`.
fn set_head(from: &Path, git_dir: &Path, words: &[&OsStr], what: &str) -> Result<()> {
    let words = [&[OsStr::new("--git-dir"), git_dir.as_os_str()], words].concat();
    let output = run_plain_git(from, &words).context(Kind::Internal, || "cannot run git".into())?;
    if output.status.success() {
        return Ok(());
    }
    Err(Error::internal(format!("git cannot {what} in '{}'", git_dir.display()))
        .with_cause(output.stderr.trim().to_str_lossy().into_owned()))
}

impl Repo {
    /// Returns true if `name` is a name that git accepts for a branch.
    pub(crate) fn is_branch_name(name: &str) -> bool {
        let full = format!("refs/heads/{name}");
        // On command lines, git takes `@` for HEAD.
        let is_other = ["HEAD", "@"].contains(&name) || name.starts_with('-');
        !is_other && gix::validate::reference::name(full.as_str().into()).is_ok()
    }

    /// Runs git with `words` in `from`, a directory of this repository's: as the user would, with the user's hooks.
    fn plain_git(&self, from: &Path, words: &[&OsStr]) -> Result<Output> {
        run_plain_git(from, &self.of_this_repository(words)).context(Kind::Internal, || "cannot run git".into())
    }

    /// Returns `words` for git after those that name this repository.
    fn of_this_repository<'w>(&'w self, words: &[&'w OsStr]) -> Vec<&'w OsStr> {
        [&[OsStr::new("--git-dir"), self.common_dir().as_os_str()], words].concat()
    }

    /// Makes the branch `name`, which must not exist, at `commit`; the reflog says that it is from `base`.
    ///
    /// # Errors
    /// [`Kind::Race`] if it exists; [`Kind::User`] if git refuses to make it.
    pub(crate) fn make_branch(&self, from: &Path, name: &str, commit: ObjectId, base: &str) -> Result<()> {
        let full = format!("refs/heads/{name}");
        let (id, none) = (commit.to_string(), ObjectId::null(self.object_hash()).to_string());
        let message = format!("branch: Created from {base}");
        let output = self.plain_git(from, &["update-ref", "-m", &message, &full, &id, &none].map(OsStr::new))?;
        if output.status.success() {
            return Ok(());
        }
        let kind = if self.find_ref(&full)?.is_some() { Kind::Race } else { Kind::User };
        Err(Error::new(kind, format!("git cannot make the branch '{name}'"))
            .with_cause(output.stderr.trim().to_str_lossy().into_owned()))
    }

    /// Deletes the branch `name` with its reflog, unless it does not point to `commit` any more, or a worktree has it.
    pub(crate) fn delete_made_branch(&self, from: &Path, name: &str, commit: ObjectId) -> Result<()> {
        let full = format!("refs/heads/{name}");
        let is_it = |it: &Registration| it.head.branch.as_ref().is_some_and(|at| *at == full.as_str());
        if !self.registrations()?.iter().any(is_it) {
            let id = commit.to_string();
            // It fails if the branch has moved.
            drop(self.plain_git(from, &["update-ref", "-d", &full, &id].map(OsStr::new))?);
        }
        Ok(())
    }

    /// Makes a linked worktree of the branch `name` at `path`, an absolute canonical path that is free or an empty directory,
    /// from the directory `from`. The user's hooks run as in `git worktree add`. Calls `on_registered` as soon as git has
    /// registered the worktree, or has failed: the checkout and the hooks may take long after that.
    ///
    /// Returns the hook that failed after all was done.
    ///
    /// # Errors
    /// If git refuses it, or fails; then no worktree is there. If git is killed, a part of the worktree may be left, in which
    /// others may have put something: the hint says what removes it.
    pub(crate) fn add_worktree(
        &self,
        from: &Path,
        path: &Path,
        name: &str,
        on_registered: impl FnOnce(),
    ) -> Result<Option<FailedHook>> {
        let words = ["worktree", "add", "--quiet", "--"].map(OsStr::new);
        let words = [&words[..], &[path.as_os_str(), OsStr::new(name)]].concat();
        let words = self.of_this_repository(&words);
        let run = || run_plain_git(from, &words);
        let output = std::thread::scope(|scope| {
            let Some(git) = threads::start(scope, run) else {
                let output = run();
                on_registered();
                return Ok(output);
            };
            let mut pause = Duration::from_millis(1);
            while !git.is_finished() && !self.has_registered(path, name) {
                std::thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(20));
            }
            on_registered();
            threads::end(git)
        });
        let output = output?.context(Kind::Internal, || "cannot run 'git worktree add'".into())?;
        let found = self.registration_at(path)?;
        let said = BString::from(output.stderr.trim());
        let outcome = outcome(output.status.success(), found.as_ref());
        match outcome {
            Outcome::Made => return Ok(None),
            Outcome::HookFailed => return Ok(Some(FailedHook { status: shell_status(output.status), said })),
            Outcome::Part | Outcome::Nothing => {}
        }
        let cause = match output.status.signal() {
            Some(signal) if said.is_empty() => format!("signal {signal} has ended git"),
            _ => said.to_str_lossy().into_owned(),
        };
        let error = Error::user(format!("git cannot make the worktree '{}'", path.display())).with_cause(cause);
        let command = || format!("git worktree remove -f -f {}", shell_word(&path.display().to_string()));
        Err(match outcome {
            // Twice, for git's lock.
            Outcome::Part => error.with_hint(format!("'{}' removes the part that is left, with all in it", command())),
            _ => error,
        })
    }

    /// Moves the linked worktree with the root `path` to `to`, where nothing is, from the directory `from`.
    ///
    /// # Errors
    /// If git refuses it; the worktree is where it was then.
    pub(crate) fn move_worktree(&self, from: &Path, path: &Path, to: &Path) -> Result<()> {
        let words = ["worktree", "move", "--"].map(OsStr::new);
        let output = self.plain_git(from, &[&words[..], &[path.as_os_str(), to.as_os_str()]].concat())?;
        if output.status.success() {
            return Ok(());
        }
        Err(Error::user(format!("git cannot move the worktree '{}'", path.display()))
            .with_cause(output.stderr.trim().to_str_lossy().into_owned()))
    }

    /// Lets HEAD of the worktree with the git directory `git_dir`, whose root need not be there, point to `commit`, whatever it
    /// points to now.
    pub(crate) fn detach_head(from: &Path, git_dir: &Path, commit: ObjectId) -> Result<()> {
        let id = commit.to_string();
        let words = ["update-ref", "--no-deref", "-m", "checkpoint: restored without its branch", "HEAD", &id];
        set_head(from, git_dir, &words.map(OsStr::new), "detach HEAD")
    }

    /// Lets HEAD in the git directory `git_dir` of a worktree point to `branch` again, a full name. Git runs in `from`.
    pub(crate) fn attach_head(from: &Path, git_dir: &Path, branch: &BStr) -> Result<()> {
        let words = [OsStr::new("symbolic-ref"), OsStr::new("HEAD"), OsStr::from_bytes(branch)];
        set_head(from, git_dir, &words, "let HEAD point to its branch")
    }

    /// True once git has registered the worktree at `path`, and that it has the branch `name`.
    fn has_registered(&self, path: &Path, name: &str) -> bool {
        let found = self.registration_at(path).ok().flatten();
        found
            .and_then(|it| it.head.branch)
            .is_some_and(|branch| branch.strip_prefix(b"refs/heads/") == Some(name.as_bytes()))
    }

    /// Returns the linked worktree that git has registered at `path`, which is canonical; none if there is none.
    pub(crate) fn registration_at(&self, path: &Path) -> Result<Option<Registration>> {
        let at = |id: &BString| self.registered_root(id.as_bstr()).is_some_and(|root| root == path);
        self.linked_ids()?.into_iter().find(at).map_or(Ok(None), |id| self.registration(id.as_bstr()))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::git::Head;

    #[rstest]
    #[case::made(true, Some((Place::Worktree, None)), Outcome::Made)]
    #[case::removed_at_once(true, None, Outcome::Made)]
    #[case::refused(false, None, Outcome::Nothing)]
    #[case::hook(false, Some((Place::Worktree, None)), Outcome::HookFailed)]
    #[case::locked_by_the_hook(false, Some((Place::Worktree, Some("mine"))), Outcome::HookFailed)]
    #[case::killed(false, Some((Place::Worktree, Some(UNFINISHED))), Outcome::Part)]
    #[case::killed_before_the_link(false, Some((Place::Nothing, Some(UNFINISHED))), Outcome::Part)]
    #[case::another_one_that_is_gone(false, Some((Place::Nothing, None)), Outcome::Nothing)]
    #[case::another_one_that_is_locked(false, Some((Place::Nothing, Some("mine"))), Outcome::Nothing)]
    fn what_git_has_left(
        #[case] succeeded: bool,
        #[case] found: Option<(Place, Option<&str>)>,
        #[case] expected: Outcome,
    ) {
        let found = found.map(|(place, lock)| Registration {
            id: "w".into(),
            path: "/w".into(),
            git_dir: "/r/.git/worktrees/w".into(),
            place,
            head: Head { id: None, branch: None },
            lock: lock.map(Into::into),
        });
        assert_eq!(outcome(succeeded, found.as_ref()), expected);
    }
}
