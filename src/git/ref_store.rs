//! How a repository stores its refs.

/// How this repository stores its refs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RefStore {
    /// Loose and packed files: gix.
    Files,
    /// Another format (reftable), which gix does not support: through git.
    Git,
}

impl RefStore {
    pub(super) fn of(repo: &gix::Repository) -> Self {
        match repo.config_snapshot().string("extensions.refStorage") {
            Some(format) if !format.eq_ignore_ascii_case(b"files") => Self::Git,
            _ => Self::Files,
        }
    }
}
