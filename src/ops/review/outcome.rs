//! What a person decides, and what became of it.

use bstr::BString;
use gix::ObjectId;
use serde::Serialize;

use super::super::restore::serialize_left;
use crate::model::{id_text, path_text, review::Verdict, verdict::Left};

/// A decision about pieces of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    /// The number of the file in the review.
    pub(crate) file: usize,
    /// The numbers of its pieces.
    pub(crate) items: Vec<usize>,
    /// What is decided.
    pub(crate) verdict: Verdict,
    /// Why, or what is to be changed.
    pub(crate) text: Option<String>,
}

/// What became of decisions. Serializes to what `review --decide --json` prints.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Decided {
    /// The version of the JSON format.
    pub(crate) version: u32,
    /// How many pieces stay.
    pub(crate) accepted: usize,
    /// How many were taken out.
    pub(crate) rejected: usize,
    /// How many are taken out when the turn ends that is under way.
    pub(crate) queued: usize,
    /// How many are to be changed.
    pub(crate) commented: usize,
    /// How many wait.
    pub(crate) later: usize,
    /// The files that were written.
    #[serde(serialize_with = "path_text::serialize_list")]
    pub(crate) written: Vec<BString>,
    /// The files that were deleted.
    #[serde(serialize_with = "path_text::serialize_list")]
    pub(crate) deleted: Vec<BString>,
    /// The files whose rejected pieces could not be taken out, with the reasons: these are still to be decided.
    #[serde(serialize_with = "serialize_left")]
    pub(crate) left: Vec<Left>,
    /// The checkpoint that has what was rejected.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub(crate) checkpoint: Option<ObjectId>,
}
