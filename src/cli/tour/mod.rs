//! `git checkpoint tour`: shows what the program does in a repository that is deleted afterwards.

mod shell;
mod steps;

use std::io::IsTerminal as _;

use super::{Exit, call::Call, layout};
use crate::error::Result;
use shell::Shell;
use steps::{REPOSITORY, STEPS, Step};

/// Try the program in five minutes, in a repository that is deleted afterwards
///
/// Each command of the tour is shown. Enter runs it; any other line is run instead by a shell in the repository of the tour, and
/// the command is shown again. q, or the end of the input, ends the tour. The tour writes nothing outside of its temporary
/// directory.
#[derive(clap::Args, Debug)]
pub(super) struct Tour {}

/// What the user answers when a command is shown.
#[derive(Debug, PartialEq)]
enum Answer<'line> {
    /// Run the command that is shown.
    Go,
    /// Run this line in its place.
    Other(&'line str),
    Quit,
}

impl Tour {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let Self {} = self;
        let _listening = call.interrupt.listen_only()?;
        let shell = Shell::new()?;
        shell.prepare(REPOSITORY)?;
        let commands = STEPS.iter().filter(|step| matches!(step, Step::Run(_))).count();
        let greeting = "Enter runs the command that is shown. You may type another one, or q to quit.";
        folded(greeting, width(call)).iter().try_for_each(|line| call.out.line(line))?;
        let (mut chapter, mut command) = (0, 0);
        for step in STEPS {
            match step {
                Step::Chapter(title) => {
                    chapter += 1;
                    let heading = call.out.paint(anstyle::Style::new().bold(), &format!("{chapter}. {title}"));
                    call.out.line(&format!("\n{heading}"))?;
                }
                Step::Say(text) => say(text, call)?,
                Step::Happens { what, script } => {
                    say(what, call)?;
                    shell.prepare(script)?;
                }
                Step::Run(line) => {
                    command += 1;
                    if !offer(line, &format!("{command}/{commands}"), &shell, call)? {
                        call.out.line("\nThe tour ends here; its repository is deleted.")?;
                        return Ok(Exit::Done);
                    }
                }
            }
        }
        Ok(Exit::Done)
    }
}

/// The most columns of a text, and those outside a terminal.
const WIDEST: usize = 72;

fn width(call: &Call) -> usize {
    call.out.columns().unwrap_or(WIDEST).min(WIDEST)
}

/// Prints an explanation after an empty line.
fn say(text: &str, call: &mut Call) -> Result<()> {
    call.out.line("")?;
    folded(text, width(call)).iter().try_for_each(|line| call.out.line(line))
}

/// Returns `text` in lines of at most `columns`, broken between words only. Lines that begin with a blank are those of a table: each
/// begins a line, and is broken in its last column.
fn folded(text: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut paragraph = String::new();
    let end = |paragraph: &mut String, lines: &mut Vec<String>| {
        if !paragraph.is_empty() {
            lines.extend(layout::wrap(&std::mem::take(paragraph), columns, 0));
        }
    };
    for line in text.lines() {
        if line.is_empty() || line.starts_with(' ') {
            end(&mut paragraph, &mut lines);
            let column = line.rfind("  ").filter(|at| *at > 0).map_or(0, |at| at + 2);
            lines.extend(layout::wrap(line, columns, column));
            continue;
        }
        if !paragraph.is_empty() {
            paragraph.push(' ');
        }
        paragraph.push_str(line);
    }
    end(&mut paragraph, &mut lines);
    lines
}

/// Shows `command` until the user runs it, and runs what the user types instead; returns false if the user quits.
fn offer(command: &str, number: &str, shell: &Shell, call: &mut Call) -> Result<bool> {
    loop {
        let prompt = call.out.paint(anstyle::Style::new().bold(), &format!("$ {command}"));
        // What is typed has a line of its own: it does not follow the command.
        call.out.text(&format!("\n[{number}] {prompt}\n> "))?;
        call.out.flush()?;
        let typed = if call.interrupt.is_raised() { None } else { shell::read_line(&call.interrupt)? };
        if !std::io::stdin().is_terminal() {
            // Outside a terminal, what is typed does not end the line of the prompt.
            call.out.text("\n")?;
            call.out.flush()?;
        }
        match typed.as_deref().map_or(Answer::Quit, |typed| answer(typed, command)) {
            Answer::Quit => return Ok(false),
            Answer::Other(line) => {
                shell.run(line, &call.interrupt)?;
            }
            Answer::Go => {
                shell.run(command, &call.interrupt)?;
                return Ok(!call.interrupt.is_raised());
            }
        }
    }
}

/// Returns what `typed` means where `command` is shown.
fn answer<'line>(typed: &'line str, command: &str) -> Answer<'line> {
    match typed.trim() {
        "" => Answer::Go,
        "q" | "quit" | "exit" => Answer::Quit,
        line if line == command => Answer::Go,
        line => Answer::Other(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::narrow("one two\nthree", 8, &["one two", "three"])]
    #[case::wide("one two\nthree", 20, &["one two three"])]
    #[case::a_table("one\n\n  git x  two\nfour\nfive", 12, &["one", "", "  git x  two", "four five"])]
    #[case::a_narrow_table("one\n\n  git x  a b\nfour", 11, &["one", "", "  git x  a", "         b", "four"])]
    fn texts_are_folded(#[case] text: &str, #[case] columns: usize, #[case] expected: &[&str]) {
        assert_eq!(folded(text, columns), expected);
    }

    #[rstest::rstest]
    #[case("\n", Answer::Go)]
    #[case("git checkpoint list\n", Answer::Go)]
    #[case("  git checkpoint list ", Answer::Go)]
    #[case("ls -l\n", Answer::Other("ls -l"))]
    #[case("q\n", Answer::Quit)]
    #[case("exit", Answer::Quit)]
    fn enter_or_the_command_itself_goes_on(#[case] typed: &str, #[case] expected: Answer<'_>) {
        assert_eq!(answer(typed, "git checkpoint list"), expected);
    }
}
