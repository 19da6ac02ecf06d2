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
