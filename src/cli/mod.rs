//! The interface for people and scripts: parses a command line, calls an op, prints its result.
//!
//! One file per command has its arguments (the doc comments are the help text) and `run`; `commands` has the table of
//! all, and no command uses it. What commands share is in files of its own: `call`, `exit`, `output`, ...
#![allow(rustdoc::invalid_html_tags, reason = "the comments are help text first, with placeholders as git writes them")]

mod agent_files;
mod attribution;
mod awaited;
mod blame;
mod browse;
mod call;
mod ci;
mod color;
mod command_line;
mod commands;
mod completions;
mod config;
mod date;
mod date_column;
mod diff;
mod doctor;
mod drop;
mod enable;
mod environment;
mod events;
mod exit;
mod explain;
mod export;
mod external;
mod fetch;
mod fetched;
mod from_root;
mod globals;
mod habits;
mod hook;
mod import;
mod interrupt;
mod kept;
mod layout;
mod list;
mod list_format;
mod long_lists;
mod man;
mod marks;
mod names;
mod note;
mod notices;
mod op;
mod output;
mod output_file;
mod overlap;
mod phrase;
mod progress;
mod prune;
mod purge;
mod push;
mod question;
mod recurse;
mod remote;
mod report;
mod reset;
mod restore;
mod review;
mod round;
mod save;
mod search;
mod session;
mod sessions_in_table;
mod settings;
mod show;
mod status;
mod tag;
mod tokens;
mod tour;
mod undo;
mod undone;
mod usage;
mod verify;
mod why;
mod worktree;

use std::{ffi::OsString, process::ExitCode};

use call::Call;
use command_line::CommandLine;
use commands::Cli;
use exit::Exit;
use output::Output;

/// Runs the command line `arguments` (with the program's name first) and returns the exit code.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let exit = match Cli::read(&arguments) {
        Ok(cli) => {
            let mut call = Call::new(cli.globals.clone(), CommandLine::new(&arguments));
            cli.run(&mut call)
        }
        Err(error) if error.use_stderr() && hook::is_agents(&arguments) => {
            hook::excuse(&error.to_string());
            Exit::Done
        }
        Err(mut error) => usage::explain(&mut error, &arguments, &mut Output::new(None, false)),
    };
    exit.into()
}
