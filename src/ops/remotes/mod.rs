//! Records of other clones: which remotes have them, how logs are joined, and what may leave this machine.
//!
//! From the bottom up: `shape`, what a log of others may look like; `versions` and `join`, how two logs become one; `tracking` and
//! `follow`, the refs that follow the logs of a remote; `known`, the remotes and what the user allows; `outgoing`, the last look at what
//! is sent; `wanted`, a log that others have; `fetch`, `push` and `sync`; `auto`, a sync after `git push` if there are `news`. `to_fetch`, what
//! may be had from a remote, without asking it. `shared`, checkpoints
//! that travel alone, which `push_shared` sends, `fetch_shared` brings and `listing` lists,
//! with their tags (`push_tags`, `fetch_tags`) and notes (`push_notes`, `fetch_notes`). `file`, all that in files. `copied` joins logs of copies on this machine.

mod auto;
mod copied;
mod fetch;
mod fetch_notes;
mod fetch_shared;
mod fetch_tags;
mod file;
mod follow;
mod join;
mod known;
mod listing;
mod news;
mod outgoing;
mod push;
mod push_notes;
mod push_shared;
mod push_tags;
mod remove;
mod shape;
mod shared;
mod sync;
mod to_fetch;
mod tracking;
mod versions;
mod wanted;

#[cfg(test)]
mod tests;

pub(crate) use auto::{after_push, begin};
pub(crate) use copied::{join_own, own_logs};
pub(crate) use fetch::{FetchOptions, Fetched, bring, fetch, is_log, list as list_logs};
pub(crate) use file::{
    Choice, Exported, Format, ImportOptions, Imported, Parts, check_name, export, export_series, export_tree, import,
};
pub(crate) use follow::FetchedRef;
pub(crate) use known::{Approval, Remote, add, approve, at, find, list};
pub(crate) use listing::{FetchedEntry, entries};
pub(crate) use push::{PushOptions, Sent, SentRef, list_to_push, push, send};
pub(crate) use push_notes::{NoteFate, SharedNote};
pub(crate) use push_shared::{ShareOptions, Shared, SharedCheckpoint, share};
pub(crate) use push_tags::TagFate;
pub(crate) use remove::{Removed, plan as plan_removal, remove};
pub(crate) use shared::is_checkpoint_damaged;
pub(crate) use sync::sync;
pub(crate) use to_fetch::{ToFetch, to_fetch};
pub(crate) use tracking::{is_damaged, set_aside};
