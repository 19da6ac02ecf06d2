//! The settings as types, in the shape of `config/default.toml`.
//!
//! That file and git-checkpoint-config(5) explain each of them. `None` means no limit, or git's own choice. Sizes are
//! in bytes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

pub use super::policy::{Ci, Commit, Disclosure, Policy};
pub use super::usage::Usage;
use super::value;

/// Every setting.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Settings {
    /// Whether hooks take checkpoints.
    pub enabled: bool,
    /// Whether starting a session warns of another one's uncommitted work.
    pub enable_multisession_warning: bool,
    /// Who shares a shadow.
    pub storage: Storage,
    /// How a commit names its record.
    pub link: Link,
    /// What happens when two agents tangle.
    pub concurrency: Concurrency,
    /// What an agent hears before it changes what a session in another worktree has changed.
    pub overlap: Overlap,
    /// The silence after which a session's claim is abandoned.
    #[serde(deserialize_with = "value::duration")]
    pub stale_after: Duration,
    /// The longest wait for a lock.
    #[serde(deserialize_with = "value::duration")]
    pub lock_timeout: Duration,
    /// What to do in colocated jj repositories.
    pub jj: Jj,
    /// `[save]`
    pub save: Save,
    /// `[archive]`
    pub archive: Archive,
    /// `[operations]`
    pub operations: Operations,
    /// `[transcript]`
    pub transcript: Transcript,
    /// `[attribution]`
    pub attribution: Policy,
    /// `[commit]`
    pub commit: Commit,
    /// `[ci]`
    pub ci: Ci,
    /// `[push]`
    pub push: Push,
    /// `[remote]`
    pub remote: Remote,
    /// `[agents]`
    pub agents: Agents,
    /// `[worktree]`
    pub worktree: Worktree,
    /// `[round]`
    pub round: Round,
    /// `[usage]`
    pub usage: Usage,
    /// `[ui]`
    pub ui: Ui,
}

/// Limits of a save.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Save {
    /// The bytes of the largest untracked file that is saved; `u64::MAX`: no limit.
    #[serde(deserialize_with = "value::size_or_all")]
    pub max_file_size: u64,
    /// The most new files that an untracked directory may have; `u64::MAX`: no limit.
    #[serde(deserialize_with = "value::count_or_all")]
    pub max_untracked_files: u64,
    /// The bytes of free disk space below which untracked files are skipped; zero: no check.
    #[serde(deserialize_with = "value::size")]
    pub min_free_space: u64,
    /// Patterns, as in `.gitignore`, of untracked files to leave out.
    pub exclude: Vec<String>,
    /// Directories that are not saved as a worktree root; `~` is expanded if the doors know the home.
    pub protected_paths: Vec<PathBuf>,
}

/// How long archived shadows are kept; applied by `prune`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Archive {
    /// The age in days.
    #[serde(deserialize_with = "value::count_limit")]
    pub keep_days: Option<u64>,
    /// The number of shadows.
    #[serde(deserialize_with = "value::count_limit")]
    pub keep_count: Option<u64>,
    /// The bytes they hold together.
    #[serde(deserialize_with = "value::size_limit")]
    pub max_size: Option<u64>,
}

/// When a part of the operation log is full. The log has two parts.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Operations {
    /// The age in days.
    #[serde(deserialize_with = "value::count_limit")]
    pub keep_days: Option<u64>,
    /// The number of operations.
    #[serde(deserialize_with = "value::count_limit")]
    pub keep_count: Option<u64>,
}

/// What records keep of a conversation.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Transcript {
    /// How much is kept.
    pub store: Store,
    /// Whether secrets are replaced.
    pub redact: bool,
    /// The bytes of the longest transcript.
    #[serde(deserialize_with = "value::size_limit")]
    pub max_size: Option<u64>,
}

/// What leaves the machine.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Push {
    /// Whether `git push` sends records too.
    pub auto: bool,
    /// The remote; `None`: the one git would push to.
    #[serde(deserialize_with = "value::text")]
    pub remote: Option<String>,
    /// Whether transcripts are sent.
    pub transcripts: bool,
}

/// What exchanges with remotes may take.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Remote {
    /// How long they may make no progress; `None`: for ever.
    #[serde(deserialize_with = "value::duration_limit")]
    pub timeout: Option<Duration>,
    /// How many bytes may arrive at once.
    #[serde(deserialize_with = "value::size_limit")]
    pub max_fetch_size: Option<u64>,
}

/// How agents' hooks behave.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Agents {
    /// The least time between two full passes before shell commands.
    #[serde(deserialize_with = "value::duration")]
    pub pre_tool_scan: Duration,
    /// More directories where agents keep conversations; `~` is expanded.
    pub transcript_dirs: Vec<PathBuf>,
}

/// What `worktree add` makes, and which worktrees may be named.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Worktree {
    /// The directory they are made in; a relative one counts from the main worktree's root; `~` is expanded.
    pub dir: PathBuf,
    /// The directory's name, with `{repo}` and `{name}`.
    pub name_template: String,
    /// The largest number of linked worktrees.
    #[serde(deserialize_with = "value::count_limit")]
    pub max: Option<u64>,
    /// Where worktrees named from outside may lie; empty: anywhere; `~` is expanded.
    pub roots: Vec<PathBuf>,
    /// The commands that run in a new worktree.
    pub setup: Commands,
    /// The commands that run in a worktree before it is removed.
    pub teardown: Commands,
}

/// What `round start` makes.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Round {
    /// How it isolates work.
    pub mode: RoundMode,
    /// What its branches are below.
    pub branch_prefix: String,
    /// The folder for experiments.
    pub scratch: String,
    /// The folder of a workspace in which experiments are kept.
    pub archive: String,
    /// What it takes along of what is not committed.
    pub mirror: Mirror,
    /// What becomes of the branches when all rounds of a group end.
    pub branches: BranchPolicy,
}

/// What a round takes along of what is not committed where its directory is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mirror {
    /// Nothing.
    #[default]
    None,
    /// The changes of files that git tracks.
    Tracked,
    /// Untracked files that are not ignored, too.
    All,
}

impl Mirror {
    /// Returns its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Tracked => "tracked",
            Self::All => "all",
        }
    }
}

/// What becomes of a branch of a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BranchPolicy {
    /// It stays.
    #[default]
    Keep,
    /// It goes to the archive as soon as no agent that may know it works on.
    Retire,
    /// It goes there at once.
    Delete,
}

impl RoundMode {
    /// Returns its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Worktree => "worktree",
            Self::Isolated => "isolated",
            Self::Legacy => "legacy",
        }
    }
}

/// How rounds isolate work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RoundMode {
    /// In a worktree where there is a repository, else in a copy.
    Auto,
    /// In a worktree.
    Worktree,
    /// In a copy that is a repository of its own.
    Isolated,
    /// Not at all.
    Legacy,
}

/// Commands for the shell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "Vec<String>")]
#[non_exhaustive]
pub struct Commands {
    /// The commands, in their order.
    pub lines: Vec<String>,
    /// True if the project's committed file has them: they run only if the user has approved them.
    pub is_from_project: bool,
    /// True if they are in place of commands that the user's own files, or the system's, have.
    pub replaces_own: bool,
}

impl From<Vec<String>> for Commands {
    fn from(lines: Vec<String>) -> Self {
        Self { lines, is_from_project: false, replaces_own: false }
    }
}

/// What people see.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Ui {
    /// When output is coloured.
    pub color: Color,
    /// The pager's command; `None`: as git chooses.
    #[serde(deserialize_with = "value::text")]
    pub pager: Option<String>,
}

/// Who shares a shadow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Storage {
    /// One shadow for all sessions of a worktree.
    Worktree,
    /// One shadow for each session.
    Session,
}

/// How a commit names its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Link {
    /// By a trailer in its message.
    Trailer,
    /// Not at all; the record names the commit.
    None,
}

/// What an agent hears before it changes a file that a session in another worktree has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Overlap {
    /// Nothing.
    Off,
    /// A warning.
    Warn,
    /// Its user is asked first, where the agent can ask.
    Ask,
}

/// What happens when two agents tangle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Concurrency {
    /// What would corrupt work is denied.
    Refuse,
    /// What might is denied too.
    Strict,
    /// Every denial is a warning.
    Warn,
    /// Nothing is checked.
    Off,
}

/// What to do in colocated jj repositories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Jj {
    /// Read jj's state, never change it.
    Detect,
    /// Keep agent work in jj changes.
    Manage,
    /// Never call jj.
    Off,
}

/// How much of a conversation a record keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Store {
    /// The whole transcript.
    Full,
    /// What the user typed.
    Prompts,
    /// Nothing.
    None,
}

/// When output is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Color {
    /// As git's `color.ui` says.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Settings {
    /// Replaces `~` at the start of paths, if the home directory is known.
    pub(super) fn expand_home(&mut self, home: Option<&Path>) {
        let Some(home) = home else { return };
        let agents = &mut self.agents.transcript_dirs;
        let lists = self.save.protected_paths.iter_mut().chain(&mut self.worktree.roots).chain(agents);
        for path in lists.chain([&mut self.worktree.dir]) {
            if let Ok(rest) = path.strip_prefix("~") {
                // Joining an empty rest would leave a final slash.
                *path = if rest.as_os_str().is_empty() { home.to_owned() } else { home.join(rest) };
            }
        }
    }
}
