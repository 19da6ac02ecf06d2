//! `git checkpoint worktree`: worktrees, one for each agent or task.

mod add;
mod approve;
mod exec;
mod inside;
mod list;
mod merge;
mod mounts;
mod remove;
mod setup;

pub(super) use add::{check_hooks, check_hooks_of_copy, set_up_copy, set_up_new};
pub(super) use setup::run_step;

use std::{ffi::OsString, os::unix::ffi::OsStrExt as _, path::Path};

use super::{Exit, call::Call};
use crate::{
    error::Result,
    ops::worktrees::{self, Code},
};

/// Make, list and remove the worktrees of this repository, and run programs in them
///
/// A worktree is named by its branch, by the name of its directory, by git's id of it, or by the path of its root.
#[derive(clap::Args, Debug)]
pub(super) struct Worktree {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand, Debug)]
enum Action {
    /// Make a worktree beside the others, named after its branch
    Add(add::Add),
    /// List all worktrees: branch, changes, sessions
    List(list::List),
    /// Show one worktree
    Show(list::Show),
    /// Print the path of a worktree, for 'cd "$(git checkpoint worktree path <worktree>)"'
    Path(PathOf),
    /// Say whether a path is the root of a worktree of this repository
    ///
    /// The path must be absolute, without '..', and exactly as git has registered it. The exit status is 0 if it is accepted,
    /// and 1 if not.
    Validate(Validate),
    /// Run a program in a worktree
    ///
    /// It runs at the worktree's root, without a shell and without the GIT_* variables that name another repository. Without
    /// a program, your shell is started there.
    Exec(exec::Exec),
    /// Set up a worktree: run the commands of the setting 'worktree.setup' that have not succeeded there yet
    ///
    /// 'worktree add' does that, too. Commands of .checkpoint.toml run only after 'worktree approve'.
    Setup(setup::Setup),
    /// Show the commands that .checkpoint.toml has for worktrees, and let them run if you say so
    ///
    /// The approval counts in all worktrees of this repository, for exactly these commands.
    Approve(approve::Approve),
    /// Remove a worktree, after a checkpoint of it; 'worktree restore' brings it back
    ///
    /// Its branch stays. Refused while it is in use, if it is locked, and if it has submodules or other repositories
    /// inside.
    Remove(remove::Remove),
    /// Bring a removed worktree back: branch, uncommitted changes and all other files
    Restore(remove::Restore),
    /// Merge the branch of another worktree into the branch here, after a checkpoint of both worktrees
    ///
    /// Git merges it, with your hooks and settings. Refused if something there is not committed, or if a turn is under way
    /// there.
    Merge(merge::Merge),
    /// Give a worktree another path
    Move(remove::Move),
    /// Let git forget worktrees whose directory is gone, and delete those that were removed long ago
    Prune(remove::Prune),
    /// Print what a container must have for worktrees: directories, as options of 'docker run' or in another form
    ///
    /// Each has the same path inside as outside, since a worktree and its repository name each other by absolute paths.
    Mounts(mounts::Mounts),
    /// Show what changed in a worktree, as 'git checkpoint diff' does there
    Diff(inside::DiffIn),
    /// Show where a worktree stands, as 'git checkpoint status' does there
    Status(inside::StatusIn),
    /// Show files of a worktree, and nothing outside of it
    ///
    /// Paths count from the worktree's root. None leads through a symbolic link, and git's own files are left out.
    Files(inside::Files),
}

#[derive(clap::Args, Debug)]
struct PathOf {
    /// The worktree (default: this one)
    #[arg(value_name = "worktree")]
    name: Option<OsString>,
}

#[derive(clap::Args, Debug)]
struct Validate {
    /// The path
    #[arg(value_name = "path")]
    path: OsString,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

impl Worktree {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        match self.action {
            Action::Add(add) => add.run(call),
            Action::List(list) => list.run(call),
            Action::Show(show) => show.run(call),
            Action::Path(path) => path.run(call),
            Action::Validate(validate) => validate.run(call),
            Action::Exec(exec) => exec.run(call),
            Action::Setup(setup) => setup.run(call),
            Action::Approve(approve) => approve.run(call),
            Action::Remove(remove) => remove.run(call),
            Action::Restore(restore) => restore.run(call),
            Action::Merge(merge) => merge.run(call),
            Action::Move(relocate) => relocate.run(call),
            Action::Prune(prune) => prune.run(call),
            Action::Mounts(mounts) => mounts.run(call),
            Action::Diff(diff) => diff.run(call),
            Action::Status(status) => status.run(call),
            Action::Files(files) => files.run(call),
        }
    }
}

impl PathOf {
    fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.context()?;
        let found = worktrees::find_root(&context, self.name.as_deref())?;
        // As it is: a shell reads it.
        call.out.bytes(&[found.path.as_os_str().as_bytes(), b"\n"].concat())?;
        Ok(Exit::Done)
    }
}

impl Validate {
    fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.context()?;
        let path = Path::new(&self.path);
        let validated = worktrees::validate(&context, path)?;
        let exit = if validated.valid { Exit::Done } else { Exit::No };
        if self.json {
            call.out.json(&validated)?;
        } else if let Some(error) = validated.code.map(|code: Code| code.error(path)) {
            call.out.note(error.message())?;
            error.hint().into_iter().for_each(|hint| call.out.hint(hint));
        }
        Ok(exit)
    }
}
