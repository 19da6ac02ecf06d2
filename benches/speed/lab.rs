//! A repository whose worktree is brought into the state that a measurement wants, and back.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use crate::{Result, worktrees::BRANCH};

/// The most files that are ever changed at once.
pub(crate) const MOST: usize = 5000;
/// Files this much younger than a look at them are read again by the next; no person edits that fast.
const REST: Duration = Duration::from_millis(60);

/// What the worktree is before a command is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// As HEAD has it, saved, git's index fresh.
    Settled,
    /// So, but this many files have been edited since.
    Changed(usize),
    /// One file has been edited, and nothing was ever saved.
    First,
    /// As settled; a session waits for its next prompt.
    Waiting,
    /// One file has been edited by a session, saved and staged.
    SessionWork,
    /// One file has been edited and staged; a session waits for its next prompt.
    OwnWork,
    /// So, but the session has a turn under way.
    OwnWorkInTurn,
    /// A session has a turn under way.
    Prompted,
    /// So, and has edited one file since.
    Edited,
    /// As settled; the worktree of the branch `bench` is not there.
    Alone,
    /// As settled; it is there, and one file has been edited in it.
    Beside,
}

/// A repository to measure in.
pub(crate) struct Lab {
    root: PathBuf,
    home: PathBuf,
    binary: PathBuf,
    /// Files to edit, spread over the worktree. Only names: what this process holds in memory would be counted as the
    /// peak of the processes it starts.
    files: Vec<String>,
    edits: usize,
    changed: usize,
    has_hooks: bool,
}

/// The session that works in labs.
pub(crate) const SESSION: &str = "bench";

/// The session of an agent that reports its tools. After such a turn, a commit of which nobody knows the author saves everything
/// first, so the session is another one, and its turns end.
pub(crate) const SESSION_WITH_TOOLS: &str = "bench-tools";

/// Runs `git` with `arguments` in `root`.
pub(crate) fn git_in(root: &Path, arguments: &[&str]) -> Result<()> {
    let mut command = Command::new("git");
    hermetic(&mut command, root.parent().unwrap_or(root));
    let status = command.args(arguments).current_dir(root).stdout(Stdio::null()).status()?;
    // `update-index --refresh` ends with 1 where files differ.
    if !status.success() && arguments.first() != Some(&"update-index") {
        return Err(format!("'git {}' has failed", arguments.join(" ")).into());
    }
    Ok(())
}

/// Keeps out the settings of the user who runs this.
fn hermetic(command: &mut Command, home: &Path) {
    let path = std::env::var_os("PATH").unwrap_or_default();
    command.env_clear().env("PATH", path).env("HOME", home).env("LC_ALL", "C").env("GIT_CONFIG_NOSYSTEM", "1");
}

impl Lab {
    /// Takes over the repository `root`, whose worktree is as HEAD has it.
    pub(crate) fn new(root: PathBuf, binary: &Path) -> Result<Self> {
        let home = root.parent().unwrap_or(&root).join("home");
        fs::create_dir_all(&home)?;
        let mut lab = Self {
            root,
            home,
            binary: binary.to_owned(),
            files: Vec::new(),
            edits: 0,
            changed: MOST,
            has_hooks: false,
        };
        let list = lab.git_output(&["ls-files"])?;
        let is_fit = |path: &&str| {
            let metadata = fs::symlink_metadata(lab.root.join(path));
            metadata.is_ok_and(|metadata| metadata.is_file() && metadata.len() < 100_000) && !path.starts_with('"')
        };
        let fit: Vec<_> = list.lines().filter(is_fit).collect();
        // A stride with no common divisor: the first few are spread as well as all are.
        let order = (0..fit.len()).map(|at| fit[at * 7919 % fit.len()]);
        lab.files = order.take(MOST).map(ToOwned::to_owned).collect();
        lab.settle()?;
        Ok(lab)
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns how many files may be edited.
    pub(crate) fn len(&self) -> usize {
        self.files.len()
    }

    /// Returns the path of the editable file `at`.
    pub(crate) fn path(&self, at: usize) -> &str {
        &self.files[at]
    }

    /// Returns the command line `line`: `checkpoint` is our program, `hook` and an event our hook of an agent, `sh` and a
    /// script the shell.
    pub(crate) fn command(&self, line: &[&str]) -> Command {
        let (program, arguments) = line.split_first().expect("a command line has a program");
        let is_ours = ["checkpoint", "hook"].contains(program);
        let mut command = if is_ours { Command::new(&self.binary) } else { Command::new(program) };
        hermetic(&mut command, &self.home);
        command.env("PROGRAM", &self.binary).current_dir(&self.root).stdin(Stdio::null());
        if *program == "hook" {
            let file = self.home.join("event.json");
            let is_written = fs::write(&file, arguments.concat()).and_then(|()| fs::File::open(&file));
            command.args(["hook", "--agent", "generic"]).stdin(is_written.expect("the home is ours"));
        } else {
            command.args(arguments);
        }
        command
    }

    /// Returns what `line` prints.
    pub(crate) fn output(&self, line: &[&str]) -> Result<String> {
        let output = self.command(line).output()?;
        if !output.status.success() {
            let message = String::from_utf8_lossy(&output.stderr);
            return Err(format!("'{}' has failed: {message}", line.join(" ")).into());
        }
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Returns what `git` with `arguments` prints.
    pub(crate) fn git_output(&self, arguments: &[&str]) -> Result<String> {
        self.output(&[&["git"], arguments].concat())
    }

    /// Returns the name of the one shadow.
    pub(crate) fn shadow_ref(&self) -> Result<String> {
        let refs = self.git_output(&["for-each-ref", "--format=%(refname)", "refs/checkpoints/shadow/"])?;
        Ok(refs.lines().next().ok_or("there is no shadow")?.to_owned())
    }

    /// Edits `count` files, from the file `from` on, to content that was never there before.
    pub(crate) fn edit(&mut self, from: usize, count: usize) -> Result<()> {
        for at in from..from + count {
            self.edits += 1;
            let path = self.root.join(&self.files[at % self.files.len()]);
            let mut file = fs::OpenOptions::new().append(true).open(path)?;
            writeln!(file, "edit {} of process {}", self.edits, std::process::id())?;
        }
        self.changed = self.changed.max(from + count);
        Ok(())
    }

    /// Brings everything back to [`State::Settled`].
    pub(crate) fn settle(&mut self) -> Result<()> {
        if self.changed == 0 {
            return Ok(());
        }
        git_in(&self.root, &["checkout", "-q", "--", "."])?;
        std::thread::sleep(REST);
        // An index as young as files in it would have git read those again and again.
        git_in(&self.root, &["update-index", "--force-write-index"])?;
        std::thread::sleep(REST);
        self.output(&["checkpoint", "save"])?;
        self.changed = 0;
        Ok(())
    }

    /// Brings the worktree into `state`.
    pub(crate) fn enter(&mut self, state: State) -> Result<()> {
        self.settle()?;
        match state {
            State::Settled | State::Alone => return Ok(()),
            State::Beside => {
                let place = self.place_beside();
                let text = place.to_str().ok_or("the path of the cache is no text")?.to_owned();
                self.git_output(&["worktree", "add", "-q", "-b", BRANCH, &text])?;
                fs::write(place.join(&self.files[0]), format!("edit of process {}\n", std::process::id()))?;
            }
            State::Changed(count) => self.edit(0, count)?,
            State::Waiting => {
                self.enable()?;
                self.output(&["checkpoint", "session", "start", SESSION])?;
                self.output(&["checkpoint", "session", "stop", SESSION])?;
                return Ok(());
            }
            State::SessionWork => {
                self.enable()?;
                self.output(&["checkpoint", "session", "prompt", SESSION, "-m", "do this and that"])?;
                self.edit(0, 1)?;
                self.output(&["checkpoint", "save", "-q", "--session", SESSION])?;
                self.git_output(&["add", "--", &self.files[0]])?;
            }
            State::Prompted | State::Edited => {
                self.enable()?;
                self.output(&["checkpoint", "session", "prompt", SESSION_WITH_TOOLS, "-m", "go on"])?;
                if state == State::Prompted {
                    return Ok(());
                }
                self.edit(0, 1)?;
            }
            State::OwnWork | State::OwnWorkInTurn => {
                self.enable()?;
                let event = if state == State::OwnWork { "stop" } else { "prompt" };
                self.output(&["checkpoint", "session", "start", SESSION])?;
                self.output(&["checkpoint", "session", event, SESSION])?;
                self.edit(0, 1)?;
                self.git_output(&["add", "--", &self.files[0]])?;
            }
            State::First => {
                self.edit(0, 1)?;
                fs::create_dir_all(self.root.join(".git/checkpoint-bench-aside"))?;
                for (ours, aside) in self.asides() {
                    drop(fs::rename(ours, aside));
                }
            }
        }
        std::thread::sleep(REST);
        Ok(())
    }

    fn enable(&mut self) -> Result<()> {
        if !self.has_hooks {
            self.output(&["checkpoint", "enable"])?;
            self.has_hooks = true;
        }
        Ok(())
    }

    /// Undoes what [`enter`](Self::enter) did beside the worktree.
    pub(crate) fn leave(&self, state: State) -> Result<()> {
        match state {
            State::First => {
                for (ours, aside) in self.asides() {
                    drop(fs::remove_dir_all(&ours));
                    drop(fs::rename(aside, ours));
                }
            }
            State::Prompted | State::Edited => {
                self.output(&["checkpoint", "session", "stop", SESSION_WITH_TOOLS])?;
            }
            State::Alone | State::Beside => {
                self.output(&["checkpoint", "worktree", "prune", "--removed"])?;
                drop(fs::remove_dir_all(self.place_beside()));
                self.git_output(&["worktree", "prune"])?;
                self.git_output(&["branch", "-q", "-D", BRANCH])?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns where the worktree of the branch `bench` is made.
    fn place_beside(&self) -> PathBuf {
        let name = self.root.file_name().unwrap_or_default().to_string_lossy();
        self.root.with_file_name(format!("{name}-wt-{BRANCH}"))
    }

    fn asides(&self) -> [(PathBuf, PathBuf); 2] {
        let directory = self.root.join(".git");
        let aside = directory.join("checkpoint-bench-aside");
        ["checkpoint", "refs/checkpoints"].map(|name| (directory.join(name), aside.join(name.replace('/', "-"))))
    }

    /// Returns how many bytes on disk the repository takes.
    pub(crate) fn disk_bytes(&self) -> Result<u64> {
        fn below(directory: &Path) -> Result<u64> {
            let mut sum = fs::symlink_metadata(directory)?.blocks() * 512;
            for item in fs::read_dir(directory)? {
                let item = item?;
                sum += if item.file_type()?.is_dir() { below(&item.path())? } else { item.metadata()?.blocks() * 512 };
            }
            Ok(sum)
        }
        below(&self.root.join(".git"))
    }
}
