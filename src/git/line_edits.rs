//! Compares the lines of two blobs with git's own algorithms (imara-diff), so that counts equal `git diff --numstat`.
//!
//! `model::line_diff` prepares the result for display (hunks, words).

use std::ops::Range;

use bstr::ByteSlice as _;
pub use gix::diff::blob::Algorithm;
use gix::diff::blob::{Diff, InternedInput, TokenSource as _, sources::byte_lines};

use super::Repo;
use crate::model::line_diff::Edit;

/// Like git, we look for NUL in this many bytes at the start to distinguish binary files from text.
const FIRST_FEW_BYTES: usize = 8000;

/// Returns true if git treats `data` as binary, unless attributes say otherwise.
pub(crate) fn is_binary(data: &[u8]) -> bool {
    data[..data.len().min(FIRST_FEW_BYTES)].find_byte(0).is_some()
}

/// How `git diff` shows differences in a repository.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown {
    algorithm: Algorithm,
    has_indent_heuristic: bool,
}

impl Shown {
    /// Returns the edits between `before` and `after`, in order.
    pub(crate) fn edits(self, before: &[u8], after: &[u8]) -> Vec<Edit> {
        if self.has_indent_heuristic {
            return edits(self.algorithm, before, after);
        }
        let input = interned(before, after);
        let mut diff = Diff::compute(self.algorithm, &input);
        diff.postprocess_no_heuristic(&input);
        edits_of(&diff)
    }

    /// Returns how many lines were added and deleted between `before` and `after`.
    pub(crate) fn count(self, before: &[u8], after: &[u8]) -> (u32, u32) {
        count(self.algorithm, before, after)
    }
}

impl Repo {
    /// Returns how `git diff` shows differences here.
    pub(crate) fn shown_edits(&self) -> Shown {
        Shown { algorithm: self.diff_algorithm(), has_indent_heuristic: self.has_indent_heuristic() }
    }

    /// Returns false if `diff.indentHeuristic` is off: then `git diff` and `git blame` do not slide hunks to the least indented
    /// position, and so may show another one of several equal lines as new.
    pub(super) fn has_indent_heuristic(&self) -> bool {
        self.config_bool("diff.indentHeuristic").unwrap_or(true)
    }

    /// Returns the algorithm that `diff.algorithm` names; Myers' by default, as in git.
    pub(crate) fn diff_algorithm(&self) -> Algorithm {
        match self.config_value("diff.algorithm").map(|name| name.to_ascii_lowercase()) {
            Some(name) if name == b"histogram" || name == b"patience" => Algorithm::Histogram,
            Some(name) if name == b"minimal" => Algorithm::MyersMinimal,
            _ => Algorithm::Myers,
        }
    }
}

/// Returns how many lines were added and deleted between `before` and `after`.
fn count(algorithm: Algorithm, before: &[u8], after: &[u8]) -> (u32, u32) {
    if before.is_empty() || after.is_empty() {
        return (line_count(after), line_count(before));
    }
    let (before, after) = trim_common_tail(before, after);
    let input = interned(before, after);
    let diff = Diff::compute(algorithm, &input);
    (diff.count_additions(), diff.count_removals())
}

/// Returns the edits between `before` and `after`, in order, shifted by git's indent heuristic.
pub(crate) fn edits(algorithm: Algorithm, before: &[u8], after: &[u8]) -> Vec<Edit> {
    let input = interned(before, after);
    edits_of(&gix::diff::blob::diff_with_slider_heuristics(algorithm, &input))
}

/// Returns the edits that `count` counts, shifted as git does: those of `git diff --numstat` and `git blame` with git's default
/// algorithm.
pub fn counted_edits(algorithm: Algorithm, before: &[u8], after: &[u8]) -> Vec<Edit> {
    if before.is_empty() || after.is_empty() {
        let (old, new) = (line_count(before) as usize, line_count(after) as usize);
        return if old + new == 0 { Vec::new() } else { vec![(0..old, 0..new)] };
    }
    let (before, after) = trim_common_tail(before, after);
    edits(algorithm, before, after)
}

/// Returns the edits with which attribution follows lines from one version of a file to the next.
pub fn step_edits(before: &[u8], after: &[u8]) -> Vec<Edit> {
    edits(Algorithm::Histogram, before, after)
}

/// Returns the edits that git's merge works with (merge-ort.c): there, no hunk slides to the least indented position.
pub(crate) fn merge_edits(before: &[u8], after: &[u8]) -> Vec<Edit> {
    Shown { algorithm: Algorithm::Histogram, has_indent_heuristic: false }.edits(before, after)
}

/// Returns the lines of `after` that were in `before`, in order.
pub(crate) fn kept_lines(before: &[u8], after: &[u8]) -> Vec<Range<usize>> {
    let (mut from, mut kept) = (0, Vec::new());
    for (_, new) in step_edits(before, after) {
        kept.push(from..new.start);
        from = new.end;
    }
    kept.push(from..line_count(after) as usize);
    kept
}

/// Assigns a number to each line of both texts, the same one to equal lines.
///
/// Most lines occur in both texts in the same order: such a line is first compared with the expected one, which is
/// faster than to search for its end and to hash it.
fn interned<'t>(before: &'t [u8], after: &'t [u8]) -> InternedInput<&'t [u8]> {
    let mut input = InternedInput::default();
    input.reserve(byte_lines(before).estimate_tokens(), 0);
    // For each number, the first line of `before` that has it.
    let mut first = Vec::new();
    for line in byte_lines(before) {
        let token = input.interner.intern(line);
        if token.0 as usize == first.len() {
            first.push(input.before.len());
        }
        input.before.push(token);
    }
    input.after.reserve(input.before.len());
    let (mut rest, mut expected) = (after, 0);
    while !rest.is_empty() {
        let token = match input.before.get(expected) {
            Some(&token) if begins_with_line(rest, input.interner[token]) => token,
            _ => {
                let token = input.interner.intern(&rest[..rest.find_byte(b'\n').map_or(rest.len(), |at| at + 1)]);
                expected = first.get(token.0 as usize).copied().unwrap_or(expected);
                token
            }
        };
        expected += 1;
        rest = &rest[input.interner[token].len()..];
        input.after.push(token);
    }
    input
}

fn begins_with_line(text: &[u8], line: &[u8]) -> bool {
    text.starts_with(line) && (line.ends_with(b"\n") || line.len() == text.len())
}

pub(super) fn edits_of(diff: &Diff) -> Vec<Edit> {
    let range = |range: Range<u32>| range.start as usize..range.end as usize;
    diff.hunks().map(|hunk| (range(hunk.before), range(hunk.after))).collect()
}

fn line_count(text: &[u8]) -> u32 {
    let terminated = text.find_iter(b"\n").count();
    let count = terminated + usize::from(text.last().is_some_and(|&byte| byte != b'\n'));
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Cuts off the common end in the same steps as git (xdiff-interface.c): otherwise, the counts would differ.
fn trim_common_tail<'t>(before: &'t [u8], after: &'t [u8]) -> (&'t [u8], &'t [u8]) {
    const BLOCK: usize = 1024;
    let smaller = before.len().min(after.len());
    let tail = |text: &'t [u8], trimmed: usize| &text[text.len() - trimmed - BLOCK..text.len() - trimmed];
    let mut trimmed = 0;
    while trimmed + BLOCK <= smaller && tail(before, trimmed) == tail(after, trimmed) {
        trimmed += BLOCK;
    }
    let kept = before[before.len() - trimmed..].find_byte(b'\n').map_or(trimmed, |at| at + 1);
    let trimmed = trimmed - kept.min(trimmed);
    (&before[..before.len() - trimmed], &after[..after.len() - trimmed])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The fast path for common lines assigns the same numbers as the slow one.
        #[test]
        fn lines_are_numbered_alike(before in "[ab\r\n]{0,20}", after in "[ab\r\n]{0,20}", common in "[abc\n]{0,20}") {
            for (before, after) in [(before.clone(), after.clone()), (before + &common, after + &common)] {
                let quick = interned(before.as_bytes(), after.as_bytes());
                let plain = InternedInput::new(byte_lines(before.as_bytes()), byte_lines(after.as_bytes()));
                prop_assert_eq!(&quick.before, &plain.before);
                prop_assert_eq!(&quick.after, &plain.after);
                prop_assert_eq!(quick.interner.num_tokens(), plain.interner.num_tokens());
            }
        }
    }
}
