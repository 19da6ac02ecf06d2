//! Wrong command lines, and requests for help, in git's words.

use std::{ffi::OsString, io::IsTerminal as _};

use clap::{CommandFactory as _, error::ErrorKind};

use super::{Exit, commands::Cli, man, output::Output};

/// Answers what clap could not parse into a command: a request for help, or a mistake.
pub(super) fn explain(error: &clap::Error, arguments: &[OsString], out: &mut Output) -> Exit {
    match error.kind() {
        ErrorKind::DisplayHelp => {
            let wants_manual = arguments.iter().any(|argument| argument == "--help") && std::io::stdout().is_terminal();
            if wants_manual && man::show(&page_of(arguments)) {
                return Exit::Done;
            }
            print(error, out)
        }
        ErrorKind::DisplayVersion => print(error, out),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            out.stderr("error: need a command\n");
            // Of the command that has no action, that is its own help.
            out.stderr(&error.render().to_string());
            Exit::Usage
        }
        kind => {
            let mut report = error.render().to_string();
            // Clap would show the usage with what cannot be.
            if kind == ErrorKind::ArgumentConflict
                && let Some(at) = report.find("Usage: ")
            {
                report.replace_range(at.., &usage_of(arguments));
            }
            out.stderr(&in_gits_words(&report));
            Exit::Usage
        }
    }
}

fn print(error: &clap::Error, out: &mut Output) -> Exit {
    let result = out.text(&error.render().to_string());
    match out.finish(result) {
        Err(error) => {
            out.error("fatal", &error);
            Exit::Fatal
        }
        Ok(()) => Exit::Done,
    }
}

/// Returns the usage of the command that `arguments` name.
fn usage_of(arguments: &[OsString]) -> String {
    let mut cli = Cli::command();
    cli.build();
    let mut command = &cli;
    for name in arguments.iter().skip(1).filter_map(|argument| argument.to_str()) {
        command = command.find_subcommand(name).unwrap_or(command);
    }
    command.clone().render_usage().to_string()
}

/// Returns the manual page of the command that `arguments` name.
fn page_of(arguments: &[OsString]) -> String {
    let cli = Cli::command();
    let named = arguments.iter().skip(1).filter_map(|argument| argument.to_str());
    let mut commands = named.filter_map(|name| cli.find_subcommand(name)).map(clap::Command::get_name);
    commands.next().map_or_else(|| "git-checkpoint".into(), |name| format!("git-checkpoint-{name}"))
}

/// Turns clap's report (`error:`, `tip:`, `Usage:`, a pointer to the help) into `error:`, `hint:`, `usage:`.
fn in_gits_words(report: &str) -> String {
    let mut text = String::new();
    for line in report.lines() {
        let line = line.trim_end();
        if line.is_empty() || line.starts_with("For more information") {
            continue;
        }
        match (line.trim_start().strip_prefix("tip: "), line.strip_prefix("Usage: ")) {
            (Some(tip), _) => text.push_str(&format!("hint: {tip}\n")),
            (_, Some(usage)) => text.push_str(&format!("usage: {usage}\n")),
            _ => text.push_str(&format!("{line}\n")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_read_like_gits() {
        let report = "error: unexpected argument '--jso' found\n\n  tip: a similar argument exists: '--json'\n\n\
                      Usage: git checkpoint list --json\n\nFor more information, try '--help'.\n";
        let expected = "error: unexpected argument '--jso' found\nhint: a similar argument exists: '--json'\n\
                        usage: git checkpoint list --json\n";
        assert_eq!(in_gits_words(report), expected);
    }

    #[test]
    fn the_manual_page_is_that_of_the_command() {
        let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        assert_eq!(page_of(&words("git-checkpoint -C x man --help")), "git-checkpoint-man");
        assert_eq!(page_of(&words("git-checkpoint --help")), "git-checkpoint");
    }
}
