//! What each dialect says of itself, and the table of all of them.

use std::collections::BTreeMap;

use serde_json::json;

use super::{
    amp, claude_code, cline, codex, copilot, cursor, droid,
    event::{Event, Moment},
    gemini, generic, goose,
    install::File,
    kiro, opencode,
    payload::Payload,
    reply::Reply,
    windsurf,
};
use crate::error::Result;

/// Names and values of the environment.
pub type Environment = BTreeMap<String, String>;

/// One agent's way to say things.
#[derive(Clone, Copy, Debug)]
pub struct Dialect {
    /// The name that `--agent` takes.
    pub name: &'static str,
    /// What people call it.
    pub title: &'static str,
    pub(super) event: fn(Payload) -> Result<Event>,
    /// True if the payload cannot be another's.
    pub(super) is_from: fn(Payload) -> bool,
    /// True if the environment says that it is this one's.
    pub(super) is_within: fn(Payload, &Environment) -> bool,
    pub(super) allow: fn(Moment) -> Reply,
    pub(super) deny: fn(Moment, &str) -> Reply,
    pub(super) warn: fn(Moment, &str) -> Reply,
    /// A payload of this agent's that does not concern us, to see whether we can be called.
    pub ignored: &'static str,
    /// The names of its programs.
    pub programs: &'static [&'static str],
    /// Folders below the home directory that are there where the agent is installed.
    pub homes: &'static [&'static str],
    /// Folders below the home directory where it keeps conversations.
    pub(super) conversations: &'static [&'static str],
    /// Variables that name another folder for them.
    pub(super) relocations: &'static [&'static str],
    /// The files that make it call us.
    pub files: &'static [File],
    /// True if it tells of each tool that it uses, so that a turn without any has changed nothing.
    pub tells_all_tools: bool,
    /// What its user still has to do.
    pub todo: &'static str,
}

/// All dialects. What is known by the surest sign comes first.
pub const ALL: &[Dialect] = &[
    cursor::DIALECT,
    cline::DIALECT,
    windsurf::DIALECT,
    opencode::DIALECT,
    amp::DIALECT,
    generic::DIALECT,
    gemini::DIALECT,
    codex::DIALECT,
    copilot::DIALECT,
    droid::DIALECT,
    kiro::DIALECT,
    goose::DIALECT,
    claude_code::DIALECT,
];

/// The name of the neutral protocol, and of whoever speaks it without a name.
pub const NEUTRAL: &str = "generic";

/// For agents that leave no sign in the environment.
pub(super) fn no_evidence(_payload: Payload, _environment: &Environment) -> bool {
    false
}

/// What our own plugins understand: they say it in the agent's way.
pub(super) fn plugin_replies(what: &str, text: &str) -> Reply {
    Reply::json(&json!({ what: text }))
}

/// Returns the dialect that `--agent` names.
pub fn named(name: &str) -> Option<&'static Dialect> {
    ALL.iter().find(|dialect| dialect.name == name)
}

/// Returns whose payload it is: what the payload says comes before the environment, and that before what was `told`.
pub(super) fn decide(
    payload: Payload,
    environment: &Environment,
    told: Option<&'static Dialect>,
) -> Option<&'static Dialect> {
    let by_payload = || ALL.iter().find(|dialect| (dialect.is_from)(payload));
    let by_environment = || ALL.iter().find(|dialect| (dialect.is_within)(payload, environment));
    by_payload().or_else(by_environment).or(told)
}
