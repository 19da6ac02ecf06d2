//! Questions to the user.

use std::io::{BufRead as _, IsTerminal as _};

use super::output::Output;
use crate::error::{Context as _, Kind, Result};

/// Asks `question` on a terminal; without a terminal, the answer is no.
pub(super) fn ask(question: &str, out: &mut Output) -> Result<bool> {
    out.flush()?;
    let stdin = std::io::stdin();
    if !stdin.is_terminal() || !std::io::stderr().is_terminal() {
        return Ok(false);
    }
    out.stderr(question);
    let mut answer = String::new();
    stdin.lock().read_line(&mut answer).context(Kind::User, || "cannot read the answer".into())?;
    Ok(["y", "yes", "continue"].contains(&answer.trim().to_lowercase().as_str()))
}

/// Reads a line from the terminal, which does not show it. Ends with the error of `go_on` if that returns one.
pub(super) fn read_hidden(prompt: &str, go_on: &dyn Fn() -> Result<()>, out: &mut Output) -> Result<Vec<u8>> {
    use rustix::{
        event::{PollFd, PollFlags, Timespec, poll},
        termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr},
    };
    struct Shown(Termios);
    impl Drop for Shown {
        fn drop(&mut self) {
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Flush, &self.0);
        }
    }
    let what = || "cannot read from the terminal".to_owned();
    out.flush()?;
    let stdin = std::io::stdin();
    let modes = tcgetattr(&stdin).context(Kind::User, what)?;
    let shown = Shown(modes.clone());
    let mut hidden = modes;
    hidden.local_modes.remove(LocalModes::ECHO);
    tcsetattr(&stdin, OptionalActions::Flush, &hidden).context(Kind::User, what)?;
    out.stderr(prompt);
    loop {
        go_on()?;
        let mut ready = [PollFd::new(&stdin, PollFlags::IN)];
        let moment = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
        match poll(&mut ready, Some(&moment)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            polled => {
                polled.context(Kind::User, what)?;
                break;
            }
        }
    }
    let mut line = Vec::new();
    stdin.lock().read_until(b'\n', &mut line).context(Kind::User, what)?;
    drop(shown);
    out.stderr("\n");
    Ok(line)
}
