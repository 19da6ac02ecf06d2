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
