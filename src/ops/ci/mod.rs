//! What a job of continuous integration does with the commits of a range: checks them against policies, and writes the records of
//! those that a forge has made of others.

mod check;
mod notes;
mod policies;
mod relink;
mod unlined;

pub(crate) use check::{Breach, Checked, check};
pub(crate) use policies::Policies;
pub(crate) use relink::{RelinkOptions, Relinked, State, relink};
