//! Records of other clones: which remotes have them, how logs are joined, and what may leave this machine.
//!
//! From the bottom up: `shape`, what a log of others may look like; `versions` and `join`, how two logs become one; `tracking`, the
//! refs that follow the logs of a remote; `known`, the remotes and what the user allows; `outgoing`, the last look at what is sent;
//! `fetch`, `push` and `sync`. `copied` joins logs of copies on this machine.

mod copied;
mod fetch;
mod join;
mod known;
mod outgoing;
mod push;
mod remove;
mod shape;
mod sync;
mod tracking;
mod versions;

#[cfg(test)]
mod tests;

pub(crate) use copied::{join_own, own_logs};
pub(crate) use fetch::{FetchOptions, Fetched, bring, fetch, is_log, list as list_logs};
pub(crate) use known::{Approval, Remote, add, approve, at, find, list};
pub(crate) use push::{PushOptions, Sent, SentRef, list_to_push, push, send};
pub(crate) use remove::{Removed, plan as plan_removal, remove};
pub(crate) use sync::sync;
pub(crate) use tracking::is_unreadable;
