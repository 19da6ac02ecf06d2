//! The operation log of a worktree: reads it, lists it, shows an entry, and picks the operation to take back.
//!
//! `git::operation_log` writes the log, with each move of our refs; `model::operation_stack` decides what can be taken back;
//! `undo` takes it back.

mod back;
mod forget;
mod listing;
mod log;
mod pick;
mod refusal;

pub(crate) use back::{Point, back_over, restores_files};
pub use forget::forget_all;
pub(crate) use forget::forget_removed;
pub use listing::{Listed, ListedMove, list, show};
pub(crate) use log::{Log, journal};
pub(crate) use pick::{Picked, Which, candidates, entry_of, entry_with, nothing_left, pick, recorded_meanwhile};
pub(crate) use refusal::{behind, causes, refuse, title_of};
