//! `git checkpoint completions`: what a shell needs to complete our command line.

use clap_complete::Shell;

use super::{Exit, call::Call};
use crate::error::Result;

/// Print the completion script of a shell
///
/// For bash, put the output into ~/.local/share/bash-completion/completions/git-checkpoint; for zsh, into a
/// file _git-checkpoint in a directory of $fpath; for fish, into
/// ~/.config/fish/completions/git-checkpoint.fish.
#[derive(clap::Args, Debug)]
pub(super) struct Completions {
    /// The shell: bash, zsh, fish, elvish or powershell
    shell: Shell,
}

impl Completions {
    pub(super) fn run(self, call: &mut Call, mut command: clap::Command) -> Result<Exit> {
        let mut script = Vec::new();
        // The scripts complete the program's own name; `git checkpoint` has a blank in it.
        command.set_bin_name("git-checkpoint");
        clap_complete::generate(self.shell, &mut command, "git-checkpoint", &mut script);
        call.out.bytes(&script)?;
        Ok(Exit::Done)
    }
}
