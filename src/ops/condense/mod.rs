//! Turns the part of the shadows that a commit took into a record, and carries the rest forward to the commit.
//!
//! Only content counts: a commit without any work of a session gets no record. Each step can be repeated: after a
//! crash, the next command finishes what is left.

mod candidates;
mod commit;
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
