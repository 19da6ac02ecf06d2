//! The nouns: values and pure functions on them.
//!
//! No I/O here; the only parts of gix in use are `ObjectId` and `bstr`.

pub mod attribution;
pub(crate) mod both_changed;
pub(crate) mod change;
pub mod checkpoint;
pub(crate) mod common_ends;
pub(crate) mod contributor;
pub(crate) mod copied;
pub(crate) mod event;
pub(crate) mod exact_text;
pub(crate) mod exclude_file;
pub mod guard;
pub(crate) mod head_move;
pub(crate) mod histogram;
pub(crate) mod id_text;
pub(crate) mod inferred;
pub(crate) mod line_diff;
pub(crate) mod manifest;
pub(crate) mod marks;
pub(crate) mod moment;
pub(crate) mod moved;
pub(crate) mod obstacle;
pub(crate) mod operation;
pub(crate) mod operation_back;
pub(crate) mod operation_stack;
pub(crate) mod overlap;
pub(crate) mod path_text;
pub(crate) mod plan;
pub(crate) mod process;
#[cfg(test)]
mod random;
pub(crate) mod reconcile;
pub mod record;
pub(crate) mod redact;
pub mod refname;
pub(crate) mod removal;
pub(crate) mod round;
pub(crate) mod round_text;
pub(crate) mod secret;
pub(crate) mod selector;
pub mod session;
pub(crate) mod set_aside;
pub(crate) mod since;
pub(crate) mod slot;
pub(crate) mod step;
pub(crate) mod step_below;
pub(crate) mod submodule;
pub(crate) mod taken_off;
pub(crate) mod three_way;
pub(crate) mod trailer;
pub mod turns;
pub(crate) mod uncommitted;
pub(crate) mod unsaid;
pub(crate) mod verdict;
pub(crate) mod way_back;
pub(crate) mod worktree_name;
