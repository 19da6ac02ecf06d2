//! Lines that a record has in one file and another version of its commit has in another one.
//!
//! Only the two end states are known, so the evidence is stronger than in a step: of the lines in a row that a file has lost, half must
//! have gone to the other files, and of the lines in a row that another file has gained, half must come from such files. A licence or
//! imports that two files begin with are less than that.

use bstr::ByteSlice as _;

use super::{
    AuthorId, Differ, Owner, Span, TELLING_LETTERS, TELLING_LINES,
    align::{is_letter_or_digit, is_telling},
    carry::{Version, carry_all},
    spans,
};
use crate::model::line_diff::Edit;

/// A file that may have gained lines.
#[derive(Clone, Copy, Debug)]
pub struct Target<'t> {
    /// The content before.
    pub before: &'t [u8],
    /// The content now.
    pub after: &'t [u8],
}

/// Lines in a row that a file has lost or gained: how many of them tell something, and how many of these were moved.
#[derive(Clone, Copy, Default)]
struct Row {
    all: usize,
    moved: usize,
    /// How many letters and digits the moved ones have.
    letters: usize,
}

impl Row {
    fn is_half(self) -> bool {
        self.moved > 0 && self.moved * 2 >= self.all
    }
}

/// The rows of several files: by file and line, which row it is in.
struct Rows {
    of: Vec<Vec<Option<usize>>>,
    all: Vec<Row>,
}

impl Rows {
    /// Returns the rows of files with these lines: those that `edits` name for each.
    fn new<'e>(files: impl Iterator<Item = (&'e [u8], Vec<std::ops::Range<usize>>)>) -> Self {
        let mut rows = Self { of: Vec::new(), all: Vec::new() };
        for (text, edits) in files {
            let lines: Vec<&[u8]> = text.lines_with_terminator().collect();
            let mut of = vec![None; lines.len()];
            for edit in edits.into_iter().filter(|edit| !edit.is_empty()) {
                let all = lines[edit.clone()].iter().filter(|line| is_telling(line)).count();
                of[edit].fill(Some(rows.all.len()));
                rows.all.push(Row { all, ..Row::default() });
            }
            rows.of.push(of);
        }
        rows
    }

    fn note(&mut self, file: usize, line: usize, text: &[u8]) {
        if let Some(row) = self.of[file][line].filter(|_| is_telling(text)) {
            self.all[row].moved += 1;
            self.all[row].letters += text.iter().filter(|byte| is_letter_or_digit(**byte)).count();
        }
    }

    fn of(&self, file: usize, line: usize) -> Row {
        self.of[file][line].map(|row| self.all[row]).unwrap_or_default()
    }
}

/// How many lines in a row are evidence of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enough {
    /// Half of the row or more, and at least three lines.
    Half,
    /// The same, or a shorter row as a whole.
    HalfOrAll,
}

/// Returns the spans of the lines in the files `to` that come from the recorded files `from`, if they are `enough`. A line that `is_moved`
/// accepts by its file and number, from 0, is known to be moved, so that it needs no other evidence.
pub fn moved_on(
    differ: &Differ<'_>,
    from: &[Version<'_>],
    to: &[Target<'_>],
    enough: Enough,
    is_moved: &dyn Fn(usize, usize) -> bool,
) -> Vec<Vec<Span>> {
    const OTHER: AuthorId = AuthorId::MAX;
    // Each recorded line gets a number, which the line that it has become has for its owner.
    let mut numbers: Vec<(usize, usize)> = Vec::new();
    let mut numbered = Vec::with_capacity(from.len());
    for (file, version) in from.iter().enumerate() {
        let first = numbers.len();
        numbers.extend((0..version.before.lines_with_terminator().count()).map(|line| (file, line)));
        let number = |line: usize| AuthorId::try_from(first + line).unwrap_or(OTHER);
        numbered.push(spans((0..numbers.len() - first).map(|line| (line, Owner::Author(number(line))))));
    }
    let new = to.iter().map(|it| Version { spans: &[], before: it.before, after: it.after });
    let old = from.iter().zip(&numbered).map(|(it, spans)| Version { spans, ..*it });
    let mut carried = carry_all(differ, &new.chain(old).collect::<Vec<_>>(), OTHER);
    carried.truncate(to.len());
    let edits = |before: &[u8], after: &[u8]| -> Vec<Edit> { differ.edits(before, after) };
    let lost = from.iter().map(|it| (it.before, edits(it.before, it.after).into_iter().map(|it| it.0).collect()));
    let gained = to.iter().map(|it| (it.after, edits(it.before, it.after).into_iter().map(|it| it.1).collect()));
    let (mut lost, mut gained) = (Rows::new(lost), Rows::new(gained));
    let mut found = Vec::new();
    for (file, (spans, target)) in carried.iter().zip(to).enumerate() {
        let lines: Vec<&[u8]> = target.after.lines_with_terminator().collect();
        for span in spans {
            for (line, text) in lines.iter().enumerate().take(span.end as usize).skip(span.start as usize - 1) {
                let Owner::Author(number) = span.owner else { continue };
                let Some(origin) = numbers.get(number as usize) else { continue };
                lost.note(origin.0, origin.1, text);
                gained.note(file, line, text);
                found.push((file, line, *origin));
            }
        }
    }
    let is_long = |row: Row| row.moved >= TELLING_LINES || enough == Enough::HalfOrAll && row.moved == row.all;
    let is_enough = |row: Row| row.is_half() && is_long(row) && row.letters >= TELLING_LETTERS;
    found.retain(|(file, line, origin)| {
        is_moved(*file, *line) || lost.of(origin.0, origin.1).is_half() && is_enough(gained.of(*file, *line))
    });
    let owner = |(file, line): (usize, usize)| {
        let spans = from[file].spans;
        let at = spans.partition_point(|span| (span.end as usize) <= line);
        spans.get(at).filter(|span| span.start as usize <= line + 1).map(|span| span.owner)
    };
    let of_file = |at: usize| {
        let lines = found.iter().filter(move |(file, ..)| *file == at);
        spans(lines.filter_map(|(_, line, origin)| Some((*line, owner(*origin)?))))
    };
    (0..to.len()).map(of_file).collect()
}
