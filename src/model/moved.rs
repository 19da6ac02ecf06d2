//! Which of the lines that a change adds were moved there by git: another version of the file has them.
//!
//! Lines are aligned by a diff of that version with the new content, so that a line is found in its place. A line without
//! letters and digits is found only beside another line that is.

use std::collections::{BTreeMap, BTreeSet};

use bstr::ByteSlice as _;

use super::line_diff::Edit;

/// Where a line was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The number of the version.
    pub version: usize,
    /// The line there, from 0.
    pub line: usize,
}

/// The search for the lines that a change adds.
#[derive(Clone, Debug)]
pub struct Search<'t> {
    before: Vec<&'t [u8]>,
    after: Vec<&'t [u8]>,
    change: Vec<Edit>,
    /// Lines that no version had so far.
    open: BTreeSet<usize>,
    found: BTreeMap<usize, Origin>,
}

impl<'t> Search<'t> {
    /// Returns the search for the lines that `change` adds between `before` and `after`.
    pub fn new(before: &'t [u8], after: &'t [u8], change: Vec<Edit>) -> Self {
        let lines = |text: &'t [u8]| text.lines_with_terminator().collect();
        let open = change.iter().flat_map(|(_, new)| new.clone()).collect();
        Self { before: lines(before), after: lines(after), change, open, found: BTreeMap::new() }
    }

    /// Returns true if there is nothing more to find.
    pub fn is_done(&self) -> bool {
        self.open.is_empty()
    }

    /// Takes the lines out of the search that the version has which `edits` turn into the new content: they have not come
    /// from anywhere else.
    pub fn leave_out(&mut self, edits: &[Edit]) {
        for (line, _) in self.lines_of(edits) {
            self.open.remove(&line);
        }
    }

    /// Notes the lines that the version with the number `version` has, which `edits` turn into the new content.
    pub fn look_in(&mut self, version: usize, edits: &[Edit]) {
        for (line, origin) in self.lines_of(edits) {
            self.open.remove(&line);
            self.found.insert(line, Origin { version, line: origin });
        }
    }

    /// Returns the open lines that are in a version, each with its number there.
    fn lines_of(&self, edits: &[Edit]) -> Vec<(usize, usize)> {
        let mut common = BTreeMap::new();
        let (mut old, mut new) = (0, 0);
        let end = (usize::MAX..usize::MAX, self.after.len()..self.after.len());
        for (old_range, new_range) in edits.iter().chain([&end]) {
            common.extend((new..new_range.start).map(|line| (line, line - new + old)));
            (old, new) = (old_range.end, new_range.end);
        }
        let is_telling = |line: usize| self.after[line].chars().any(char::is_alphanumeric);
        let is_open = |line: &usize| self.open.contains(line) && common.contains_key(line);
        let mut is_in: BTreeSet<usize> =
            self.open.iter().copied().filter(|it| is_open(it) && is_telling(*it)).collect();
        let beside: Vec<usize> = is_in.iter().copied().collect();
        for line in beside {
            is_in.extend((0..line).rev().take_while(|it| is_open(it) && !is_telling(*it)));
            is_in.extend((line + 1..self.after.len()).take_while(|it| is_open(it) && !is_telling(*it)));
        }
        is_in.into_iter().map(|line| (line, common[&line])).collect()
    }

    /// Returns the lines that were found, counted from 0, with where.
    pub fn found(&self) -> &BTreeMap<usize, Origin> {
        &self.found
    }

    /// Returns the content after those edits of the change that add a line which `is_in` accepts, without the other lines
    /// that they add.
    pub fn content_with(&self, is_in: impl Fn(usize) -> bool) -> Vec<u8> {
        let mut content = Vec::new();
        let mut old = 0;
        for (old_range, new_range) in &self.change {
            content.extend(self.before[old..old_range.start].concat());
            let mut added = new_range.clone().filter(|line| is_in(*line)).map(|line| self.after[line]).peekable();
            if added.peek().is_none() {
                content.extend(self.before[old_range.clone()].concat());
            }
            content.extend(added.collect::<Vec<_>>().concat());
            old = old_range.end;
        }
        content.extend(self.before[old..].concat());
        content
    }
}

#[cfg(test)]
mod tests {
    use similar::{Algorithm, DiffOp, capture_diff_slices};

    use super::*;

    fn edits_between(before: &str, after: &str) -> Vec<Edit> {
        let [before, after] = [before, after].map(|text| text.split_inclusive('\n').collect::<Vec<_>>());
        let ops = capture_diff_slices(Algorithm::Myers, &before, &after);
        let is_edit = |op: &&DiffOp| !matches!(op, DiffOp::Equal { .. });
        ops.iter().filter(is_edit).map(|op| (op.old_range(), op.new_range())).collect()
    }

    fn found(before: &str, after: &str, versions: &[&str]) -> Vec<(usize, usize, usize)> {
        let mut search = Search::new(before.as_bytes(), after.as_bytes(), edits_between(before, after));
        for (number, version) in versions.iter().enumerate() {
            search.look_in(number, &edits_between(version, after));
        }
        search.found().iter().map(|(line, origin)| (*line, origin.version, origin.line)).collect()
    }

    #[rstest::rstest]
    #[case::new_file("", "a\nb\n", &["a\nb\n"], &[(0, 0, 0), (1, 0, 1)])]
    #[case::merged("1\n2\n", "0\n1\n2\n3\n", &["1\n2\n3\n"], &[(3, 0, 2)])]
    #[case::nothing("1\n", "1\n2\n", &["1\n3\n"], &[])]
    #[case::of_two("1\n", "a\n1\nb\n", &["a\n1\n", "1\nb\n"], &[(0, 0, 0), (2, 1, 1)])]
    #[case::the_first_counts("1\n", "a\n1\n", &["1\n", "a\n", "a\n1\n"], &[(0, 1, 0)])]
    #[case::bracket_beside("1\n", "1\na\n}\n\n", &["1\na\n}\n\n"], &[(1, 0, 1), (2, 0, 2), (3, 0, 3)])]
    #[case::bracket_alone("1\n", "1\nx\n}\n", &["1\n}\n"], &[])]
    #[case::no_line_feed_at_the_end("1\n", "1\na", &["1\na\n"], &[])]
    fn lines_are_found_in_their_place(
        #[case] before: &str,
        #[case] after: &str,
        #[case] versions: &[&str],
        #[case] expected: &[(usize, usize, usize)],
    ) {
        assert_eq!(found(before, after, versions), expected);
    }

    #[rstest::rstest]
    #[case::all("1\n2\n", "0\n1\n3\n", &[0, 2], "0\n1\n3\n")]
    #[case::none("1\n2\n", "0\n1\n3\n", &[], "1\n2\n")]
    #[case::one_hunk("1\n2\n", "0\n1\n3\n", &[0], "0\n1\n2\n")]
    #[case::part_of_a_hunk("1\n2\n", "1\n3\n4\n", &[2], "1\n4\n")]
    #[case::a_new_file("", "a\nb\n", &[1], "b\n")]
    #[case::deleted_lines_stay("1\n2\n3\n", "1\n3\n4\n", &[2], "1\n2\n3\n4\n")]
    fn a_part_of_a_change(#[case] before: &str, #[case] after: &str, #[case] lines: &[usize], #[case] expected: &str) {
        let search = Search::new(before.as_bytes(), after.as_bytes(), edits_between(before, after));
        assert_eq!(search.content_with(|line| lines.contains(&line)).as_bstr(), expected);
    }
}
