//! Other programs that show or edit text for the user: pager, `man`, editor.

use std::{
    ffi::OsStr,
    io::{self, Write},
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
};

use super::environment;
use crate::error::{Context as _, Kind, Result};

/// A pager that is running; dropping it closes its input and waits until the user leaves it.
pub(super) struct Pager(Child);

impl Pager {
    /// Starts `line` the way git starts a pager: by the shell if it is more than a name, with `LESS` and `LV` set if
    /// they are not.
    pub(super) fn start(line: &OsStr) -> io::Result<Self> {
        // The characters of git's prepare_shell_cmd(). Without a shell, a pager that does not exist is noticed here.
        let is_name = |name: &str| !name.contains(|c| "|&;<>()$`\\\"' \t\n*?[#~=%".contains(c));
        let mut child = match line.to_str() {
            Some(name) if is_name(name) => command(name),
            _ => shell(line),
        };
        for (name, value) in [("LESS", "FRX"), ("LV", "-c")] {
            if environment::read(name).is_none() {
                child.env(name, value);
            }
        }
        child.stdin(Stdio::piped()).env("GIT_PAGER_IN_USE", "true").spawn().map(Self)
    }
}

impl Write for Pager {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.stdin.as_mut().expect("open until the pager is dropped").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Pager {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        // How the user left the pager is no news.
        drop(self.0.wait());
    }
}

/// Shows the manual page source at `page` with `man`; returns false if `man` cannot.
pub(super) fn show_manual(page: &Path) -> bool {
    command("man").arg(page).status().is_ok_and(|status| status.success())
}

/// Lets the user edit `file` with `editor`, and returns how the editor ended.
pub(super) fn edit(editor: &OsStr, file: &Path) -> Result<ExitStatus> {
    let mut line = editor.to_owned();
    line.push(" \"$@\"");
    shell(&line)
        .arg(editor)
        .arg(file)
        .status()
        .context(Kind::User, || format!("cannot start the editor '{}'", editor.display()))
}

fn shell(line: &OsStr) -> Command {
    let mut shell = command("sh");
    shell.arg("-c").arg(line);
    shell
}

fn command(program: &str) -> Command {
    #[expect(clippy::disallowed_methods, reason = "git's own processes are started by git::process, the others here")]
    Command::new(program)
}
