//! What the operation log will record about the operation under way.

use std::cell::RefCell;

use gix::ObjectId;

use crate::model::operation::{self, Move, Operation, Role};

/// The files in the tree of an entry that have the file of a session before and after the operation.
pub(crate) const SESSION_BEFORE: &str = "session/before";
pub(crate) const SESSION_AFTER: &str = "session/after";

/// The directory in which they are.
pub(crate) const SESSION: &str = "session";

/// The file in the tree of an entry that says which files of the worktree the operation changed.
pub(crate) const FILES: &str = "restore.json";

/// When a part of the log is full.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PartLimits {
    /// The number of its entries.
    pub(crate) count: Option<u64>,
    /// The age of its first entry, in seconds.
    pub(crate) seconds: Option<i64>,
}

/// What is being recorded.
#[derive(Debug, Default)]
pub(super) struct Recorder(pub(super) RefCell<State>);

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) limits: PartLimits,
    /// The command and the operations within it; the last one is under way.
    pub(super) running: Vec<Running>,
    /// The turn in which the event is that a hook handles.
    pub(super) turn: Option<u32>,
    /// The commits that a hook has made records of.
    pub(super) recorded: Vec<ObjectId>,
    /// The entries that this process has written.
    pub(super) entries: Vec<ObjectId>,
    /// The kind of operation that a program does through the library.
    pub(super) named: String,
    /// True if nothing is recorded.
    pub(super) is_off: bool,
    /// True if all is done by one command line.
    pub(super) is_described: bool,
}

impl State {
    /// Returns what follows the command line of a hook: what is known by now of the event that it handles.
    pub(super) fn detail(&self) -> String {
        const MOST_NAMED: usize = 3;
        let mut detail = self.turn.map(|turn| format!(" of turn {turn}")).unwrap_or_default();
        let named = self.recorded.iter().take(MOST_NAMED).map(|id| id.to_hex_with_len(8).to_string());
        let mut named: Vec<String> = named.collect();
        if self.recorded.len() > MOST_NAMED {
            named.push(format!("and {} more", self.recorded.len() - MOST_NAMED));
        }
        if !named.is_empty() {
            detail.push_str(&format!(": recorded {}", named.join(", ")));
        }
        detail
    }

    /// Returns true if a hook of git or of an agent has called us.
    pub(super) fn is_hook(&self) -> bool {
        self.running.first().is_some_and(|first| first.kind == operation::HOOK)
    }
}

/// An operation under way.
#[derive(Clone, Debug, Default)]
pub(super) struct Running {
    pub(super) command: String,
    pub(super) kind: String,
    pub(super) session: Option<String>,
    pub(super) role: Role,
    pub(super) marker: Option<(bool, bool)>,
    pub(super) files: Option<FilesChanged>,
    pub(super) session_file: Option<SessionFile>,
    pub(super) not_undone: Option<String>,
    /// Moves of refs that belong to it, done already or not.
    pub(super) moves: Vec<Move>,
    pub(super) written: Option<Entry>,
}

/// The file of a session that an operation changes; none: there is no file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SessionFile {
    pub(crate) id: String,
    pub(crate) before: Option<Vec<u8>>,
    pub(crate) after: Option<Vec<u8>>,
}

/// The files of the worktree that an operation changes.
#[derive(Clone, Debug)]
pub(crate) struct FilesChanged {
    /// What the entry's tree has about them.
    pub(crate) text: Vec<u8>,
    /// The checkpoints that have their content before and after.
    pub(crate) held: Vec<ObjectId>,
}

/// The newest entry of the log, written by this process.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) id: ObjectId,
    /// What it says about files.
    pub(super) text: Option<Vec<u8>>,
    pub(super) before: Option<ObjectId>,
    pub(super) operation: Operation,
}
