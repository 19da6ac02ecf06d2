//! What runs in each round of a race: the program of the command line, or agents with one prompt.

use std::{
    ffi::{OsStr, OsString},
    path::Path,
};

use clap::builder::PossibleValuesParser;

use super::super::{agent_files::find_program, output::printable};
use crate::{
    agent::dialects,
    error::{Error, Result},
    model::{path_text::shell_word, round::numbered},
};

/// The most rounds of a race.
const MOST: usize = 99;

/// What runs in one round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Task {
    /// What the round calls the agent; none if the command line names a program.
    pub(super) label: Option<String>,
    /// What the session calls it that stands in for it.
    pub(super) agent: String,
    /// The prompt of that session.
    pub(super) prompt: String,
    /// The program and its arguments.
    pub(super) words: Vec<OsString>,
}

/// Returns a parser for the agents that can do a task without a user.
pub(super) fn names() -> PossibleValuesParser {
    let able = dialects::ALL.iter().filter(|dialect| !dialect.headless.is_empty());
    let mut names: Vec<&str> = able.map(|dialect| dialect.name).collect();
    names.sort_unstable();
    PossibleValuesParser::new(names)
}

/// Returns what runs in each round: `words`, or, if there are `agents`, these in turn, with `words` as their prompt.
///
/// # Errors
/// [`Kind::User`](crate::error::Kind::User) if there are more agents than `count` rounds, or the prompt is empty; if the program of one
/// of them is not there.
pub(super) fn tasks(agents: &[String], count: Option<u8>, words: &[OsString]) -> Result<Vec<Task>> {
    let count = count.map_or(agents.len(), usize::from);
    if agents.is_empty() {
        let program = words.first().map_or_else(OsString::new, Clone::clone);
        let task = Task {
            label: None,
            agent: name_of(&program),
            prompt: words.iter().map(|word| shell_word(&word.to_string_lossy())).collect::<Vec<_>>().join(" "),
            words: words.to_owned(),
        };
        return Ok(vec![task; count]);
    }
    if count < agents.len() || count > MOST {
        let hint = format!("leave '--count' out, or let it be from {} to {MOST}", agents.len());
        return Err(Error::user(format!("{count} rounds are not enough for {} agents", agents.len())).with_hint(hint));
    }
    let prompt = words.join(OsStr::new(" "));
    if prompt.to_string_lossy().trim().is_empty() {
        return Err(Error::user("the prompt is empty").with_hint("write the task of the agents after '--'"));
    }
    let name_at = |at: usize| agents[at % agents.len()].as_str();
    let mut tasks = Vec::new();
    for at in 0..count {
        let name = name_at(at);
        let words = dialects::named(name).and_then(|dialect| dialect.headless(&prompt));
        let mut words = words.ok_or_else(|| Error::user(format!("'{name}' cannot do a task without a user")))?;
        // As it is found here: a worktree may have a program of this name, too.
        let found = find_program(&words[0].to_string_lossy()).ok_or_else(|| {
            Error::user(format!("cannot find the program '{}' of the agent {name}", words[0].display()))
                .with_hint("install it, or see to it that it is on the PATH")
        })?;
        words[0] = found.into();
        let before = (0..at).filter(|at| name_at(*at) == name).count();
        tasks.push(Task {
            label: Some(numbered(name, before + 1)),
            agent: name.to_owned(),
            prompt: prompt.to_string_lossy().into_owned(),
            words,
        });
    }
    Ok(tasks)
}

/// Returns what the program is called: the name of its file.
fn name_of(program: &OsStr) -> String {
    let name = Path::new(program).file_name().unwrap_or(program);
    printable(name.to_string_lossy().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_that_work_without_a_user_take_a_prompt_for_no_option() {
        for dialect in dialects::ALL {
            let Some(words) = dialect.headless(OsStr::new("--yolo \"x\"; rm y")) else { continue };
            let before = &words[words.len() - 2];
            let last = words[words.len() - 1].to_string_lossy().into_owned();
            let is_apart = before == "--" && last == "--yolo \"x\"; rm y";
            let is_joined = last.starts_with("--") && last.ends_with("=--yolo \"x\"; rm y");
            assert!(is_apart || is_joined, "{words:?}");
            assert!(dialect.programs.contains(&words[0].to_str().expect("a name")), "{words:?}");
        }
    }

    #[test]
    fn a_program_runs_as_it_is() {
        let words: Vec<OsString> = ["./bin/agent", "fix it"].map(Into::into).into();
        let all = tasks(&[], Some(2), &words).expect("it is one");
        let task = Task { label: None, agent: "agent".into(), prompt: "./bin/agent 'fix it'".into(), words };
        assert_eq!(all, [task.clone(), task]);
    }
}
