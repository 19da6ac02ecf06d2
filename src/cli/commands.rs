//! The command line: the global options and the table of all commands.

use std::ffi::OsString;

use clap::{CommandFactory as _, Parser, Subcommand};

use super::{
    attribution, blame, call::Call, completions, config, diff, doctor, drop, enable, events, exit::Exit, explain,
    globals::Globals, hook, list, man, op, prune, purge, reset, restore, save, session, show, status, tour, undo,
    verify, why, worktree,
};
use crate::error::Result;

/// Save the whole worktree at any moment, and get any such moment back
///
/// A checkpoint is a commit of the whole worktree below refs/checkpoints/. Taking one leaves HEAD, the
/// index, the stash and all branches as they are; restoring one first saves what it replaces.
#[derive(Debug, Parser)]
#[command(
    name = "git-checkpoint",
    bin_name = "git checkpoint",
    version,
    disable_help_subcommand = true,
    max_term_width = 100
)]
pub(super) struct Cli {
    #[command(flatten)]
    pub(super) globals: Globals,
    #[command(subcommand)]
    pub(super) command: Command,
}

/// The command line of a hook.
#[derive(Debug, Parser)]
#[command(name = "git-checkpoint", bin_name = "git checkpoint")]
struct HookLine {
    #[command(flatten)]
    globals: Globals,
    #[command(subcommand)]
    command: OnlyHook,
}

#[derive(Debug, Subcommand)]
enum OnlyHook {
    Hook(hook::HookCommand),
}

impl Cli {
    /// Parses `arguments`, with the program's name first.
    ///
    /// Hooks start us often, and to describe all commands takes longer than most of what they do.
    pub(super) fn read(arguments: &[OsString]) -> std::result::Result<Self, clap::Error> {
        if arguments.get(1).is_some_and(|word| word == "hook")
            && let Ok(HookLine { globals, command: OnlyHook::Hook(hook) }) = HookLine::try_parse_from(arguments)
        {
            return Ok(Self { globals, command: Command::Hook(hook) });
        }
        Self::try_parse_from(arguments)
    }
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    Save(save::Save),
    Status(status::StatusCommand),
    #[command(visible_alias = "log")]
    List(list::List),
    Show(show::Show),
    Explain(explain::Explain),
    Attribution(attribution::AttributionCommand),
    Blame(blame::BlameCommand),
    Why(why::WhyCommand),
    Diff(diff::Diff),
    Restore(restore::Restore),
    Undo(undo::Undo),
    Redo(undo::Redo),
    Op(op::Op),
    Reset(reset::Reset),
    Drop(drop::Drop),
    Session(session::Session),
    Worktree(worktree::Worktree),
    Prompts(session::Prompts),
    Verify(verify::Verify),
    Events(events::Events),
    Prune(prune::Prune),
    Purge(purge::Purge),
    Doctor(doctor::Doctor),
    Tour(tour::Tour),
    Config(config::Config),
    Enable(enable::Enable),
    Disable(enable::Disable),
    Hook(hook::HookCommand),
    Completions(completions::Completions),
    Man(man::Man),
}

impl Command {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        match self {
            Self::Save(command) => command.run(call),
            Self::Status(command) => command.run(call),
            Self::List(command) => command.run(call),
            Self::Show(command) => command.run(call),
            Self::Explain(command) => command.run(call),
            Self::Attribution(command) => command.run(call),
            Self::Blame(command) => command.run(call),
            Self::Why(command) => command.run(call),
            Self::Diff(command) => command.run(call),
            Self::Restore(command) => command.run(call),
            Self::Undo(command) => command.run(call),
            Self::Redo(command) => command.run(call),
            Self::Op(command) => command.run(call),
            Self::Reset(command) => command.run(call),
            Self::Drop(command) => command.run(call),
            Self::Session(command) => command.run(call),
            Self::Worktree(command) => command.run(call),
            Self::Prompts(command) => command.run(call),
            Self::Verify(command) => command.run(call),
            Self::Events(command) => command.run(call),
            Self::Prune(command) => command.run(call),
            Self::Purge(command) => command.run(call),
            Self::Doctor(command) => command.run(call),
            Self::Tour(command) => command.run(call),
            Self::Completions(command) => command.run(call, Cli::command()),
            Self::Config(command) => command.run(call),
            Self::Enable(command) => command.run(call),
            Self::Disable(command) => command.run(call),
            Self::Hook(command) => command.run(call),
            Self::Man(command) => command.run(call),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }
}
