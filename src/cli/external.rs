//! Other programs: those that show or edit text for the user (pager, `man`, editor), and those of coding agents.

use std::{
    ffi::{OsStr, OsString},
    io::{self, BufRead as _, IsTerminal as _, Read as _, Write},
    os::fd::BorrowedFd,
    path::Path,
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::mpsc,
    time::{Duration, Instant},
};

use super::{
    awaited::Awaited,
    environment,
    interrupt::{Interrupt, Listening},
};
use crate::{
    error::{Context as _, Error, Kind, Result},
    git::{Repo, process::REDIRECTIONS, threads},
    ops::worktrees::Step,
};

/// A pager that is running; dropping it closes its input and waits until the user leaves it.
pub(super) struct Pager(Child);

impl Pager {
    /// Starts `line` the way git starts a pager: by the shell if it is more than a name, with `LESS` and `LV` set if
    /// they are not.
    pub(super) fn start(line: &OsStr) -> io::Result<Self> {
        // The same characters as in git's prepare_shell_cmd(). A command without them needs no shell, so that we notice
        // if it does not exist.
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

/// Shows `page` in the browser that git-web--browse(1) finds.
///
/// # Errors
/// If it finds none; the error names the file.
pub(super) fn browse(repo: &Repo, page: &Path) -> Result<()> {
    let what = || format!("cannot show '{}' in a browser", page.display());
    // Git runs at the worktree's root.
    let page = std::path::absolute(page).context(Kind::User, what)?;
    let mut browser = repo.git([OsStr::new("web--browse"), page.as_os_str()]);
    browser.stdin(Stdio::inherit()).stdout(Stdio::inherit()).stderr(Stdio::inherit());
    if browser.status().context(Kind::User, what)?.success() {
        return Ok(());
    }
    let hint = "'git config web.browser <name>' names one; see git-web--browse(1)";
    Err(Error::user(what()).with_hint(hint))
}

/// Runs `editor` for `file`, and returns its exit status.
pub(super) fn edit(editor: &OsStr, file: &Path) -> Result<ExitStatus> {
    let mut line = editor.to_owned();
    line.push(" \"$@\"");
    shell(&line)
        .arg(editor)
        .arg(file)
        .status()
        .context(Kind::User, || format!("cannot start the editor '{}'", editor.display()))
}

/// Lets `program` with `arguments` take the place of this process, in `directory`, another worktree: without the variables that
/// name a repository, an index or objects for git, which hooks and aliases of git set, and with `variables` (none: without that
/// one). Returns only if that fails.
pub(super) fn become_program(
    program: &OsStr,
    arguments: &[OsString],
    directory: &Path,
    variables: &[(&str, Option<OsString>)],
) -> io::Error {
    use std::os::unix::process::CommandExt as _;
    #[expect(clippy::disallowed_methods, reason = "git's own processes are started by git::process, the others here")]
    let mut command = Command::new(program);
    in_worktree(command.args(arguments), directory, variables).exec()
}

/// Lets `command` run in `directory`, another worktree, with `variables`; see [`become_program`].
fn in_worktree<'c>(
    command: &'c mut Command,
    directory: &Path,
    variables: &[(&str, Option<OsString>)],
) -> &'c mut Command {
    for name in REDIRECTIONS {
        command.env_remove(name);
    }
    for (name, value) in variables {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.current_dir(directory)
}

/// Starts the command of `step` with the shell in its worktree, as [`become_program`] does. It has no input, what it prints goes to
/// standard error, and with all that it starts, it holds the lock of the step.
pub(super) fn start_in_worktree(step: &Step<'_>) -> io::Result<Child> {
    let Step { line, directory, variables, lock, .. } = *step;
    // Not by its name alone: `PATH` may have directories that are relative to this one.
    let mut child = command("/bin/sh");
    in_worktree(child.args(["-c", "--", line]), directory, variables).stdin(Stdio::null()).stdout(io::stderr());
    with_file(lock, || child.spawn())
}

/// Starts `program` with `arguments` in `directory`, another worktree, as [`become_program`] does. It has no input; what it prints
/// goes to `output` and `errors`.
pub(super) fn start_apart(
    program: &OsStr,
    arguments: &[OsString],
    directory: &Path,
    variables: &[(&str, Option<OsString>)],
    (output, errors): (Stdio, Stdio),
) -> io::Result<Child> {
    #[expect(clippy::disallowed_methods, reason = "git's own processes are started by git::process, the others here")]
    let mut command = Command::new(program);
    let child = in_worktree(command.args(arguments), directory, variables);
    child.stdin(Stdio::null()).stdout(output).stderr(errors).spawn()
}

/// Starts `line` with the shell in `directory`, another worktree. It has no input; what it prints goes to standard error.
pub(super) fn start_line(line: &str, directory: &Path, variables: &[(&str, Option<OsString>)]) -> io::Result<Child> {
    let words = ["-c", "--", line].map(OsString::from);
    start_apart(OsStr::new("/bin/sh"), &words, directory, variables, (io::stderr().into(), io::stderr().into()))
}

/// Waits for `child`, and returns its exit status as a shell gives it, as [`Awaited::wait`] does.
pub(super) fn wait_for(child: Child, interrupt: &Interrupt, listening: &Listening) -> io::Result<i32> {
    Awaited::new(child).wait(interrupt, listening)
}

/// Lets `start` start a process that has the open file `file`, too.
fn with_file<T>(file: BorrowedFd<'_>, start: impl FnOnce() -> T) -> T {
    use rustix::io::{FdFlags, fcntl_setfd};
    // Without it, a process that outlives this one is not seen to be at work: no reason not to start it.
    let _ = fcntl_setfd(file, FdFlags::empty());
    let started = start();
    let _ = fcntl_setfd(file, FdFlags::CLOEXEC);
    started
}

/// Environment variables that describe the user and the terminal, and that name no file of git or of an agent.
const HARMLESS: &[&str] = &[
    "COLORTERM",
    "COLUMNS",
    "EDITOR",
    "LANG",
    "LANGUAGE",
    "LD_LIBRARY_PATH",
    "LINES",
    "LOGNAME",
    "NO_COLOR",
    "PATH",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "VISUAL",
];

/// Runs `line` with the shell in `directory`, and returns its exit status. The environment has `variables` and, of the user's
/// variables, those in [`HARMLESS`]. If `is_shown`, the user sees the output, and may type input in a terminal.
pub(super) fn run_apart(
    line: &str,
    directory: &Path,
    variables: &[(&str, OsString)],
    is_shown: bool,
) -> Result<ExitStatus> {
    let mut child = shell(OsStr::new(line));
    keep_only(&mut child, |name| HARMLESS.contains(&name) || name.starts_with("LC_"));
    child.current_dir(directory).envs(variables.iter().map(|(name, value)| (name, value)));
    if !is_shown || !io::stdin().is_terminal() {
        child.stdin(Stdio::null());
    }
    if !is_shown {
        child.stdout(Stdio::null()).stderr(Stdio::null());
    }
    child.status().context(Kind::User, || "cannot start 'sh'".into())
}

/// What a command has answered.
pub(super) struct Answer {
    pub(super) status: ExitStatus,
    pub(super) stderr: String,
}

/// Runs `line` as an agent runs a hook, but with nothing of the user's environment that a graphical client does not have;
/// returns none if it takes longer than `limit`.
pub(super) fn ask(line: &str, input: &str, directory: &Path, limit: Duration) -> io::Result<Option<Answer>> {
    const KEPT: [&str; 3] = ["HOME", "TMPDIR", "XDG_CONFIG_HOME"];
    let mut child = keep_only(&mut command("/bin/sh"), |name| KEPT.contains(&name))
        .args(["-c", line])
        .current_dir(directory)
        .env("PATH", "/usr/bin:/bin")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut stdin = child.stdin.take().expect("piped");
    // Who does not listen has still answered.
    drop(stdin.write_all(input.as_bytes()));
    drop(stdin);
    let Some(status) = ended(&mut child, Instant::now() + limit)? else { return Ok(None) };
    let mut stderr = Vec::new();
    child.stderr.take().expect("piped").take(4096).read_to_end(&mut stderr)?;
    Ok(Some(Answer { status, stderr: String::from_utf8_lossy(&stderr).trim().to_owned() }))
}

/// Gives `child` only those of the user's environment variables that `is_kept` accepts.
fn keep_only(child: &mut Command, is_kept: impl Fn(&str) -> bool) -> &mut Command {
    let is_kept = |name: &OsStr| name.to_str().is_some_and(&is_kept);
    child.env_clear().envs(environment::all().filter(|(name, value)| !value.is_empty() && is_kept(name)))
}

/// Waits until `child` ends; what does not end in time is killed.
fn ended(child: &mut Child, until: Instant) -> io::Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= until {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A program that answers lines by lines; it ends with the value.
pub(super) struct Conversation {
    child: Child,
    stdin: Option<ChildStdin>,
    heard: mpsc::Receiver<String>,
}

impl Conversation {
    pub(super) fn start(program: &Path, arguments: &[&str], directory: &Path) -> Result<Self> {
        #[expect(
            clippy::disallowed_methods,
            reason = "git's own processes are started by git::process, the others here"
        )]
        let mut command = Command::new(program);
        let mut child = command
            .args(arguments)
            .current_dir(directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context(Kind::User, || format!("cannot start '{}'", program.display()))?;
        let stdin = child.stdin.take();
        let stdout = io::BufReader::new(child.stdout.take().expect("piped"));
        let (sender, heard) = mpsc::channel();
        // Ends with the program's output, or when the receiver is dropped.
        let hear = move || drop(stdout.lines().map_while(io::Result::ok).try_for_each(|line| sender.send(line)));
        let conversation = Self { child, stdin, heard };
        threads::detach(hear).context(Kind::Internal, || format!("cannot listen to '{}'", program.display()))?;
        Ok(conversation)
    }

    /// Sends a line.
    pub(super) fn say(&mut self, line: &str) -> Result<()> {
        let stdin = self.stdin.as_mut().expect("open until the value is dropped");
        stdin
            .write_all(format!("{line}\n").as_bytes())
            .and_then(|()| stdin.flush())
            .context(Kind::User, || "the program does not listen".to_owned())
    }

    /// Returns the next line; none if it does not come in time.
    pub(super) fn hear(&self, until: Instant) -> Option<String> {
        self.heard.recv_timeout(until.saturating_duration_since(Instant::now())).ok()
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        drop(self.stdin.take());
        // It has done what it was asked for; how it ends is no news.
        drop(ended(&mut self.child, Instant::now() + Duration::from_secs(3)));
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_asked_and_does_not_hang() {
        let ask =
            |line: &str, limit| ask(line, "input", Path::new("/"), Duration::from_millis(limit)).expect("it runs");
        let answer = ask("cat >&2; exit 3", 5000).expect("it ends");
        assert_eq!((answer.status.code(), answer.stderr.as_str()), (Some(3), "input"));
        assert!(ask("exec sleep 60", 50).is_none());
        assert_eq!(ask("/gone/git-checkpoint hook --agent x", 5000).expect("it ends").status.code(), Some(127));
    }
}
