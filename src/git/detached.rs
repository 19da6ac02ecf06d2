//! Starts this program once more, for work that goes on after the process has ended.

use std::process::{Command, Stdio};

use crate::error::{Context as _, Kind, Result};

/// What keeps git, and the programs that it starts, from asking for passwords.
const SILENT: [(&str, &str); 4] =
    [("GIT_TERMINAL_PROMPT", "0"), ("GIT_ASKPASS", ""), ("SSH_ASKPASS_REQUIRE", "never"), ("GCM_INTERACTIVE", "never")];

/// Becomes the program that follows, without the files that a script gives to all that it starts: the lock of one that runs
/// `git push`, for example, would be held as long.
const WITHOUT_FILES: &str = r#"exec "$0" "$@" 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-"#;

/// Starts this program with `words`, and does not wait for it. It has none of our pipes, and cannot ask for a password.
///
/// # Errors
/// If it cannot be started.
pub(crate) fn start(words: &[&str]) -> Result<()> {
    let what = || "cannot start a process in the background".to_owned();
    let program = std::env::current_exe().context(Kind::Internal, what)?;
    #[expect(clippy::disallowed_methods, reason = "this is the room that runs programs")]
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", WITHOUT_FILES])
        .arg(program)
        .args(words)
        .envs(SILENT)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.spawn().context(Kind::Internal, what).map(drop)
}
