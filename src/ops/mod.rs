//! The verbs: what git-checkpoint does. They never print, never read the environment, never exit.

pub mod agent_hooks;
pub mod agents;
pub mod attribution;
pub mod blame;
pub mod commit;
pub mod compare;
pub mod doctor;
pub mod events;
pub mod explain;
pub mod follow;
pub mod guard;
pub mod history;
pub mod hooks;
pub mod lookup;
pub mod prune;
pub mod records;
pub mod reset;
pub mod restore;
pub mod rewrite;
pub mod salvage;
pub mod save;
pub mod sessions;
pub mod status;
mod tally;
pub mod verify;
pub mod why;

mod author;
mod chain;
mod closing;
mod condense;
mod context;
mod held;
mod known_base;
mod likeness;
mod locking;
mod protected;
mod recall;
mod recommit;
mod session_info;
mod show;
mod turn;
mod undone;
mod verified_mark;
mod work;

pub use context::{Context, Subscriber};
