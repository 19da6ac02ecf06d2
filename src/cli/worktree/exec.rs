//! `worktree exec`: runs a program in another worktree.

use std::{ffi::OsString, io::ErrorKind};

use super::super::{Exit, call::Call, environment, external};
use crate::{
    error::{Error, Result},
    ops::{sessions, worktrees},
};

#[derive(clap::Args, Debug)]
pub(super) struct Exec {
    /// The worktree
    #[arg(value_name = "worktree")]
    name: OsString,
    /// The session that the program belongs to
    #[arg(long, value_name = "session")]
    session: Option<String>,
    /// The program with its arguments (default: your shell)
    #[arg(last = true, value_name = "program")]
    program: Vec<OsString>,
}

impl Exec {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.context()?;
        let found = worktrees::find_root(&context, Some(&self.name))?;
        let session = self.session.as_deref().map(|name| sessions::existing(&context, name)).transpose()?;
        let shell = || environment::variable("SHELL").unwrap_or_else(|| "/bin/sh".into());
        let (program, arguments) = match self.program.split_first() {
            Some((program, arguments)) => (program.clone(), arguments),
            None => (shell(), &[][..]),
        };
        call.out.flush()?;
        let variables = worktrees::variables(&context, &found, session.as_deref())?;
        // Signals, the terminal and the exit status are its own.
        let cause = external::become_program(&program, arguments, &found.path, &variables);
        let is_missing = cause.kind() == ErrorKind::NotFound;
        let mut error = Error::user(format!("cannot run '{}'", program.display())).with_cause(cause);
        if is_missing {
            error = error.with_hint("the program is searched for in the directories of 'PATH'");
        }
        call.out.error("fatal", &error);
        Ok(if is_missing { Exit::NoProgram } else { Exit::NotExecutable })
    }
}
