//! What was exported.

use gix::ObjectId;
use serde::Serialize;

use crate::{
    git::Repo,
    model::{checkpoint::Checkpoint, id_text, refname::Base},
};

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    /// A git bundle.
    Bundle,
    /// Patches for git-am(1).
    Patch,
    /// An archive of the files of a checkpoint.
    Tar,
}

/// What was exported. Serializes to what `export --json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Exported {
    pub(super) version: u32,
    pub(crate) format: Format,
    pub(crate) checkpoints: Vec<ExportedCheckpoint>,
    /// The tags of these.
    pub(crate) tags: Vec<String>,
    /// How many notes.
    pub(crate) notes: usize,
    /// How many records.
    pub(crate) records: usize,
    /// The months of which there are transcripts.
    pub(crate) transcripts: Vec<String>,
    /// The commits that must be there where it is imported.
    pub(crate) prerequisites: Vec<Prerequisite>,
    /// How many files of checkpoints are in it.
    pub(crate) files: usize,
    /// How many commits of branches are in it.
    pub(crate) commits: usize,
    /// Why checkpoints that were asked for are missing.
    pub(crate) left_out: Vec<String>,
}

impl Exported {
    /// Returns that `checkpoints` were exported, and nothing else.
    pub(super) fn new<'c>(format: Format, checkpoints: impl IntoIterator<Item = &'c Checkpoint>) -> Self {
        Self {
            version: 1,
            format,
            checkpoints: checkpoints.into_iter().map(ExportedCheckpoint::of).collect(),
            tags: Vec::new(),
            notes: 0,
            records: 0,
            transcripts: Vec::new(),
            prerequisites: Vec::new(),
            files: 0,
            commits: 0,
            left_out: Vec::new(),
        }
    }
}

/// A checkpoint that was exported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ExportedCheckpoint {
    /// Its id.
    #[serde(serialize_with = "id_text::serialize")]
    pub(crate) id: ObjectId,
    /// The commit that it stands on.
    pub(crate) base: Base,
    /// Its subject.
    pub(crate) subject: String,
}

impl ExportedCheckpoint {
    fn of(checkpoint: &Checkpoint) -> Self {
        let &Checkpoint { id, base, ref subject, .. } = checkpoint;
        Self { id, base, subject: subject.clone() }
    }
}

/// A commit that must be there where a file is imported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Prerequisite {
    /// Its id.
    #[serde(serialize_with = "id_text::serialize")]
    pub(crate) commit: ObjectId,
    /// The first line of its message.
    pub(crate) subject: String,
}

impl Prerequisite {
    /// Returns the commit `commit` with its subject, as far as it can be read.
    pub(super) fn of(repo: &Repo, commit: ObjectId) -> Self {
        const LONGEST: usize = 200;
        let message = repo.message_of(commit).unwrap_or_default();
        let subject = message.lines().next().unwrap_or_default().chars().take(LONGEST).collect();
        Self { commit, subject }
    }
}
