//! Library tests, one file per verb.

mod compare;
mod history;
mod lookup;
mod trees;
