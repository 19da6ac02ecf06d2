//! Coding agents: their payloads, the replies they expect, and how to make them call us. Pure: text in, values out;
//! `cli` reads, writes and acts.
//!
//! Each agent is a file with a [`Dialect`]; another one is a file, a line in [`dialects::ALL`], and payloads in
//! `tests/fixtures/agents`.

pub(crate) mod conversation;
pub mod dialect;
pub mod dialects;
pub mod event;
pub mod install;

mod amp;
mod claude_code;
mod cline;
pub(crate) mod codex;
mod copilot;
mod cursor;
mod droid;
mod family;
mod gemini;
mod generic;
mod goose;
mod kiro;
mod opencode;
mod payload;
mod reply;
mod tool;
mod windsurf;

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use dialect::{Dialect, Environment};
use event::Event;

use crate::error::{Error, Result};

pub(crate) use payload::LONGEST;
pub(crate) use reply::Reply;

/// The variables in which agents name to hooks the directory that they were started in.
const PROJECT: &[&str] =
    &["CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "CURSOR_PROJECT_DIR", "FACTORY_PROJECT_DIR", "DROID_PROJECT_DIR"];

/// Returns the directories in which agents were started, as the environment names them: absolute, and nothing else is sure.
pub(crate) fn project_directories(environment: &Environment) -> impl Iterator<Item = PathBuf> {
    let named = PROJECT.iter().filter_map(|name| environment.get(*name)).filter(|path| payload::is_word(path));
    named.map(PathBuf::from).filter(|path| path.is_absolute())
}

/// Returns the event in the payload `bytes`, and the agent's dialect. `named` is the agent named by `--agent`.
///
/// # Errors
/// [`Kind::User`](crate::error::Kind::User) if the payload cannot be parsed, no known agent sends it, or a required
/// field is missing or invalid. The caller logs the error, and the agent continues.
pub fn read(
    bytes: &[u8],
    environment: &Environment,
    named: Option<&'static Dialect>,
) -> Result<(Event, &'static Dialect)> {
    let map = payload::parse(bytes)?;
    let payload = payload::Payload::new(&map);
    let dialect = dialects::decide(payload, environment, named)
        .ok_or_else(|| Error::user("no agent is known to send such a payload").with_hint("say which with --agent"))?;
    Ok(((dialect.event)(payload)?, dialect))
}
