//! Who wrote the lines of a commit, of a range of commits, or of the uncommitted changes.
//!
//! Git decides which lines were added and deleted; records only add the authors.

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
pub use report::{Attribution, FileLines, SessionLines};
pub(crate) use text::Text;
pub use who::Who;
pub(crate) use who::who;
pub(crate) use worktree::uncommitted;
