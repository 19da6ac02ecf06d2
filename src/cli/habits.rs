//! What people type who know git: other names of commands and options, and what to type here.

use super::date;
use crate::{
    config::keys::{KEYS, find},
    model::{likely, path_text::shell_word},
};

/// The command (empty: none), what is typed, and what to type instead.
const HABITS: &[(&str, &[&str], &str)] = &[
    ("", &["help"], "'git checkpoint <command> -h' is short, 'git checkpoint man <command>' is the manual"),
    (
        "",
        &["checkout", "switch", "apply", "pop", "rewind", "rollback", "revert"],
        "'git checkpoint restore <checkpoint>' puts a checkpoint back",
    ),
    ("", &["create", "commit", "snapshot", "add", "stash"], "'git checkpoint save' takes a checkpoint"),
    ("", &["history", "ls", "reflog"], "'git checkpoint list' shows the checkpoints"),
    ("", &["version"], "'git checkpoint --version' prints the version"),
    ("", &["grep", "find"], "'git checkpoint search <query>' searches checkpoints, records, prompts and notes"),
    ("", &["fsck"], "'git checkpoint doctor' looks for damage in checkpoints, 'git fsck' in all of git's objects"),
    ("", &["clean", "gc"], "'git checkpoint prune' drops old checkpoints that were set aside; files stay as they are"),
    (
        "",
        &["delete", "remove", "rm", "clear"],
        "'git checkpoint drop' drops single checkpoints, 'git checkpoint reset' sets those on HEAD aside",
    ),
    (
        "",
        &["init", "install", "setup"],
        "'git checkpoint enable' lets git's hooks, and with '--agent <name>' an agent, call it here",
    ),
    ("", &["label", "name"], "'git checkpoint tag <tag> <checkpoint>' gives a checkpoint a name"),
    ("", &["notes", "annotate", "comment"], "'git checkpoint note <checkpoint> -m <text>' adds a note to a checkpoint"),
    (
        "note",
        &["add", "append", "copy"],
        "'git checkpoint note <checkpoint> -m <text>' adds a note, '--edit' changes it",
    ),
    ("tag", &["-a", "--annotate", "-m", "--message", "-F", "--file"], "a tag has a name and no message"),
    ("tag", &["-s", "--sign", "-v", "--verify"], "tags of checkpoints are not signed"),
    (
        "tag",
        &["-n", "--sort", "--format"],
        "'git checkpoint list --tag <pattern> --format <format>' shows tagged checkpoints",
    ),
    ("save", &["-a", "-am", "--amend"], "a save takes all files into a new checkpoint; a message follows -m"),
    ("status", &["-s", "--short", "--porcelain"], "it has one form for people; '--json' is for programs"),
    (
        "show",
        &["--name-only", "--name-status"],
        "'git checkpoint show <checkpoint>' lists the paths; '-p' adds the lines",
    ),
    (
        "reset",
        &["--hard", "--soft", "--mixed", "--keep", "--merge"],
        "it touches no file: 'git checkpoint restore base' puts the files of the last commit back",
    ),
    ("verify", &["--clear", "--delete", "-d", "--unset"], "'git checkpoint verify --reset' takes the mark away"),
    ("list", &["--oneline"], "each checkpoint has one line already"),
    ("list", &["--graph"], "the checkpoints of a turn are one line; '--all' shows each of them"),
    (
        "list",
        &["--stat", "--name-only", "--name-status"],
        "'git checkpoint show --stat <checkpoint>' shows in which files one has changed how many lines",
    ),
    ("list", &["-p", "--patch"], "'git checkpoint show -p <checkpoint>' shows the lines that one has changed"),
    (
        "restore",
        &["--last", "--latest"],
        "'@{0}' names the latest checkpoint; 'git checkpoint undo' goes back to before a restore",
    ),
    (
        "restore",
        &["--source", "-s"],
        "the checkpoint comes first: 'git checkpoint restore <checkpoint> [<pathspec>...]'",
    ),
    ("restore", &["--cached"], "'--staged' restores the index, too"),
    ("restore", &["--hard"], "'--all' also restores what others have changed since"),
    ("restore", &["--worktree", "-W"], "files are restored without an option; '--staged' restores the index, too"),
    ("config", &["--global", "--system"], "'--user' is for all your repositories, as git's '--global'"),
    ("config", &["--get"], "'git checkpoint config get <key>' prints a setting"),
    ("config", &["-l", "--list"], "'git checkpoint config list' prints all settings"),
    (
        "config",
        &["add", "--add"],
        "'git checkpoint config set <key> <value>...' writes a setting; a list takes any number of values",
    ),
    (
        "config",
        &["delete", "remove", "rm", "reset", "--unset", "--unset-all"],
        "'git checkpoint config unset <key>' removes a setting from a file",
    ),
    ("config", &["show"], "'git checkpoint config get <key>' prints a setting, 'git checkpoint config list' all"),
    (
        "session",
        &["delete", "remove", "rm", "drop", "clear"],
        "'git checkpoint session forget <session>' forgets a session; its checkpoints and records stay",
    ),
    ("session", &["ls"], "'git checkpoint session list' lists the sessions"),
    ("session", &["kill"], "'git checkpoint session end' ends a session, 'git checkpoint session stop' its turn"),
    ("session", &["begin", "new"], "'git checkpoint session start' begins a session"),
    ("undo", &["--recurse-submodules"], "submodules that a restore has changed are undone with it"),
    ("redo", &["--recurse-submodules"], "submodules that an undo has changed are redone with it"),
    ("op", &["--oneline"], "each operation has one line already"),
    ("op", &["list", "ls", "history"], "'git checkpoint op log' lists the operations"),
    (
        "op",
        &["redo"],
        "'git checkpoint redo' takes the last undo back; 'git checkpoint op undo <op>' can also take an undo back",
    ),
    ("worktree", &["ls"], "'git checkpoint worktree list' lists the worktrees"),
    (
        "worktree",
        &["rm", "delete"],
        "'git checkpoint worktree remove' removes a worktree, 'git checkpoint worktree restore' brings it back",
    ),
    ("worktree", &["mv"], "'git checkpoint worktree move' gives a worktree another path"),
    ("worktree", &["lock"], "'git worktree lock' locks a worktree: then it is not removed"),
    ("worktree", &["unlock"], "'git worktree unlock' unlocks a worktree"),
    ("worktree", &["repair"], "'git worktree repair' repairs what was moved by hand"),
    (
        "worktree",
        &["-b", "-B"],
        "'git checkpoint worktree add --create <branch>' makes a branch and its worktree, beside the others",
    ),
    (
        "drop",
        &["--all"],
        "'git checkpoint reset' sets the checkpoints on HEAD aside, 'git checkpoint prune' drops what was set aside",
    ),
    ("diff", &["--cached", "--staged"], "'git diff --cached' shows what is staged"),
    (
        "diff",
        &["-w", "-b", "--ignore-all-space", "--ignore-space-change"],
        "'git diff -w <id>' compares the worktree with the checkpoint of that id, as with any commit",
    ),
];

/// Returns what to type instead of `typed`, an unknown command, or an unknown option of `command`.
pub(super) fn hint(command: &str, typed: &str) -> Option<String> {
    let is_count =
        typed.strip_prefix('-').is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()));
    if ["list", "op"].contains(&command) && is_count {
        return Some(format!("use '-n {}'", &typed[1..]));
    }
    match command {
        "" if is_count => {
            return Some(format!("'git checkpoint list -n {}' lists the latest checkpoints", &typed[1..]));
        }
        "restore" if is_count => {
            return Some(format!("'@{{0}}' names the latest checkpoint, '@{{{}}}' an earlier one", &typed[1..]));
        }
        _ => {}
    }
    if let Some(hint) = value_hint(command, typed) {
        return Some(hint);
    }
    let found = HABITS.iter().find(|(of, words, _)| *of == command && words.contains(&typed));
    found.map(|(_, _, instead)| (*instead).to_owned())
}

/// Returns the word of [`HABITS`] that `typed` nearly is, and what to type instead.
pub(super) fn near(command: &str, typed: &str) -> Option<(&'static str, &'static str)> {
    const LEAST: usize = 3;
    let of_command = HABITS.iter().filter(|(of, ..)| *of == command);
    let words = of_command.flat_map(|(_, words, instead)| words.iter().map(move |word| (*word, *instead)));
    // One letter after a dash is near to each other one.
    let words = words.filter(|(word, _)| word.starts_with("--") == typed.starts_with('-'));
    let typed = typed.trim_start_matches('-');
    let of = |word: &str| likely::distance(typed, word.trim_start_matches('-'));
    let nearest = words.min_by_key(|(word, _)| of(word))?;
    (typed.len() >= LEAST && likely::are_few(of(nearest.0).0, typed)).then_some(nearest)
}

/// Returns what to type if `paths` follow `save`.
pub(super) fn paths_to_save(paths: &[&str]) -> String {
    let paths: Vec<String> = paths.iter().map(|path| shell_word(path)).collect();
    format!("paths follow --paths: 'git checkpoint save --paths {}'", paths.join(" "))
}

/// Returns what to type if no checkpoint follows `restore`.
pub(super) const NO_TARGET: &str =
    "'git checkpoint list' shows the checkpoints; '@' is the latest, 'base' the last commit";

/// Returns what to type if the program and its arguments, `words`, follow `worktree exec <name>`.
pub(super) fn program_of(name: &str, words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| shell_word(word)).collect();
    format!("the program follows '--': 'git checkpoint worktree exec {} -- {}'", shell_word(name), words.join(" "))
}

/// Returns what to type if a path and the branch `branch` follow `worktree add`.
pub(super) fn worktree_of(branch: &str) -> String {
    format!("the worktree of a branch gets its path by itself: 'git checkpoint worktree add {}'", shell_word(branch))
}

/// The fewest digits of an operation's id that name it.
const FEWEST_DIGITS: usize = 4;

/// Returns what to type instead of `typed`, a value that `command` does not take in this place.
fn value_hint(command: &str, typed: &str) -> Option<String> {
    let is_number = !typed.is_empty() && typed.bytes().all(|byte| byte.is_ascii_digit());
    let is_count = typed.strip_prefix('-').is_some_and(|rest| rest.parse::<u32>().is_ok());
    match command {
        "config" if is_setting(typed) => Some(format!(
            "'git checkpoint config get {0}' prints it, 'git checkpoint config set {0} <value>' writes it",
            shell_word(typed)
        )),
        "prune" if typed.strip_prefix('-').and_then(date::parse_span).is_some() => {
            Some(format!("a span of time follows --older-than: 'git checkpoint prune --older-than {}'", &typed[1..]))
        }
        "prune" if is_count => Some("'--keep' takes a number from 0, how many shadows stay in the archive".to_owned()),
        // A number after 'op undo' counts from the last operation, and means nothing to 'redo'.
        "undo" | "redo" if is_count || (command == "redo" && is_number && typed.len() < FEWEST_DIGITS) => {
            Some(format!("{command} takes one step at a time; 'git checkpoint undo --list' shows all of them"))
        }
        _ if typed.starts_with('-') => None,
        "enable" | "disable" => {
            Some(format!("an agent follows --agent: 'git checkpoint {command} --agent {}'", shell_word(typed)))
        }
        "blame" => Some("a commit follows --rev: 'git checkpoint blame --rev <commit> <file>'".to_owned()),
        "save" => Some(format!("a message follows -m: 'git checkpoint save -m {}'", shell_word(typed))),
        "reset" => Some("it sets all checkpoints aside; 'git checkpoint restore <checkpoint>' goes to one".to_owned()),
        "why" if is_number => Some(format!("the line follows the file after a colon: '<file>:{typed}'")),
        "undo" | "redo" => {
            let is_name =
                typed.starts_with("@{") && typed.ends_with('}') && typed[2..typed.len() - 1].parse::<u32>().is_ok();
            let is_id = typed.len() >= FEWEST_DIGITS && typed.bytes().all(|byte| byte.is_ascii_hexdigit());
            let name = match () {
                () if is_number && typed.len() < FEWEST_DIGITS => format!("@{{{typed}}}"),
                () if is_name || is_id => typed.to_owned(),
                () => "<op>".to_owned(),
            };
            Some(match command {
                "redo" => {
                    "redo takes no name, it takes the last undo back: 'git checkpoint undo --list' shows it".to_owned()
                }
                _ => {
                    format!("undo takes no name; 'git checkpoint op undo {name}' takes back one that undo --list shows")
                }
            })
        }
        _ => None,
    }
}

/// Returns true if `typed` is a setting, or seems to be one of the same table as a setting.
fn is_setting(typed: &str) -> bool {
    let is_of_table =
        |table: &str| KEYS.iter().any(|key| key.name.split_once('.').is_some_and(|(own, _)| own == table));
    find(typed).is_some() || !typed.contains('/') && typed.split_once('.').is_some_and(|(table, _)| is_of_table(table))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::command("", "checkout", Some("'git checkpoint restore"))]
    #[case::option("restore", "--source", Some("the checkpoint comes first"))]
    #[case::agent("enable", "codex", Some("an agent follows --agent: 'git checkpoint enable --agent codex'"))]
    #[case::worktree("worktree", "rm", Some("'git checkpoint worktree remove'"))]
    #[case::option_of_worktree("worktree", "-b", Some("'git checkpoint worktree add --create"))]
    #[case::of_another_command("list", "--source", None)]
    #[case::count("list", "-3", Some("use '-n 3'"))]
    #[case::count_of_operations("op", "-3", Some("use '-n 3'"))]
    #[case::count_without_a_command("", "-3", Some("'git checkpoint list -n 3'"))]
    #[case::count_of_restore("restore", "-3", Some("'@{0}' names the latest checkpoint, '@{3}' an earlier one"))]
    #[case::init("", "init", Some("'git checkpoint enable'"))]
    #[case::files("reset", "--hard", Some("it touches no file"))]
    #[case::checkpoint_of_reset("reset", "@{0}", Some("it sets all checkpoints aside; 'git checkpoint restore"))]
    #[case::message("save", "a b", Some("a message follows -m: 'git checkpoint save -m 'a b''"))]
    #[case::option_of_save("save", "--frobnicate", None)]
    #[case::line("why", "3", Some("the line follows the file after a colon: '<file>:3'"))]
    #[case::no_line("why", "x", None)]
    #[case::operation("undo", "@{1}", Some("undo takes no name; 'git checkpoint op undo @{1}' takes"))]
    #[case::number("undo", "3", Some("undo takes no name; 'git checkpoint op undo @{3}' takes"))]
    #[case::count_of_undo("undo", "-3", Some("undo takes one step at a time; 'git checkpoint undo --list' shows"))]
    #[case::number_of_redo("redo", "1", Some("redo takes one step at a time; 'git checkpoint undo --list' shows"))]
    #[case::operation_by_id(
        "redo",
        "0a1b2c3d",
        Some("redo takes no name, it takes the last undo back: 'git checkpoint undo --list'")
    )]
    #[case::id_of_undo("undo", "0a1b2c3d", Some("undo takes no name; 'git checkpoint op undo 0a1b2c3d' takes"))]
    #[case::anything("undo", "@{1;x}", Some("undo takes no name; 'git checkpoint op undo <op>' takes"))]
    #[case::option_of_config("config", "--global", Some("'--user' is for all your repositories"))]
    #[case::action_of_session("session", "delete", Some("'git checkpoint session forget"))]
    #[case::action_of_config("config", "delete", Some("'git checkpoint config unset"))]
    #[case::key("config", "save.max-file-size", Some("'git checkpoint config get save.max-file-size' prints it"))]
    #[case::key_without_a_dot("config", "enabled", Some("'git checkpoint config get enabled' prints it"))]
    #[case::key_with_a_slip("config", "save.max-file-siz", Some("'git checkpoint config get save.max-file-siz'"))]
    #[case::file_of_config("config", "foo/bar.toml", None)]
    #[case::file_in_a_folder_of_config("config", "save.d/bar", None)]
    #[case::commit_of_blame(
        "blame",
        "HEAD",
        Some("a commit follows --rev: 'git checkpoint blame --rev <commit> <file>'")
    )]
    #[case::span_of_prune(
        "prune",
        "-3d",
        Some("a span of time follows --older-than: 'git checkpoint prune --older-than 3d'")
    )]
    #[case::negative_count("prune", "-1", Some("'--keep' takes a number from 0"))]
    #[case::no_count("list", "-", None)]
    #[case::unknown("", "frobnicate", None)]
    fn what_to_type_instead(#[case] command: &str, #[case] typed: &str, #[case] expected: Option<&str>) {
        let hint = hint(command, typed);
        assert_eq!(hint.is_some(), expected.is_some());
        assert!(hint.unwrap_or_default().starts_with(expected.unwrap_or_default()));
    }

    #[test]
    fn no_habit_is_a_command_or_an_option_of_its_own() {
        use clap::CommandFactory as _;
        let cli = super::super::commands::Cli::command();
        for (of, words, _) in HABITS {
            for word in *words {
                match cli.find_subcommand(of) {
                    None => assert!(cli.find_subcommand(word).is_none(), "{word}"),
                    Some(command) => {
                        let name = word.trim_start_matches('-');
                        let is_short = |short: char| name.chars().eq([short]);
                        let is_it =
                            |it: &clap::Arg| it.get_long() == Some(name) || it.get_short().is_some_and(is_short);
                        assert!(!command.get_arguments().any(is_it), "{of} {word}");
                    }
                }
            }
        }
    }
}
