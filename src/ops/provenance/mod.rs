//! Whose is this content? Finds the work, set aside or recorded, that a commit, the index or the worktree contains.
//!
//! `share` compares the lines, and is the only place with a threshold. What is asked of it:
//! - any: may a commit be linked to a record, where git itself names the commit of that record (a reset removed it)?
//! - half: is set-aside or recorded work here again, where nothing but the content tells?
//! - all: is nothing left of an archived shadow that could still come?
//!
//! Whose each line is then, `replay` says.

pub(crate) mod amended;
pub(crate) mod covered;
pub(crate) mod recorded;
pub(crate) mod replay;
pub(crate) mod set_aside;
