//! The directory in which the tour plays, and how its commands run there.

use std::{ffi::OsString, os::unix::process::ExitStatusExt as _, path::PathBuf, process::ExitStatus, time::Duration};

use super::super::{environment, external, interrupt::Interrupt};
use crate::error::{Context as _, Error, Kind, Result};

/// The tour's own git settings: those of the user could sign commits, or run other hooks.
const SETTINGS: &str = "[user]\n\tname = You\n\temail = you@example.com\n[advice]\n\tdetachedHead = false\n";

/// Runs commands in a temporary directory, which is deleted when the value is dropped.
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
        // If a typed command deletes the tour's repository, git must not find one that contains the directory instead.
        let place = std::fs::canonicalize(directory.path()).context(Kind::User, what)?;
        let ceilings = std::env::join_paths(place.ancestors().take(2)).unwrap_or_default();
        let variables = vec![
            ("GIT_CEILING_DIRECTORIES", ceilings),
            ("PATH", path),
            ("HOME", home.into_os_string()),
            ("GIT_CONFIG_NOSYSTEM", "1".into()),
            ("GIT_PAGER", "cat".into()),
        ];
        Ok(Self { directory, variables })
    }

    /// Runs a command line and shows its output. The tour goes on even if the command fails. Ctrl-C ends the command, not the
    /// tour.
    pub(super) fn run(&self, line: &str, interrupt: &Interrupt) -> Result<()> {
        let status = self.start(line, true)?;
        if interrupt.is_raised() && is_interrupted(status) {
            // Git may have started this process. Then it passes on its own Ctrl-C, after the one that the terminal has sent.
            std::thread::sleep(Duration::from_millis(200));
            interrupt.lower();
        }
        Ok(())
    }

    /// Runs a script of the tour itself, without showing what it prints.
    ///
    /// # Errors
    /// [`Kind::Internal`] if it fails.
    pub(super) fn prepare(&self, script: &str) -> Result<()> {
        if self.start(&format!("set -e\n{script}"), false)?.success() {
            return Ok(());
        }
        // The cause, if the tour itself can tell it: a full disk, and no git.
        let probe = self.directory.path().join("shop/.room");
        let room = std::fs::write(&probe, [0; 4096]).and_then(|()| std::fs::remove_file(&probe));
        let error = Error::new(Kind::Internal, "the tour cannot go on");
        Err(match room {
            Err(cause) => {
                error.with_cause(cause).with_hint("see to the room on the disk, or let TMPDIR name another one")
            }
            Ok(()) if !self.start("git --version", false)?.success() => {
                error.with_cause(Error::user("git cannot be run")).with_hint("see to git, and to PATH")
            }
            Ok(()) => error.with_hint("commands that were typed in between may be in its way: start it again"),
        })
    }

    fn start(&self, line: &str, is_shown: bool) -> Result<ExitStatus> {
        external::run_apart(line, &self.directory.path().join("shop"), &self.variables, is_shown)
    }
}

/// Returns true if Ctrl-C has ended the command: the signal, or, as shells say it, its number and 128.
fn is_interrupted(status: ExitStatus) -> bool {
    const SIGINT: i32 = signal_hook::consts::SIGINT;
    status.signal() == Some(SIGINT) || status.code() == Some(128 + SIGINT)
}

/// Returns the line that the user types; none at the end of the input, or after a signal.
pub(super) fn read_line(interrupt: &Interrupt) -> Result<Option<String>> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    /// How long Ctrl-C may take to end the tour.
    const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
    let stdin = std::io::stdin();
    let mut line = Vec::new();
    // Reads byte by byte, without the buffer of the standard library: poll() does not see what is in that.
    while !line.ends_with(b"\n") {
        // A signal does not end a read, so wait with poll() first.
        while poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&PAUSE)).unwrap_or(0) == 0 {
            if interrupt.is_raised() {
                return Ok(None);
            }
        }
        let mut byte = [0];
        match rustix::io::read(&stdin, &mut byte) {
            Ok(0) => break,
            Ok(_) => line.extend(byte),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => {
                let error = std::io::Error::from(error);
                return Err(error).context(Kind::User, || "cannot read the answer".into());
            }
        }
    }
    Ok((!line.is_empty()).then(|| String::from_utf8_lossy(&line).into_owned()))
}
