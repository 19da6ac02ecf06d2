//! Library tests, one file per verb.

mod compare;
mod doctor;
mod events;
mod growth;
mod history;
mod hooks;
mod interrupt;
mod lookup;
mod message;
mod prune;
mod records;
mod reset;
mod restore;
mod restore_crash;
mod restore_findings;
mod restore_roundtrip;
mod restore_safety;
mod restore_staged;
mod rewrite;
mod save;
mod sessions;
mod trees;
mod verify;
