//! `git checkpoint completions`: prints the completion script of a shell, and the candidates that the script asks for.
//!
//! - `line`: the command line that is being completed, and which candidates a shell may insert.
//! - `kinds`: the kind of candidates of each argument.
//! - `candidates`: the candidates of each kind, from the repository, the settings and the manual.
//! - `paths`: names of files that the shell cannot know.

mod candidates;
mod kinds;
mod line;
mod paths;

use std::{collections::HashSet, ffi::OsString, sync::Arc};

use clap_complete::{Shell, engine};

use self::{
    kinds::{FILES, is_path},
    line::Line,
};
use super::{Exit, call::Call, output::printable};
use crate::error::Result;

/// The line that asks the shell to complete names of files itself.
const COMPLETE_FILES: &str = "\tfiles\n";
/// The line that says that the candidates are names of files, maybe of some that are not there any more.
const ARE_PATHS: &str = "\tpaths\n";

/// Print the completion script of a shell
///
/// For bash, put the output into ~/.local/share/bash-completion/completions/git-checkpoint; for zsh, into a
/// file _git-checkpoint in a directory of $fpath; for fish, into
/// ~/.config/fish/conf.d/git-checkpoint.fish. The completion of git itself then completes `git checkpoint` too.
#[derive(clap::Args, Debug)]
pub(super) struct Completions {
    /// The shell: bash, zsh, fish, elvish or powershell
    #[arg(value_name = "shell")]
    shell: Shell,
    /// The words before the cursor: print the candidates for the last one
    #[arg(value_name = "words", last = true, hide = true)]
    words: Vec<OsString>,
}

impl Completions {
    pub(super) fn run(self, call: &mut Call, mut command: clap::Command) -> Result<Exit> {
        if !self.words.is_empty() {
            call.out.text(&answer(self.shell, &self.words, command))?;
            return Ok(Exit::Done);
        }
        let script = match self.shell {
            Shell::Bash => include_bytes!("../../../config/completion.bash").to_vec(),
            Shell::Zsh => include_bytes!("../../../config/completion.zsh").to_vec(),
            Shell::Fish => include_bytes!("../../../config/completion.fish").to_vec(),
            shell => {
                let mut script = Vec::new();
                // The scripts complete the program's own name; `git checkpoint` has a blank in it.
                command.set_bin_name("git-checkpoint");
                clap_complete::generate(shell, &mut command, "git-checkpoint", &mut script);
                script
            }
        };
        call.out.bytes(&script)?;
        Ok(Exit::Done)
    }
}

/// Returns the candidates for the last of `words`, each on a line with a tab and its description.
///
/// Errors are not reported, but lead to fewer candidates: a message would appear in the command line that the user is typing.
fn answer(shell: Shell, words: &[OsString], command: clap::Command) -> String {
    let Some(line) = Line::read(words).filter(Line::enter) else { return String::new() };
    let line = Arc::new(line);
    let mut command = kinds::with_candidates(command, &line);
    let found = engine::complete(&mut command, line.words.clone(), line.words.len() - 1, None).unwrap_or_default();
    let are_paths = found.iter().any(|candidate| is_path(candidate.get_id()));
    let has_files = found.iter().any(|candidate| candidate.get_id().is_some_and(|id| id == FILES));
    // A tag may have the name of a branch. Of two such lines, bash would insert the name and the beginning of the descriptions.
    let mut seen = HashSet::new();
    let named: Vec<_> = found
        .iter()
        .filter(|candidate| candidate.get_id().is_none_or(|id| id != FILES))
        .filter_map(|candidate| Some((candidate.get_value().to_str()?, candidate.get_help())))
        .filter(|(value, _)| line::may_insert(shell, value, are_paths) && seen.insert(*value))
        .collect();
    // Options are listed only if there is no other candidate, or if the word begins with a dash.
    let is_wanted = |value: &str| line.current().starts_with('-') || !value.starts_with('-');
    let has_wanted = has_files || are_paths || named.iter().any(|(value, _)| is_wanted(value));
    let mut text = String::new();
    for (value, help) in named.into_iter().filter(|(value, _)| !has_wanted || is_wanted(value)) {
        let help = help.map(ToString::to_string).unwrap_or_default();
        text.push_str(&format!("{value}\t{}\n", printable(help.lines().next().unwrap_or_default())));
    }
    if has_files {
        text.push_str(COMPLETE_FILES);
    } else if are_paths && !line.current().starts_with('-') {
        text.push_str(ARE_PATHS);
    }
    text
}
