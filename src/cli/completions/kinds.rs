//! The table of arguments, each with the kind of its candidates.
//!
//! The program adds it to its command line only when a shell asks for candidates: other commands start faster without it.

use std::{ffi::OsStr, sync::Arc};

use clap::{Arg, Command};
use clap_complete::{ArgValueCompleter, CompletionCandidate};

use super::{
    candidates::{self, Candidate},
    line::Line,
    paths,
};

/// Asks the shell to complete names of files.
pub(super) const FILES: &str = "files";
/// How the id of a candidate begins that is the name of a file.
const PATH: &str = "path:";

/// Returns true if the candidate with this `id` is the name of a file.
pub(super) fn is_path(id: Option<&String>) -> bool {
    id.is_some_and(|id| id.starts_with(PATH))
}

/// What an argument stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A state of the worktree: a checkpoint, a turn, a tag or a revision.
    Checkpoint,
    /// The latest checkpoint of an archived shadow.
    Archived,
    /// A git revision.
    Revision,
    /// A branch that is checked out nowhere.
    Branch,
    /// A revision, or a session.
    Explained,
    Session,
    /// A worktree, by its branch.
    Worktree,
    /// A remote of git.
    Remote,
    /// A removed worktree, by its id.
    Removed,
    /// A round that has not ended, by its id.
    Round,
    Agent,
    Setting,
    /// A value of the setting that is named before it.
    Value,
    /// An operation of this worktree.
    Operation,
    /// A tag that there is.
    Tag,
    /// A page of the manual.
    Page,
    File,
    /// A value that cannot be known, such as a number, or one of a list that clap completes.
    Free,
}

/// The kind of each argument, by its option or by the name of its value in help texts. The option's row takes precedence.
const KINDS: &[(&str, Kind)] = &[
    ("--agent", Kind::Agent),
    ("--session", Kind::Session),
    ("--restore-archived", Kind::Archived),
    ("agent", Kind::Free),
    ("args", Kind::Free),
    ("branch", Kind::Branch),
    ("checkpoint", Kind::Checkpoint),
    ("checkpoint|record", Kind::Checkpoint),
    ("command", Kind::Page),
    ("commit", Kind::Revision),
    ("commit|range", Kind::Revision),
    ("commit|record|session", Kind::Explained),
    ("date", Kind::Free),
    ("dir", Kind::File),
    ("file", Kind::File),
    ("file>:<line", Kind::File),
    ("form", Kind::Free),
    ("format", Kind::Free),
    ("from", Kind::Checkpoint),
    ("hook", Kind::Free),
    ("key", Kind::Setting),
    ("mode", Kind::Free),
    ("n", Kind::Free),
    ("name", Kind::Free),
    ("number", Kind::Free),
    ("op", Kind::Operation),
    ("path", Kind::File),
    ("pathspec", Kind::File),
    ("pattern", Kind::Tag),
    ("policy", Kind::Free),
    ("process", Kind::Free),
    ("program", Kind::File),
    ("query", Kind::Free),
    ("range", Kind::Free),
    ("regex", Kind::Free),
    ("remote", Kind::Remote),
    ("removed", Kind::Removed),
    ("round", Kind::Round),
    ("session", Kind::Session),
    ("session|commit|range", Kind::Explained),
    ("shell", Kind::Free),
    ("size", Kind::Free),
    ("span", Kind::Free),
    ("string", Kind::Free),
    ("tag", Kind::Tag),
    ("text", Kind::Free),
    ("to", Kind::Checkpoint),
    ("trailer", Kind::Free),
    ("url", Kind::Free),
    ("value", Kind::Value),
    ("what", Kind::Free),
    ("when", Kind::Free),
    ("where", Kind::Free),
    ("whether", Kind::Free),
    ("who", Kind::Free),
    ("words", Kind::Free),
    ("worktree", Kind::Worktree),
];

/// Commands that refuse a commit in the place of a checkpoint.
const NEED_CHECKPOINT: &[&str] = &["drop", "purge", "tag", "verify"];
/// Options after which `tag` takes names of tags alone.
const OF_TAGS: &[&str] = &["-d", "--delete", "-l", "--list"];
/// Those, and what lets it move a tag: without one, the name is a new one.
const OF_KNOWN_TAG: &[&str] = &["-d", "--delete", "-l", "--list", "-f", "--force", "list", "log"];
/// Actions of `worktree` that refuse the main worktree.
const NEED_LINKED: &[&str] = &["remove", "move", "setup"];

impl Kind {
    /// Returns the candidates that begin with `typed`.
    fn candidates(self, typed: &str, line: &Line) -> Vec<Candidate> {
        match self {
            Self::Checkpoint if line.has("tag") && OF_TAGS.iter().any(|it| line.has(it)) => candidates::tags(typed),
            Self::Tag if !OF_KNOWN_TAG.iter().any(|it| line.has(it)) => Vec::new(),
            Self::Tag => candidates::tags(typed),
            Self::Checkpoint => candidates::checkpoints(typed, !NEED_CHECKPOINT.iter().any(|it| line.has(it))),
            Self::Archived => candidates::archived(typed),
            Self::Revision => candidates::revisions(typed),
            Self::Branch => candidates::branches(typed),
            Self::Explained => [candidates::revisions(typed), candidates::sessions(typed)].concat(),
            Self::Session => candidates::sessions(typed),
            Self::Worktree => candidates::worktrees(typed, !NEED_LINKED.iter().any(|it| line.has(it))),
            Self::Remote => candidates::remotes(typed),
            Self::Removed => candidates::removed(typed),
            Self::Round => candidates::rounds(typed),
            // There, it is a name that the user chooses.
            Self::Agent if line.has("round") => Vec::new(),
            Self::Agent => candidates::agents(typed),
            Self::Setting => candidates::settings(typed),
            Self::Value => line.after("set").map(|key| candidates::values(key, typed)).unwrap_or_default(),
            Self::Operation => candidates::operations(typed, line.after("op") == Some("undo")),
            Self::Page => candidates::pages(typed),
            Self::File | Self::Free => Vec::new(),
        }
    }
}

/// Returns the kind of `argument`; none if the table does not have it.
fn kind(argument: &Arg) -> Option<Kind> {
    let option = argument.get_long().map(|long| format!("--{long}"));
    let value = argument.get_value_names().and_then(|names| names.first()).map(|name| name.to_lowercase());
    [option, value].into_iter().flatten().find_map(|name| Some(KINDS.iter().find(|(key, _)| *key == name)?.1))
}

/// Returns `command` with candidates for its arguments and for those of its subcommands.
pub(super) fn with_candidates(command: Command, line: &Arc<Line>) -> Command {
    // After '--', there is only one kind of argument, however few there are before it.
    let last = command.get_arguments().find(|argument| argument.is_last_set()).and_then(kind);
    let last = last.filter(|_| line.has_double_dash());
    let command = command.mut_args(|argument| match kind(&argument) {
        Some(kind) if kind != Kind::Free && argument.get_action().takes_values() => {
            let (line, kind) = (Arc::clone(line), last.filter(|_| argument.is_positional()).unwrap_or(kind));
            argument.add(ArgValueCompleter::new(move |typed: &OsStr| complete(kind, typed, &line)))
        }
        _ => argument,
    });
    command.mut_subcommands(|subcommand| with_candidates(subcommand, line))
}

fn complete(kind: Kind, typed: &OsStr, line: &Line) -> Vec<CompletionCandidate> {
    let is_option = typed.as_encoded_bytes().starts_with(b"-");
    if kind == Kind::File && !is_option {
        let known = typed.to_str().and_then(|typed| paths::candidates(typed, line));
        if let Some(known) = known {
            let candidate = |path: String| CompletionCandidate::new(&path).id(Some(format!("{PATH}{path}")));
            return known.into_iter().map(candidate).collect();
        }
        return vec![CompletionCandidate::new(FILES).id(Some(FILES.to_owned()))];
    }
    let found = typed.to_str().filter(|_| !is_option).map(|typed| kind.candidates(typed, line)).unwrap_or_default();
    found.into_iter().map(|it| CompletionCandidate::new(it.value).help(Some(it.about.into()))).collect()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    fn unknown(command: &Command, path: &str, found: &mut Vec<String>) {
        for argument in command.get_arguments().filter(|argument| argument.get_action().takes_values()) {
            if kind(argument).is_none() {
                found.push(format!("{path}: {argument}"));
            }
        }
        for subcommand in command.get_subcommands() {
            unknown(subcommand, &format!("{path} {}", subcommand.get_name()), found);
        }
    }

    #[test]
    fn the_table_has_every_argument() {
        let mut found = Vec::new();
        unknown(&super::super::super::commands::Cli::command(), "git checkpoint", &mut found);
        assert!(found.is_empty(), "KINDS has no row for:\n{}", found.join("\n"));
    }

    #[test]
    fn the_table_is_in_order() {
        let is_option = |name: &str| name.starts_with("--");
        let names: Vec<&str> = KINDS.iter().map(|(name, _)| *name).filter(|name| !is_option(name)).collect();
        assert!(names.is_sorted(), "{names:?}");
    }
}
