//! The verbs: what git-checkpoint does. They never print, never read the environment, never exit.
//!
//! Each file or folder here is a unit, and uses only units below it (`tests/architecture` checks that). From the bottom up:
//! - `locked`, `context`, `worktree`, `known_base`, `verified_mark`, `share`, `protected`, `restored_target`: used by all others.
//! - `chain`: a shadow; looks at the worktree, takes the next checkpoint, carries work forward, archives it.
//! - `start`, `lookup`, `history`, `session_info`, `author`, `turn`: what is known of checkpoints, sessions and open turns.
//! - `inside`: the repositories inside the worktree.
//! - `salvage`, `inherited`: the repair of broken shadows, and what a removed worktree of the same name has left.
//! - `records`, `provenance`, `rewrite`: whose work a commit contains, and where it went.
//! - `condense`, `enter`: the one way in for commands that write: takes the lock, and brings records and shadows up to date with
//!   what commits and other moves of HEAD have done.
//! - `named`: the files that open tool calls name.
//! - `replace`: copies in the place of checkpoints, for `drop` and `purge`.
//! - `overlap`: what other worktrees have changed, too.
//! - `save`, `closing`, `guard`, `sessions`, `agents`, `restore`, `commit` and the other commands.

pub(crate) mod agent_hooks;
pub(crate) mod agents;
pub(crate) mod attribution;
pub(crate) mod blame;
pub(crate) mod browse;
pub(crate) mod ci;
pub(crate) mod commit;
pub(crate) mod compare;
pub mod doctor;
pub mod drop;
pub mod events;
pub mod explain;
pub(crate) mod find;
pub mod guard;
pub mod history;
pub(crate) mod hooks;
pub(crate) mod lookup;
pub(crate) mod notes;
pub mod operations;
pub(crate) mod overlap;
pub mod prune;
pub mod purge;
pub(crate) mod records;
pub(crate) mod remotes;
pub(crate) mod report;
pub mod reset;
pub(crate) mod restore;
pub(crate) mod review;
pub(crate) mod reviews;
pub mod rewrite;
pub(crate) mod rounds;
pub(crate) mod salvage;
pub(crate) mod save;
pub mod sessions;
pub mod show;
pub mod status;
pub(crate) mod tags;
pub mod undo;
pub mod verify;
pub(crate) mod why;
pub(crate) mod worktrees;

mod arrived;
mod author;
pub(crate) mod called;
mod chain;
mod closing;
mod condense;
mod context;
mod disk_usage;
mod earliest;
mod enter;
mod found_again;
mod holding;
mod inherited;
mod inside;
mod known_base;
mod locked;
mod moved;
mod named;
mod protected;
mod provenance;
mod replace;
pub(crate) mod restored_target;
mod retried;
mod session_info;
mod setting_sources;
mod shallow;
mod share;
mod sources;
mod start;
mod stats;
mod turn;
mod uncommitted;
pub(crate) mod unrecorded;
pub(crate) mod usage;
mod verified_mark;
mod whole;
mod worktree;

pub use context::{Context, Subscriber};
#[cfg(feature = "failpoints")]
pub use enter::Purpose;
pub(crate) use setting_sources::setting_sources;
pub use worktree::Worktree;
