//! Finds lines of a record that another version of its commit has in other files: somebody has moved them before an amend, or a later
//! commit has, and both were squashed.
//!
//! The difference from what the record left to the other version counts as one step, as it does within a file: the replay's rules for
//! moved lines decide.

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::moved_lines::{MOST_BYTES, MOST_CHANGED, differing};
use crate::{
    git::{Repo, line_edits::step_edits},
    model::{
        attribution::{
            AuthorId, Differ, Span,
            carry::{Version, carry_all},
        },
        change::{Change, Leaf, Mode},
    },
    ops::share::Differing,
};

/// A recorded file, and what the other version of the commit has there.
pub(crate) struct Left {
    pub(crate) path: BString,
    spans: Vec<Span>,
    before: Vec<u8>,
    after: Vec<u8>,
    lost: Differing,
}

impl Left {
    /// Returns the recorded file at `path`, which is `blob` with these spans, if it lost lines in the other version, which has `now`
    /// there. Reads at most `bytes_left`, and counts what it reads.
    pub(crate) fn of(
        repo: &Repo,
        (path, spans): (&BString, &[Span]),
        blob: ObjectId,
        now: Option<Leaf>,
        bytes_left: &mut u64,
    ) -> Option<Self> {
        let change = Change::between(path.clone(), Some(Leaf { id: blob, mode: Mode::File }), now)?;
        if spans.is_empty() || !repo.has_object(blob) {
            return None;
        }
        let [before, after] = differing(repo, &change, bytes_left)?;
        let lost = Differing::in_one(&before, &after)?;
        Some(Self { path: path.clone(), spans: spans.to_vec(), before, after, lost })
    }

    /// Returns the recorded lines with spans.
    pub(super) fn lines(&self) -> impl Iterator<Item = &[u8]> {
        lines_of(&self.before, &self.spans, |_| true)
    }
}

/// What the other version of a commit adds to a file.
pub(crate) struct Gained<'t> {
    before: std::borrow::Cow<'t, [u8]>,
    pub(crate) after: std::borrow::Cow<'t, [u8]>,
    lines: Differing,
}

impl<'t> Gained<'t> {
    /// Returns what `after` has and `before` does not have; none if that is too little to be moved from elsewhere.
    pub(crate) fn of(before: &'t [u8], after: &'t [u8]) -> Option<Self> {
        let lines = Differing::in_one(after, before)?;
        Some(Self { before: before.into(), after: after.into(), lines })
    }

    /// Returns what `changes` add to their files. Of very many or very large changes, it returns only a part.
    pub(super) fn all(repo: &Repo, changes: &[Change]) -> Vec<Gained<'static>> {
        let mut bytes_left = MOST_BYTES;
        let gained = changes.iter().take(MOST_CHANGED).filter_map(|change| {
            let [before, after] = differing(repo, change, &mut bytes_left)?;
            let lines = Differing::in_one(&after, &before)?;
            Some(Gained { before: before.into(), after: after.into(), lines })
        });
        gained.collect()
    }
}

/// Returns the spans of the lines in `gained` that come from the files `left`; none if no line does. All others are `author`'s.
pub(crate) fn moved_on(left: &[&Left], gained: &[&Gained<'_>], author: AuthorId) -> Option<Vec<Vec<Span>>> {
    let is_source = |it: &&&Left| gained.iter().any(|gained| gained.lines.shares_lines(&it.lost));
    let left: Vec<&&Left> = left.iter().filter(is_source).collect();
    if left.is_empty() {
        return None;
    }
    let to = gained.iter().map(|it| Version { spans: &[], before: &it.before, after: &it.after });
    let from = left.iter().map(|it| Version { spans: &it.spans, before: &it.before, after: &it.after });
    let files: Vec<Version<'_>> = to.chain(from).collect();
    let mut spans = carry_all(&Differ::new(&step_edits, &step_edits), &files, author);
    spans.truncate(gained.len());
    Some(spans)
}

/// Returns the lines of `after` that `spans` have and that `accepts` by their span.
pub(super) fn lines_of<'t>(
    after: &'t [u8],
    spans: &'t [Span],
    accepts: impl Fn(&Span) -> bool + 't,
) -> impl Iterator<Item = &'t [u8]> {
    let lines: Vec<&[u8]> = after.lines().collect();
    let numbers = spans.iter().filter(move |span| accepts(span)).flat_map(|span| span.start..=span.end);
    numbers.filter_map(move |number| lines.get(number as usize - 1).copied())
}
