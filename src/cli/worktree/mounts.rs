//! `worktree mounts`: what a container must have for a worktree.

use std::ffi::OsString;

use super::super::{Exit, call::Call};
use crate::{
    error::{Error, Result},
    model::{
        mounts::{devcontainer, docker},
        path_text::shell_word,
    },
    ops::worktrees::{self, MountOptions},
};

#[derive(clap::Args, Debug)]
pub(super) struct Mounts {
    /// The worktrees (default: this one)
    #[arg(value_name = "worktree")]
    names: Vec<OsString>,
    /// Also the directory in which 'worktree add' makes new worktrees
    #[arg(long)]
    with_new: bool,
    /// The form
    #[arg(long, value_name = "form", default_value = "docker", conflicts_with = "json")]
    format: Form,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Form {
    /// Options of 'docker run'
    Docker,
    /// Properties of a devcontainer.json
    Devcontainer,
}

impl Mounts {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.context()?;
        let options = MountOptions { names: self.names, with_new: self.with_new };
        let found = worktrees::mounts(&context, &options)?;
        let no_text = || {
            Error::refused("a path has characters that mean something else in this form, or is not UTF-8")
                .with_hint("'--json' prints it")
        };
        if self.json {
            call.out.json(&found)?;
            return Ok(Exit::Done);
        }
        match self.format {
            Form::Docker => {
                for words in docker(&found.mounts, &found.path).ok_or_else(no_text)? {
                    call.out.line(&words.map(|word| shell_word(&word)).join(" "))?;
                }
            }
            Form::Devcontainer => {
                let properties = devcontainer(&found.mounts, &found.path).ok_or_else(no_text)?;
                // For a person, who puts them into a file.
                call.out.line(&format!("{properties:#}"))?;
            }
        }
        Ok(Exit::Done)
    }
}
