//! Lines in a row that a step took out of a file, and whether a file has them.

use std::collections::HashMap;

use bstr::{BString, ByteSlice as _};

use super::{
    Owner, TELLING_LETTERS, TELLING_LINES,
    align::{digest, is_letter_or_digit, is_telling, key},
    file::{Deleted, File, Line},
};

/// A replay reads and compares no more lines than this: very many equal ones, or very many steps with large files, would take long.
const MOST_COMPARED: usize = 4_000_000;
/// If more lines than this are kept between two steps, they are forgotten: they would take much memory.
const MOST_KEPT: usize = 1_000_000;

/// Lines in a row that a step took out of a file, from the first to the last one with a letter or a digit.
pub(super) struct Lost {
    pub(super) path: BString,
    pub(super) lines: Vec<(Box<[u8]>, Line)>,
    /// The digest of each telling line.
    pub(super) digests: Vec<u64>,
}

impl Lost {
    /// Returns the lines of `row`; none if they are too common to be evidence.
    pub(super) fn of(path: &BString, row: &[Deleted]) -> Option<Self> {
        let tells = |it: &Deleted| is_telling(&it.grave.text);
        let (first, last) = (row.iter().position(tells)?, row.iter().rposition(tells)?);
        let row = &row[first..=last];
        let digests: Vec<u64> = row.iter().filter(|it| tells(it)).map(|it| digest(&it.grave.text)).collect();
        let letters = |it: &Deleted| it.grave.text.iter().filter(|byte| is_letter_or_digit(**byte)).count();
        if digests.len() < TELLING_LINES || row.iter().map(letters).sum::<usize>() < TELLING_LETTERS {
            return None;
        }
        let lines = row.iter().map(|it| (it.grave.text.clone(), it.grave.line)).collect();
        Some(Self { path: path.clone(), lines, digests })
    }

    /// Returns the lines `lines` of the file at `path`, however common they are.
    pub(super) fn whole(path: BString, lines: Vec<(Box<[u8]>, Line)>) -> Self {
        let digests = lines.iter().filter(|(text, _)| is_telling(text)).map(|(text, _)| digest(text)).collect();
        Self { path, lines, digests }
    }

    /// Returns true if the lines of the file at `path` from `at` on are these.
    pub(super) fn is_at(&self, file: &File, path: &BString, at: usize, known: &mut Known) -> bool {
        if known.compared > MOST_COMPARED || at + self.lines.len() > file.lines.len() {
            return false;
        }
        let text = known.text(path, file);
        let equal = self.lines.iter().zip(at..).take_while(|((own, _), at)| key(text.line(*at)) == key(own)).count();
        known.compared += equal + 1;
        equal == self.lines.len()
    }

    /// Returns true if the file at `path` has these lines from `at` on, and a later step has written them there and nothing beside them.
    pub(super) fn is_copied_to(&self, file: &File, path: &BString, at: usize, known: &mut Known) -> bool {
        let there = file.lines.get(at..at + self.lines.len()).unwrap_or_default();
        let is_younger = |(copy, (_, own)): (&Line, &(Box<[u8]>, Line))| {
            may_be_copy(copy) && (copy.born > own.born || copy.owner == own.owner)
        };
        let (Some(first), Some(last)) = (there.first(), there.last()) else { return false };
        if !there.iter().zip(&self.lines).all(is_younger) {
            return false;
        }
        let text = known.text(path, file);
        let mut above = (0..at).rev().map(|at| (at, first));
        let mut below = (at + self.lines.len()..file.lines.len()).map(|at| (at, last));
        let is_telling_at = |(at, _): &(usize, &Line)| is_telling(text.line(*at));
        let beside = [above.find(is_telling_at), below.find(is_telling_at)];
        let is_of_step = |(at, end): (usize, &Line)| may_be_copy(&file.lines[at]) && file.lines[at].born == end.born;
        !beside.into_iter().flatten().any(is_of_step) && self.is_at(file, path, at, known)
    }

    /// Returns true if the file that lost the lines has most of them, or if that would take too long.
    pub(super) fn is_still_there(&self, files: &HashMap<BString, File>, known: &mut Known) -> bool {
        files.get(&self.path).is_some_and(|file| {
            if known.compared > MOST_COMPARED {
                return true;
            }
            let there = known.digests(&self.path, file);
            self.digests.iter().filter(|digest| there.contains_key(digest)).count() * 2 > self.digests.len()
        })
    }
}

/// Returns true if the author of a step has written the line, and no earlier one.
pub(super) fn may_be_copy(line: &Line) -> bool {
    line.origin.is_none() && matches!(line.owner, Owner::Author(_))
}

/// What was read of the files as the last step left them: where their lines begin, and their digests.
#[derive(Default)]
pub(super) struct Known {
    /// How many lines were read and compared, in all steps.
    compared: usize,
    /// How many lines were kept of what was read.
    kept: usize,
    starts: HashMap<BString, Vec<usize>>,
    digests: HashMap<BString, HashMap<u64, Vec<usize>>>,
}

/// A text, and where its lines begin.
struct Text<'t> {
    text: &'t [u8],
    starts: &'t [usize],
}

impl Known {
    /// Forgets the files `changed`, which a step has changed, and all files if they are large.
    pub(super) fn forget(&mut self, changed: &[BString]) {
        for path in changed {
            self.starts.remove(path);
            self.digests.remove(path);
        }
        if self.kept > MOST_KEPT {
            *self = Self { compared: self.compared, ..Self::default() };
        }
    }

    fn text<'t>(&'t mut self, path: &BString, file: &'t File) -> Text<'t> {
        let text = file.text();
        let begin = |line: &'t [u8]| line.as_ptr().addr() - text.as_ptr().addr();
        let starts = self.starts.entry(path.clone()).or_insert_with(|| {
            self.compared += file.lines.len();
            self.kept += file.lines.len();
            text.lines_with_terminator().map(begin).collect()
        });
        Text { text, starts }
    }

    pub(super) fn digests(&mut self, path: &BString, file: &File) -> &HashMap<u64, Vec<usize>> {
        self.digests.entry(path.clone()).or_insert_with(|| {
            self.compared += file.lines.len();
            self.kept += file.lines.len();
            let mut places: HashMap<u64, Vec<usize>> = HashMap::new();
            for (at, line) in file.text().lines_with_terminator().enumerate().take(file.lines.len()) {
                places.entry(digest(line)).or_default().push(at);
            }
            places
        })
    }
}

impl Text<'_> {
    fn line(&self, at: usize) -> &[u8] {
        let end = self.starts.get(at + 1).copied().unwrap_or(self.text.len());
        self.starts.get(at).map_or(b"", |start| &self.text[*start..end])
    }
}
