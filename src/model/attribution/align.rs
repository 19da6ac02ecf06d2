//! Which old line each new line is: equal lines, and lines that differ only in blanks.

use std::{
    borrow::Cow,
    cmp::Ordering,
    hash::{DefaultHasher, Hash as _, Hasher as _},
};

use bstr::ByteSlice as _;

use super::{Differ, file::hunk_lines};
use crate::model::line_diff::Edit;

/// A pair of an old and a new line, each by its place.
pub(super) type Pair = (usize, usize);

/// What two contents have in common.
pub(super) struct Alignment {
    /// The lines that replace each other; all lines between them are equal.
    pub(super) hunks: Vec<Edit>,
    /// The pairs of lines in `hunks` that are equal except for blanks, in order.
    pub(super) formatted: Vec<Pair>,
}

impl Alignment {
    /// Aligns the lines of two texts, whose plain diff is `hunks`.
    ///
    /// When nested code gets another indentation, the plain diff takes a `}` for one of another depth that is now indented
    /// as much, and the lines around it do not fit any more. A diff without blanks does not err in this. Both are cut where
    /// they agree, and of each part the one that aligns more lines is used, the plain one if they align as many.
    pub(super) fn new(differ: &Differ<'_>, texts: [&[u8]; 2], hunks: Vec<Edit>) -> Self {
        let mut formatted = Vec::new();
        for ((gone, come), [old, new]) in hunks.iter().zip(hunk_lines(texts, &hunks)) {
            let pairs = pairs_without_blanks(differ, &old, &new).into_iter();
            formatted.extend(pairs.map(|(old, new)| (gone.start + old, come.start + new)));
        }
        let (Some((first_gone, first_come)), Some((last_gone, last_come))) = (hunks.first(), hunks.last()) else {
            return Self { hunks, formatted };
        };
        // Of a single hunk, that was all.
        let all = (first_gone.start..last_gone.end, first_come.start..last_come.end);
        if formatted.is_empty() || hunks.len() == 1 {
            return Self { hunks, formatted };
        }
        let [old, new] = texts.map(|text| text.lines_with_terminator().collect::<Vec<_>>());
        let mut plain = equal_pairs(&hunks);
        plain.extend(&formatted);
        plain.sort_unstable();
        match better_parts(&plain, &within(differ, &old, &new, all.clone())) {
            None => Self { hunks, formatted },
            Some(pairs) => {
                let (equal, formatted): (Vec<Pair>, Vec<Pair>) =
                    pairs.into_iter().partition(|&(at, to)| old[at] == new[to]);
                Self { hunks: hunks_between(&equal, all), formatted }
            }
        }
    }
}

/// Returns the pairs of lines between `hunks`.
fn equal_pairs(hunks: &[Edit]) -> Vec<Pair> {
    let gaps = hunks.windows(2).map(|pair| (pair[0].0.end..pair[1].0.start, pair[0].1.end..));
    gaps.flat_map(|(old, new)| old.zip(new)).collect()
}

/// Returns the hunks between the lines of `(gone, come)` that are equal.
fn hunks_between(equal: &[Pair], (gone, come): Edit) -> Vec<Edit> {
    let mut hunks = Vec::new();
    let (mut old, mut new) = (gone.start, come.start);
    for &(next_old, next_new) in equal.iter().chain([&(gone.end, come.end)]) {
        if (old, new) != (next_old, next_new) {
            hunks.push((old..next_old, new..next_new));
        }
        (old, new) = (next_old + 1, next_new + 1);
    }
    hunks
}

/// Returns the pairs of lines of `(gone, come)` that are equal except for blanks.
fn within(differ: &Differ<'_>, old: &[&[u8]], new: &[&[u8]], (gone, come): Edit) -> Vec<Pair> {
    let pairs = pairs_without_blanks(differ, &old[gone.clone()], &new[come.clone()]);
    pairs.into_iter().map(|(old, new)| (gone.start + old, come.start + new)).collect()
}

/// Cuts both lists at the pairs that they have in common, and returns the longer one of each part, that of `first` if they are
/// as long; none if that is `first` everywhere.
fn better_parts(first: &[Pair], second: &[Pair]) -> Option<Vec<Pair>> {
    let mut best = Vec::with_capacity(first.len());
    let mut is_other = false;
    let mut take = |best: &mut Vec<Pair>, one: &[Pair], other: &[Pair]| {
        is_other |= other.len() > one.len();
        best.extend_from_slice(if other.len() > one.len() { other } else { one });
    };
    let (mut from, mut from_other) = (0, 0);
    let (mut at, mut at_other) = (0, 0);
    while let (Some(one), Some(other)) = (first.get(at), second.get(at_other)) {
        match one.cmp(other) {
            Ordering::Less => at += 1,
            Ordering::Greater => at_other += 1,
            Ordering::Equal => {
                take(&mut best, &first[from..at], &second[from_other..at_other]);
                best.push(*one);
                (at, at_other) = (at + 1, at_other + 1);
                (from, from_other) = (at, at_other);
            }
        }
    }
    take(&mut best, &first[from..], &second[from_other..]);
    is_other.then_some(best)
}

/// Returns the pairs of lines that are equal except for blanks, in order.
///
/// Runs of lines without a letter or digit are left out: their origin is unclear.
pub(super) fn pairs_without_blanks(differ: &Differ<'_>, old: &[&[u8]], new: &[&[u8]]) -> Vec<Pair> {
    let keys = |lines: &[&[u8]]| -> Vec<u8> {
        lines.iter().fold(Vec::new(), |mut text, line| {
            text.extend_from_slice(&key(line));
            text.push(b'\n');
            text
        })
    };
    if old.is_empty() || new.is_empty() {
        return Vec::new();
    }
    let mut pairs = Vec::new();
    let (mut from, mut to) = (0, 0);
    let end = (old.len()..old.len(), new.len()..new.len());
    for (gone, come) in (differ.steps)(&keys(old), &keys(new)).into_iter().chain([end]) {
        let length = gone.start.saturating_sub(from).min(come.start.saturating_sub(to));
        if old[from..from + length].iter().any(|line| is_telling(line)) {
            pairs.extend((0..length).map(|at| (from + at, to + at)));
        }
        (from, to) = (gone.end, come.end);
    }
    pairs
}

/// Returns the line without blanks and line feed.
pub(super) fn key(line: &[u8]) -> Cow<'_, [u8]> {
    if line.iter().any(u8::is_ascii_whitespace) {
        Cow::Owned(line.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect())
    } else {
        Cow::Borrowed(line)
    }
}

/// Returns a digest of the line without blanks and line feed.
pub(super) fn digest(line: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    key(line).hash(&mut hasher);
    hasher.finish()
}

/// Returns true if the line has a letter or a digit; all that is not ASCII counts as one.
pub(super) fn is_telling(line: &[u8]) -> bool {
    line.iter().any(|byte| is_letter_or_digit(*byte))
}

pub(crate) fn is_letter_or_digit(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || !byte.is_ascii()
}
