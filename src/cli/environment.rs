//! Environment variables that people set for programs with a command line; ops never see them.

use std::ffi::OsString;

/// Returns the value of `name`, if it is set and not empty.
pub(super) fn variable(name: &str) -> Option<OsString> {
    read(name).filter(|value| !value.is_empty())
}

/// Returns the value of `name`, if it is set; `GIT_PAGER=` means something.
pub(super) fn read(name: &str) -> Option<OsString> {
    #[expect(clippy::disallowed_methods, reason = "this file is the door to the environment")]
    std::env::var_os(name)
}

/// Returns all variables.
pub(super) fn all() -> impl Iterator<Item = (OsString, OsString)> {
    #[expect(clippy::disallowed_methods, reason = "this file is the door to the environment")]
    std::env::vars_os()
}

/// Variables that agents set for the commands they run, by their documentation and sources: Claude Code, Codex, Copilot, Cursor, Gemini,
/// Goose, opencode.
const OF_AGENTS: [&str; 7] = [
    "CLAUDECODE",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "COPILOT_CLI",
    "CURSOR_AGENT",
    "GEMINI_CLI",
    "GOOSE_TERMINAL",
    "OPENCODE",
];

/// Returns true if an agent runs this command, perhaps on a terminal at which nothing types.
pub(super) fn is_of_agent() -> bool {
    OF_AGENTS.iter().any(|name| variable(name).is_some())
}
