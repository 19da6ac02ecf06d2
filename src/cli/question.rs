//! Questions to the user. A signal ends each of them at once.

use std::io::{BufRead as _, IsTerminal as _, Stdin};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr},
};

use super::{
    layout,
    output::{Output, stderr_columns},
};
use crate::error::{Context as _, Kind, Result};

/// Returns true if there is a terminal, on which the user can be asked.
pub(super) fn is_possible() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks `question` on a terminal; without a terminal, the answer is no. Ends with the error of `go_on` if that returns one.
pub(super) fn ask(question: &str, go_on: &dyn Fn() -> Result<()>, out: &mut Output) -> Result<bool> {
    out.flush()?;
    if !is_possible() {
        return Ok(false);
    }
    let stdin = std::io::stdin();
    // The answer is typed after the last line.
    let lines = layout::wrap(question.trim_end(), stderr_columns().saturating_sub(2), 0);
    out.stderr(&(lines.join("\n") + " "));
    let answer = read_line(&stdin, go_on).inspect_err(|_| out.stderr("\n"))?;
    let answer = String::from_utf8_lossy(&answer).trim().to_lowercase();
    Ok(["y", "yes", "continue"].contains(&answer.as_str()))
}

/// Reads a line from the terminal, which does not show it. Ends with the error of `go_on` if that returns one.
pub(super) fn read_hidden(prompt: &str, go_on: &dyn Fn() -> Result<()>, out: &mut Output) -> Result<Vec<u8>> {
    struct Shown(Termios);
    impl Drop for Shown {
        fn drop(&mut self) {
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Flush, &self.0);
        }
    }
    out.flush()?;
    let stdin = std::io::stdin();
    let modes = tcgetattr(&stdin).context(Kind::User, unreadable)?;
    let shown = Shown(modes.clone());
    let mut hidden = modes;
    hidden.local_modes.remove(LocalModes::ECHO);
    tcsetattr(&stdin, OptionalActions::Flush, &hidden).context(Kind::User, unreadable)?;
    out.stderr(prompt);
    let line = read_line(&stdin, go_on);
    drop(shown);
    out.stderr("\n");
    line
}

fn unreadable() -> String {
    "cannot read from the terminal".to_owned()
}

/// Reads a line of the terminal, which may come in pieces: the end of input (Ctrl-D) also sends what is typed so far.
fn read_line(stdin: &Stdin, go_on: &dyn Fn() -> Result<()>) -> Result<Vec<u8>> {
    let (mut line, mut stdin_lock) = (Vec::new(), stdin.lock());
    loop {
        wait(stdin, go_on)?;
        let piece = stdin_lock.fill_buf().context(Kind::User, unreadable)?;
        let end = piece.iter().position(|byte| *byte == b'\n');
        let length = end.map_or(piece.len(), |end| end + 1);
        line.extend_from_slice(&piece[..length]);
        stdin_lock.consume(length);
        if end.is_some() || length == 0 {
            return Ok(line);
        }
    }
}

/// Waits for input with poll(2), which a signal interrupts: reading would begin again.
fn wait(stdin: &Stdin, go_on: &dyn Fn() -> Result<()>) -> Result<()> {
    loop {
        go_on()?;
        let mut ready = [PollFd::new(stdin, PollFlags::IN)];
        // The signal may come between the look at it and the wait.
        let moment = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
        match poll(&mut ready, Some(&moment)) {
            Ok(0) | Err(Errno::INTR) => {}
            polled => return polled.context(Kind::User, unreadable).map(drop),
        }
    }
}
