//! How much of a work a file contains: the one place that compares the lines of one change with those of another.
//!
//! Lines are compared without the whitespace around them, in the order of the file. A line without letters and digits is
//! not counted: it belongs to the line beside it.

use std::{collections::HashSet, ops::Range};

use bstr::ByteSlice as _;

use crate::{
    error::Result,
    git::{
        Repo,
        line_edits::{Algorithm, edits},
    },
    model::{
        attribution::{TELLING_LETTERS, TELLING_LINES},
        change::{Change, Leaf},
        common_ends::common_ends,
    },
};

/// How many of the lines that a work added are in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Share {
    held: usize,
    total: usize,
    /// How many letters and digits the held lines have.
    letters: usize,
    /// True if the file is exactly as the work left it.
    is_exact: bool,
}

/// How much of the work has to be in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Least {
    /// One line, however common: enough if git names the commit that the work comes from. If git only says that the work may come
    /// from there, one line is enough to call its author unknown.
    Line,
    /// As [`Share::is_any`].
    Any,
    /// As [`Share::is_half`].
    Half,
    /// The same, in lines so long that a person would not type the same.
    LongHalf,
    /// Half, and so much text that a person would not type the same.
    TellingHalf,
    /// All, and so much text that a person would not type the same.
    Telling,
}

impl Share {
    /// Returns true if the file contains at least `least` of the work.
    pub(crate) fn is(self, least: Least) -> bool {
        match least {
            Least::Line => self.is_exact || self.held > 0,
            Least::Any => self.is_any(),
            Least::Half => self.is_half(),
            Least::LongHalf => self.is_half() && (self.is_exact || self.letters >= TELLING_LETTERS),
            Least::TellingHalf => self.is_half() && self.is_telling(),
            Least::Telling => self.is_all() && self.is_telling(),
        }
    }

    /// Returns true if the file is as the work left it, or has all of it, and so much text that a person would not type the same.
    pub(crate) fn is_copy(self) -> bool {
        self.is_exact || self.is(Least::Telling)
    }

    /// Returns true if a person would not type so much of the text again.
    fn is_telling(self) -> bool {
        self.held >= TELLING_LINES && self.letters >= TELLING_LETTERS
    }

    /// Returns how much the lines `held` are of the lines `all`.
    pub(crate) fn of_lines<'t>(held: impl Iterator<Item = &'t [u8]>, all: impl Iterator<Item = &'t [u8]>) -> Self {
        let held: Vec<usize> = held.map(letters).filter(|letters| *letters > 0).collect();
        let total = all.filter(|line| letters(line) > 0).count();
        Self { held: held.len(), total, letters: held.iter().sum(), is_exact: false }
    }

    /// Returns true if the file contains some of the work: enough evidence if git says that the work may be there.
    pub(crate) fn is_any(self) -> bool {
        self.is_exact || self.held * 2 > self.total || self.letters >= TELLING_LETTERS
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

/// Returns how much of `work` the file `now` contains, beyond what `head`, the file in the commit, has.
pub(crate) fn share(repo: &Repo, work: &Change, head: Option<Leaf>, now: Option<Leaf>) -> Result<Share> {
    share_of(repo, work, None, head, now)
}

/// The same for the lines `own` of the file that `work` left (from 0); none: all that it added.
pub(crate) fn share_of(
    repo: &Repo,
    work: &Change,
    own: Option<&[Range<usize>]>,
    head: Option<Leaf>,
    now: Option<Leaf>,
) -> Result<Share> {
    if now == work.after {
        return Ok(Share { is_exact: true, ..Share::default() });
    }
    if work.after.is_none() || now.is_none() {
        return Ok(Share::default());
    }
    let [before, after, head, now] = [work.before, work.after, head, now].map(|leaf| repo.text_of(leaf));
    let (Some(before), Some(after), Some(head), Some(now)) = (before?, after?, head?, now?) else {
        return Ok(Share::default());
    };
    Ok(of_texts(Work { before: &before, after: &after, own }, &head, &now))
}

/// Returns true if the text that `change` adds is so long that a person would not type the same, or if it is no text.
pub(crate) fn is_telling(repo: &Repo, change: &Change) -> Result<bool> {
    let Some(after) = change.after else { return Ok(false) };
    let [before, after] = [change.before, Some(after)].map(|leaf| repo.text_of(leaf));
    let (Some(before), Some(after)) = (before?, after?) else { return Ok(true) };
    let added = added(&lines(&before), &lines(&after)).into_iter().map(letters).sum::<usize>();
    Ok(added >= TELLING_LETTERS)
}

/// Lines that a file has lost or gained: they may have been moved from it, or to it. The lines of both contents are compared as
/// sets, which is quick; the replay of a step decides which lines were moved.
pub(crate) struct Differing(HashSet<Vec<u8>>);

impl Differing {
    /// Returns the lines that the text `one` has and `other` does not have, if they are enough to be evidence of a move.
    pub(crate) fn in_one(one: &[u8], other: &[u8]) -> Option<Self> {
        let (top, bottom) = common_ends(one, other, 0);
        let (one, other) = (&one[top..one.len() - bottom], &other[top..other.len() - bottom]);
        let other: HashSet<&[u8]> = other.lines().map(bstr::ByteSlice::trim).collect();
        let differing =
            one.lines().map(bstr::ByteSlice::trim).filter(|line| letters(line) > 0 && !other.contains(line));
        Self(differing.map(<[u8]>::to_vec).collect()).if_telling()
    }

    /// Returns true if enough of the lines are also in `other` to be evidence of a move.
    pub(crate) fn shares_lines(&self, other: &Self) -> bool {
        self.0.intersection(&other.0).map(|line| letters(line)).sum::<usize>() >= TELLING_LETTERS
    }

    /// Returns the lines.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().map(Vec::as_slice)
    }

    /// Returns true if `line` is one of them.
    pub(crate) fn has(&self, line: &[u8]) -> bool {
        self.0.contains(line)
    }

    /// Returns true if each of the lines is in one of `others`.
    pub(crate) fn is_all_in(&self, others: &[Self]) -> bool {
        self.0.iter().all(|line| others.iter().any(|other| other.0.contains(line)))
    }

    /// Returns true if these lines and those of `other` are for the most part the same: half or more of both, and enough to be evidence of a
    /// move. Some of them may have been edited on the way.
    pub(crate) fn is_half_in(&self, other: &Self) -> bool {
        let both = self.0.intersection(&other.0).count();
        both >= TELLING_LINES && both * 2 >= self.0.len().max(other.0.len()) && self.shares_lines(other)
    }

    /// Returns true if `text`, which has these lines, has so many of them in a row that are also in `other` that they are no chance.
    pub(crate) fn shares_block(&self, text: &[u8], other: &Self) -> bool {
        let mut length = 0;
        text.lines().map(bstr::ByteSlice::trim).filter(|line| letters(line) > 0).any(|line| {
            length = if self.0.contains(line) && other.0.contains(line) { length + 1 } else { 0 };
            length >= TELLING_LINES
        })
    }

    fn if_telling(self) -> Option<Self> {
        (self.0.iter().map(|line| letters(line)).sum::<usize>() >= TELLING_LETTERS).then_some(self)
    }
}

/// Returns the lines that the text `after` has lost, those in a row together, if they are enough to be evidence of a move.
pub(crate) fn lost_rows(before: &[u8], after: &[u8]) -> Vec<Differing> {
    let (top, bottom) = common_ends(before, after, 0);
    let (before, after) = (&before[top..before.len() - bottom], &after[top..after.len() - bottom]);
    let lines = lines(before);
    let rows = edits(Algorithm::Histogram, before, after).into_iter().filter_map(|(gone, _)| {
        let row = lines.get(gone).unwrap_or_default().iter().filter(|line| letters(line) > 0);
        let row: HashSet<Vec<u8>> = row.map(|line| line.to_vec()).collect();
        (row.len() >= TELLING_LINES).then_some(Differing(row)).and_then(Differing::if_telling)
    });
    rows.collect()
}

/// What a work did to a text.
#[derive(Clone, Copy)]
struct Work<'t> {
    before: &'t [u8],
    after: &'t [u8],
    /// The only lines of `after` that count (from 0); none: all that it added.
    own: Option<&'t [Range<usize>]>,
}

/// Lines without the whitespace around them.
type Lines<'t> = Vec<&'t [u8]>;

fn of_texts(work: Work<'_>, head: &[u8], now: &[u8]) -> Share {
    let (before, after, head, now) = (lines(work.before), lines(work.after), lines(head), lines(now));
    let mut own = match work.own {
        // A stored span may end anywhere.
        Some(own) => {
            let lines = |own: &Range<usize>| after.get(own.start..own.end.min(after.len())).unwrap_or_default();
            own.iter().flat_map(lines).copied().collect()
        }
        None => added(&before, &after),
    };
    own.retain(|line| letters(line) > 0);
    // The commit may have some lines of the work already. These count neither as held nor as missing.
    if before != head {
        let committed: HashSet<usize> = common(&own, &added(&before, &head)).into_iter().collect();
        let mut at = 0..;
        own.retain(|_| at.next().is_none_or(|at| !committed.contains(&at)));
    }
    let held = common(&own, &added(&head, &now));
    let letters = held.iter().map(|at| letters(own[*at])).sum();
    Share { held: held.len(), total: own.len(), letters, is_exact: false }
}

fn lines(text: &[u8]) -> Lines<'_> {
    text.lines().map(bstr::ByteSlice::trim).collect()
}

/// Returns how many letters and digits `line` has.
pub(crate) fn letters(line: &[u8]) -> usize {
    line.iter().filter(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii()).count()
}

/// Returns the lines that `after` adds to `before`, in their order, without those that have no letters and digits.
fn added<'t>(before: &[&[u8]], after: &[&'t [u8]]) -> Lines<'t> {
    let edits = edits(Algorithm::Histogram, &text_of(before), &text_of(after));
    let added = edits.into_iter().flat_map(|(_, range)| after.get(range).unwrap_or_default()).copied();
    added.filter(|line| letters(line) > 0).collect()
}

/// Returns the positions of the lines of `one` that `other` has in the same order.
fn common(one: &[&[u8]], other: &[&[u8]]) -> Vec<usize> {
    let (mut kept, mut at) = (Vec::new(), 0);
    for (gone, _) in edits(Algorithm::Myers, &text_of(one), &text_of(other)) {
        kept.extend(at..gone.start);
        at = gone.end;
    }
    kept.extend(at..one.len());
    kept
}

fn text_of(lines: &[&[u8]]) -> Vec<u8> {
    let mut text = lines.join(&b'\n');
    if !lines.is_empty() {
        text.push(b'\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns which of any, half and all of the work are there.
    fn answers(before: &str, after: &str, own: Option<&[Range<usize>]>, head: &str, now: &str) -> [bool; 3] {
        let work = Work { before: before.as_bytes(), after: after.as_bytes(), own };
        let share = of_texts(work, head.as_bytes(), now.as_bytes());
        [share.is_any(), share.is_half(), share.is_all()]
    }

    const NONE: [bool; 3] = [false, false, false];
    const ANY: [bool; 3] = [true, false, false];
    const HALF: [bool; 3] = [true, true, false];
    const ALL: [bool; 3] = [true, true, true];

    const FOUR: &str = "let first = compute_first();\nlet second = compute_second();\nreturn None\n}\nlet third = 3;\n";

    #[rstest::rstest]
    #[case::nothing("", NONE)]
    #[case::other_lines("let fourth = compute_fourth();\n", NONE)]
    #[case::all(FOUR, ALL)]
    #[case::all_between_others(
        "one\nlet first = compute_first();\nlet second = compute_second();\nreturn None\ntwo\nlet third = 3;\n",
        ALL
    )]
    #[case::indented_and_with_other_ends(
        "\tlet first = compute_first();\r\n  let second = compute_second();  \n return None\n let third = 3;",
        ALL
    )]
    #[case::half("let first = compute_first();\nreturn None\n", HALF)]
    #[case::one_telling_line("let first = compute_first();\n", ANY)]
    #[case::one_common_line("return None\n", NONE)]
    #[case::a_brace("}\n", NONE)]
    #[case::common_lines("return None\n}\n", NONE)]
    #[case::in_another_order("let second = compute_second();\nlet first = compute_first();\n", ANY)]
    fn of_four_new_lines(#[case] now: &str, #[case] expected: [bool; 3]) {
        assert_eq!(answers("", FOUR, None, "", now), expected);
    }

    #[rstest::rstest]
    // Of two lines, a common one is no evidence.
    #[case("one line that tells\nreturn None\n", "return None\n", NONE)]
    #[case("one line that tells a lot\nreturn None\n", "one line that tells a lot\n", HALF)]
    // It is all that there is.
    #[case("return None\n", "return None\n", ALL)]
    #[case("x\ny\nz\n", "x\ny\n", HALF)]
    #[case("x\ny\n", "x\n", NONE)]
    #[case("}\n", "}\n}\n", NONE)]
    #[case("", "new\n", NONE)]
    fn of_small_work(#[case] work: &str, #[case] now: &str, #[case] expected: [bool; 3]) {
        assert_eq!(answers("base\n", &format!("base\n{work}"), None, "base\n", &format!("base\n{now}")), expected);
    }

    #[rstest::rstest]
    #[case::on_another_base("a\nb\n", "a\nx1\nb\n", "a\nb\nup\n", "a\nx1\nb\nup\n", ALL)]
    #[case::the_commit_has_it("a\n", "a\nx1\nx2\n", "a\nx1\nx2\n", "a\nx1\nx2\nmine\n", NONE)]
    #[case::the_commit_has_it_and_it_is_gone("a\n", "a\nx1\nx2\n", "a\nx1\nx2\n", "a\n", NONE)]
    #[case::the_commit_has_a_part_and_the_rest_is_there("a\n", "a\nx1\nx2\n", "a\nx1\n", "a\nx1\nx2\nmine\n", ALL)]
    #[case::the_commit_has_a_line_like_it("x1\nb\n", "x1\nb\nx1\n", "x1\nb\n", "x1\nb\nc\n", NONE)]
    #[case::taken_back("a\nb\n", "a\nx1\nx2\nb\n", "a\nb\n", "a\nb\n", NONE)]
    fn beyond_the_commit(
        #[case] before: &str,
        #[case] after: &str,
        #[case] head: &str,
        #[case] now: &str,
        #[case] expected: [bool; 3],
    ) {
        assert_eq!(answers(before, after, None, head, now), expected);
    }

    #[test]
    fn only_own_lines_count() {
        let (after, own) = ("a\nhuman 1\nagent 1\nhuman 2\nagent 2\nagent 3\n", [2..3, 4..9]);
        let answers = |now| answers("a\n", after, Some(&own), "a\n", now);
        assert_eq!(answers("a\nhuman 1\nhuman 2\n"), NONE);
        assert_eq!(answers("a\nagent 1\nagent 3\nx\ny\nz\n"), HALF);
        assert_eq!(answers("agent 1\nagent 2\nagent 3\nx\ny\nz\n"), ALL);
    }
}
