//! Whole records: each says alone who wrote every line that its commit adds, and needs no content but that of the commit.
//!
//! The other records of a commit name the content of the commits that they were made for. Another clone gets only what is pushed: not
//! the commits that an amend, a rebase, a squash or a cherry-pick was made from. So [`complete_rewritten`] writes a whole record for
//! what git has rewritten here before our log is sent, and `ci relink` one for what a forge has made of other commits.

mod rewritten;
mod written;

pub(crate) use rewritten::complete_rewritten;
pub(crate) use written::{is_needed, record_of, with_patch_ids, work_of};
