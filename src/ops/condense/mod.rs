//! Turns the part of the shadows that a commit took into a record, and carries the rest forward to the commit.
//!
//! Only content counts: a commit without any work of a session gets no record, unless it may be mistaken for one that has some. Each
//! step can be repeated: after a crash, the next command finishes what is left.

mod candidates;
mod commit;
mod last_steps;
mod later;
mod made;
mod of_others;
mod record;
mod renamed;
mod resolved;
mod staged;
mod unseen;
mod work;

pub(crate) use candidates::{Candidate, candidates};
pub(crate) use commit::{carry_forward, condense, link_existing, record_of, record_of_person, shadows_to_carry};
pub(crate) use made::Made;
pub(crate) use of_others::{record_of_others, records_of_rewritten, takes_of_others};
pub(crate) use record::{complete, complete_ended};
pub(crate) use renamed::renamed_since;
pub(crate) use resolved::{has_met_conflict, takes_resolution};
pub(crate) use staged::{authors_of_staged, has_work_on, holds_work};
pub(crate) use unseen::checkpoint_unseen;
pub(crate) use work::{has_work_of, steps_aside};
