//! Who wrote the lines of a commit, of a range of commits, of checkpoints, or of the uncommitted changes.
//!
//! Git decides which lines were added and deleted; records only add the authors.

mod authors;
mod changed;
mod checkpoints;
mod commit;
mod commits;
mod earlier;
mod export;
mod file;
mod former_names;
mod known;
mod moved_on;
mod moves;
mod options;
mod patch;
mod present;
mod recorded;
mod report;
mod text;
mod unsaved;
mod unsaved_moves;
mod unseen;
mod who;
mod worktree;

pub(crate) use changed::{ChangedFile, changed, changed_in};
pub(crate) use checkpoints::of_checkpoints;
pub(crate) use commit::{OfCommit, Reader};
pub(crate) use commits::{attribution, named, of_commits};
pub(crate) use export::{agent_trace, git_ai};
pub(crate) use file::BlobOwners;
pub(crate) use options::{Options, Target};
pub(crate) use patch::PatchFile;
pub(crate) use report::{Attribution, CommitLines, FileLines, SessionLines, lacking_content};
pub(crate) use text::Text;
pub(crate) use who::Who;
pub(crate) use who::who;
pub(crate) use worktree::uncommitted;
