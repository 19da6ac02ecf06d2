//! What is known of a round.

use std::path::PathBuf;

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;
use serde::{Deserialize, Serialize};

use crate::model::round::Mode;

/// How far a round has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Phase {
    /// Its directories are being made, or the process that made them was killed.
    Starting,
    /// Work goes on in it.
    Live,
    /// Its work is on its branches, and its worktrees are removed.
    Ended,
}

impl Phase {
    /// Returns its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Live => "live",
            Self::Ended => "ended",
        }
    }
}

/// What a round was asked for: the same again is the same round.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    /// The directories to work on, canonical; none: the workspace itself.
    pub(crate) contexts: Vec<PathBuf>,
    /// The canonical directory of the agent.
    pub(crate) workspace: Option<PathBuf>,
    /// The session that works in it.
    pub(crate) session: Option<String>,
    /// What other agents call the one that works in it.
    pub(crate) agent: Option<String>,
    /// How to isolate it, as it was asked for.
    pub(crate) mode: Option<String>,
    /// Where its branches begin.
    pub(crate) base: Option<String>,
    /// What its branch is to be called.
    pub(crate) label: Option<String>,
    /// What the program that gives the tasks calls its run.
    pub(crate) group: Option<String>,
    /// The branch of the agent's round before.
    pub(crate) previous: Option<String>,
    /// What it takes along of what is not committed, as it was asked for.
    pub(crate) mirror: Option<String>,
}

/// One directory of a round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The directory to work on.
    pub(crate) context: PathBuf,
    /// How it is isolated.
    pub(crate) mode: Mode,
    /// Where the work is done: the root of the worktree, or the directory itself.
    pub(crate) path: Option<PathBuf>,
    /// The directory to work on, relative to the root of its worktree; empty if it is the root.
    pub(crate) inside: BString,
    /// Its branch, by its short name.
    pub(crate) branch: Option<String>,
    /// The commit at which the branch begins.
    pub(crate) base: Option<String>,
    /// The checkpoint whose files the worktree began with.
    pub(crate) files: Option<String>,
    /// Where its worktree is being made; that it is there need not mean that it is made.
    pub(crate) claimed: Option<PathBuf>,
    /// Git's id of the worktree that was made.
    pub(crate) worktree: Option<BString>,
    /// What the git directory of that worktree says, wherever it is: git may give the id to another worktree later.
    pub(crate) mark: Option<String>,
    /// What HEAD pointed to before: the full name of a branch, or the id of a commit.
    pub(crate) head: Option<String>,
    /// The folder for experiments.
    pub(crate) scratch: Option<PathBuf>,
    /// Where that has been moved to.
    pub(crate) archive: Option<PathBuf>,
    /// What the end of the round has committed; none as long as it has not.
    pub(crate) committed: Option<Committed>,
    /// Of a copy with a repository of its own: the last commit of its branch that this repository has got from it.
    pub(crate) brought: Option<String>,
    /// Where that copy is moved to at the end, or was.
    pub(crate) aside: Option<PathBuf>,
    /// What brings the worktree back, once it is removed.
    pub(crate) removed: Option<String>,
    /// True once all is done that the end of the round asks for.
    pub(crate) is_done: bool,
    /// True if its worktree was to stay at the end.
    pub(crate) is_kept: bool,
    /// When its branch was to be retired, in Unix microseconds.
    pub(crate) superseded: Option<i64>,
    /// The last commit of its branch, once that is retired: the archive has it.
    pub(crate) retired: Option<String>,
}

impl Place {
    /// Returns the directory to work on, where the work is done.
    pub(crate) fn directory(&self) -> Option<PathBuf> {
        let inside = self.inside.to_path_lossy();
        self.path.as_ref().map(|path| if self.inside.is_empty() { path.clone() } else { path.join(inside) })
    }
}

/// What the end of a round has committed. The branch has had all that was there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Committed {
    /// The checkpoint of what was there.
    pub(crate) checkpoint: ObjectId,
    /// The last commit that was made; none if there was nothing to commit.
    pub(crate) commit: Option<ObjectId>,
    /// The commit of the branch then.
    pub(crate) tip: ObjectId,
}

/// The command of a race that works in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ran {
    /// Which round of the race it is, from 1.
    pub(crate) number: usize,
    /// Its exit status as a shell gives it; none: it has not ended, or has not begun.
    pub(crate) status: Option<i32>,
    /// How long it took, in milliseconds.
    pub(crate) duration_ms: Option<u64>,
}

/// A round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Round {
    /// Its id.
    pub(crate) id: String,
    /// When it began, in Unix microseconds.
    pub(crate) began: i64,
    /// How far it has come.
    pub(crate) phase: Phase,
    /// What it was asked for.
    pub(crate) asked: Asked,
    /// True if it takes along what is not committed in the workspace.
    pub(crate) takes_changes: bool,
    /// The folder of its workspace where experiments are kept, as the settings called it when it began.
    pub(crate) archive_folder: String,
    /// The command that a race runs in it; none if it is of no race.
    pub(crate) ran: Option<Ran>,
    /// Its directories.
    pub(crate) places: Vec<Place>,
}
