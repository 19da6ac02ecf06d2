//! Runs git for what gix cannot do (reftable, the user's index, editors), and jj, whose state git does not have.

use std::{
    ffi::{OsStr, OsString},
    io::Read,
    os::unix::{
        ffi::{OsStrExt as _, OsStringExt as _},
        process::CommandExt as _,
    },
    path::Path,
    process::{Command, Output, Stdio},
    sync::mpsc::{self, Receiver},
    time::{Duration, Instant},
};

use bstr::{BString, ByteSlice as _};

use super::{
    Repo,
    environment::{self, Heeded},
    interrupt::Interrupt,
    patience::Patience,
    subprocess::{Subprocess, output_of},
    threads,
};
use crate::error::{Context as _, Error, Kind, Result};

/// Variables that redirect git to another repository or index.
pub(crate) const REDIRECTIONS: [&str; 8] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
];

/// Returns the command line of the user's editor, as git chooses it (git-var(1)) in the current directory.
///
/// # Errors
/// If git cannot be run, or knows of no editor that this terminal can show.
pub(crate) fn editor() -> Result<OsString> {
    #[expect(clippy::disallowed_methods, reason = "this is the room that runs git")]
    let output = run(Command::new("git").args(["var", "GIT_EDITOR"]).stdin(Stdio::null()));
    let output = output.context(Kind::Internal, || "cannot run 'git var GIT_EDITOR'".into())?;
    if output.status.success() {
        return Ok(OsString::from_vec(output.stdout.trim_end().to_vec()));
    }
    Err(Error::user("no editor is known")
        .with_hint("set 'GIT_EDITOR' or 'EDITOR'")
        .with_cause(output.stderr.trim().to_str_lossy()))
}

/// Adds `trailers` to the message in `file` as git-interpret-trailers(1) does, with `comment` as the only setting: the
/// user's `trailer.*` settings add trailers of their own, and may even run commands.
///
/// # Errors
/// If git cannot be run, or fails.
pub(super) fn interpret_trailers(
    file: &Path,
    comment: &[u8],
    trailers: impl IntoIterator<Item = String>,
) -> Result<()> {
    let name = if comment.len() == 1 { "core.commentChar=" } else { "core.commentString=" };
    let comment = OsString::from_vec([name.as_bytes(), comment].concat());
    #[expect(clippy::disallowed_methods, reason = "this is the room that runs git")]
    let mut command = Command::new("git");
    for name in REDIRECTIONS.into_iter().chain(["GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT", "GIT_CONFIG"]) {
        command.env_remove(name);
    }
    command
        .arg("-c")
        .arg(comment)
        .args(["interpret-trailers", "--in-place", "--no-divider"])
        .args(["--where", "end", "--if-exists", "addIfDifferent", "--if-missing", "add"])
        .args(trailers.into_iter().flat_map(|trailer| ["--trailer".to_owned(), trailer]))
        .arg(file)
        .current_dir("/")
        // The root directory may be in a repository, too.
        .env("GIT_DIR", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        // The same for git before 2.32.
        .env("HOME", "/dev/null")
        .env("XDG_CONFIG_HOME", "/dev/null")
        .env("LC_ALL", "C")
        .stdin(Stdio::null());
    let what = || format!("cannot add a trailer to '{}'", file.display());
    let output = run(&mut command).context(Kind::Internal, what)?;
    if output.status.success() {
        return Ok(());
    }
    Err(Error::internal(what()).with_cause(output.stderr.trim().to_str_lossy()))
}

/// Returns what git says to `arguments` in `directory`, as the user's own git would say it: with the user's hooks, and without
/// the variables that lead git to another repository.
pub(super) fn run_plain_git(directory: &Path, arguments: &[&OsStr]) -> std::io::Result<Output> {
    #[expect(clippy::disallowed_methods, reason = "this is the room that runs git")]
    let mut command = Command::new("git");
    for name in REDIRECTIONS {
        command.env_remove(name);
    }
    run(command.args(arguments).current_dir(directory).env("LC_ALL", "C").stdin(Stdio::null()))
}

/// What `jj` may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Jj {
    /// Answer a question: it changes nothing, not even its operation log, and ignores the user's settings.
    Reads,
    /// Change its repository, but neither read nor write the files of the worktree.
    ChangesApart,
    /// Change its repository and the worktree, as the user's own command would.
    Changes,
}

impl Jj {
    /// How long it may take while an agent waits. What is killed while it changes something may leave a stale working copy.
    fn limit(self) -> Duration {
        Duration::from_secs(if self == Self::Reads { 5 } else { 60 })
    }
}

/// Runs `jj` with `arguments` in the colocated repository `root`; none if jj is not installed.
///
/// # Errors
/// If it takes too long.
pub(super) fn jj(root: &Path, mode: Jj, arguments: &[&str]) -> Result<Option<Output>> {
    let what = || format!("cannot run 'jj {}'", joined(arguments));
    let limit = mode.limit();
    #[expect(clippy::disallowed_methods, reason = "this is the room that runs git and what shares its repository")]
    let mut command = Command::new("jj");
    for name in REDIRECTIONS {
        command.env_remove(name);
    }
    command.arg("-R").arg(root);
    match mode {
        Jj::Reads => {
            command.args(["--ignore-working-copy", "--at-op=@"]).env("JJ_CONFIG", "/dev/null");
        }
        Jj::ChangesApart => {
            command.arg("--ignore-working-copy");
        }
        Jj::Changes => {}
    }
    command
        .args(["--no-pager", "--color=never", "--quiet"])
        .args(arguments)
        .current_dir(root)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        started => started.context(Kind::Internal, what)?,
    };
    // Read by threads that we do not wait for: processes that jj started may keep the pipes open.
    let stdout = reading(child.stdout.take().expect("piped")).context(Kind::Internal, what)?;
    let stderr = reading(child.stderr.take().expect("piped")).context(Kind::Internal, what)?;
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().context(Kind::Internal, what)? {
            break Some(status);
        }
        if start.elapsed() > limit {
            drop(child.kill());
            drop(child.wait());
            break None;
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    let text = |read: Receiver<Vec<u8>>| read.recv_timeout(limit.saturating_sub(start.elapsed())).ok();
    let output = status.and_then(|status| Some(Output { status, stdout: text(stdout)?, stderr: text(stderr)? }));
    output.map(Some).ok_or_else(|| Error::internal(what()).with_cause("it takes too long"))
}

/// Reads the pipe to its end in a thread of its own.
fn reading(mut pipe: impl Read + Send + 'static) -> std::io::Result<Receiver<Vec<u8>>> {
    let (sender, receiver) = mpsc::channel();
    threads::detach(move || {
        let mut bytes = Vec::new();
        // An incomplete output comes with a failing exit code; the receiver may be gone.
        drop(pipe.read_to_end(&mut bytes));
        drop(sender.send(bytes));
    })?;
    Ok(receiver)
}

impl Repo {
    /// Returns a git command for this repository and worktree, to run at the worktree's root.
    ///
    /// It does not fetch, prompt, take optional locks, run hooks or follow replacements, and it prints English.
    pub(crate) fn git(&self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
        let mut command = self.git_in_any_language(arguments);
        command.env("LC_ALL", "C");
        command
    }

    /// The same in the user's language, for what the user sees: an editor that git starts cannot show UTF-8 with `LC_ALL=C`.
    pub(super) fn git_in_any_language(&self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
        #[expect(clippy::disallowed_methods, reason = "this is the room that runs git")]
        let mut command = Command::new("git");
        if self.heeds != Heeded::All {
            for name in REDIRECTIONS {
                command.env_remove(name);
            }
        }
        command
            .args(["-c", "core.hooksPath=/dev/null"])
            .args(arguments)
            .current_dir(self.worktree_root())
            // The path may be relative to the current directory, and git runs in another one.
            .env("GIT_DIR", std::path::absolute(self.git_dir()).unwrap_or_else(|_| self.git_dir().to_owned()))
            .env("GIT_WORK_TREE", self.worktree_root())
            // This variable overrides `--unified=0`, and context would become part of each edit.
            .env_remove("GIT_DIFF_OPTS")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_NO_LAZY_FETCH", "1")
            // We read objects as they are stored. Git would read others in their place (git-replace(1)), or other parents.
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_GRAFT_FILE", "/dev/null/none")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs git with `arguments` and returns its standard output.
    ///
    /// # Errors
    /// If git cannot be started, or its exit code is not 0; the cause is its error message.
    pub(crate) fn run_git(&self, arguments: &[impl AsRef<OsStr>], input: Option<&[u8]>) -> Result<BString> {
        printed(arguments, self.try_git(arguments, input)?)
    }

    /// The same for a git command that also sees the objects in the directory `beside`.
    pub(super) fn run_git_with_objects(
        &self,
        arguments: &[impl AsRef<OsStr>],
        input: &[u8],
        beside: Option<&Path>,
    ) -> Result<BString> {
        let mut command = self.git(arguments);
        if let Some(beside) = beside {
            self.add_objects(&mut command, beside);
        }
        let started = command.stdin(Stdio::piped()).spawn();
        let started = started.and_then(|child| Subprocess::new(child, false, Interrupt::default()));
        let output = started.and_then(|git| git.output(input));
        printed(arguments, output.context(Kind::Internal, || format!("cannot run 'git {}'", joined(arguments)))?)
    }

    /// Lets git `command` see the objects in the directory `beside`, too.
    fn add_objects(&self, command: &mut Command, beside: &Path) {
        const OTHERS: &str = "GIT_ALTERNATE_OBJECT_DIRECTORIES";
        let others = environment::variable(OTHERS).filter(|_| self.heeds == Heeded::All);
        // Git unquotes what begins with a quotation mark; else, a colon would end the path.
        let mut directories = b"\"".to_vec();
        for byte in beside.as_os_str().as_bytes() {
            directories.extend([b'\\'; 1].iter().filter(|_| b"\"\\".contains(byte)));
            directories.push(*byte);
        }
        directories.push(b'"');
        directories.extend(others.iter().flat_map(|others| [b":", others.as_slice()].concat()));
        command.env(OTHERS, OsString::from_vec(directories));
    }

    /// Runs two git commands: the first has the standard input `input`; the second reads what the first prints, and writes its
    /// objects to `directory`, an absolute path. Returns what the second prints.
    ///
    /// # Errors
    /// If one of them fails.
    pub(super) fn pipe_git(
        &self,
        first: &[impl AsRef<OsStr>],
        input: &[u8],
        second: &[impl AsRef<OsStr>],
        directory: &Path,
    ) -> Result<BString> {
        let start = || {
            let mut child = self.git(first).stdin(Stdio::piped()).spawn()?;
            let between = child.stdout.take().map_or_else(Stdio::null, Stdio::from);
            let writer = Subprocess::new(child, false, Interrupt::default())?;
            let mut command = self.git(second);
            self.add_objects(&mut command, &std::path::absolute(self.objects_path())?);
            let child = command.env("GIT_OBJECT_DIRECTORY", directory).stdin(between).spawn()?;
            // `command` holds our copy of the pipe's reading end. As long as a copy is open, the first process gets no error
            // when it writes after the second one has died, and waits for ever.
            drop(command);
            let reader = Subprocess::new(child, false, Interrupt::default())?;
            // What the second one prints is short.
            Ok::<_, std::io::Error>((writer.output(input)?, reader.output(b"")?))
        };
        let (written, read) = start().context(Kind::Internal, || format!("cannot run 'git {}'", joined(second)))?;
        // If the second one dies, the first one has a closed pipe and dies, too, without a word: the second one says why.
        if !written.status.success() && written.stderr.is_empty() {
            printed(second, read)?;
            return printed(first, written);
        }
        printed(first, written)?;
        printed(second, read)
    }

    /// Runs git with `arguments` and returns its status and output, whatever the status.
    pub(crate) fn try_git(&self, arguments: &[impl AsRef<OsStr>], input: Option<&[u8]>) -> Result<Output> {
        let mut command = self.git(arguments);
        let what = || format!("cannot run 'git {}'", joined(arguments));
        let Some(input) = input else { return run(&mut command).context(Kind::Internal, what) };
        let started = command.stdin(Stdio::piped()).spawn();
        let started = started.and_then(|child| Subprocess::new(child, false, Interrupt::default()));
        started.and_then(|git| git.output(input)).context(Kind::Internal, what)
    }

    /// The same for a git command without input that goes by a clock which is at `seconds`.
    pub(super) fn try_git_at(&self, arguments: &[impl AsRef<OsStr>], seconds: i64) -> Result<Output> {
        let mut command = self.git(arguments);
        // Git reads it wherever it asks for the time; the value is decimal.
        command.env("GIT_TEST_DATE_NOW", seconds.to_string());
        run(&mut command).context(Kind::Internal, || format!("cannot run 'git {}'", joined(arguments)))
    }

    /// The same as [`run_git`](Self::run_git) for a git command that runs filters: it is killed when the operation is
    /// interrupted. It writes objects to the directory `aside`, if there is one.
    pub(super) fn run_filtering_git(
        &self,
        arguments: &[impl AsRef<OsStr>],
        input: &[u8],
        aside: Option<&Path>,
    ) -> Result<BString> {
        let mut command = self.git(arguments);
        let what = || format!("cannot run 'git {}'", joined(arguments));
        if let Some(aside) = aside {
            let objects = std::path::absolute(self.objects_path()).context(Kind::Internal, what)?;
            self.add_objects(&mut command, &objects);
            command.env("GIT_OBJECT_DIRECTORY", aside);
        }
        let output = self.start_to_end(command.stdin(Stdio::piped())).and_then(|git| git.output(input));
        printed(arguments, output.context(Kind::Internal, what)?)
    }

    /// Starts the command `line` of a filter driver as git does, connected to us by its standard input and output.
    pub(super) fn start_filter(&self, line: BString) -> std::io::Result<Subprocess> {
        let context = self.inner.command_context().map_err(std::io::Error::other)?;
        let prepared = gix::command::prepare(OsString::from_vec(line.into()))
            .command_may_be_shell_script()
            .with_context(context)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut command = Command::try_from(prepared).map_err(std::io::Error::other)?;
        self.start_to_end(command.current_dir(self.worktree_root()))
    }

    /// Starts `command`; it is killed when the operation is interrupted, if possible with all processes it has started.
    pub(super) fn start_to_end(&self, command: &mut Command) -> std::io::Result<Subprocess> {
        self.start_child(command, self.interrupt.may_come())
    }

    /// The same, also when there is no `patience` with it any more.
    pub(super) fn start_within(&self, command: &mut Command, patience: Patience) -> std::io::Result<Subprocess> {
        Ok(self.start_child(command, true)?.within(patience))
    }

    fn start_child(&self, command: &mut Command, may_be_ended: bool) -> std::io::Result<Subprocess> {
        // A command that asks for a passphrase must be in the foreground of the terminal, where Ctrl-C reaches it.
        let is_leader = may_be_ended && !has_terminal();
        if is_leader {
            command.process_group(0);
        }
        Subprocess::new(command.spawn()?, is_leader, self.interrupt.clone())
    }
}

/// Returns the output of git with `arguments`, if it succeeded.
fn printed(arguments: &[impl AsRef<OsStr>], output: Output) -> Result<BString> {
    if output.status.success() {
        return Ok(output.stdout.into());
    }
    let said = output.stderr.trim().to_str_lossy().into_owned();
    Err(Error::internal(format!("'git {}' failed", joined(arguments))).with_cause(said))
}

/// Returns true if this process has a controlling terminal.
fn has_terminal() -> bool {
    use rustix::fs::{Mode, OFlags, open};
    open("/dev/tty", OFlags::RDONLY | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).is_ok()
}

/// Runs `command`, and returns its output.
fn run(command: &mut Command) -> std::io::Result<Output> {
    output_of(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?)
}

fn joined(arguments: &[impl AsRef<OsStr>]) -> String {
    arguments.iter().map(|argument| argument.as_ref().to_string_lossy()).collect::<Vec<_>>().join(" ")
}
