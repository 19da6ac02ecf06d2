//! The remote helper `git-remote-checkpoint`, which git starts: hands its arguments to the door and returns the exit code.

use std::process::ExitCode;

#[expect(clippy::disallowed_methods, reason = "the door to the environment of this program")]
fn main() -> ExitCode {
    git_checkpoint::remote::main(std::env::args_os(), std::env::vars_os())
}
