//! Lets the user choose among the changes between two trees, hunk by hunk, as git does.

use std::process::Stdio;

use gix::ObjectId;

use super::Repo;
use crate::error::{Context as _, Error, Kind, Result};

impl Repo {
    /// Shows the hunks that lead from the tree `from` to the tree `to`, and returns `from` with those that the user chooses.
    ///
    /// Git asks as in `git reset --patch`, for an index of its own; what the user has staged stays as it is.
    ///
    /// # Errors
    /// If git cannot be run, or does not end well, as after Ctrl-C.
    pub(crate) fn choose_hunks(&self, from: ObjectId, to: ObjectId) -> Result<ObjectId> {
        let what = || "cannot let git ask for hunks".to_owned();
        let directory = tempfile::tempdir().context(Kind::Internal, what)?;
        let index = directory.path().join("index");
        let (from, to) = (from.to_string(), to.to_string());
        let run = |arguments: &[&str], is_shown: bool| {
            let mut command = self.git(arguments);
            command.env("GIT_INDEX_FILE", &index);
            if is_shown {
                command.stdin(Stdio::inherit()).stdout(Stdio::inherit()).stderr(Stdio::inherit());
            }
            let output = command.output().context(Kind::Internal, what)?;
            self.check_interrupt()?;
            if output.status.success() {
                return Ok(output.stdout);
            }
            Err(Error::internal(what()).with_cause(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
        };
        run(&["read-tree", &from], false)?;
        run(&["reset", "--patch", &to, "--"], true)?;
        let tree = run(&["write-tree"], false)?;
        ObjectId::from_hex(tree.trim_ascii()).context(Kind::Internal, what)
    }
}
