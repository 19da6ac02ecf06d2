//! Finds lines of a record that another version of its commit has in other files: an amend has moved them, or a later commit that was
//! squashed with the record's. `model::attribution::moved_on` decides; here, the files are read.

use std::borrow::Cow;

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::moved_lines::{MOST_BYTES, MOST_CHANGED, differing};
use crate::{
    git::{Repo, checkout_names::is_valid_path, line_edits::step_edits, ordinary},
    model::{
        attribution::{
            Differ, Owner, Span,
            carry::Version,
            moved_on::{Enough, Target, moved_on},
            spans,
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
        Self::of_texts(path.clone(), spans.to_vec(), before, after)
    }

    /// Returns the file at `path` that lost lines from `before` to `after`, if it lost any. The lines of `spans` count.
    pub(crate) fn of_texts(path: BString, spans: Vec<Span>, before: Vec<u8>, after: Vec<u8>) -> Option<Self> {
        let lost = Differing::in_one(&before, &after)?;
        Some(Self { path, spans, before, after, lost })
    }

    /// Returns the file that the uncommitted `work` left, if it has lost lines since: it is `now`. All lines that the work added have
    /// spans. Reads at most `bytes_left`, and counts what it reads.
    pub(crate) fn of_work(repo: &Repo, work: &Change, now: Option<Leaf>, bytes_left: &mut u64) -> Option<Self> {
        let lost = Change::between(work.path.clone(), work.after, now).filter(|_| work.after.is_some())?;
        let [before, after] = differing(repo, &lost, bytes_left)?;
        let lost = Differing::in_one(&before, &after)?;
        let [base, own] = differing(repo, work, bytes_left)?;
        let added = step_edits(&base, &own).into_iter().flat_map(|(_, added)| added);
        let spans = spans(added.map(|line| (line, Owner::Author(0))));
        (!spans.is_empty()).then_some(Self { path: work.path.clone(), spans, before, after, lost })
    }

    /// Returns true if each line that the file lost is among those that the files `gained` have got.
    pub(crate) fn is_all_in(&self, gained: &[Gained<'_>]) -> bool {
        let is_in = |line: &[u8]| gained.iter().any(|gained| gained.lines.has(line));
        self.lost.lines().all(is_in)
    }

    /// Returns those of the files `gained` that have got lines which this file lost.
    pub(crate) fn sharing<'g, 't>(&self, gained: &'g [Gained<'t>]) -> Vec<&'g Gained<'t>> {
        gained.iter().filter(|gained| gained.lines.shares_lines(&self.lost)).collect()
    }

    /// Returns true if the worktree has the lines at their path. A file that cannot be read there is gone.
    pub(crate) fn is_in_worktree(&self, repo: &Repo, bytes_left: &mut u64) -> bool {
        let path = self.path.as_bstr();
        if !is_valid_path(path, false) || repo.is_behind_link(path) {
            return false;
        }
        let Ok(path) = path.to_path() else { return false };
        let path = repo.worktree_root().join(path);
        // Nothing is read through a symbolic link.
        if !path.symlink_metadata().is_ok_and(|found| found.is_file()) {
            return false;
        }
        let Ok(text) = ordinary::read_beginning(&path, *bytes_left) else { return false };
        *bytes_left = bytes_left.saturating_sub(text.len() as u64);
        Differing::in_one(&self.before, &text).is_none()
    }

    /// Returns the recorded lines with spans.
    pub(super) fn lines(&self) -> impl Iterator<Item = &[u8]> {
        lines_of(&self.before, &self.spans)
    }
}

/// What the other version of a commit adds to a file.
pub(crate) struct Gained<'t> {
    before: Cow<'t, [u8]>,
    pub(crate) after: Cow<'t, [u8]>,
    lines: Differing,
}

impl<'t> Gained<'t> {
    /// Returns what `after` has and `before` does not have; none if that is too little to be moved from elsewhere.
    pub(crate) fn of(before: &'t [u8], after: &'t [u8]) -> Option<Self> {
        let lines = Differing::in_one(after, before)?;
        Some(Self { before: before.into(), after: after.into(), lines })
    }

    /// Returns what `changes` add to their files. Of very many or very large changes, it returns only a part.
    pub(crate) fn all(repo: &Repo, changes: &[Change]) -> Vec<Gained<'static>> {
        let mut bytes_left = MOST_BYTES;
        let gained = changes.iter().take(MOST_CHANGED).filter_map(|change| {
            let [before, after] = differing(repo, change, &mut bytes_left)?;
            let lines = Differing::in_one(&after, &before)?;
            Some(Gained { before: before.into(), after: after.into(), lines })
        });
        gained.collect()
    }
}

/// Returns the spans of the lines in each of `gained` that come from the files `left`; none if no line does. A line that `is_moved`
/// accepts by its file and number, from 0, is known to be moved.
pub(crate) fn spans_from(
    left: &[&Left],
    gained: &[&Gained<'_>],
    enough: Enough,
    is_moved: &dyn Fn(usize, usize) -> bool,
) -> Option<Vec<Vec<Span>>> {
    let is_source = |it: &&&Left| gained.iter().any(|gained| gained.lines.shares_lines(&it.lost));
    let from = left.iter().filter(is_source);
    let from: Vec<Version<'_>> =
        from.map(|it| Version { spans: &it.spans, before: &it.before, after: &it.after }).collect();
    if from.is_empty() {
        return None;
    }
    let to: Vec<Target<'_>> = gained.iter().map(|it| Target { before: &it.before, after: &it.after }).collect();
    Some(moved_on(&Differ::new(&step_edits, &step_edits), &from, &to, enough, is_moved))
}

/// Returns the lines of `text` that `spans` have.
pub(crate) fn lines_of<'t>(text: &'t [u8], spans: &'t [Span]) -> impl Iterator<Item = &'t [u8]> {
    let lines: Vec<&[u8]> = text.lines().collect();
    let numbers = spans
        .iter()
        .flat_map(move |span| (span.start as usize).saturating_sub(1)..(span.end as usize).min(lines.len()));
    let lines: Vec<&[u8]> = text.lines().collect();
    numbers.filter_map(move |number| lines.get(number).copied())
}
