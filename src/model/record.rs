//! The record of a commit: what is kept of sessions once their work is committed.
//!
//! gitcheckpoint-format(5) describes how records are stored in refs; `stored` has the text formats.

mod stored;

use std::{
    collections::BTreeMap,
    fmt,
    hash::{BuildHasher as _, Hasher as _},
};

use bstr::BString;
use gix::ObjectId;
use serde::{Serialize, Serializer};

use super::{attribution::summary::Figures, refname::Base, usage::Used};

/// The key of the trailer that names a commit's record.
pub const TRAILER: &str = "Checkpoint";

/// The subject of a commit that joins two logs.
pub(crate) const JOINED: &str = "logs joined";

/// More revisions than this has no record that was made by completing it.
pub(crate) const MOST_REVISIONS: u32 = 1_000_000;

/// Returns true if commits of the logs of records and transcripts have such a subject.
pub(crate) fn is_subject_of_log(subject: &[u8]) -> bool {
    use bstr::ByteSlice as _;
    subject == b"transcripts"
        || subject == JOINED.as_bytes()
        || (subject.ends_with(b" linked") && subject.contains_str(" added or completed, "))
}

/// Returns true if `message` is, to the byte, one that we give commits of the logs.
pub(crate) fn is_message_of_log(message: &[u8]) -> bool {
    let is_count = |text: &str, noun: &str| {
        let number = text.strip_suffix(noun).or_else(|| text.strip_suffix('s')?.strip_suffix(noun));
        number
            .is_some_and(|number| (1..=10).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let Some(subject) = std::str::from_utf8(message).ok().and_then(|message| message.strip_suffix('\n')) else {
        return false;
    };
    let counts = subject.strip_suffix(" linked").and_then(|counts| counts.split_once(" added or completed, "));
    subject == "transcripts"
        || subject == JOINED
        || counts.is_some_and(|(records, links)| is_count(records, " record") && is_count(links, " commit"))
}

/// The name of a record: 16 lower-case hexadecimal digits, random or of the commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordId([u8; 16]);

impl RecordId {
    /// Returns an id that no other record has.
    pub fn random() -> Self {
        // The standard library seeds this from the operating system's randomness.
        let number = std::hash::RandomState::new().build_hasher().finish();
        Self::parse(&format!("{number:016x}")).expect("16 digits")
    }

    /// Returns the id of the record of `commit`, if its message promises none: the last digits of the commit id.
    pub fn of_commit(commit: ObjectId) -> Self {
        let hex = commit.to_string();
        Self::parse(&hex[hex.len() - 16..]).expect("16 digits")
    }

    /// Returns another id of `commit`, for a second record: the first digits of the commit id.
    pub fn second_of_commit(commit: ObjectId) -> Self {
        Self::parse(&commit.to_string()[..16]).expect("16 digits")
    }

    /// Returns the id that `text` is; none if it is anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let digits: [u8; 16] = text.as_bytes().try_into().ok()?;
        digits.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')).then_some(Self(digits))
    }

    /// Returns the digits.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("digits are text")
    }
}

impl fmt::Display for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for RecordId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// Returns the records that the commit message `message` names, in order, without duplicates.
///
/// A line that consists of one of our trailers counts at any place: hosting sites join whole messages when they squash
/// a branch, and `git cherry-pick -x` adds a last line that is no trailer.
pub fn ids_in_message(message: &[u8]) -> Vec<RecordId> {
    use bstr::ByteSlice as _;
    let mut ids = Vec::new();
    for line in message.lines() {
        let Some((key, value)) = line.split_once_str(":") else { continue };
        if !key.eq_ignore_ascii_case(TRAILER.as_bytes()) {
            continue;
        }
        let id = value.trim().to_str().ok().and_then(RecordId::parse);
        ids.extend(id.filter(|id| !ids.contains(id)));
    }
    ids
}

/// What is kept of sessions once their work is committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its name.
    pub id: RecordId,
    /// Counts up when the record is completed; the highest counts.
    pub revision: u32,
    /// The commit it was made for.
    pub commit: ObjectId,
    /// The first parent of that commit.
    pub parent: Option<ObjectId>,
    /// The tree of that commit.
    pub tree: ObjectId,
    /// The stable patch id of that commit, in hexadecimal digits; see git-patch-id(1).
    pub patch_id: Option<String>,
    /// When the commit was made, in Unix seconds.
    pub seconds: i64,
    /// The base of the shadow.
    pub base: Base,
    /// The worktree of the shadow: `main` or git's id of a linked one.
    pub worktree: BString,
    /// The version of git-checkpoint that wrote it.
    pub tool: String,
    /// The sessions whose work is in the commit.
    pub sessions: Vec<SessionPart>,
    /// The files that the commit changes.
    pub files: Vec<RecordFile>,
    /// The number of lines by author.
    pub counts: Counts,
    /// True if it says who wrote each line that the commit adds, so that no other record of the commit is needed for that.
    pub is_whole: bool,
}

/// The part of a session that went into a commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionPart {
    /// The session.
    pub id: String,
    /// The agent's name.
    pub agent: Option<String>,
    /// The model it used.
    pub model: Option<String>,
    /// The turns that changed something in the commit, from 1.
    pub turns: Vec<u32>,
    /// The number of its checkpoints.
    pub checkpoints: u32,
    /// True if the commit was made in the middle of a turn: the transcript may still grow.
    pub is_partial: bool,
    /// What its models have used since the session's record before, by turn and model; empty: nothing was reported.
    pub usage: Vec<Used>,
    /// Where its transcript is, in order.
    pub chunks: Vec<Chunk>,
}

/// A piece of a transcript.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Chunk {
    /// The ref whose tree contains it.
    pub reference: String,
    /// Its path in that tree.
    pub path: String,
    /// The blob.
    pub id: ObjectId,
}

/// A file that the commit changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordFile {
    /// The path.
    pub path: BString,
    /// The blob before; none if the commit adds it.
    pub before: Option<ObjectId>,
    /// The blob after; none if the commit deletes it.
    pub after: Option<ObjectId>,
    /// Which of the record's sessions worked on it; empty: none is known to.
    pub sessions: Vec<usize>,
}

/// The lines that the commit adds, by author, and the base lines that it deletes, by who deleted them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct Counts {
    /// Added by agents.
    pub agent: u32,
    /// Added by people.
    pub human: u32,
    /// Added by one and edited by another.
    pub mixed: u32,
    /// Added by an unknown author.
    pub unknown: u32,
    /// Deleted by agents.
    pub agent_removed: u32,
    /// Deleted by people.
    pub human_removed: u32,
}

impl Counts {
    /// Returns true if all lines that the commit adds are a person's.
    pub(crate) fn are_of_person(&self) -> bool {
        (self.agent, self.mixed, self.unknown) == (0, 0, 0)
    }
}

impl From<&Figures> for Counts {
    fn from(figures: &Figures) -> Self {
        Self {
            agent: figures.agent_lines,
            human: figures.human_added + figures.human_modified,
            mixed: figures.mixed,
            unknown: figures.unknown,
            agent_removed: figures.agent_removed,
            human_removed: figures.human_removed,
        }
    }
}

/// What a person asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct Prompt {
    /// The turn it began, from 1.
    pub turn: u32,
    /// When, in Unix seconds.
    pub seconds: i64,
    /// The text.
    pub text: String,
}

/// How a commit got linked to a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum How {
    /// The record was made for it.
    Commit,
    /// `git commit --amend`.
    Amend,
    /// `git rebase`.
    Rebase,
    /// Several commits became one.
    Squash,
    /// A cherry-pick, or another copy with its trailer.
    Copy,
    /// The same work committed again, after a reset.
    Recommit,
    /// Found again by `doctor --relink`.
    Relink,
}

/// A commit that has a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The record.
    pub record: RecordId,
    /// The commit.
    pub commit: ObjectId,
    /// The commit it was made from; none if it is the first.
    pub from: Option<ObjectId>,
    /// How.
    pub how: How,
    /// The only files of the record whose work the commit has, by their names in the record; empty: all.
    pub only: Vec<BString>,
}

impl Link {
    /// Returns true if the commit may have the work of the record in the file `path`.
    pub(crate) fn has(&self, path: &BString) -> bool {
        self.only.is_empty() || self.only.contains(path)
    }

    /// Adds the files that `other` says, another link of the record to the same commit: that has the work of all files which either
    /// names.
    pub(crate) fn widen(&mut self, other: &Self) {
        if self.only.is_empty() || other.only.is_empty() {
            self.only.clear();
            return;
        }
        self.only.extend(other.only.iter().cloned());
        self.only.sort();
        self.only.dedup();
    }

    /// Returns the link with those of its files alone of which the commit has some work, as `parts` say; none if there are none.
    pub(crate) fn within(mut self, parts: &Parts) -> Option<Self> {
        if let Some(part) = parts.get(&self.record) {
            self.only = part.iter().filter(|path| self.has(path)).cloned().collect();
            (!self.only.is_empty()).then_some(())?;
        }
        Some(self)
    }
}

/// Of records of which a commit has the work of some files only: these files, by their names in the record.
pub type Parts = BTreeMap<RecordId, Vec<BString>>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_sixteen_digits_and_differ() {
        let (one, other) = (RecordId::random(), RecordId::random());
        assert_ne!(one, other);
        assert_eq!(RecordId::parse(&one.to_string()), Some(one));
        for text in
            ["", "0123456789ABCDEF", "0123456789abcde", "0123456789abcdef0", "0123456789abcdeg", "é123456789abcde"]
        {
            assert_eq!(RecordId::parse(text), None, "{text}");
        }
    }

    #[rstest::rstest]
    #[case::records("1 record added or completed, 12 commits linked\n", true)]
    #[case::nothing("0 records added or completed, 0 commits linked\n", true)]
    #[case::joined("logs joined\n", true)]
    #[case::transcripts("transcripts\n", true)]
    #[case::body("logs joined\n\nhello\n", false)]
    #[case::no_line_feed("logs joined", false)]
    #[case::quoted("see 1 record added or completed, 1 commit linked\n", false)]
    #[case::sign("+1 record added or completed, 1 commit linked\n", false)]
    #[case::no_number(" record added or completed, 1 commit linked\n", false)]
    #[case::long("12345678901 records added or completed, 1 commit linked\n", false)]
    fn messages_of_logs(#[case] message: &str, #[case] expected: bool) {
        assert_eq!(is_message_of_log(message.as_bytes()), expected);
    }

    #[rstest::rstest]
    #[case::trailer("s\n\nCheckpoint: 0123456789abcdef\n", &["0123456789abcdef"])]
    #[case::with_others("s\n\nSigned-off-by: x\ncheckpoint:  0123456789abcdef \r\n(cherry picked from commit 1)\n", &["0123456789abcdef"])]
    #[case::squashed("s\n\nCheckpoint: 0000000000000002\n\n* t\n\nCheckpoint: 0000000000000001\nCheckpoint: 0000000000000002", &["0000000000000002", "0000000000000001"])]
    #[case::others("s\n\nCheckpoint-Base: 0123456789abcdef\n Checkpoint: 0123456789abcdef\nCheckpoint: 12\n", &[])]
    fn trailers_are_found(#[case] message: &str, #[case] expected: &[&str]) {
        let found: Vec<String> = ids_in_message(message.as_bytes()).iter().map(ToString::to_string).collect();
        assert_eq!(found, expected);
    }
}
