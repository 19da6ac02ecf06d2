//! The `git-checkpoint` command: hands its arguments to the door and returns the exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    git_checkpoint::cli::main(std::env::args_os())
}
