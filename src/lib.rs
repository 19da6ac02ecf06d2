//! Checkpoints of the whole worktree, as a library.
pub mod agent;
pub mod cli;
pub mod config;
pub mod error;
pub mod git;
pub mod model;
pub mod ops;
pub mod state;
