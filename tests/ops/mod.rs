//! Library tests, one file per verb.

mod compare;
mod events;
mod history;
mod lookup;
mod prune;
mod reset;
mod restore;
mod restore_safety;
mod trees;
mod verify;
