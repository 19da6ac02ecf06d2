//! What a restore has done, as it is shown: the JSON of `restore --json` and `undo --json`.

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;
use serde::{Serialize, Serializer, ser::SerializeSeq as _};

use crate::model::{
    id_text,
    manifest::{Reason, Skipped},
    path_text,
    refname::Base,
    verdict::Left,
};

/// What was done; serializes as the JSON of `restore --json` and `undo --json`.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Restored {
    /// The version of this form.
    pub version: u32,
    /// The checkpoint (or base commit) that was put back.
    #[serde(serialize_with = "id_text::serialize")]
    pub target: ObjectId,
    /// The checkpoint that holds everything as it was before.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub pre_restore: Option<ObjectId>,
    /// Paths that were written; of directories without files, with final `/`.
    #[serde(serialize_with = "path_text::serialize_list")]
    pub written: Vec<BString>,
    /// Paths that were deleted.
    #[serde(serialize_with = "path_text::serialize_list")]
    pub deleted: Vec<BString>,
    /// Paths whose entry in the index was put back.
    #[serde(serialize_with = "path_text::serialize_list")]
    pub staged: Vec<BString>,
    /// Paths left alone because they are not the checkpoint's to change.
    #[serde(serialize_with = "serialize_left")]
    pub kept: Vec<Left>,
    /// Paths left alone because they changed under way or something is in the way.
    #[serde(serialize_with = "serialize_left")]
    pub conflicts: Vec<Left>,
    /// Paths that are in no checkpoint, and were not looked at.
    #[serde(serialize_with = "serialize_skipped")]
    pub skipped: Vec<Skipped>,
    /// Paths left alone because only commits have changed them since.
    #[serde(serialize_with = "path_text::serialize_list")]
    pub committed: Vec<BString>,
    /// The commit that the checkpoint stands on, if that is not the worktree's and all its files are restored too.
    pub other_base: Option<Base>,
    /// True if the exact bytes of the checkpoint are lost, so that what was written may differ from them where git sees no
    /// difference, as in line endings.
    pub inexact: bool,
    /// True if all this was only looked at.
    pub dry_run: bool,
}

impl Restored {
    /// Returns true if nothing was, or would be, changed.
    pub(crate) fn is_idle(&self) -> bool {
        self.written.is_empty() && self.deleted.is_empty() && self.staged.is_empty()
    }
}

/// A path, and what the output shows about it.
#[derive(Serialize)]
struct Described<T> {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_raw: Option<String>,
    #[serde(flatten)]
    rest: T,
}

impl<T> Described<T> {
    fn new(path: &BString, rest: T) -> Self {
        Self { path: path_text::escape(path.as_bstr()), path_raw: path_text::raw(path.as_bstr()), rest }
    }
}

fn serialize_left<S: Serializer>(left: &[Left], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Rest {
        why: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        kept_as: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        kept_as_raw: Option<String>,
    }
    let mut list = serializer.serialize_seq(Some(left.len()))?;
    for left in left {
        let kept = left.why.kept_as().map(|path| path.as_bstr());
        let (kept_as, kept_as_raw) = (kept.map(path_text::escape), kept.and_then(path_text::raw));
        list.serialize_element(&Described::new(&left.path, Rest { why: left.why.to_string(), kept_as, kept_as_raw }))?;
    }
    list.end()
}

fn serialize_skipped<S: Serializer>(skipped: &[Skipped], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Rest {
        reason: Reason,
        size: u64,
    }
    let mut list = serializer.serialize_seq(Some(skipped.len()))?;
    for skipped in skipped {
        let rest = Rest { reason: skipped.reason, size: skipped.size };
        list.serialize_element(&Described::new(&skipped.path, rest))?;
    }
    list.end()
}
