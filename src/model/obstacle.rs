//! What keeps the refs of operations from going back.

use gix::ObjectId;

use super::refname::Base;

/// Why an operation cannot be taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// The ref points elsewhere now.
    Moved {
        /// The ref.
        name: String,
        /// What it points to now.
        now: Option<ObjectId>,
        /// The first operation that has moved it and still stands.
        by: Option<ObjectId>,
    },
    /// The object that the ref is to point to is missing or damaged.
    Missing {
        /// The ref.
        name: String,
        /// The object.
        id: ObjectId,
    },
    /// The shadow is to live on a commit where HEAD is no longer.
    Elsewhere {
        /// That commit.
        base: Base,
    },
}
