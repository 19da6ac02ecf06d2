//! One hit.

use gix::ObjectId;
use serde::Serialize;

use crate::model::{
    hit::{Excerpt, Field},
    id_text, moment,
};

/// What a hit is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// A checkpoint.
    Checkpoint,
    /// A record.
    Record,
    /// A session: one of its prompts, or its transcript.
    Session,
}

/// A hit. Serializes to what `search --json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Hit {
    /// The version of the JSON format.
    pub(crate) version: u32,
    /// What it is in.
    pub(crate) kind: Kind,
    /// What `restore` takes (of a checkpoint, and of a turn with one), or `explain`.
    pub(crate) id: String,
    /// Where the match is.
    pub(crate) field: Field,
    /// The session, if it is of one.
    pub(crate) session: Option<String>,
    /// Its turn.
    pub(crate) turn: Option<u32>,
    /// Its agent.
    pub(crate) agent: Option<String>,
    /// The commit of a record.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub(crate) commit: Option<ObjectId>,
    /// The remote that it was fetched from.
    pub(crate) remote: Option<String>,
    /// True if the checkpoint is in the archive.
    pub(crate) archived: bool,
    /// The path, if the match is in one or in a file.
    pub(crate) path: Option<String>,
    /// When, in ISO 8601.
    pub(crate) time: String,
    /// The same in seconds since 1970, with the offset from UTC.
    #[serde(skip)]
    pub(crate) moment: (i64, i32),
    /// The turns whose prompts a record has.
    #[serde(skip)]
    pub(crate) turns: Vec<(String, u32)>,
    /// The line with the match.
    #[serde(flatten)]
    pub(crate) excerpt: Excerpt,
}

impl Hit {
    /// Returns a hit of that moment, of which all else is to be filled in.
    pub(super) fn new(moment: (i64, i32), excerpt: Excerpt) -> Self {
        Self {
            version: 1,
            kind: Kind::Session,
            id: String::new(),
            field: Field::Transcript,
            session: None,
            turn: None,
            agent: None,
            commit: None,
            remote: None,
            archived: false,
            path: None,
            time: moment::iso(moment.0, moment.1),
            moment,
            turns: Vec::new(),
            excerpt,
        }
    }
}
