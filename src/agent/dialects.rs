//! The table of all dialects, and the choice of a payload's dialect.

use super::{
    amp, claude_code, cline, codex, copilot, cursor,
    dialect::{Dialect, Environment},
    droid, gemini, generic, goose, kiro, opencode,
    payload::Payload,
    windsurf,
};

/// All dialects, those with the most reliable signs first.
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

/// Returns the dialect that `--agent` names.
pub fn named(name: &str) -> Option<&'static Dialect> {
    ALL.iter().find(|dialect| dialect.name == name)
}

/// Returns the dialect of a payload: what the payload contains counts before the environment, and that before the agent
/// `named` by `--agent`.
pub(super) fn decide(
    payload: Payload,
    environment: &Environment,
    named: Option<&'static Dialect>,
) -> Option<&'static Dialect> {
    let by_payload = || ALL.iter().find(|dialect| (dialect.is_from)(payload));
    let by_environment = || ALL.iter().find(|dialect| (dialect.is_within)(payload, environment));
    by_payload().or_else(by_environment).or(named)
}
