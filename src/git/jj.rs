//! jj's view of a repository that it shares with git (`.jj` beside `.git`): git does not know which change is at `@`.
//!
//! Each question is one call of `jj log`, which neither snapshots the worktree nor records an operation.

use std::time::Duration;

use bstr::ByteSlice as _;
use gix::ObjectId;
use serde::Deserialize;

use super::{Repo, process};
use crate::error::Result;

/// A change of jj's.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Change {
    /// Its id, in jj's letters.
    #[serde(rename = "change_id")]
    pub(crate) id: String,
    /// Its current commit.
    pub(crate) commit_id: String,
    /// Its parent commits.
    pub(crate) parents: Vec<String>,
    /// Its message.
    pub(crate) description: String,
    /// True if it is the one at `@`.
    #[serde(skip)]
    pub(crate) is_at: bool,
}

/// A line of the answer.
#[derive(Deserialize)]
struct Line {
    at: bool,
    change: Change,
}

/// The template for the fields of each change.
const TEMPLATE: &str = r#""{\"at\":" ++ json(current_working_copy) ++ ",\"change\":" ++ json(self) ++ "}\n""#;

/// jj's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The changes asked for.
    Changes(Vec<Change>),
    /// jj is not installed.
    NoProgram,
    /// jj gives no answer, for this reason.
    Silent(String),
}

impl Change {
    /// Returns its current commit.
    pub(crate) fn commit(&self) -> Option<ObjectId> {
        ObjectId::from_hex(self.commit_id.as_bytes()).ok()
    }

    /// Returns true if `head` is one of its parents, so that jj and git agree where HEAD is.
    pub(crate) fn stands_on(&self, head: Option<ObjectId>) -> bool {
        // jj's root change has no commit in git.
        let is_root = |id: &String| id.bytes().all(|byte| byte == b'0');
        match head {
            Some(head) => {
                self.parents.first().is_some_and(|id| ObjectId::from_hex(id.as_bytes()).is_ok_and(|id| id == head))
            }
            None => self.parents.iter().all(is_root),
        }
    }
}

/// jj's message after two processes changed the repository at the same time, until a jj command merges their
/// operations.
const DIVERGED: &str = "resolved to more than one operation";

impl Repo {
    /// Returns true if jj manages this worktree, too.
    pub(crate) fn is_colocated(&self) -> bool {
        let root = self.worktree_root();
        root.join(".jj").is_dir() && root.join(".git").exists()
    }

    /// Returns the change at `@`, and the current version of the change `original`.
    ///
    /// # Errors
    /// If jj takes too long.
    pub(crate) fn jj_changes(&self, original: Option<&str>) -> Result<Answer> {
        const ATTEMPTS: u32 = 5;
        let is_change_id = |id: &&str| !id.is_empty() && id.bytes().all(|byte| (b'k'..=b'z').contains(&byte));
        let revisions = match original.filter(is_change_id) {
            Some(id) => format!("@ | change_id({id})"),
            None => "@".to_owned(),
        };
        let arguments = ["log", "--no-graph", "-r", &revisions, "-T", TEMPLATE];
        let mut attempt = 1;
        loop {
            let Some(output) = process::jj(self.worktree_root(), process::Jj::Reads, &arguments)? else {
                return Ok(Answer::NoProgram);
            };
            if output.status.success() {
                return Ok(parse(&output.stdout));
            }
            let said = output.stderr.to_str_lossy();
            if attempt == ATTEMPTS || !said.contains(DIVERGED) {
                return Ok(Answer::Silent(said.trim().lines().next().unwrap_or_default().to_owned()));
            }
            // Another jj command is running.
            std::thread::sleep(Duration::from_millis(50));
            attempt += 1;
        }
    }
}

fn parse(stdout: &[u8]) -> Answer {
    let line = |line: &[u8]| serde_json::from_slice::<Line>(line).map(|line| Change { is_at: line.at, ..line.change });
    match stdout.lines().map(line).collect() {
        Ok(changes) => Answer::Changes(changes),
        Err(cause) => Answer::Silent(format!("its answer makes no sense: {cause}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_or_make_no_sense() {
        let change =
            r#"{"commit_id":"ab","parents":["00"],"change_id":"kz","description":"d\n","author":{"name":"x"}}"#;
        let line = format!("{{\"at\":true,\"change\":{change}}}");
        let Answer::Changes(changes) = parse(format!("{line}\n").as_bytes()) else { panic!("it is an answer") };
        assert_eq!((changes[0].id.as_str(), changes[0].description.as_str(), changes[0].is_at), ("kz", "d\n", true));
        assert!(changes[0].stands_on(None), "nothing but the root is below");
        for nonsense in ["{}", "\0", "[1]", "{\"change_id\": 1}"] {
            assert!(matches!(parse(nonsense.as_bytes()), Answer::Silent(_)), "{nonsense}");
        }
    }
}
