//! Questions to the user. A signal ends each of them at once.

use std::io::{IsTerminal as _, Stdin};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::{Errno, read},
    termios::{LocalModes, OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcsetattr},
};

use super::{
    layout,
    output::{Output, screen},
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
    out.stderr(&(rows(question, screen().0).join("\n") + " "));
    let answer = read_line(&stdin, go_on).inspect_err(|_| out.stderr("\n"))?;
    let answer = String::from_utf8_lossy(&answer).trim().to_lowercase();
    Ok(["y", "yes", "continue"].contains(&answer.as_str()))
}

/// Asks `question`, and returns the line that is typed, or comes by standard input; none at its end. Ends with the error of `go_on` if that
/// returns one.
pub(super) fn line(question: &str, go_on: &dyn Fn() -> Result<()>, out: &mut Output) -> Result<Option<String>> {
    out.flush()?;
    out.stderr(&(rows(question, screen().0).join("\n") + " "));
    let stdin = std::io::stdin();
    let answer = read_line(&stdin, go_on).inspect_err(|_| out.stderr("\n"))?;
    if answer.is_empty() {
        out.stderr("\n");
        return Ok(None);
    }
    Ok(Some(String::from_utf8_lossy(&answer).trim().to_owned()))
}

/// The same for what was just shown: what was typed before is no answer.
pub(super) fn ask_afresh(question: &str, go_on: &dyn Fn() -> Result<()>, out: &mut Output) -> Result<bool> {
    if is_possible() {
        out.flush()?;
        tcflush(std::io::stdin(), QueueSelector::IFlush).context(Kind::User, unreadable)?;
    }
    ask(question, go_on, out)
}

/// Returns `question` as it is shown on a terminal of so many columns.
pub(super) fn rows(question: &str, columns: usize) -> Vec<String> {
    // The answer is typed after the last line.
    layout::wrap(question.trim_end(), columns.saturating_sub(2), 0)
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

/// Reads a line of the terminal, which may come in pieces: the end of input (Ctrl-D) also sends what is typed so far. What follows
/// it stays in the terminal.
fn read_line(stdin: &Stdin, go_on: &dyn Fn() -> Result<()>) -> Result<Vec<u8>> {
    let mut line = Vec::new();
    loop {
        wait(stdin, go_on)?;
        let mut byte = [0];
        match read(stdin, &mut byte) {
            Err(Errno::INTR) => {}
            Ok(1) => line.extend(byte),
            ended => return ended.context(Kind::User, unreadable).map(|_| line),
        }
        if line.ends_with(b"\n") {
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
