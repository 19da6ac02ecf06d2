//! Something that is not as it should be.

use serde::Serialize;

use crate::error::Error;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Something is lost or does not work.
    Problem,
    /// It happens in ordinary use.
    Note,
}

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// What it is, for programs.
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// The commit, record, ref or file.
    pub subject: String,
    /// What is wrong with it.
    pub message: String,
    /// How to mend it.
    pub hint: Option<String>,
    /// True if it has just been mended.
    pub fixed: bool,
}

impl Problem {
    /// Returns something that is wrong with `subject`.
    pub fn new(code: &'static str, subject: impl Into<String>, message: impl Into<String>) -> Self {
        let (subject, message) = (subject.into(), message.into());
        Self { code, severity: Severity::Problem, subject, message, hint: None, fixed: false }
    }

    /// Returns that what the ref `subject` leads to may be whole, and that `error` keeps it from being looked at.
    pub(super) fn unlooked(code: &'static str, subject: &str, error: &Error) -> Self {
        let causes: Vec<String> = std::iter::once(error.to_string()).chain(error.causes().last().cloned()).collect();
        let message = format!("what it leads to cannot be looked at: {}", causes.join(": "));
        let hint = error.hint().unwrap_or("'git fsck' says what is wrong");
        Self::new(code, subject, message).hint(format!("{hint}; until then nothing is given up"))
    }

    /// Makes it something that happens in ordinary use.
    #[must_use]
    pub fn note(mut self) -> Self {
        self.severity = Severity::Note;
        self
    }

    /// Adds how to mend it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
