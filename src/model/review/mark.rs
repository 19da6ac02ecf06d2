//! What identifies a piece of a file.

use serde::{Deserialize, Serialize};

/// What identifies a piece in its file. The digests are of content.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Mark {
    /// The removed lines.
    pub(crate) removed: String,
    /// The added ones.
    pub(crate) added: String,
    /// The unchanged line before it; none at the beginning of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) before: Option<String>,
    /// The unchanged line after it; none at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) after: Option<String>,
    /// Its place among those of the file that are the same in all of this, from 0.
    #[serde(default)]
    pub(crate) nth: u32,
    /// How many these are.
    #[serde(default = "one")]
    pub(crate) of: u32,
}

fn one() -> u32 {
    1
}

impl Mark {
    /// Returns true if the line before it, or the one after it, is that of `other`.
    pub(super) fn is_beside_the_same(&self, other: &Self) -> bool {
        self.before == other.before || self.after == other.after
    }

    /// Returns what stays the same when lines around it change.
    pub(super) fn content(&self) -> (&str, &str) {
        (&self.removed, &self.added)
    }
}
