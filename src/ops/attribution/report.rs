//! The attribution report. It serializes to the JSON of `attribution --json`.

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;
use serde::Serialize;

use super::{patch::PatchFile, who::Who};
use crate::model::{
    attribution::{kind::Kind, summary::Figures},
    id_text, path_text,
    record::RecordId,
};

/// An attribution. Serializes to what `attribution --json` prints.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Attribution {
    /// The version of the JSON format.
    pub version: u32,
    /// The commit; none for a range and for the worktree.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub commit: Option<ObjectId>,
    /// Its first parent; of the worktree, the commit that HEAD is at.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub parent: Option<ObjectId>,
    /// The range, as it was asked for.
    pub range: Option<String>,
    /// True if this is about the uncommitted changes.
    pub worktree: bool,
    /// The records that it is made from.
    pub records: Vec<RecordId>,
    /// Those of them that others have made.
    pub fetched_records: Vec<FetchedRecord>,
    /// The records that commits name, and that are not here or cannot be read.
    pub missing_records: Vec<RecordId>,
    /// The records that are here without the content that they are of, so that lines which they may be of are unknown.
    pub lacking_records: Vec<RecordId>,
    /// The lines of unknown authors, without those of commits that were made before git-checkpoint was in use.
    #[serde(skip)]
    pub checked_unknown: u32,
    /// True if there are no records here, and some lines are not in [`checked_unknown`](Self::checked_unknown).
    #[serde(skip)]
    pub is_unchecked: bool,
    /// True if there are no records here; only known if [`Options::check`](super::Options::check) is set.
    #[serde(skip)]
    pub lacks_records: bool,
    /// Agents that messages of commits without record name; they are not counted.
    pub inferred: Vec<String>,
    /// The figures of all files together.
    pub summary: Figures,
    /// The agents with a part in it, most lines first.
    pub sessions: Vec<SessionLines>,
    /// The commits of a range, newest first; empty for anything else.
    pub commits: Vec<CommitLines>,
    /// The files, by path.
    pub files: Vec<FileLines>,
    /// The changed lines, if asked for.
    #[serde(skip)]
    pub patch: Vec<PatchFile>,
    /// The errors of unreadable records.
    #[serde(skip)]
    pub troubles: Vec<String>,
}

/// Says why lines are unknown that may be of the records `ids`, whose content is not here; none if there are none.
pub(crate) fn lacking_content(ids: &[RecordId]) -> Option<String> {
    let first = ids.first()?.as_str();
    let more = if ids.len() > 1 { format!(" and of {} more", ids.len() - 1) } else { String::new() };
    Some(format!(
        "the authors of lines are unknown: git has rewritten the commit of the record {first}{more}, and what it was before is not here"
    ))
}

/// A record that was fetched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct FetchedRecord {
    /// The record.
    pub id: RecordId,
    /// The remote that it was fetched from.
    pub remote: String,
}

/// What an agent in a session has a part in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct SessionLines {
    /// The session; none if it is not known.
    pub id: Option<String>,
    /// The agent's name.
    pub agent: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// Lines that it wrote.
    pub lines: u32,
    /// Lines that it shares with people.
    pub mixed: u32,
    /// Lines that it deleted.
    pub removed: u32,
    /// In how many files.
    pub files: u32,
}

/// A commit of a range.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct CommitLines {
    /// The commit.
    #[serde(serialize_with = "id_text::serialize")]
    pub commit: ObjectId,
    /// Its records.
    pub records: Vec<RecordId>,
    /// Its figures.
    pub summary: Figures,
    /// Its files, if asked for.
    #[serde(skip)]
    pub files: Vec<FileLines>,
    /// The records that it names, and that are not here or cannot be read.
    #[serde(skip)]
    pub missing: Vec<RecordId>,
    /// Agents that its message names; empty if it has a record.
    #[serde(skip)]
    pub inferred: Vec<String>,
}

/// The attribution of a file.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct FileLines {
    /// The path.
    #[serde(flatten, serialize_with = "path_text::serialize_fields")]
    pub path: BString,
    /// Where a renamed file was.
    #[serde(serialize_with = "serialize_path")]
    pub old_path: Option<BString>,
    /// The blob that the lines are of; none if the file is deleted, and for a range.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub blob: Option<ObjectId>,
    /// Lines that git counts as added.
    pub added: u32,
    /// Lines that git counts as deleted.
    pub deleted: u32,
    /// The owner of a file without lines.
    pub whole: Option<Kind>,
    /// True if the file was too large to be looked at line by line.
    pub cut_off: bool,
    /// Added lines, in order; empty for a range.
    pub owners: Vec<OwnedLines>,
    /// Who deleted how many lines.
    pub deleted_by: Vec<Remover>,
    /// The figures of the file.
    #[serde(skip)]
    pub figures: Figures,
}

/// Lines with one owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct OwnedLines {
    /// The first, from 1.
    pub start: u32,
    /// The last.
    pub end: u32,
    /// The owner.
    #[serde(flatten)]
    pub who: Who,
    /// How much of them is the agent's, in percent.
    pub agent_share: u8,
}

/// Who deleted lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Remover {
    /// Who; `base` for lines that were only moved or formatted.
    #[serde(flatten)]
    pub who: Who,
    /// How many.
    pub lines: u32,
}

fn serialize_path<S: serde::Serializer>(path: &Option<BString>, serializer: S) -> Result<S::Ok, S::Error> {
    path.as_ref().map(|path| path_text::escape(path.as_bstr())).serialize(serializer)
}
