//! The nouns: values and pure functions on them.
//!
//! No I/O here; the only parts of gix in use are `ObjectId` and `bstr`.

pub mod attribution;
pub mod change;
pub mod checkpoint;
pub mod contributor;
pub mod event;
pub mod guard;
pub mod head_move;
pub(crate) mod id_text;
pub mod inferred;
pub mod line_diff;
pub mod manifest;
pub mod marks;
pub mod moment;
pub(crate) mod moved;
pub mod overlap;
pub mod path_text;
pub mod plan;
pub mod process;
#[cfg(test)]
mod random;
pub mod reconcile;
pub mod record;
pub mod redact;
pub mod refname;
pub mod selector;
pub mod session;
pub mod set_aside;
pub mod slot;
pub mod step;
pub mod trailer;
pub mod turns;
pub mod verdict;
