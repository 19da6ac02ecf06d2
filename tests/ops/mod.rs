//! Library tests, one file per verb.

mod compare;
mod history;
mod lookup;
mod restore;
mod restore_safety;
mod trees;
