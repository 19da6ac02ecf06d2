//! Whose the lines are: of a commit, of a range of commits, or of what is not committed yet.
//!
//! The counts of added and deleted lines are always those of git; records only add the authors.

mod authors;
mod commit;
mod commits;
mod export;
mod file;
mod options;
mod patch;
mod present;
mod recorded;
mod report;
mod text;
mod who;
mod worktree;

pub(crate) use commit::Reader;
pub use commits::attribution;
pub use export::{agent_trace, git_ai};
pub(crate) use file::BlobOwners;
pub use options::{Options, Target};
pub use patch::PatchFile;
pub use report::{Attribution, CommitLines, FileLines, OwnedLines, Remover, SessionLines};
pub(crate) use text::Text;
pub use who::Who;
pub(crate) use who::who;
pub(crate) use worktree::uncommitted;
