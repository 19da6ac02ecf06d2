//! The exit codes.

use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    /// Success.
    Done,
    /// The answer is no: nothing found, conflicts, refused.
    No,
    /// It could not.
    Fatal,
    /// The command line makes no sense.
    Usage,
    /// A signal ended it.
    Interrupted,
    /// An agent is held back, which reads that from the exit code.
    Denied,
    /// Another program that the user wants to run cannot be executed.
    NotExecutable,
    /// Another program that the user wants to run does not exist.
    NoProgram,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::No => 1,
            Exit::Fatal => 128,
            Exit::Usage => 129,
            Exit::Interrupted => 130,
            Exit::Denied => 2,
            // As in shells.
            Exit::NotExecutable => 126,
            Exit::NoProgram => 127,
        })
    }
}
