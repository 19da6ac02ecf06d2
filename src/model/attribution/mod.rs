//! Line attribution: replays the changes between a commit's parent and the commit, step by step.
//!
//! Each step has an author, and each line an owner. A line that a step leaves alone keeps its owner, and an inserted
//! one belongs to the author; `work`, `moves` and `words` have the rules where a plain diff is wrong. Git decides which
//! lines count as added or deleted between the parent and the commit. No I/O here: the caller provides contents and the
//! diff algorithm.

use bstr::BString;

use super::{contributor::Contributor, line_diff::Edit};

mod align;
pub mod carry;
pub mod combine;
mod file;
mod finish;
pub mod kind;
mod lost;
mod moved_later;
pub mod moved_on;
mod moves;
mod put_back;
mod replay;
pub mod summary;
#[cfg(test)]
mod tests;
pub mod text;
mod words;
mod work;

pub(crate) use align::is_letter_or_digit;
pub use replay::Replay;

/// With this many letters and digits, a line is evidence of where it comes from, though it stands alone: one common line such as
/// `return None` is none. git-blame(1) has the same minimum for a move.
pub(crate) const TELLING_LETTERS: usize = 20;

/// So many lines together are evidence of where they come from.
pub(crate) const TELLING_LINES: usize = 3;

/// Who made a step.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Author {
    /// What kind of contributor.
    pub contributor: Contributor,
    /// The session of an agent.
    pub session: Option<String>,
    /// The turn of the session, from 1.
    pub turn: Option<u32>,
    /// The agent's name.
    pub agent: Option<String>,
    /// The agent's model.
    pub model: Option<String>,
    /// The subagent of the agent that did it, if it was not the agent itself.
    pub agent_id: Option<String>,
}

impl Author {
    /// Returns an author of whom only the kind is known.
    pub fn plain(contributor: Contributor) -> Self {
        Self { contributor, session: None, turn: None, agent: None, model: None, agent_id: None }
    }
}

/// An index into a table of authors that the caller keeps.
pub type AuthorId = u32;

/// Who wrote a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Owner {
    /// The line is older than the first step.
    Base,
    /// Who wrote it.
    Author(AuthorId),
    /// Someone edited the line of someone else.
    Mixed {
        /// The editor.
        of: AuthorId,
        /// The earlier owner; none for a base line.
        over: Option<AuthorId>,
        /// The percentage of the line that the editor wrote.
        share: u8,
    },
}

impl Owner {
    /// Returns who edited the line last; none for a base line.
    pub(crate) fn author(self) -> Option<AuthorId> {
        match self {
            Self::Base => None,
            Self::Author(id) | Self::Mixed { of: id, .. } => Some(id),
        }
    }
}

/// The content of a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Content {
    /// As stored by git. Without lines if git treats it as binary.
    Bytes(Vec<u8>),
    /// Content without lines: a submodule, a symbolic link, or a file that attributes declare binary. The bytes show
    /// whether it changed.
    Opaque(Vec<u8>),
}

/// What a step changes in one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The path, after the step.
    pub path: BString,
    /// The path before it, if the step renames the file (not for a copy).
    pub from: Option<BString>,
    /// The content before the step. Needed only if [`Replay::knows`] returns false for the file.
    pub before: Option<Content>,
    /// The content after it; none if the step deletes the file.
    pub after: Option<Content>,
    /// The owners of lines that the step has from elsewhere: what it adds and these do not own is the author's.
    pub moved: Option<FileOwnership>,
}

/// A file that differs between the parent and the commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    /// The path in the commit, or in the parent if the commit deletes the file.
    pub path: BString,
    /// The path in the parent, if the commit's diff shows a rename.
    pub from: Option<BString>,
    /// The content in the parent, at `from` if that is set.
    pub before: Option<Content>,
    /// The content in the commit.
    pub after: Option<Content>,
    /// The edits, where those of [`Differ::counted`] differ from git's.
    pub edits: Option<Vec<Edit>>,
    /// The presumed author of the difference between the last step and the commit.
    pub author: AuthorId,
}

/// Returns how the lines of two texts differ, in order.
pub type Compare<'d> = &'d dyn Fn(&[u8], &[u8]) -> Vec<Edit>;

/// The same for two versions of a file, `[before, after]`, less so many bytes at both ends, whole lines: counts in the part that is
/// left. The version after is often the one before the next step.
pub type CompareVersions<'d> = &'d dyn Fn([&[u8]; 2], [usize; 2]) -> Vec<Edit>;

/// How lines are compared: the caller provides git's algorithms.
#[derive(Clone, Copy)]
pub struct Differ<'d> {
    steps: Compare<'d>,
    versions: Option<CompareVersions<'d>>,
    counted: Compare<'d>,
}

impl<'d> Differ<'d> {
    /// Compares the changes of a step by `steps` (histogram, with git's indent heuristic), and what a commit adds and deletes by
    /// `counted` (as `git diff --numstat` counts by default).
    pub fn new(steps: Compare<'d>, counted: Compare<'d>) -> Self {
        Self { steps, versions: None, counted }
    }

    /// Compares a file before and after a step by `versions`, which returns what `steps` does, and is quicker.
    #[must_use]
    pub fn with_versions(self, versions: CompareVersions<'d>) -> Self {
        Self { versions: Some(versions), ..self }
    }

    /// Returns how two texts differ.
    fn edits(&self, before: &[u8], after: &[u8]) -> Vec<Edit> {
        (self.steps)(before, after)
    }

    /// Returns how a file differs before and after a step, less so many bytes at both ends, whole lines.
    fn edits_of_versions(&self, texts: [&[u8]; 2], [top, bottom]: [usize; 2]) -> Vec<Edit> {
        let [before, after] = texts.map(|text| &text[top..text.len() - bottom]);
        self.versions.map_or_else(|| (self.steps)(before, after), |versions| versions(texts, [top, bottom]))
    }
}

/// Lines that the commit adds and that have the same owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// The first line, from 1.
    pub start: u32,
    /// The last line.
    pub end: u32,
    /// Their owner. [`Owner::Base`] for lines that git counts as added though they were only moved or reformatted.
    pub owner: Owner,
}

impl Span {
    /// Returns how many lines they are.
    pub fn count(&self) -> u32 {
        self.end - self.start + 1
    }
}

/// The attribution of a committed file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileOwnership {
    /// The path, as in [`Committed::path`].
    pub path: BString,
    /// The path in the parent, if the commit's diff shows a rename.
    pub from: Option<BString>,
    /// The added lines, in order; all other lines are base lines.
    pub spans: Vec<Span>,
    /// How many base lines each author deleted, ordered by author. An edited base line counts as deleted, too.
    pub removed: Vec<(AuthorId, u32)>,
    /// How many base lines git counts as deleted though they were only moved or formatted.
    pub kept: u32,
    /// The owner of a file without lines.
    pub whole: Option<Owner>,
    /// True if the file was too large to be compared line by line in each step.
    pub is_cut_off: bool,
}

impl FileOwnership {
    /// Returns the owner of `line`, counted from 1.
    pub fn owner(&self, line: u32) -> Owner {
        let at = self.spans.partition_point(|span| span.end < line);
        self.spans.get(at).filter(|span| span.start <= line).map_or(Owner::Base, |span| span.owner)
    }

    /// Returns how many lines git counts as added.
    pub fn added(&self) -> u32 {
        self.spans.iter().map(Span::count).sum()
    }

    /// Returns how many lines git counts as deleted.
    pub fn deleted(&self) -> u32 {
        self.kept + self.removed.iter().map(|(_, count)| count).sum::<u32>()
    }
}

/// The attribution of a commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ownership {
    /// The files, in the order in which they were given.
    pub files: Vec<FileOwnership>,
}

/// Above these sizes, lines are not compared; the result says so.
#[derive(Clone, Copy)]
struct Limits {
    /// Bytes of the differing part of a file.
    file_bytes: usize,
    /// Lines of the differing part of a file.
    lines: usize,
    /// Bytes of replaced lines that are compared word by word, unless as many lines replace them.
    hunk_bytes: usize,
    /// Bytes of a line that is compared word by word.
    line_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { file_bytes: 32 << 20, lines: 1_000_000, hunk_bytes: 64 << 10, line_bytes: 16 << 10 }
    }
}

/// Joins lines, in order, into spans.
pub(crate) fn spans(lines: impl IntoIterator<Item = (usize, Owner)>) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    for (index, owner) in lines {
        let line = u32::try_from(index + 1).unwrap_or(u32::MAX);
        match spans.last_mut() {
            Some(last) if last.owner == owner && last.end + 1 == line => last.end = line,
            _ => spans.push(Span { start: line, end: line, owner }),
        }
    }
    spans
}
