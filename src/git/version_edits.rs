//! Compares the versions of a file one after the other. The lines of a version are found and numbered once, though it is compared
//! with the one before it and with the one after it.

use std::{
    cell::RefCell,
    collections::VecDeque,
    hash::{Hash, Hasher},
    ops::Range,
    rc::Rc,
};

use bstr::ByteSlice as _;
use gix::diff::blob::{Algorithm, Diff, IndentHeuristic, IndentLevel, Interner, Token};

use super::line_edits::{edits_of, step_edits};
use crate::model::{common_ends::common_start, line_diff::Edit};

/// How many bytes of texts are kept for later comparisons.
const MOST_BYTES: usize = 16 << 20;
/// Shorter texts are compared as if no version had been seen before: to keep them would take longer.
const LEAST_BYTES: usize = 64 << 10;
/// As wide as a tab is in git's indent heuristic.
const TAB_WIDTH: u8 = 8;

/// The versions that were compared last.
pub(crate) struct VersionEdits {
    /// The fewest bytes of a text that is kept.
    least: usize,
    kept: RefCell<VecDeque<Version>>,
}

impl Default for VersionEdits {
    fn default() -> Self {
        Self { least: LEAST_BYTES, kept: RefCell::default() }
    }
}

impl VersionEdits {
    /// Returns what [`step_edits`] returns for the parts of two texts that are left without so many
    /// bytes at both ends, whole lines that both have.
    pub(crate) fn edits(&self, [before, after]: [&[u8]; 2], [top, bottom]: [usize; 2]) -> Vec<Edit> {
        if before.len() < self.least {
            return step_edits(&before[top..before.len() - bottom], &after[top..after.len() - bottom]);
        }
        let mut kept = self.kept.borrow_mut();
        let known = kept.iter().position(|version| *version.text == *before);
        let mut version = known.and_then(|at| kept.remove(at)).unwrap_or_else(|| Version::new(before));
        let next = version.lines_of(after);
        let old = &version.lines.numbers[version.lines.within(top, before.len() - bottom)];
        let new = &next.numbers[next.within(top, after.len() - bottom)];
        let mut diff = Diff::default();
        diff.compute_with(Algorithm::Histogram, old, new, version.numbered.num_tokens());
        let bytes = |number| version.numbered[number].bytes().iter().copied();
        let indent = |number| IndentLevel::for_ascii_line(bytes(number), TAB_WIDTH);
        diff.postprocess_with(old, new, IndentHeuristic::new(indent));
        (version.text, version.lines) = (after.into(), next);
        if !version.is_mostly_gone() {
            kept.push_back(version);
        }
        let size = |kept: &VecDeque<Version>| kept.iter().map(|version| version.text.len()).sum::<usize>();
        while kept.len() > 1 && size(&kept) > MOST_BYTES {
            kept.pop_front();
        }
        edits_of(&diff)
    }
}

/// A version of a file.
struct Version {
    text: Rc<[u8]>,
    lines: Lines,
    /// Its lines, and those of the versions before it.
    numbered: Interner<Line>,
}

/// The lines of a text.
#[derive(Default)]
struct Lines {
    /// Where they end.
    ends: Vec<usize>,
    /// The same number for equal lines.
    numbers: Vec<Token>,
}

/// A line, as a part of a text.
struct Line(Rc<[u8]>, Range<usize>);

impl Line {
    fn bytes(&self) -> &[u8] {
        &self.0[self.1.clone()]
    }
}

impl PartialEq for Line {
    fn eq(&self, other: &Self) -> bool {
        self.bytes() == other.bytes()
    }
}

impl Eq for Line {}

impl Hash for Line {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.bytes().hash(state);
    }
}

impl Lines {
    fn push(&mut self, end: usize, number: Token) {
        self.ends.push(end);
        self.numbers.push(number);
    }

    /// Returns the lines between two places in the text, each of which is between two lines.
    fn within(&self, from: usize, to: usize) -> Range<usize> {
        let line_at = |place: usize| self.ends.partition_point(|end| *end <= place);
        line_at(from)..line_at(to)
    }
}

impl Version {
    fn new(text: &[u8]) -> Self {
        let text: Rc<[u8]> = text.into();
        let (mut lines, mut numbered) = (Lines::default(), Interner::new(0));
        let mut start = 0;
        for line in text.lines_with_terminator() {
            let end = start + line.len();
            lines.push(end, numbered.intern(Line(Rc::clone(&text), start..end)));
            start = end;
        }
        Self { text, lines, numbered }
    }

    /// Returns the lines of `text`, the next version. Most of them are those of this one, in the same order: no line of a common part
    /// is looked at alone.
    fn lines_of(&mut self, text: &[u8]) -> Lines {
        let mut found = Lines::default();
        found.ends.reserve(self.lines.ends.len());
        found.numbers.reserve(self.lines.ends.len());
        let (mut at, mut expected) = (0, 0usize);
        let mut places = None;
        while at < text.len() {
            let start = expected.checked_sub(1).map_or(0, |last| self.lines.ends[last]);
            let common = expected..self.common_until(expected, start, &text[at..]);
            if common.is_empty() {
                let end = text[at..].find_byte(b'\n').map_or(text.len(), |feed| at + feed + 1);
                let known = self.numbered.num_tokens();
                let number = self.numbered.intern(Line(text[at..end].into(), 0..end - at));
                if number.0 < known {
                    let places = places.get_or_insert_with(|| self.places());
                    expected = places.get(number.0 as usize).copied().flatten().unwrap_or(expected);
                }
                expected = (expected + 1).min(self.lines.ends.len());
                found.push(end, number);
                at = end;
            } else {
                found.ends.extend(self.lines.ends[common.clone()].iter().map(|end| end - start + at));
                found.numbers.extend_from_slice(&self.lines.numbers[common.clone()]);
                at += self.lines.ends[common.end - 1] - start;
                expected = common.end;
            }
        }
        found
    }

    /// Returns the line after those that `text` begins with, from the line `first` on, which begins at `start`.
    fn common_until(&self, first: usize, start: usize, text: &[u8]) -> usize {
        let common = common_start(&self.text[start..], text);
        let until = first + self.lines.ends[first..].partition_point(|end| end - start <= common);
        // The last line may be the beginning of a longer one.
        let is_cut =
            until > first && start + common == self.text.len() && !self.text.ends_with(b"\n") && common < text.len();
        until - usize::from(is_cut)
    }

    /// Returns the first line that has each number; none for lines of earlier versions.
    fn places(&self) -> Vec<Option<usize>> {
        let mut places = vec![None; self.numbered.num_tokens() as usize];
        for (line, number) in self.lines.numbers.iter().enumerate().rev() {
            places[number.0 as usize] = Some(line);
        }
        places
    }

    /// Returns true if most of the numbered lines are in earlier versions only.
    fn is_mostly_gone(&self) -> bool {
        self.numbered.num_tokens() as usize > 2 * self.lines.numbers.len()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// A version compares as if no other had been seen before it.
        #[test]
        fn versions_compare_as_texts_do(versions in proptest::collection::vec("[ab{}\n]{0,40}", 1..8), end in "[ab\n]{0,9}") {
            let edits = VersionEdits { least: 0, ..VersionEdits::default() };
            for pair in versions.windows(2) {
                let (before, after) = (format!("{end}\n{}\n{end}", pair[0]), format!("{end}\n{}\n{end}", pair[1]));
                let ends = [end.len() + 1, end.len()];
                let part = |text: &str| text.as_bytes()[ends[0]..text.len() - ends[1]].to_vec();
                let expected = step_edits(&part(&before), &part(&after));
                prop_assert_eq!(edits.edits([before.as_bytes(), after.as_bytes()], ends), expected.clone());
                let (before, after) = (part(&before), part(&after));
                prop_assert_eq!(edits.edits([&before, &after], [0, 0]), expected);
            }
        }
    }
}
