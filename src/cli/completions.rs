//! `git checkpoint completions`: what a shell needs to complete our command line.

use bstr::ByteSlice as _;
use clap_complete::Shell;

use super::{Exit, call::Call};
use crate::error::Result;

/// Hooks into git's own completion: git calls this function (and bash-completion loads it) for `git checkpoint`.
const GIT_IN_BASH: &str = r#"
_git_checkpoint() {
    local at words=("${COMP_WORDS[@]}") last=$COMP_CWORD
    for ((at = 1; at < last; at++)); do
        [[ ${words[at]} == checkpoint ]] && break
    done
    local COMP_WORDS=(git-checkpoint "${words[@]:at+1}") COMP_CWORD=$((last - at))
    _git__checkpoint git-checkpoint "${words[last]}" "${words[last-1]}"
    # Git's own completion adds the blanks by itself, and asks readline for none.
    compopt +o nospace 2>/dev/null || true
}
"#;

/// Print the completion script of a shell
///
/// For bash, put the output into ~/.local/share/bash-completion/completions/git-checkpoint; for zsh, into a
/// file _git-checkpoint in a directory of $fpath; for fish, into
/// ~/.config/fish/completions/git-checkpoint.fish. In bash and zsh, the completion of git itself then completes
/// `git checkpoint` too.
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
        if self.shell == Shell::Bash {
            // The generator (4.6.11) spells a dash in the program's name in two ways, so that it finds no subcommand.
            script = script.replace(b"git__subcmd__checkpoint", b"git__checkpoint");
            script.extend_from_slice(GIT_IN_BASH.as_bytes());
        }
        call.out.bytes(&script)?;
        Ok(Exit::Done)
    }
}
