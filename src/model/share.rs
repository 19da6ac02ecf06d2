//! How much of a work is in a place: the only thresholds that decide whether lines come from there.

use super::attribution::TELLING_LETTERS;

/// How many of the lines that a work added are in a file. A line without letters and digits is not counted: it belongs to the
/// line beside it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) held: usize,
    pub(crate) total: usize,
    /// How many letters and digits the lines of one run have: the most of all runs of held lines.
    pub(crate) letters: usize,
    /// True if the file is exactly as the work left it.
    pub(crate) is_exact: bool,
}

/// How much of the work has to be in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Least {
    /// One line, however common: enough if git names the commit that the work comes from. If git only says that the work may be
    /// there, it makes the author doubtful.
    Line,
    /// As [`Share::is_any`].
    Any,
    /// As [`Share::is_half`].
    Half,
}

impl Share {
    /// Returns true if the file contains at least `least` of the work.
    pub(crate) fn is(self, least: Least) -> bool {
        match least {
            Least::Line => self.is_exact || self.held > 0,
            Least::Any => self.is_any(),
            Least::Half => self.is_half(),
        }
    }

    /// Returns true if the file contains some of the work: enough evidence if git says that the work may be there, or if the work
    /// was in this file before. Single common lines are none: a person may have typed them.
    pub(crate) fn is_any(self) -> bool {
        self.is_exact || self.held * 2 > self.total || is_telling(self.letters)
    }

    /// Returns true if the file contains half of the work or more: enough evidence if there is only the content to go by.
    pub(crate) fn is_half(self) -> bool {
        self.is_any() && (self.is_exact || self.held * 2 >= self.total)
    }

    /// Returns true if the file contains all of the work, so that no later commit can take more of it.
    pub(crate) fn is_all(self) -> bool {
        self.is_exact || self.total > 0 && self.held == self.total
    }
}

/// Returns true if a run of lines with so many letters and digits is evidence by itself.
pub(crate) fn is_telling(letters: usize) -> bool {
    letters >= TELLING_LETTERS
}

/// Returns how many letters and digits `line` has; all that is not ASCII counts as one.
pub(crate) fn letters(line: &[u8]) -> usize {
    line.iter().filter(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii()).count()
}
