//! A command that runs inside the browser: an action is a command line.

use std::ffi::OsString;

use super::super::{Exit, call::Call};

/// Words of a command line.
pub(super) type Words = Vec<OsString>;

/// Runs a command line, without the program's name, inside a call.
pub(in crate::cli) type Runner = fn(&[OsString], &Call) -> Ran;

/// What became of a command that ran inside another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct Ran {
    /// How it ended.
    pub(in crate::cli) exit: Exit,
    /// Results and messages.
    pub(in crate::cli) printed: Vec<u8>,
}
