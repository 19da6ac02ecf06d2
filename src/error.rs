//! The one error of the crate: what failed, what to type next, and the cause below it.
//!
//! Foreign errors never convert by themselves: each gets a message that names the file, ref or id
//! through [`Context`]. Doors (`cli`, `remote`) decide how an error is printed.

use std::fmt;

use bstr::BString;

/// The result of every fallible function of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Who has to act on an error; decides the exit code and the wording around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// The request cannot be met as it was made: a wrong argument, not a repository, a missing file.
    User,
    /// A policy says no; nothing has changed.
    Refused,
    /// A setting has a value that cannot be used.
    Config,
    /// Another process changed a ref, lock or file first; trying again may work.
    Race,
    /// Stored data (ours or git's) is damaged or missing.
    Corrupt,
    /// A bug or an unexpected answer of the operating system.
    Internal,
}

impl Kind {
    /// Returns the kind as events name it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Refused => "refused",
            Self::Config => "config",
            Self::Race => "race",
            Self::Corrupt => "corrupt",
            Self::Internal => "internal",
        }
    }
}

/// The next step where stored data is damaged.
const DOCTOR: &str = "'git checkpoint doctor' says what is damaged, and what can be done";

/// The next step where the file system has no room.
const FULL: &str = "the disk is full, or your quota is: make room, and run the command again";

/// An error with its kind, one line of message, an optional next step and an optional cause.
#[derive(Debug)]
pub struct Error {
    kind: Kind,
    message: String,
    hint: Option<String>,
    cause: Option<Box<dyn std::error::Error + Send + Sync>>,
    path: Option<BString>,
}

impl Error {
    /// Returns an error of `kind`; `message` is lower case, without full stop, subject in single quotes.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None, cause: None, path: None }
    }

    /// Returns an error of kind [`Kind::User`].
    pub fn user(message: impl Into<String>) -> Self {
        Self::new(Kind::User, message)
    }

    /// Returns an error of kind [`Kind::Refused`].
    pub fn refused(message: impl Into<String>) -> Self {
        Self::new(Kind::Refused, message)
    }

    /// Returns an error of kind [`Kind::Config`].
    pub fn config(message: impl Into<String>) -> Self {
        Self::new(Kind::Config, message)
    }

    /// Returns an error of kind [`Kind::Race`].
    pub fn race(message: impl Into<String>) -> Self {
        Self::new(Kind::Race, message)
    }

    /// Returns an error of kind [`Kind::Corrupt`].
    pub fn corrupt(message: impl Into<String>) -> Self {
        Self::new(Kind::Corrupt, message)
    }

    /// Returns an error of kind [`Kind::Internal`].
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(Kind::Internal, message)
    }

    /// Returns the error with `kind` instead of its own.
    #[must_use]
    pub(crate) fn with_kind(mut self, kind: Kind) -> Self {
        self.kind = kind;
        self
    }

    /// Adds what to type or do next.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds the error below this one.
    #[must_use]
    pub fn with_cause(mut self, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    /// Notes that the message has `path`, which begins at the root of the worktree, in single quotes.
    #[must_use]
    pub(crate) fn about(mut self, path: impl Into<BString>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// Returns the path that the message has in quotes, from the root of the worktree, if that is noted.
    pub(crate) fn path(&self) -> Option<&BString> {
        self.path.as_ref()
    }

    /// Returns the error with `message` instead of its own.
    #[must_use]
    pub(crate) fn with_message(mut self, message: String) -> Self {
        self.message = message;
        self
    }

    /// Returns who has to act.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns the message without hint and causes.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the next step, if one is known: for damage, `doctor` if nothing better is.
    pub fn hint(&self) -> Option<&str> {
        let doctor = (self.kind == Kind::Corrupt).then_some(DOCTOR);
        let general = || if self.is_disk_full() { Some(FULL) } else { doctor };
        self.hint.as_deref().or_else(general)
    }

    /// Returns true if there is no room on the disk, as the operating system or git has said.
    fn is_disk_full(&self) -> bool {
        let says_so = |text: &str| text.contains("No space left on device") || text.contains("Disk quota exceeded");
        says_so(&self.message) || self.causes().iter().any(|cause| says_so(cause))
    }

    /// Returns the messages of the causes, outermost first, leaving out those that repeat the one above, or its end.
    pub fn causes(&self) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        let mut next: Option<&(dyn std::error::Error + 'static)> = std::error::Error::source(self);
        while let Some(cause) = next {
            let line = cause.to_string();
            let above = lines.last().unwrap_or(&self.message);
            let is_end = above.strip_suffix(&line).is_some_and(|start| start.is_empty() || start.ends_with(": "));
            if line != self.message && !is_end {
                lines.push(line);
            }
            next = cause.source();
        }
        lines
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.as_ref().map(|cause| &**cause as &(dyn std::error::Error + 'static))
    }
}

/// Turns a foreign `Result` into ours, with a message that names what was being done.
pub(crate) trait Context<T> {
    /// Wraps the error with `kind` and the message that `message` returns.
    fn context(self, kind: Kind, message: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: Into<Box<dyn std::error::Error + Send + Sync>>> Context<T> for std::result::Result<T, E> {
    fn context(self, kind: Kind, message: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|cause| Error::new(kind, message()).with_cause(cause))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_listed_without_repeats() {
        let inner = Error::user("cannot read 'a'").with_cause(std::io::Error::other("gone"));
        let outer = Error::internal("cannot save").with_cause(inner).with_hint("try again");
        assert_eq!(outer.causes(), ["cannot read 'a'", "gone"]);
        assert_eq!((outer.kind(), outer.hint()), (Kind::Internal, Some("try again")));
        let whole =
            Error::refused("cannot go back: HEAD was elsewhere").with_cause(Error::refused("HEAD was elsewhere"));
        assert!(whole.causes().is_empty());
    }

    #[test]
    fn a_full_disk_is_no_damage() {
        let full = || std::io::Error::from_raw_os_error(rustix::io::Errno::NOSPC.raw_os_error());
        let error = Error::corrupt("cannot write").with_cause(Error::internal("cannot write 'a'").with_cause(full()));
        assert_eq!(error.hint(), Some(FULL));
        assert_eq!(Error::corrupt("cannot read").with_cause("gone").hint(), Some(DOCTOR));
        assert_eq!(error.with_hint("try again").hint(), Some("try again"));
    }
}
