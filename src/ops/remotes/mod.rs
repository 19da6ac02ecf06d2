//! Records of other clones: which remotes have them, how logs are joined, and what may leave this machine.
//!
//! From the bottom up: `shape`, what a log of others may look like; `versions` and `join`, how two logs become one; `known`, the
//! remotes and what the user allows; `outgoing`, the last look at what is sent; `fetch` and `push`.

mod fetch;
mod join;
mod known;
mod outgoing;
mod push;
mod shape;
mod versions;

#[cfg(test)]
mod tests;

pub(crate) use fetch::{FetchOptions, Fetched, bring, fetch, is_log, list as list_logs};
pub(crate) use known::{Approval, Remote, add, approve, at, find, list, remove};
pub(crate) use push::{PushOptions, Sent, SentRef, push, send};
