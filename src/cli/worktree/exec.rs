//! `worktree exec`: runs a program in another worktree.

use std::{ffi::OsString, os::unix::process::CommandExt as _};

use super::super::{Exit, call::Call, environment, external};
use crate::{
    error::{Context as _, Error, Kind, Result},
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
    #[arg(last = true, value_name = "command")]
    command: Vec<OsString>,
}

impl Exec {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.context()?;
        let found = worktrees::find(&context, Some(&self.name))?;
        let session = self.session.as_deref().map(|name| sessions::named(&context, name)).transpose()?;
        let shell = || environment::variable("SHELL").unwrap_or_else(|| "/bin/sh".into());
        let mut words = self.command.into_iter();
        let program = words.next().unwrap_or_else(shell);
        call.out.flush()?;
        let mut command = external::elsewhere(&program, &found.path);
        command.args(words).env("GIT_CHECKPOINT_WORKTREE", &found.path);
        match session {
            Some(session) => command.env("GIT_CHECKPOINT_SESSION", session),
            None => command.env_remove("GIT_CHECKPOINT_SESSION"),
        };
        // It takes the place of this process, so that signals, the terminal and the exit status are its own.
        let cause = command.exec();
        Err(cause)
            .context(Kind::User, || format!("cannot run '{}'", program.display()))
            .map_err(|error: Error| error.with_hint("the program is searched for in the directories of 'PATH'"))
    }
}
