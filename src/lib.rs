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
//! `config` has the layers of settings, `error` the error type of the crate. `tests/architecture.rs` says which module
//! may use which, and checks it.
//! No file uses a file that uses it, directly or through others; `tests/architecture/cycles.rs` lists the exceptions.
//!
//! # What always holds
//! - Nothing is lost: before content is replaced, a checkpoint holds it, and shadows that are set aside go to the archive.
//! - HEAD, branches, stash and reflogs are the user's; only `restore` and `undo` change files of the worktree.
//! - Refs below `refs/checkpoints/` are the truth; each update names the expected old value. Session files hold intent
//!   and caches, and are rebuilt from refs.
//! - Each step can be repeated: after a crash, the next command finishes what is left.
//! - A failing hook breaks neither git nor the agent that calls it.
//!
//! # Words
//! - *checkpoint*: the whole worktree at one moment, as a commit ([`model::checkpoint`])
//! - *shadow*: the checkpoints on one *base* commit in one worktree, or of one session there: a ref ([`model::refname`])
//! - *session*, *turn*: a conversation with an agent; one prompt until the agent stops ([`model::session`])
//! - *contributor*: who made a change: agent, human or unknown ([`model::contributor`])
//! - *archive*: shadows that were set aside ([`ops::reset`])
//! - *condense*: make a *record* of the work that a commit took from shadows ([`model::record`])
//! - *attribution*: who wrote each line ([`model::attribution`])
pub mod agent;
pub mod cli;
pub mod config;
pub mod error;
pub mod git;
pub mod model;
pub mod ops;
pub mod state;
