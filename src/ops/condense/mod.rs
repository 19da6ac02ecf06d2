//! Turns the part of shadows that a commit took into a record, and lets the rest go on upon the commit.
//!
//! Only content counts: a commit that holds nothing of a session's work makes no record. Each step can be done again, so
//! that whoever comes after a crash finishes what is left.

mod candidates;
mod commit;
mod earlier;
mod journal;
mod made;
mod promise;
mod record;
mod staged;
mod unseen;

pub(crate) use candidates::{renamed_since, steps_aside};
pub(crate) use journal::{commit_made, commits_unseen, finish, unkept};
pub(crate) use record::complete;
pub(crate) use staged::{has_work_on, holds_work};
