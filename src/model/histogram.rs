//! The line differences with which git merges (merge-ort.c): the histogram algorithm of xdiff/xhistogram.c, and the position that
//! xdiff/xdiffi.c gives to a change which could be shown in several places.
//!
//! Where lines repeat, a merge is clean or not depending on which of them a diff takes for the same. So this is the result of git to the
//! line: unlike other implementations, it does not cut off the common beginning and end first. `git diff` and attribution do not need
//! it; `git::line_edits` serves them.

use std::{collections::HashMap, ops::Range};

use bstr::ByteSlice as _;

use super::line_diff::Edit;

/// Git does not look at lines that occur more often before.
const MOST_OCCURRENCES: usize = 64;

/// So many lines are compared, at the most.
const MOST_STEPS: usize = 50_000_000;

/// How far behind the expected line the next one that both texts have is looked for.
const NEAR: usize = 64;

/// No line.
const NONE: usize = usize::MAX;

/// Why it is not known what git would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unclear {
    /// Git would go on with another algorithm, because the lines in common occur too often.
    Repeated,
    /// It would take too long.
    TooMuch,
}

/// Texts as numbers: equal lines have the same one.
#[derive(Debug, Default)]
pub(crate) struct Numbers<'t> {
    known: HashMap<&'t [u8], u32>,
    /// The line of each number.
    lines: Vec<&'t [u8]>,
}

impl<'t> Numbers<'t> {
    /// Returns the lines of `text`. Most are those of `like` in the same order, which is faster to see than to look them up.
    pub(crate) fn of(&mut self, text: &'t [u8], like: &[u32]) -> Vec<u32> {
        let mut expected = 0;
        let number = |line| {
            if let Some(number) = like.get(expected).filter(|number| self.lines[**number as usize] == line) {
                expected += 1;
                return *number;
            }
            let next = u32::try_from(self.lines.len()).unwrap_or(u32::MAX);
            let number = *self.known.entry(line).or_insert(next);
            if number == next {
                self.lines.push(line);
            }
            let mut near = like.iter().skip(expected).take(NEAR);
            expected += near.position(|it| *it == number).map_or(0, |at| at + 1);
            number
        };
        text.lines_with_terminator().map(number).collect()
    }

    /// Returns the edits with which git comes from `before` to `after` when it merges, in order.
    ///
    /// # Errors
    /// If that is not known.
    pub(crate) fn edits(&self, before: &[u32], after: &[u32]) -> Result<Vec<Edit>, Unclear> {
        let mut search = Search::new(before, after, self.lines.len());
        search.run()?;
        let (mut gone, mut come) = (gaps(&search.gone), gaps(&search.come));
        settle(before, &mut gone, &come);
        settle(after, &mut come, &gone);
        Ok(edits(&gone, &come))
    }
}

/// Lines that both texts have in common, one after the other.
#[derive(Clone, Copy, Debug)]
struct Block {
    before: usize,
    after: usize,
    length: usize,
}

/// Searches for the lines in common.
struct Search<'l> {
    before: &'l [u32],
    after: &'l [u32],
    /// Which lines have no counterpart.
    gone: Vec<bool>,
    come: Vec<bool>,
    /// For each number: the first line of the region before that has it, and how many have it.
    first: Vec<usize>,
    count: Vec<usize>,
    /// For each line before: the next one with its number in the region.
    next: Vec<usize>,
    /// How many lines may still be compared.
    left: usize,
}

impl<'l> Search<'l> {
    fn new(before: &'l [u32], after: &'l [u32], numbers: usize) -> Self {
        Self {
            before,
            after,
            gone: vec![false; before.len()],
            come: vec![false; after.len()],
            first: vec![NONE; numbers],
            count: vec![0; numbers],
            next: vec![NONE; before.len()],
            left: MOST_STEPS,
        }
    }

    fn run(&mut self) -> Result<(), Unclear> {
        let mut regions = vec![(0..self.before.len(), 0..self.after.len())];
        while let Some((before, after)) = regions.pop() {
            let found =
                if before.is_empty() || after.is_empty() { None } else { self.rarest(before.clone(), after.clone())? };
            let Some(block) = found else {
                self.gone[before].fill(true);
                self.come[after].fill(true);
                continue;
            };
            regions.push((block.before + block.length..before.end, block.after + block.length..after.end));
            regions.push((before.start..block.before, after.start..block.after));
        }
        Ok(())
    }

    /// Returns the block whose rarest line occurs least often in `before`; among those the longest one, and then the first one. None
    /// if no line is in common.
    fn rarest(&mut self, before: Range<usize>, after: Range<usize>) -> Result<Option<Block>, Unclear> {
        self.spend(before.len() + after.len())?;
        for at in before.clone().rev() {
            let number = self.before[at] as usize;
            self.next[at] = if self.count[number] == 0 { NONE } else { self.first[number] };
            self.first[number] = at;
            self.count[number] += 1;
        }
        let (mut best, mut fewest, mut has_common) = (None, MOST_OCCURRENCES + 1, false);
        let mut at = after.start;
        let mut searched = Ok(());
        while at < after.end && searched.is_ok() {
            let number = self.after[at] as usize;
            has_common |= self.count[number] > 0;
            if (1..=fewest).contains(&self.count[number]) {
                let end = self.improve(at, (&before, &after), (&mut best, &mut fewest));
                searched = end.map(|end| at = end);
            } else {
                at += 1;
            }
        }
        for at in before {
            self.count[self.before[at] as usize] = 0;
        }
        searched?;
        if has_common && fewest > MOST_OCCURRENCES { Err(Unclear::Repeated) } else { Ok(best) }
    }

    /// Looks at all blocks around the line `at` after. Returns the first line behind them.
    fn improve(
        &mut self,
        at: usize,
        (before, after): (&Range<usize>, &Range<usize>),
        (best, fewest): (&mut Option<Block>, &mut usize),
    ) -> Result<usize, Unclear> {
        let mut behind = at + 1;
        let mut line = self.first[self.after[at] as usize];
        while line != NONE {
            let reach = self.before[before.start..line].iter().rev().zip(self.after[after.start..at].iter().rev());
            let up = reach.take_while(|(one, other)| one == other).count();
            let reach = self.before[line..before.end].iter().zip(&self.after[at..after.end]);
            let down = reach.take_while(|(one, other)| one == other).count();
            self.spend(up + down)?;
            let block = Block { before: line - up, after: at - up, length: up + down };
            let end = line + down;
            let occurrences = self.before[block.before..end].iter().map(|number| self.count[*number as usize]).min();
            let occurrences = occurrences.unwrap_or(usize::MAX);
            behind = behind.max(at + down);
            // For git, no block is as long as one of one line.
            if best.map_or(1, |best| best.length) < block.length || occurrences < *fewest {
                (*best, *fewest) = (Some(block), occurrences);
            }
            line = self.next[line];
            while line != NONE && line < end {
                self.spend(1)?;
                line = self.next[line];
            }
        }
        Ok(behind)
    }

    fn spend(&mut self, steps: usize) -> Result<(), Unclear> {
        self.left = self.left.checked_sub(steps).ok_or(Unclear::TooMuch)?;
        Ok(())
    }
}

/// Returns how many lines in a row are marked before each line that is not, and at the end. Both texts have as many such gaps.
fn gaps(marks: &[bool]) -> Vec<usize> {
    marks.split(|is_marked| !is_marked).map(<[bool]>::len).collect()
}

/// Moves the changes in `own`, the gaps of `lines`, that equal lines above or below let move: to the last one of the `other` gaps with
/// a change, else down as far as possible. Those that meet become one.
fn settle(lines: &[u32], own: &mut [usize], other: &[usize]) {
    let mut change = Change { lines, own, gap: 0, start: 0 };
    while change.gap < other.len() {
        if change.length() > 0 {
            let has_other = |change: &Change<'_>| (other[change.gap] > 0).then_some(change.gap);
            let (highest, meeting) = loop {
                let length = change.length();
                while change.move_up() {}
                let highest = change.gap;
                let mut meeting = has_other(&change);
                while change.move_down() {
                    meeting = has_other(&change).or(meeting);
                }
                if change.length() == length {
                    break (highest, meeting);
                }
            };
            let lowest = meeting.filter(|_| change.gap > highest).unwrap_or(change.gap);
            while change.gap > lowest && change.move_up() {}
        }
        change.start += change.length() + 1;
        change.gap += 1;
    }
}

/// Changed lines in a row, in the gap `gap` from the line `start` on.
struct Change<'l> {
    lines: &'l [u32],
    own: &'l mut [usize],
    gap: usize,
    start: usize,
}

impl Change<'_> {
    fn length(&self) -> usize {
        self.own[self.gap]
    }

    fn end(&self) -> usize {
        self.start + self.length()
    }

    /// Returns false if the line above is another one than the last changed one.
    fn move_up(&mut self) -> bool {
        if self.gap == 0 || self.lines[self.start - 1] != self.lines[self.end() - 1] {
            return false;
        }
        let length = std::mem::take(&mut self.own[self.gap]);
        self.gap -= 1;
        self.start -= 1 + self.length();
        self.own[self.gap] += length;
        true
    }

    /// Returns false if the line below is another one than the first changed one.
    fn move_down(&mut self) -> bool {
        if self.lines.get(self.end()) != Some(&self.lines[self.start]) {
            return false;
        }
        let length = std::mem::take(&mut self.own[self.gap]);
        self.gap += 1;
        self.start += 1;
        self.own[self.gap] += length;
        true
    }
}

fn edits(gone: &[usize], come: &[usize]) -> Vec<Edit> {
    let (mut old, mut new) = (0, 0);
    let mut edits = Vec::new();
    for (gone, come) in gone.iter().zip(come) {
        if gone + come > 0 {
            edits.push((old..old + gone, new..new + come));
        }
        old += gone + 1;
        new += come + 1;
    }
    edits
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each letter is a line.
    fn found(before: &str, after: &str) -> Result<Vec<Edit>, Unclear> {
        let lines = |text: &str| text.chars().map(|letter| format!("{letter}\n")).collect::<String>();
        let (before, after) = (lines(before), lines(after));
        let mut numbers = Numbers::default();
        let before = numbers.of(before.as_bytes(), &[]);
        let after = numbers.of(after.as_bytes(), &before);
        numbers.edits(&before, &after)
    }

    #[rstest::rstest]
    #[case::empty("", "", &[])]
    #[case::equal("abc", "abc", &[])]
    #[case::from_nothing("", "ab", &[(0..0, 0..2)])]
    #[case::to_nothing("ab", "", &[(0..2, 0..0)])]
    #[case::nothing_in_common("ab", "cd", &[(0..2, 0..2)])]
    #[case::inside("abc", "axc", &[(1..2, 1..2)])]
    #[case::at_both_ends("abc", "xbz", &[(0..1, 0..1), (2..3, 2..3)])]
    #[case::the_rare_line_counts("}}a}}", "}a}", &[(1..2, 1..1), (4..5, 3..3)])]
    #[case::as_low_as_possible("ab", "aab", &[(1..1, 1..2)])]
    #[case::copied_below("{brx}", "{brx}rx}", &[(5..5, 5..8)])]
    #[case::beside_a_deletion("xaay", "xay", &[(2..3, 2..2)])]
    fn the_edits_are_those_of_git(#[case] before: &str, #[case] after: &str, #[case] expected: &[Edit]) {
        assert_eq!(found(before, after).as_deref(), Ok(expected));
    }

    #[test]
    fn lines_that_are_too_many_are_unclear() {
        let repeated = |count| "}".repeat(count);
        assert_eq!(found(&(repeated(64) + "a"), &("b".to_owned() + &repeated(64))).map(|edits| edits.len()), Ok(2));
        assert_eq!(found(&(repeated(65) + "a"), &("b".to_owned() + &repeated(65))), Err(Unclear::Repeated));
        assert_eq!(found(&(repeated(65) + "a"), &(repeated(66) + "a")), Ok(vec![(65..65, 65..66)]));
    }
}
