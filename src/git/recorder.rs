//! What the operation log will record about the operation under way.

use std::cell::RefCell;

use gix::ObjectId;

use crate::model::operation::{Move, Operation, Role};

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

impl Recorder {
    /// Returns a recorder for another repository, in which the same command works.
    pub(super) fn of_command(&self) -> Self {
        let state = self.0.borrow();
        let command = state.running.first().filter(|_| state.is_described);
        let of = |running: &Running| Running {
            command: running.command.clone(),
            kind: running.kind.clone(),
            ..Running::default()
        };
        let running = command.map(of).into_iter().collect();
        let (named, is_described) = (state.named.clone(), state.is_described);
        Self(RefCell::new(State { limits: state.limits, running, named, is_described }))
    }
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) limits: PartLimits,
    /// The command and the operations within it; the last one is under way.
    pub(super) running: Vec<Running>,
    /// The kind of operation that a program does through the library.
    pub(super) named: String,
    /// True if all is done by one command line.
    pub(super) is_described: bool,
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
    /// Moves of refs that belong to it, done already or not.
    pub(super) moves: Vec<Move>,
    pub(super) written: Option<Entry>,
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
