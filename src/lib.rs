//! Checkpoints of the whole worktree, as a library; `examples/embed.rs` shows how a program embeds it.
//!
//! # The map
//! ```text
//! git, agents, people
//!         |
//!        cli          the door: parses, calls, prints; asks `agent` what an agent's event means
//!         |
//!        ops          the verbs: save, restore, begin a turn, condense, attribute, ...
//!      /  |  \
//! model  git  state   the nouns (pure), the only door to the repository, our own files and locks
//! ```
//! `config` has the layers of settings, `error` the one error. `tests/architecture.rs` says who may use whom, and holds it.
//! No file uses one that uses it, directly or through others; `tests/architecture/cycles.rs` lists those that still do.
//!
//! # What always holds
//! - Nothing is lost: what is replaced is in a checkpoint before, and what is set aside goes to the archive.
//! - HEAD, branches, stash and reflogs are the user's; only `restore` and `undo` change what is worked on.
//! - Refs below `refs/checkpoints/` are the truth, and move only from the value that was read. Files of sessions hold
//!   intent and caches, and are made again from refs.
//! - Each step can be done again: whoever comes after a crash finishes what is left.
//! - A hook breaks neither git nor the agent that calls it.
//!
//! # Words
//! - *checkpoint*: the whole worktree at one moment, as a commit ([`model::checkpoint`])
//! - *shadow*: the checkpoints on one *base* commit in one worktree, or there of one session: a ref ([`model::refname`])
//! - *session*, *turn*: a conversation with an agent; one prompt until the agent stops ([`model::session`])
//! - *contributor*: who made a change: agent, human or unknown ([`model::contributor`])
//! - *archive*: shadows that were set aside ([`ops::reset`])
//! - *condense*: make a *record* of what a commit took of shadows ([`model::record`])
//! - *attribution*: whose each line is ([`model::attribution`])
pub mod agent;
pub mod cli;
pub mod config;
pub mod error;
pub mod git;
pub mod model;
pub mod ops;
pub mod state;
