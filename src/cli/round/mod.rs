//! `git checkpoint round`: isolated work of one agent, for programs that give tasks to agents.

mod apply;
mod archive;
mod branches;
mod cause;
mod compare;
mod diff;
mod end;
mod list;
mod race;
mod raced;
mod start;
mod tasks;

use super::{Exit, call::Call};
use crate::error::Result;

/// Let an agent work in isolation, and collect its work on a branch
///
/// A round has a worktree and a branch of its own for each directory that the agent works on, and a folder for experiments,
/// which git ignores. At its end, all work is committed, and the branch stays. A round is named by its id, or by its branch.
#[derive(clap::Args, Debug)]
pub(super) struct Round {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand, Debug)]
enum Action {
    /// Begin a round: make a worktree and a branch for each directory
    ///
    /// The same call again prints the same round, if it names a workspace, a session or an agent.
    Start(start::Start),
    /// Commit all work of a round, or of all, keep its experiments, and remove its worktrees; its branches stay
    ///
    /// Nothing is removed unless the branch has exactly what the worktree has. 'worktree restore' brings a worktree back.
    End(end::End),
    /// Run one program in several rounds that begin at one commit, and end each round when its program has ended
    ///
    /// With --agents, each of these agents gets one prompt. What a program that fails has done is committed, too.
    Race(race::RaceOf),
    /// Move the experiments of a round to the archive now, and go on with an empty folder
    Archive(archive::Archive),
    /// Show what a round has changed since it began
    ///
    /// The new side is what is in its worktree now, or its branch, once the round has ended.
    Diff(diff::DiffOf),
    /// Show what several rounds have changed, side by side, and run a test in each
    ///
    /// For each path, it says which rounds have changed it, and whether git could merge their changes.
    Compare(compare::CompareOf),
    /// Bring what a round has changed into this worktree, as changes that are not committed
    ///
    /// The worktree is saved first, so that `git checkpoint undo` reverses it.
    Apply(apply::Apply),
    /// List the rounds of this repository
    List(list::List),
    /// Show one round
    Show(list::Show),
    /// Show the branch of each agent
    Branches(branches::Branches),
    /// Print what the agent of a round should know of the branches, for its system prompt
    Context(branches::ContextOf),
}

impl Round {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        match self.action {
            Action::Start(start) => start.run(call),
            Action::End(end) => end.run(call),
            Action::Race(race) => race.run(call),
            Action::Archive(archive) => archive.run(call),
            Action::Compare(compare) => compare.run(call),
            Action::Diff(diff) => diff.run(call),
            Action::Apply(apply) => apply.run(call),
            Action::List(list) => list.run(call),
            Action::Show(show) => show.run(call),
            Action::Branches(branches) => branches.run(call),
            Action::Context(context) => context.run(call),
        }
    }
}
