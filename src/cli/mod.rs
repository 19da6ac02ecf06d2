//! The door for people and scripts: parses a command line, calls an op, shows its result.
//!
//! One file per command holds its arguments (the doc comments are the help text) and `run`. What is
//! shared by commands is here: `Command`, `Call` and the exit codes.
#![allow(rustdoc::invalid_html_tags, reason = "the comments are help text first, with placeholders as git writes them")]

mod agent_files;
mod attribution;
mod blame;
mod call;
mod completions;
mod config;
mod date;
mod diff;
mod doctor;
mod enable;
mod environment;
mod events;
mod explain;
mod external;
mod hook;
mod interrupt;
mod list;
mod man;
mod output;
mod phrase;
mod progress;
mod prune;
mod reset;
mod restore;
mod save;
mod session;
mod settings;
mod show;
mod status;
mod undo;
mod usage;
mod verify;
mod why;

use std::{ffi::OsString, process::ExitCode};

use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum};

use crate::error::{Kind, Result};
use call::Call;
use output::Output;

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
struct Cli {
    #[command(flatten)]
    globals: Globals,
    #[command(subcommand)]
    command: Command,
}

/// Options that every command takes.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Global options")]
struct Globals {
    /// Run as if started in <path>
    #[arg(short = 'C', value_name = "path", global = true)]
    directory: Vec<std::path::PathBuf>,
    /// Colour the output: always, never, or auto (only on a terminal)
    #[arg(long, value_name = "when", global = true, num_args = 0..=1, require_equals = true, hide_possible_values = true, default_missing_value = "always")]
    color: Option<When>,
    /// Do not pipe the output into a pager
    #[arg(long, global = true)]
    no_pager: bool,
    /// Print errors and results, but no warnings, hints or summaries
    #[arg(short, long, global = true)]
    quiet: bool,
    /// Say on standard error what is being done; twice for more
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    verbose: u8,
}

/// When to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum When {
    Always,
    Never,
    Auto,
}

#[derive(Debug, Subcommand)]
enum Command {
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
    Reset(reset::Reset),
    Session(session::Session),
    Verify(verify::Verify),
    Events(events::Events),
    Prune(prune::Prune),
    Doctor(doctor::Doctor),
    Config(config::Config),
    Enable(enable::Enable),
    Disable(enable::Disable),
    Hook(hook::HookCommand),
    Completions(completions::Completions),
    Man(man::Man),
}

impl Command {
    fn run(self, call: &mut Call) -> Result<Exit> {
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
            Self::Reset(command) => command.run(call),
            Self::Session(command) => command.run(call),
            Self::Verify(command) => command.run(call),
            Self::Events(command) => command.run(call),
            Self::Prune(command) => command.run(call),
            Self::Doctor(command) => command.run(call),
            Self::Completions(command) => command.run(call, Cli::command()),
            Self::Config(command) => command.run(call),
            Self::Enable(command) => command.run(call),
            Self::Disable(command) => command.run(call),
            Self::Hook(command) => command.run(call),
            Self::Man(command) => command.run(call),
        }
    }
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exit {
    /// It did what was asked.
    Done,
    /// The answer is no: nothing found, conflicts, refused.
    No,
    /// It could not.
    Fatal,
    /// The command line makes no sense.
    Usage,
    /// A signal ended it.
    Interrupted,
    /// An agent is held back, which reads that from the exit code.
    Denied,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::No => 1,
            Exit::Fatal => 128,
            Exit::Usage => 129,
            Exit::Interrupted => 130,
            Exit::Denied => 2,
        })
    }
}

/// Runs the command line `arguments` (with the program's name first) and returns the exit code.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let exit = match Cli::try_parse_from(&arguments) {
        Ok(cli) => run(cli),
        Err(error) if error.use_stderr() && hook::is_agents(&arguments) => {
            hook::excuse(&error.to_string());
            Exit::Done
        }
        Err(error) => usage::explain(&error, &arguments, &mut Output::new(None, false)),
    };
    exit.into()
}

fn run(cli: Cli) -> Exit {
    let mut call = Call::new(cli.globals);
    let is_agents = matches!(&cli.command, Command::Hook(hook) if hook.is_agents());
    let outcome = call.enter_directory().and_then(|()| cli.command.run(&mut call));
    call.tell_notices();
    let outcome = call.out.finish(outcome);
    match outcome {
        Ok(exit) => exit,
        Err(_) if is_agents => Exit::Done,
        Err(error) if call.interrupt.is_raised() => {
            // Without a hint, nothing is left to do: whoever sent the signal knows the rest.
            if error.hint().is_some() {
                call.out.error("fatal", &error);
            }
            Exit::Interrupted
        }
        Err(error) if error.kind() == Kind::Refused => {
            call.out.error("error", &error);
            Exit::No
        }
        Err(error) => {
            call.out.error("fatal", &error);
            Exit::Fatal
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
