//! What a restore has done, as it is shown: the JSON of `restore --json` and `undo --json`.

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;
use serde::{Serialize, Serializer, ser::SerializeSeq as _};

use crate::model::{
    id_text,
    manifest::{Reason, Skipped},
    path_text,
    refname::Base,
    submodule::Submodule,
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
    /// Paths that were deleted; of directories without files, with final `/`.
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
    /// Submodules with changes of their own, left alone.
    pub submodules: Vec<Submodule>,
    /// Repositories that are no submodules, with changes of their own, left alone.
    #[serde(serialize_with = "path_text::serialize_list")]
    pub nested: Vec<BString>,
    /// What was done in submodules and nested repositories.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub restored_submodules: Vec<RestoredSubmodule>,
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
    /// The checkpoints that an undo has put into the archive, because they have versions of files that nothing else has. Of a dry
    /// run, all that it would put there.
    #[serde(skip)]
    pub(crate) set_aside: Vec<ObjectId>,
    /// True if no redo brings the state before it back.
    #[serde(skip)]
    pub(crate) is_called_off: bool,
    /// True if the checkpoint names some in submodules, and they were left alone.
    #[serde(skip)]
    pub(crate) leaves_submodules: bool,
    /// The submodules of which the checkpoint names one, though they may not be there.
    #[serde(skip)]
    pub(crate) saved_submodules: Vec<BString>,
}

impl Restored {
    /// Returns true if nothing was, or would be, changed.
    pub(crate) fn is_idle(&self) -> bool {
        self.is_idle_here() && self.restored_submodules.iter().all(|submodule| !submodule.has_changed)
    }

    /// Returns true if nothing was, or would be, changed but what is in submodules.
    pub(crate) fn is_idle_here(&self) -> bool {
        self.written.is_empty() && self.deleted.is_empty() && self.staged.is_empty()
    }

    /// Returns the same with what was done in submodules added to the lists, under the paths from the root of the worktree.
    pub(crate) fn with_submodules(&self) -> Self {
        let mut all = self.clone();
        for RestoredSubmodule { path, restored, .. } in &self.restored_submodules {
            let Some(below) = restored.as_ref().map(Self::with_submodules) else { continue };
            let full = |inner: &BString| BString::from([path.as_slice(), b"/", inner.as_slice()].concat());
            let left = |left: &Left| Left { path: full(&left.path), ..left.clone() };
            all.written.extend(below.written.iter().map(full));
            all.deleted.extend(below.deleted.iter().map(full));
            all.staged.extend(below.staged.iter().map(full));
            all.kept.extend(below.kept.iter().map(left));
            all.conflicts.extend(below.conflicts.iter().map(left));
            all.skipped.extend(below.skipped.iter().map(|it| Skipped { path: full(&it.path), ..it.clone() }));
            let submodules = below.submodules.iter().map(|it| Submodule { path: full(&it.path), ..it.clone() });
            all.submodules.extend(submodules);
            all.nested.extend(below.nested.iter().map(full));
        }
        all
    }

    /// Returns true if all that was asked for is done, here and in submodules.
    pub(crate) fn is_complete(&self) -> bool {
        let is_complete_below = self.restored_submodules.iter().all(RestoredSubmodule::is_complete);
        self.kept.is_empty() && self.conflicts.is_empty() && is_complete_below
    }
}

/// What was done in a repository inside the worktree.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct RestoredSubmodule {
    /// The directory of the repository.
    #[serde(flatten, serialize_with = "path_text::serialize_fields")]
    pub path: BString,
    /// What was done; paths are relative to that directory. None: nothing.
    pub restored: Option<Restored>,
    /// Why it was left alone, if it was.
    pub why: Option<String>,
    /// True if it was changed, now or before an interruption.
    #[serde(skip)]
    pub(crate) has_changed: bool,
}

impl RestoredSubmodule {
    /// Returns true if something was to be done there, and was left.
    pub(crate) fn is_refused(&self) -> bool {
        self.why.is_some()
    }

    /// Returns true if all that was to be done there is done.
    pub(crate) fn is_complete(&self) -> bool {
        self.why.is_none() && self.restored.as_ref().is_none_or(Restored::is_complete)
    }

    /// Returns true if there is something to say of it.
    pub(super) fn is_worth_a_word(&self) -> bool {
        let is_it = |restored: &Restored| !(restored.is_idle() && restored.is_complete());
        self.why.is_some() || self.restored.as_ref().is_some_and(is_it)
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

pub(crate) fn serialize_left<S: Serializer>(left: &[Left], serializer: S) -> Result<S::Ok, S::Error> {
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
