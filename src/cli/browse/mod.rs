//! `git checkpoint browse`: the terminal browser. `restore` without a checkpoint uses it to let the user pick one.
//!
//! `state` is what is shown, and `press` how a key changes it: both are pure. `view` draws it. `drive` waits for keys, reads what the
//! state asks for, and runs commands: an action is a command line, the one that the bottom line shows.

mod drive;
mod input;
mod lines;
mod loaded;
mod press;
mod ran;
mod rows;
mod screen;
mod state;
mod typed;
mod view;
mod words;
mod worker;

use std::{ffi::OsString, io::IsTerminal as _};

use self::drive::Browser;
pub(super) use self::{
    press::Picked,
    ran::{Ran, Runner},
};
use super::{Exit, call::Call, environment, output};
use crate::error::{Error, Result};

/// Look through checkpoints in the terminal: what changed, whose lines these are
///
/// The timeline is on the left, the files of what is selected beside it, and then the changed lines with their owners. A key
/// restores, tags, or compares what is selected, and the last line always shows the command that does the same. '?' lists the keys.
#[derive(clap::Args, Debug)]
pub(super) struct Browse {
    /// Only what changed a path that one of these matches
    #[arg(value_name = "pathspec")]
    paths: Vec<OsString>,
}

impl Browse {
    pub(super) fn run(self, call: &mut Call, runner: Runner) -> Result<Exit> {
        if !is_possible() {
            let error = Error::user("browse needs a terminal that can place text");
            return Err(
                error.with_hint("'git checkpoint list' prints the checkpoints, 'git checkpoint show -p' one of them")
            );
        }
        Browser { paths: self.paths, picks: None, runner }.run(call)?;
        Ok(Exit::Done)
    }
}

/// Returns true if there is a terminal in which to browse.
pub(super) fn is_possible() -> bool {
    output::is_terminal()
        && std::io::stdin().is_terminal()
        && environment::variable("TERM").is_some_and(|terminal| terminal != "dumb")
}

/// Lets the user pick what to restore; `options` are the words of `restore` that were typed, without a checkpoint, and `paths` the
/// pathspecs among them. The user has seen the plan of what is returned, and agreed; none if none was picked.
pub(super) fn pick(
    options: Vec<OsString>,
    paths: Vec<OsString>,
    call: &mut Call,
    runner: Runner,
) -> Result<Option<Picked>> {
    Browser { paths, picks: Some(options), runner }.run(call)
}

#[cfg(test)]
mod tests;
