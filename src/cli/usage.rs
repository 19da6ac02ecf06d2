//! Wrong command lines, and requests for help, in git's words.

use std::{ffi::OsString, io::IsTerminal as _, path::Path};

use clap::{
    CommandFactory as _,
    error::{ContextKind, ContextValue, ErrorKind},
};

use super::{
    Exit,
    commands::Cli,
    habits, layout, man,
    output::{Output, messages, stderr_columns},
};
use crate::model::likely;

/// Answers what clap could not parse into a command: a request for help, or a mistake.
pub(super) fn explain(error: &mut clap::Error, arguments: &[OsString], out: &mut Output) -> Exit {
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
            out.stderr(&with_spelled_usage(&error.render().to_string(), stderr_columns()));
            Exit::Usage
        }
        _ => {
            out.stderr(&messages(&mistake(error, arguments, stderr_columns())));
            Exit::Usage
        }
    }
}

/// Returns what is said of a mistake in `arguments`, the usage in lines of `columns`.
fn mistake(error: &mut clap::Error, arguments: &[OsString], columns: usize) -> String {
    keep_nearest(error);
    let mut report = error.render().to_string();
    // Clap would show the usage with what was typed, or with an option that only looks similar.
    if let Some(at) = report.find("Usage: ") {
        report.replace_range(at.., &usage_of(arguments, unknown_command(error)));
    }
    if !is_close(error) {
        report = report.lines().filter(|line| !is_tip(line)).map(|line| format!("{line}\n")).collect();
    }
    in_gits_words(&with_spelled_usage(&report, columns), habit(error, arguments).as_deref())
}

fn print(error: &clap::Error, out: &mut Output) -> Exit {
    let columns = out.columns().unwrap_or(usize::MAX);
    let result = out.text(&with_spelled_usage(&error.render().to_string(), columns));
    match out.finish(result) {
        Err(error) => {
            out.error("fatal", &error);
            Exit::Fatal
        }
        Ok(()) => Exit::Done,
    }
}

/// Returns `line`, a usage as clap writes it, as git writes it: `[OPTIONS] [path]...` is `[<option>...] [<path>...]`.
fn spelled(line: &str) -> String {
    let word = |word: &str| {
        let (open, rest) = word.split_at_checked(1).unwrap_or(("", word));
        let (name, end) = match (open, rest.split_once(']'), rest.split_once('>')) {
            ("[", Some(("OPTIONS", end)), _) => return format!("[<option>...]{end}"),
            ("[", Some((name, end)), _) if !name.starts_with(['-', '<']) => (name, end),
            ("<", _, Some((name, end))) => return format!("<{}>{end}", name.to_lowercase()),
            _ => return word.to_owned(),
        };
        let (many, end) = end.strip_prefix("...").map_or(("", end), |end| ("...", end));
        format!("[<{}>{many}]{end}", name.to_lowercase())
    };
    line.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// Returns `text` with each usage in it spelled as git does, in lines of `columns`.
fn with_spelled_usage(text: &str, columns: usize) -> String {
    const USAGE: &str = "Usage: ";
    let mut is_usage = false;
    let line = |line: &str| {
        is_usage = line.starts_with(USAGE) || is_usage && line.starts_with("       ");
        if is_usage { layout::wrap(&spelled(line), columns, USAGE.len()).join("\n") } else { line.to_owned() }
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// Returns the word that was typed where a command should be.
fn unknown_command(error: &clap::Error) -> Option<&str> {
    match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(typed)) => Some(typed),
        _ => None,
    }
}

/// Returns the usage of the command that `arguments` name before the word `unknown`.
fn usage_of(arguments: &[OsString], unknown: Option<&str>) -> String {
    let mut cli = Cli::command();
    cli.build();
    let mut command = &cli;
    let named = arguments.iter().skip(1).filter_map(|argument| argument.to_str());
    for name in named.take_while(|name| Some(*name) != unknown) {
        command = command.find_subcommand(name).unwrap_or(command);
    }
    command.clone().render_usage().to_string()
}

/// Returns true if `line` of clap's report suggests another word.
fn is_tip(line: &str) -> bool {
    line.trim_start().starts_with("tip: ")
}

/// What clap suggests instead of what.
const SUGGESTIONS: [(ContextKind, ContextKind); 3] = [
    (ContextKind::InvalidSubcommand, ContextKind::SuggestedSubcommand),
    (ContextKind::InvalidArg, ContextKind::SuggestedArg),
    (ContextKind::InvalidValue, ContextKind::SuggestedValue),
];

/// Returns the words that `error` has of this kind.
fn words(error: &clap::Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        _ => Vec::new(),
    }
}

/// Of several words that clap suggests, keeps those that are nearest to what was typed.
fn keep_nearest(error: &mut clap::Error) {
    for (typed, suggested) in SUGGESTIONS {
        let (typed, words) = (words(error, typed), words(error, suggested));
        if let ([typed], [_, _, ..]) = (typed.as_slice(), words.as_slice()) {
            let distance = |word: &String| likely::distance(plain(typed), plain(word));
            let least = words.iter().map(distance).min();
            let nearest = words.iter().filter(|word| Some(distance(word)) == least).cloned().collect();
            error.insert(suggested, ContextValue::Strings(nearest));
        }
    }
}

/// Returns true if what clap suggests instead of what was typed is close enough to be meant; clap suggests more.
fn is_close(error: &clap::Error) -> bool {
    SUGGESTIONS.into_iter().all(|(typed, suggested)| {
        let suggested = words(error, suggested);
        suggested.is_empty()
            || words(error, typed).iter().any(|typed| suggested.iter().any(|word| is_meant(typed, word)))
    })
}

/// Returns `word` without the dashes of an option and what follows `=`.
fn plain(word: &str) -> &str {
    let word = word.trim_start_matches('-');
    word.split('=').next().unwrap_or(word)
}

/// Returns true if `typed` may be `word` with a slip or two, or is its beginning.
fn is_meant(typed: &str, word: &str) -> bool {
    let (typed, word) = (plain(typed), plain(word));
    (typed.len() > 1 && word.starts_with(typed)) || likely::are_few(likely::slips(typed, word), typed)
}

/// Returns the manual page of the command that `arguments` name.
fn page_of(arguments: &[OsString]) -> String {
    let cli = Cli::command();
    let named = arguments.iter().skip(1).filter_map(|argument| argument.to_str());
    let mut commands = named.filter_map(|name| cli.find_subcommand(name)).map(clap::Command::get_name);
    commands.next().map_or_else(|| "git-checkpoint".into(), |name| format!("git-checkpoint-{name}"))
}

/// Returns what to type instead, if `error` is about a command or an option that git has.
fn habit(error: &clap::Error, arguments: &[OsString]) -> Option<String> {
    let cli = Cli::command();
    if error.kind() == ErrorKind::MissingRequiredArgument {
        let mut named = arguments.iter().skip(1).filter_map(|argument| cli.find_subcommand(argument));
        return named.next().filter(|it| it.get_name() == "restore").map(|_| habits::NO_TARGET.to_owned());
    }
    let kinds = [ContextKind::InvalidSubcommand, ContextKind::InvalidArg];
    let typed = kinds.iter().find_map(|kind| match error.get(*kind) {
        Some(ContextValue::String(typed)) => Some(typed.as_str()),
        _ => None,
    })?;
    let mut named = arguments.iter().skip(1).filter_map(|argument| argument.to_str());
    let is_action = error.kind() == ErrorKind::InvalidSubcommand;
    let mut named = named.by_ref().take_while(|name| !is_action || *name != typed);
    let command = match named.find_map(|name| cli.find_subcommand(name)) {
        Some(command) => command.get_name(),
        None => "",
    };
    // Of '-3x', clap says '-3'; of '--source=HEAD', it says all.
    let typed = typed.split('=').next().unwrap_or(typed);
    if command == "prune" && typed.starts_with('-') {
        // A span of time begins with a number.
        let whole = arguments.iter().filter_map(|argument| argument.to_str()).find(|word| word.starts_with(typed));
        return habits::hint(command, whole.unwrap_or(typed)).or_else(|| habits::hint(command, typed));
    }
    if command == "save" && !typed.starts_with('-') {
        let words = arguments.iter().filter_map(|argument| argument.to_str()).skip_while(|word| *word != typed);
        let message: Vec<&str> = words.take_while(|word| !word.starts_with('-')).collect();
        let are_paths = message.iter().all(|word| Path::new(word).symlink_metadata().is_ok());
        return if are_paths {
            Some(habits::paths_to_save(&message))
        } else {
            habits::hint(command, &message.join(" "))
        };
    }
    if command == "worktree" && !is_action && !typed.starts_with('-') && arguments.iter().any(|it| it == "add") {
        return Some(habits::worktree_of(typed));
    }
    if command == "worktree" && !is_action && !typed.starts_with('-') {
        let after_exec = arguments.iter().filter_map(|argument| argument.to_str()).skip_while(|word| *word != "exec");
        let words: Vec<&str> = after_exec.skip(1).collect();
        if let Some(at) = words.iter().skip(1).position(|word| *word == typed) {
            return Some(habits::program_of(words[at], &words[at + 1..]));
        }
    }
    habits::hint(command, typed).or_else(|| near_habit(error, command, typed))
}

/// Returns what to type instead, if `typed` is nearly a word that git has, and farther from what clap suggests.
fn near_habit(error: &clap::Error, command: &str, typed: &str) -> Option<String> {
    let (word, instead) = habits::near(command, typed)?;
    let distance = |word: &str| likely::distance(plain(typed), plain(word));
    let mut suggested = SUGGESTIONS.iter().flat_map(|(_, suggested)| words(error, *suggested));
    suggested.all(|other| distance(word) < distance(&other)).then(|| instead.to_owned())
}

/// Returns `line` with what the standard library says of numbers in plain words.
fn in_plain_words(line: &str) -> String {
    const WORDS: [(&str, &str); 4] = [
        ("invalid digit found in string", "it is no whole number"),
        ("cannot parse integer from empty string", "it is no whole number"),
        ("number too large to fit in target type", "it is too large"),
        ("number too small to fit in target type", "it is too small"),
    ];
    let known = WORDS.iter().find_map(|(said, plain)| Some((line.strip_suffix(said)?, plain)));
    known.map_or_else(|| line.to_owned(), |(start, plain)| format!("{start}{plain}"))
}

/// Turns clap's report (`error:`, `tip:`, `Usage:`, a pointer to the help) into `error:`, `hint:`, `usage:`. `habit` is a better
/// hint, if there is one.
fn in_gits_words(report: &str, habit: Option<&str>) -> String {
    let mut text = String::new();
    let (has_habit, mut habit) = (habit.is_some(), habit);
    for line in report.lines() {
        let line = line.trim_end();
        if line.is_empty() || line.starts_with("For more information") {
            continue;
        }
        match (line.trim_start().strip_prefix("tip: "), line.strip_prefix("Usage: ")) {
            (Some(_), _) if has_habit => {}
            // An option that does not exist is a mistake, not a value.
            (Some(tip), _) if tip.starts_with("to pass '-") => {}
            (Some(tip), _) => text.push_str(&format!("hint: {tip}\n")),
            (_, Some(usage)) => {
                if let Some(habit) = habit.take() {
                    text.push_str(&format!("hint: {habit}\n"));
                }
                text.push_str(&format!("usage: {usage}\n"));
            }
            _ => text.push_str(&format!("{}\n", in_plain_words(line))),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[test]
    fn reports_read_like_gits() {
        let report = "error: unexpected argument '--jso' found\n\n  tip: a similar argument exists: '--json'\n\n\
                      Usage: git checkpoint list --json\n\nFor more information, try '--help'.\n";
        let expected = "error: unexpected argument '--jso' found\nhint: a similar argument exists: '--json'\n\
                        usage: git checkpoint list --json\n";
        assert_eq!(in_gits_words(report, None), expected);
        let expected = "error: unexpected argument '--jso' found\nhint: use x\nusage: git checkpoint list --json\n";
        assert_eq!(in_gits_words(report, Some("use x")), expected);
    }

    #[rstest::rstest]
    #[case::many(
        "Usage: git checkpoint list [OPTIONS] [path]...",
        "Usage: git checkpoint list [<option>...] [<path>...]"
    )]
    #[case::upper("Usage: x [OPTIONS] <COMMAND>", "Usage: x [<option>...] <command>")]
    #[case::optional("Usage: x --patch [FROM] [TO] [-- <path>...]", "Usage: x --patch [<from>] [<to>] [-- <path>...]")]
    #[case::option("       x <--all|name>", "       x <--all|name>")]
    fn usages_are_spelled_as_gits(#[case] clap: &str, #[case] git: &str) {
        assert_eq!(spelled(clap), git);
    }

    #[rstest::rstest]
    #[case::letters(
        "error: invalid value 'x' for '-n': invalid digit found in string",
        "error: invalid value 'x' for '-n': it is no whole number"
    )]
    #[case::anything_else("error: x", "error: x")]
    fn numbers_are_explained_in_plain_words(#[case] line: &str, #[case] expected: &str) {
        assert_eq!(in_plain_words(line), expected);
    }

    #[rstest::rstest]
    #[case::a_slip("lsit", "list", true)]
    #[case::two_slips("atribtuion", "attribution", true)]
    #[case::the_beginning("--arch", "--archived", true)]
    #[case::with_a_value("--jso=1", "--json", true)]
    #[case::another_word("foo", "hook", false)]
    #[case::another_option("--amend", "--agent", false)]
    #[case::as_long("--clear", "--color", false)]
    fn only_close_words_are_suggested(#[case] typed: &str, #[case] word: &str, #[case] expected: bool) {
        assert_eq!(is_meant(typed, word), expected);
    }

    #[rstest::rstest]
    #[case::an_unknown_command(&["sesion", "list"], "usage: git checkpoint [")]
    #[case::the_nearest(&["restor"], "a similar subcommand exists: 'restore'\n")]
    #[case::nearly_a_word_of_gits(&["delte"], "hint: 'git checkpoint drop' drops single checkpoints")]
    #[case::nearer_than_an_option(&["restore", "--sorce=x"], "hint: the checkpoint comes first")]
    #[case::an_action(&["op", "lst"], "hint: 'git checkpoint op log' lists the operations")]
    #[case::one_letter_less(&["prompt"], "a similar subcommand exists: 'prompts'\n")]
    #[case::a_program_without_dashes(
        &["worktree", "exec", "x", "ls", "-l"],
        "hint: the program follows '--': 'git checkpoint worktree exec x -- ls -l'"
    )]
    #[case::no_target(&["restore"], "hint: 'git checkpoint list' shows the checkpoints; '@' is the latest")]
    #[case::no_target_of_another_command(&["worktree", "restore"], "error: the following required arguments")]
    #[case::a_count(&["-3"], "hint: 'git checkpoint list -n 3' lists")]
    #[case::gits_option(&["version"], "'git checkpoint --version' prints the version")]
    #[case::all_words_of_a_message(&["save", "add", "a bill"], "'git checkpoint save -m 'add a bill''")]
    #[case::the_usage_of_a_command(&["list", "--jso"], "usage: git checkpoint list")]
    fn mistakes_are_explained(#[case] arguments: &[&str], #[case] expected: &str) {
        let arguments: Vec<OsString> = ["git-checkpoint"].iter().chain(arguments).map(OsString::from).collect();
        let mut error = Cli::try_parse_from(&arguments).expect_err("it is a mistake");
        let said = mistake(&mut error, &arguments, usize::MAX);
        assert!(said.contains(expected), "{said}");
    }

    /// Help and errors print names of values as they are.
    #[test]
    fn names_of_values_are_in_lower_case() {
        fn check(command: &clap::Command) {
            for argument in command.get_arguments().filter(|it| it.is_positional() || it.get_action().takes_values()) {
                for name in argument.get_value_names().unwrap_or_default() {
                    assert_eq!(name.as_str(), name.to_lowercase(), "{} {}", command.get_name(), argument.get_id());
                }
            }
            command.get_subcommands().for_each(check);
        }
        let mut cli = Cli::command();
        cli.build();
        check(&cli);
    }

    #[test]
    fn the_manual_page_is_that_of_the_command() {
        let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        assert_eq!(page_of(&words("git-checkpoint -C x man --help")), "git-checkpoint-man");
        assert_eq!(page_of(&words("git-checkpoint --help")), "git-checkpoint");
    }
}
