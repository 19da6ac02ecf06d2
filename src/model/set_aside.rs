//! A broken chain of checkpoints that was set aside.

use gix::ObjectId;
use serde::Serialize;

use super::id_text;

/// A broken chain that was set aside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SetAside {
    /// The ref that held it.
    pub shadow: String,
    /// The commit that the ref pointed to.
    #[serde(serialize_with = "id_text::serialize")]
    pub tip: ObjectId,
    /// The ref that holds what can be read; none if nothing can be.
    pub archive: Option<String>,
    /// The last checkpoint in the archive.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub last: Option<ObjectId>,
    /// How many checkpoints the archive has of it.
    pub checkpoints: usize,
    /// Unreadable objects, at most five.
    pub unreadable: Vec<String>,
}
