//! The options of an attribution.

use bstr::BString;

/// What to look at, and what to find out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    /// What to look at.
    pub target: Target,
    /// Only these paths, relative to the worktree's root.
    pub pathspecs: Vec<BString>,
    /// Whether [`Attribution::patch`](super::Attribution::patch) is wanted.
    pub patch: bool,
    /// Look for commits that were made before git-checkpoint was in use, also where the history of records is not here.
    pub check: bool,
    /// Whether the files of each commit of a range are wanted.
    pub by_commit: bool,
}

/// What to look at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Target {
    /// HEAD.
    #[default]
    Head,
    /// A commit, or a range of commits in git's notation, such as `main..topic`.
    Revision(String),
    /// The uncommitted changes of this worktree.
    Worktree,
}
