//! Puts copies in the place of checkpoints: all refs, checkpoints and files that name a checkpoint name its copy afterwards.
//!
//! Some checkpoints are left out: what follows one of these follows the one before it. [`Copier`] writes the copies, `refs` says
//! where refs go, `files` changes our own files, and
//! `uncommitted` says where the work is that only checkpoints attribute.

mod copies;
mod files;
mod refs;
mod uncommitted;

pub(crate) use copies::{Copier, Edit, Edited, Finished, Replaced};
pub(crate) use files::{follow, follow_in};
pub use refs::RefMove;
pub(crate) use refs::{NAMESPACES, ref_moves, updates, worktree_of};
pub(crate) use uncommitted::{Place, all_turns_at_work, lines_of_sessions, refuse_if_needed, uncommitted};
