//! Library tests, one file per verb.

mod compare;
mod events;
mod history;
mod lookup;
mod prune;
mod reset;
mod trees;
mod verify;
