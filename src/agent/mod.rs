//! Coding agents: what they send when they call us, what they want to hear, and how they are made to call us. Pure: text
//! in, values out; who reads, writes and acts is `cli`.
//!
//! Each agent is a file with a [`Dialect`]; another one is a file, a line in [`dialect::ALL`], and payloads in
//! `tests/fixtures/agents`.

pub mod conversation;
pub mod dialect;
pub mod event;
pub mod install;

mod amp;
mod claude_code;
mod cline;
pub mod codex;
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

use dialect::{Dialect, Environment};
use event::{Event, Moment};

use crate::error::{Error, Result};

pub use payload::LONGEST;
pub use reply::Reply;

/// Returns what an agent tells by `bytes`, and the dialect that it speaks.
///
/// # Errors
/// [`Kind::User`](crate::error::Kind::User) if the payload cannot be read, no agent is known to send it, or what it
/// must have is missing or invalid. The caller notes it, and the agent goes on.
pub fn read(
    bytes: &[u8],
    environment: &Environment,
    told: Option<&'static Dialect>,
) -> Result<(Event, &'static Dialect)> {
    let map = payload::parse(bytes)?;
    let payload = payload::Payload::new(&map);
    let dialect = dialect::decide(payload, environment, told)
        .ok_or_else(|| Error::user("no agent is known to send such a payload").with_hint("say which with --agent"))?;
    Ok(((dialect.event)(payload)?, dialect))
}

impl Dialect {
    /// Returns the folders where it keeps conversations, if `home` is the user's.
    pub fn transcript_homes(&self, home: &std::path::Path, environment: &Environment) -> Vec<std::path::PathBuf> {
        let own = self.conversations.iter().map(|folder| home.join(folder));
        let relocated = self.relocations.iter().filter_map(|name| environment.get(*name)).map(Into::into);
        own.chain(relocated).filter(|folder| folder.is_absolute()).collect()
    }

    /// Returns the answer by which the agent goes on.
    pub fn allow(&self, moment: Moment) -> Reply {
        (self.allow)(moment)
    }

    /// Returns the answer that holds the agent back and tells why, where it can be held back; else that tells it.
    pub fn deny(&self, moment: Moment, text: &str) -> Reply {
        (self.deny)(moment, &reply::printable(text))
    }

    /// Returns the answer by which the agent goes on and somebody is told something, where there is a way.
    pub fn warn(&self, moment: Moment, text: &str) -> Reply {
        (self.warn)(moment, &reply::printable(text))
    }
}
