//! Lets the user choose among the changes between two trees, hunk by hunk, as git does.

use std::{
    collections::BTreeSet,
    io,
    process::{Command, ExitStatus, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread::sleep,
    time::Duration,
};

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;
use rustix::process::{Pid, Signal, kill_process};

use super::Repo;
use crate::error::{Context as _, Error, Kind, Result};

/// How often the wait for git checks whether to end it.
const TICK: Duration = Duration::from_millis(50);

impl Repo {
    /// Shows the hunks that lead from the tree `from` to the tree `to`, and returns `from` with those that the user chooses.
    ///
    /// Git asks as in `git reset --patch`, for an index of its own; what the user has staged stays as it is. After Ctrl-C, git or
    /// the user's editor may go on, so only git's exit code shows whether the command was interrupted. Once `ends` is raised,
    /// this ends git.
    ///
    /// # Errors
    /// If git cannot be run or fails, for example after Ctrl-C.
    pub(crate) fn choose_hunks(&self, from: ObjectId, to: ObjectId, ends: &AtomicBool) -> Result<ObjectId> {
        let what = || "cannot let git ask for hunks".to_owned();
        let directory = tempfile::tempdir().context(Kind::Internal, what)?;
        let index = directory.path().join("index");
        let (from, to) = (from.to_string(), to.to_string());
        // A split index would leave a file in the user's repository.
        let whole = ["-c", "core.splitIndex=false"];
        let run = |arguments: &[&str]| {
            let mut command = self.git(whole.iter().chain(arguments));
            let output = command.env("GIT_INDEX_FILE", &index).output().context(Kind::Internal, what)?;
            self.check_interrupt()?;
            if output.status.success() {
                return Ok(output.stdout);
            }
            Err(Error::internal(what()).with_cause(output.stderr.trim().to_str_lossy()))
        };
        run(&["read-tree", &from])?;
        let mut asking = self.git_in_any_language(whole.iter().chain(&["reset", "--patch", to.as_str(), "--"]));
        asking.env("GIT_INDEX_FILE", &index);
        asking.stdin(Stdio::inherit()).stdout(Stdio::inherit()).stderr(Stdio::inherit());
        let status = status_of(&mut asking, ends).context(Kind::Internal, what)?;
        if status.success() && !ends.load(Ordering::Relaxed) {
            self.interrupt.lower();
        }
        self.check_interrupt()?;
        if !status.success() {
            return Err(Error::internal(what()).with_cause(format!("git reset --patch: {status}")));
        }
        let tree = run(&["write-tree"])?;
        ObjectId::from_hex(tree.trim_ascii()).context(Kind::Internal, what)
    }

    /// Returns the paths that differ between the trees `from` and `to`, but of which git shows no hunks because they are binary.
    pub(crate) fn binary_paths(&self, from: ObjectId, to: ObjectId) -> Result<BTreeSet<BString>> {
        let (from, to) = (from.to_string(), to.to_string());
        let arguments = ["diff-tree", "-r", "-z", "--numstat", "--no-renames", "--no-ext-diff", &from, &to, "--"];
        let listed = self.run_git(&arguments, None)?;
        Ok(listed.split_str("\0").filter_map(|entry| entry.strip_prefix(b"-\t-\t")).map(BString::from).collect())
    }
}

/// Runs `command` and returns its exit status; once `ends` is raised, asks it to end.
fn status_of(command: &mut Command, ends: &AtomicBool) -> io::Result<ExitStatus> {
    let mut child = command.spawn()?;
    let mut is_asked = false;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if !is_asked && ends.load(Ordering::Relaxed) {
            is_asked = true;
            kill_process(Pid::from_child(&child), Signal::TERM)?;
        }
        sleep(TICK);
    }
}
