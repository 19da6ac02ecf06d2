//! The directory in which the tour plays, and how its commands run there.

use std::{
    ffi::OsString,
    io::{BufRead as _, IsTerminal as _},
    path::PathBuf,
};

use super::super::{environment, external, interrupt::Interrupt};
use crate::error::{Context as _, Error, Kind, Result};

/// Git's settings of the user of the tour: theirs could sign commits, or run hooks of their own.
const SETTINGS: &str = "[user]\n\tname = You\n\temail = you@example.com\n[advice]\n\tdetachedHead = false\n";

/// Runs commands in a temporary directory, which goes when the value is dropped.
pub(super) struct Shell {
    directory: tempfile::TempDir,
    variables: Vec<(&'static str, OsString)>,
}

impl Shell {
    /// Makes the directory, with a home directory in it.
    pub(super) fn new() -> Result<Self> {
        let what = || "cannot make a directory for the tour".to_owned();
        let directory = tempfile::Builder::new().prefix("checkpoint-tour-").tempdir().context(Kind::User, what)?;
        let home = directory.path().join("home");
        let made = std::fs::create_dir(&home)
            .and_then(|()| std::fs::create_dir(directory.path().join("shop")))
            .and_then(|()| std::fs::write(home.join(".gitconfig"), SETTINGS));
        made.context(Kind::User, what)?;
        let program = std::env::current_exe().context(Kind::Internal, || "cannot tell where the program is".into())?;
        let old = environment::variable("PATH").unwrap_or_default();
        let directories = program.parent().map(PathBuf::from).into_iter().chain(std::env::split_paths(&old));
        let path = std::env::join_paths(directories).context(Kind::Internal, || "cannot set PATH".into())?;
        let variables = vec![
            ("PATH", path),
            ("HOME", home.into_os_string()),
            ("GIT_CONFIG_NOSYSTEM", "1".into()),
            ("GIT_PAGER", "cat".into()),
        ];
        Ok(Self { directory, variables })
    }

    /// Runs a command line as the user sees it, and its output; that it fails is the user's to see, too.
    pub(super) fn run(&self, line: &str) -> Result<()> {
        self.start(line, true).map(drop)
    }

    /// Runs a script of the tour itself, without showing what it prints.
    ///
    /// # Errors
    /// [`Kind::Internal`] if it fails.
    pub(super) fn prepare(&self, script: &str) -> Result<()> {
        if self.start(&format!("set -e\n{script}"), false)?.success() {
            return Ok(());
        }
        Err(Error::new(Kind::Internal, "the tour cannot go on")
            .with_hint("commands that were typed in between may be in its way: start it again"))
    }

    fn start(&self, line: &str, is_shown: bool) -> Result<std::process::ExitStatus> {
        external::run_apart(line, &self.directory.path().join("shop"), &self.variables, is_shown)
    }
}

/// Returns the line that the user types; none at the end of the input, or if the user asks to end.
pub(super) fn read_line(interrupt: &Interrupt) -> Result<Option<String>> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    /// How long Ctrl-C may take.
    const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        // To read a line goes on after a signal; a terminal gives one line at a time, so that none waits in a buffer.
        while poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&PAUSE)).unwrap_or(0) == 0 {
            if interrupt.is_raised() {
                return Ok(None);
            }
        }
    }
    let mut line = Vec::new();
    stdin.lock().read_until(b'\n', &mut line).context(Kind::User, || "cannot read the answer".into())?;
    Ok((!line.is_empty()).then(|| String::from_utf8_lossy(&line).into_owned()))
}
