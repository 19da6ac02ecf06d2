//! Whose is this content? Finds the work, set aside or recorded, that a commit, the index or the worktree contains.
//!
//! `share` compares the lines, and is the only place with a threshold. Callers ask it for:
//! - any part, if git says where the work went: a reset removed its commit from HEAD.
//! - half of the work, if only the content shows that set-aside or recorded work is here again.
//! - all of the work, before an archived shadow is marked as committed.
//!
//! `amended` needs no threshold: it carries the recorded owner of each line to the amended or squashed file. `replay` then finds
//! the author of each line.

pub(crate) mod amended;
pub(crate) mod covered;
mod earlier;
mod former_names;
mod place;
pub(crate) mod recorded;
pub(crate) mod replay;
pub(crate) mod set_aside;
pub(crate) mod step;
