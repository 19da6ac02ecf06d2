//! Which of the lines that a change adds are those of another version of the file.
//!
//! A diff of that version with the new content aligns them, so that a line counts in its place only. A line without letters
//! and digits counts only beside another line that does.

use std::collections::{BTreeMap, BTreeSet};

use bstr::ByteSlice as _;

use super::line_diff::Edit;

/// The lines that a change adds, and the versions that they were found in.
#[derive(Clone, Debug)]
pub(crate) struct Moved<'t> {
    after: Vec<&'t [u8]>,
    /// The added lines that no version had so far, from 0.
    open: BTreeSet<usize>,
    /// By line, the number of the version and the line there, from 0.
    found: BTreeMap<usize, (usize, usize)>,
}

impl<'t> Moved<'t> {
    /// Returns the search for the lines that `change` adds, which leads to the content `after`.
    pub(crate) fn new(after: &'t [u8], change: &[Edit]) -> Self {
        let open = change.iter().flat_map(|(_, new)| new.clone()).collect();
        Self { after: after.lines_with_terminator().collect(), open, found: BTreeMap::new() }
    }

    /// Notes that the version with the number `version` is the new content.
    pub(crate) fn take_all(&mut self, version: usize) {
        for line in std::mem::take(&mut self.open) {
            self.found.insert(line, (version, line));
        }
    }

    /// Notes the lines that the version with the number `version` has; `edits` turn it into the new content.
    pub(crate) fn look_in(&mut self, version: usize, edits: &[Edit]) {
        for (line, origin) in self.lines_in(edits) {
            self.open.remove(&line);
            self.found.insert(line, (version, origin));
        }
    }

    /// Returns the open lines that are in a version, each with its number there.
    fn lines_in(&self, edits: &[Edit]) -> Vec<(usize, usize)> {
        let mut common = BTreeMap::new();
        let (mut old, mut new) = (0, 0);
        let end = (usize::MAX..usize::MAX, self.after.len()..self.after.len());
        for (old_range, new_range) in edits.iter().chain([&end]) {
            common.extend((new..new_range.start).map(|line| (line, line - new + old)));
            (old, new) = (old_range.end, new_range.end);
        }
        let is_telling = |line: usize| self.after[line].chars().any(char::is_alphanumeric);
        let is_open = |line: &usize| self.open.contains(line) && common.contains_key(line);
        let telling: Vec<usize> = self.open.iter().copied().filter(|it| is_open(it) && is_telling(*it)).collect();
        let mut is_in: BTreeSet<usize> = telling.iter().copied().collect();
        for line in telling {
            is_in.extend((0..line).rev().take_while(|it| is_open(it) && !is_telling(*it)));
            is_in.extend((line + 1..self.after.len()).take_while(|it| is_open(it) && !is_telling(*it)));
        }
        is_in.into_iter().map(|line| (line, common[&line])).collect()
    }

    /// Returns the lines that were found in the version with the number `version`, each with its number there, both from 1.
    pub(crate) fn found_in(&self, version: usize) -> impl Iterator<Item = (u32, u32)> {
        let number = |line: usize| u32::try_from(line + 1).unwrap_or(u32::MAX);
        let here = self.found.iter().filter(move |(_, (found, _))| *found == version);
        here.map(move |(line, (_, origin))| (number(*line), number(*origin)))
    }
}

#[cfg(test)]
mod tests {
    use similar::{Algorithm, DiffOp, capture_diff_slices};

    use super::*;

    fn edits_between(before: &str, after: &str) -> Vec<Edit> {
        let [before, after] = [before, after].map(|text| text.split_inclusive('\n').collect::<Vec<_>>());
        let changes = capture_diff_slices(Algorithm::Myers, &before, &after).into_iter();
        changes.filter(|it| !matches!(it, DiffOp::Equal { .. })).map(|it| (it.old_range(), it.new_range())).collect()
    }

    #[rstest::rstest]
    #[case::whole("1\n", "1\na\nb\n", &["1\na\nb\n"], &[(0, 2, 2), (0, 3, 3)])]
    #[case::beside_other_lines("1\n2\n", "1\nx\na\n2\n", &["1\na\n2\n"], &[(0, 3, 2)])]
    #[case::elsewhere("1\n2\n3\n", "a\n1\n2\n3\n", &["1\n2\n3\na\n"], &[])]
    #[case::lone_bracket("1\n2\n", "1\n}\n2\n", &["1\n}\n2\n"], &[])]
    #[case::bracket_beside("1\n2\n", "1\na {\n}\n2\n", &["1\na {\n}\n2\n"], &[(0, 2, 2), (0, 3, 3)])]
    #[case::two_versions("1\n", "1\na\nb\n", &["1\na\n", "1\nb\n"], &[(0, 2, 2), (1, 3, 2)])]
    #[case::first_version_counts("1\n", "1\na\n", &["1\na\n", "1\na\n"], &[(0, 2, 2)])]
    #[case::old_lines_are_not_looked_for("1\na\n", "1\na\nb\n", &["1\na\n"], &[])]
    fn added_lines_are_found_in_their_place(
        #[case] before: &str,
        #[case] after: &str,
        #[case] versions: &[&str],
        #[case] expected: &[(usize, u32, u32)],
    ) {
        let mut moved = Moved::new(after.as_bytes(), &edits_between(before, after));
        for (at, version) in versions.iter().enumerate() {
            moved.look_in(at, &edits_between(version, after));
        }
        let found = (0..versions.len()).flat_map(|at| moved.found_in(at).map(move |(line, from)| (at, line, from)));
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }
}
