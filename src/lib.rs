//! Checkpoints of the whole worktree, as a library.
pub mod error;
pub mod model;
