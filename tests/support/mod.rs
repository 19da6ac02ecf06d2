//! A world of its own for each test: home, repository and dates do not come from the machine.
//!
//! All fixtures are a [`World`], or have one inside and pass its words on (`Deref`). Begin with the first of these that does:
//!
//! | what the test needs | begin with | where |
//! |---|---|---|
//! | a directory with a home and no repository | `World::new()`; `on_disk()` if clocks, inodes or the order of writes matter | here |
//! | a repository of one commit | `World::with_commit()`; with git's hooks `with_hooks()`, `with_lines()`, `unborn_with_hooks()` | `template` |
//! | another one that several tests begin with | a `static` [`Template`](template::Template): made once by real programs, then copied | `template` |
//! | the library opened on a repository: saves and restores without a process | [`Stage`](stage::Stage) | `stage` |
//! | checkpoints that our program has not made | `world.shadow(...)` | `checkpoints` |
//! | people and agents who sign each line, so that every command can be asked whose it is | [`SignedLines`](signed_lines::SignedLines) | `signed_lines` |
//!
//! What all of them can do, by file:
//!
//! - `files`: write, read, link and remove files of the repository.
//! - here and `processes`: run git, a shell, or the built program (`done`, `json`, `checkpoint`); start it, let it die at a failpoint,
//!   halt it, kill it.
//! - `sound`: what must hold whatever happened: git finds nothing wrong (`assert_sound`), nothing of the user's has moved
//!   (`facts`), each record has its commit (`assert_accounted`), nothing is left behind (`leftovers`, `assert_tidy`).
//! - `servers`: a git server on the loopback device.
//! - `dice`: numbers that look random and are the same in every run.
//!
//! A group of tests adds words of its own to `World` where they are used: `agents/words.rs`, `ops/rewrites/mod.rs`. Where it needs a
//! state of its own, it has a type beside them:
//!
//! - `ops/sessions/desk.rs`, `Desk`: people and agents of several worktrees, each command in a minute of its own.
//! - `ops/save/bench.rs`, `Bench`: saves in child processes, each compared with the tree that git makes.
//! - `ops/guard/ground.rs`, `Ground`: a worktree in which sessions meet.
//! - `oracle/recorder.rs`, `Recorder`: random histories, which it keeps as a shell script.
//! - `ops/restore_random.rs`, `RandomWork`: random restores among other commands.

pub(crate) mod checkpoints;
pub(crate) mod dice;
pub(crate) mod files;
pub(crate) mod jj;
pub(crate) mod processes;
mod program;
pub(crate) mod servers;
pub(crate) mod signed_lines;
pub(crate) mod sound;
pub(crate) mod stage;
pub(crate) mod template;
pub(crate) mod terminal;
pub(crate) mod versions;

use std::{
    ffi::{OsStr, OsString},
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::{Arc, OnceLock},
};

use processes::described;
pub(crate) use program::{program, this_program};

/// A moment that every test begins at: 2025-06-01T12:00:00Z.
pub(crate) const START: i64 = 1_748_779_200;

/// A directory that goes away with the last of its values, with a home inside.
#[derive(Clone)]
pub(crate) struct World {
    directory: Arc<tempfile::TempDir>,
    /// Whether dates are those of the machine, and no editor opens.
    has_clock: bool,
}

impl World {
    /// Makes a world in memory where that is possible: there, git and our program take half of the system's time.
    pub(crate) fn new() -> Self {
        Self::in_folder(memory().unwrap_or(&std::env::temp_dir()))
    }

    /// Makes a world on a disk, for tests of what its clock, its inodes and the order of its writes do.
    pub(crate) fn on_disk() -> Self {
        Self::in_folder(&std::env::temp_dir())
    }

    fn in_folder(folder: &Path) -> Self {
        let directory = tempfile::Builder::new().prefix("git-checkpoint-").tempdir_in(folder);
        let directory = Arc::new(directory.expect("a temporary directory can be made"));
        for name in ["home", "repo"] {
            std::fs::create_dir(directory.path().join(name)).expect("a directory can be made");
        }
        Self { directory, has_clock: false }
    }

    /// The same world with the clock of the machine: commits have the time when they are made. Git opens no editor.
    pub(crate) fn with_clock(self) -> Self {
        Self { has_clock: true, ..self }
    }

    /// Returns true if commits have the time when they are made.
    pub(crate) fn has_clock(&self) -> bool {
        self.has_clock
    }

    /// Takes the lock of the repository's checkpoints, which has been held before. It is free when the file is dropped.
    pub(crate) fn lock(&self) -> std::fs::File {
        let file = std::fs::File::open(self.repo().join(".git/checkpoint/lock")).expect("it is there");
        rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive).expect("it can be locked");
        file
    }

    /// Returns the canonical path of the world.
    pub(crate) fn root(&self) -> PathBuf {
        self.directory.path().canonicalize().expect("the world exists")
    }

    /// Returns the directory where repositories are made.
    pub(crate) fn repo(&self) -> PathBuf {
        self.root().join("repo")
    }

    /// Returns `program` with an environment that only holds what tests need, run in [`repo`](Self::repo).
    pub(crate) fn command(&self, program: &str) -> Command {
        let path = search_path();
        // With a path instead of a name, the program starts without a copy of this process, which takes much longer.
        let file = std::env::split_paths(path).map(|folder| folder.join(program)).find(|file| file.is_file());
        let mut command = Command::new(file.as_deref().unwrap_or(Path::new(program)));
        command.arg0(program);
        let date = format!("@{START} +0000");
        command
            .env_clear()
            .envs(std::env::var_os("LD_LIBRARY_PATH").map(|value| ("LD_LIBRARY_PATH", value)))
            .env("PATH", path)
            .env("HOME", self.root().join("home"))
            .env("XDG_CONFIG_HOME", self.root().join("home/.config"))
            .env("XDG_STATE_HOME", self.root().join("state"))
            .env("TMPDIR", self.root())
            .env("GIT_CONFIG_GLOBAL", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/gitconfig"))
            // Without git's examples of hooks, which each copy of a repository would write again.
            .env("GIT_TEMPLATE_DIR", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/git-template"))
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_NAME", "A U Thor")
            .env("GIT_AUTHOR_EMAIL", "author@example.com")
            .env("GIT_AUTHOR_DATE", &date)
            .env("GIT_COMMITTER_NAME", "C O Mitter")
            .env("GIT_COMMITTER_EMAIL", "committer@example.com")
            .env("GIT_COMMITTER_DATE", &date)
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("LC_ALL", "C.UTF-8")
            .env("TZ", "UTC")
            // It would wait ten seconds for someone to read its warning.
            .env("FILTER_BRANCH_SQUELCH_WARNING", "1")
            .current_dir(self.repo());
        if self.has_clock {
            command.env_remove("GIT_AUTHOR_DATE").env_remove("GIT_COMMITTER_DATE").env("GIT_EDITOR", "true");
        }
        command
    }

    /// Waits until what was written before is older than a tick of the file system's clock: a save may rely on its times.
    #[expect(clippy::unused_self, reason = "the clock is that of the world's files")]
    pub(crate) fn settle(&self) {
        std::thread::sleep(std::time::Duration::from_millis(30));
    }

    /// Waits until the clock shows another second, since git dates have no smaller unit.
    #[expect(clippy::unused_self, reason = "the clock is that of the world's commits")]
    pub(crate) fn next_second(&self) {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
        // The clock that dates are read from may be late by a tick.
        let tick = std::time::Duration::from_millis(20);
        std::thread::sleep(std::time::Duration::from_secs(now.as_secs() + 1).saturating_sub(now) + tick);
    }

    /// Runs the built `git-checkpoint` with `arguments`.
    pub(crate) fn checkpoint(&self, arguments: &[&str]) -> Output {
        self.command(program()).args(arguments).output().expect("the program runs")
    }

    /// Runs `script` with the shell, which must succeed, and returns what it printed.
    pub(crate) fn sh(&self, script: &str) -> String {
        let output = self.command("sh").args(["-ec", script]).output().expect("there is a shell");
        assert!(output.status.success(), "{script}: {}", described(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Runs git with `arguments`, which must succeed, and returns what it printed.
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let output = self.try_git(arguments);
        assert!(output.status.success(), "git {arguments:?}: {}", described(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Runs git with `arguments`, whatever comes of it.
    pub(crate) fn try_git(&self, arguments: &[&str]) -> Output {
        self.command("git").args(arguments).output().expect("git runs")
    }
}

/// Returns the folder of a file system in memory that has room and runs programs. `TMPDIR` counts before it.
fn memory() -> Option<&'static Path> {
    use rustix::fs::{Access, StatVfsMountFlags, access, statvfs};
    static FOLDER: OnceLock<Option<&Path>> = OnceLock::new();
    *FOLDER.get_or_init(|| {
        let folder = Path::new("/dev/shm");
        let stat = statvfs(folder).ok()?;
        let has_room = stat.f_bavail * stat.f_frsize >= 1 << 30 && stat.f_favail >= 1 << 17;
        let runs_programs = !stat.f_flag.contains(StatVfsMountFlags::NOEXEC);
        let is_ours = std::env::var_os("TMPDIR").is_none() && access(folder, Access::WRITE_OK).is_ok();
        (has_room && runs_programs && is_ours).then_some(folder)
    })
}

/// Puts the built program before all others, so that git finds `git checkpoint`.
fn search_path() -> &'static OsStr {
    static PATH: OnceLock<OsString> = OnceLock::new();
    PATH.get_or_init(|| {
        let built = Path::new(program()).parent().map(Path::to_owned);
        let others = std::env::var_os("PATH").unwrap_or_default();
        std::env::join_paths(built.into_iter().chain(python()).chain(std::env::split_paths(&others)))
            .expect("PATH can be joined")
    })
}

/// Returns the folder of Python itself. What PATH calls `python3` may be a script that takes a tenth of a second to find it.
fn python() -> Option<PathBuf> {
    let output = Command::new("python3").args(["-ISc", "import sys; print(sys.executable)"]).output().ok()?;
    let file = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim_end());
    file.parent().filter(|folder| folder.is_absolute()).map(Path::to_owned)
}
