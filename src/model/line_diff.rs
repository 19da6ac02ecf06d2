//! Line differences for readers: hunks with context, and in replaced lines the words that differ.
//!
//! The caller provides the differing lines (from git's own algorithm, so that counts agree with git's). This module
//! groups them and finds the words to emphasize, with `similar`. All texts are bytes and need not be UTF-8.

use std::ops::Range;

use bstr::{BStr, BString, ByteSlice as _};
use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Lines of the old and of the new text, counted from 0, that replace each other; one of both may be empty.
pub(crate) type Edit = (Range<usize>, Range<usize>);

/// Above this many words on either side, replaced lines are shown without emphasis.
const MOST_WORDS: usize = 4000;
/// Below this percentage of common bytes in words, emphasis would hide rather than show what changed.
const LEAST_COMMON: usize = 30;
/// As many bytes of a section heading as git shows.
const LONGEST_SECTION: usize = 80;

/// Which side a line of a hunk belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Both.
    Common,
    /// The old text only.
    Deleted,
    /// The new text only.
    Added,
}

/// A line of a hunk.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Line {
    /// Where it belongs.
    pub side: Side,
    /// Its bytes, without the line feed.
    pub content: BString,
    /// False for a last line without line feed.
    pub is_terminated: bool,
    /// The bytes of `content` that differ from the line's counterpart; empty if it has none, or if all bytes differ.
    pub emphasis: Vec<Range<usize>>,
}

/// A group of changed lines with the lines around them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hunk {
    /// The lines of the old text it covers, counted from 0.
    pub old: Range<usize>,
    /// The lines of the new text it covers, counted from 0.
    pub new: Range<usize>,
    /// The last line above the hunk that looks like a heading, as git shows it behind `@@`.
    pub section: BString,
    /// The lines, in order.
    pub lines: Vec<Line>,
}

impl Hunk {
    /// Returns the line that begins it in a patch, for example `@@ -1,3 +1,4 @@ fn main() {`, without line feed.
    pub fn header(&self) -> BString {
        let mut header: BString = format!("@@ -{} +{} @@", range(&self.old), range(&self.new)).into();
        if !self.section.is_empty() {
            header.push(b' ');
            header.extend_from_slice(&self.section);
        }
        header
    }
}

/// A range of lines in the notation of patches: counted from 1, but from 0 if empty.
fn range(lines: &Range<usize>) -> String {
    match lines.len() {
        0 => format!("{},0", lines.start),
        1 => (lines.start + 1).to_string(),
        length => format!("{},{length}", lines.start + 1),
    }
}

/// Returns the hunks of `edits` (in order, apart from each other) between `old` and `new`, with `context` lines around.
pub(crate) fn hunks(old: &[u8], new: &[u8], edits: &[Edit], context: usize) -> Vec<Hunk> {
    if edits.is_empty() {
        return Vec::new();
    }
    let old: Vec<&[u8]> = old.lines_with_terminator().collect();
    let new: Vec<&[u8]> = new.lines_with_terminator().collect();
    let groups = similar::group_diff_ops(operations(edits, old.len()), context);
    groups.iter().filter_map(|group| hunk(&old, &new, group)).collect()
}

/// The edits in the format of `similar`, with the equal lines in between.
fn operations(edits: &[Edit], old_length: usize) -> Vec<DiffOp> {
    let mut operations = Vec::with_capacity(edits.len() * 2 + 1);
    let (mut old_index, mut new_index) = (0, 0);
    let equal = |operations: &mut Vec<DiffOp>, old_index, new_index, until: usize| {
        if until > old_index {
            operations.push(DiffOp::Equal { old_index, new_index, len: until - old_index });
        }
    };
    for (old, new) in edits {
        equal(&mut operations, old_index, new_index, old.start);
        (old_index, new_index) = (old.start, new.start);
        let (old_len, new_len) = (old.len(), new.len());
        operations.push(match (old_len, new_len) {
            (_, 0) => DiffOp::Delete { old_index, old_len, new_index },
            (0, _) => DiffOp::Insert { old_index, new_index, new_len },
            _ => DiffOp::Replace { old_index, old_len, new_index, new_len },
        });
        (old_index, new_index) = (old.end, new.end);
    }
    equal(&mut operations, old_index, new_index, old_length);
    operations
}

fn hunk(old: &[&[u8]], new: &[&[u8]], group: &[DiffOp]) -> Option<Hunk> {
    let (first, last) = (group.first()?, group.last()?);
    let old_range = first.old_range().start..last.old_range().end;
    let new_range = first.new_range().start..last.new_range().end;
    let mut lines = Vec::with_capacity(old_range.len() + new_range.len());
    for operation in group {
        let (gone, come) = (&old[operation.old_range()], &new[operation.new_range()]);
        if let DiffOp::Equal { .. } = operation {
            lines.extend(come.iter().map(|line| Line::new(Side::Common, line, Vec::new())));
            continue;
        }
        let (gone_emphasis, come_emphasis) = emphasis(gone, come);
        lines.extend(gone.iter().zip(gone_emphasis).map(|(line, ranges)| Line::new(Side::Deleted, line, ranges)));
        lines.extend(come.iter().zip(come_emphasis).map(|(line, ranges)| Line::new(Side::Added, line, ranges)));
    }
    // An empty side counts from the line before it.
    let section = section(&old[..old_range.start]);
    Some(Hunk { old: old_range, new: new_range, section, lines })
}

impl Line {
    fn new(side: Side, bytes: &[u8], emphasis: Vec<Range<usize>>) -> Self {
        let content = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        Self { side, content: content.into(), is_terminated: content.len() < bytes.len(), emphasis }
    }
}

/// The default rule of git for `@@` lines: the last line that begins like an identifier (xemit.c, `def_ff`).
fn section(above: &[&[u8]]) -> BString {
    let begins_name =
        |line: &&&[u8]| line.first().is_some_and(|byte| byte.is_ascii_alphabetic() || b"_$".contains(byte));
    let Some(line) = above.iter().rev().find(begins_name) else { return BString::default() };
    line[..line.len().min(LONGEST_SECTION)].trim_ascii_end().into()
}

type Emphasis = Vec<Vec<Range<usize>>>;

/// Returns for each line the bytes that have no counterpart on the other side.
fn emphasis(old: &[&[u8]], new: &[&[u8]]) -> (Emphasis, Emphasis) {
    let none = || (vec![Vec::new(); old.len()], vec![Vec::new(); new.len()]);
    if old.is_empty() || new.is_empty() {
        return none();
    }
    let (old_words, new_words) = (words(old), words(new));
    if old_words.len().max(new_words.len()) > MOST_WORDS {
        return none();
    }
    let (old_texts, new_texts) = (texts(&old_words), texts(&new_words));
    let operations = capture_diff_slices(Algorithm::Myers, &old_texts, &new_texts);
    let equal = operations.iter().filter(|operation| matches!(operation, DiffOp::Equal { .. }));
    let common = weight(equal.flat_map(|operation| &old_words[operation.old_range()]));
    if common * 100 < LEAST_COMMON * weight(&old_words).max(weight(&new_words)) {
        return none();
    }
    let (mut gone, mut come) = none();
    for operation in operations.iter().filter(|operation| !matches!(operation, DiffOp::Equal { .. })) {
        mark(&mut gone, &old_words[operation.old_range()]);
        mark(&mut come, &new_words[operation.new_range()]);
    }
    (gone, come)
}

/// A word: its line, its position in the line, and its bytes.
type Word<'t> = (usize, usize, &'t BStr);

fn texts<'t>(words: &[Word<'t>]) -> Vec<&'t BStr> {
    words.iter().map(|(_, _, text)| *text).collect()
}

/// Returns how many bytes of `words` are not blank: two lines must share enough of them to be similar.
fn weight<'w, 't: 'w>(words: impl IntoIterator<Item = &'w Word<'t>>) -> usize {
    words.into_iter().filter(|(_, _, text)| !text[0].is_ascii_whitespace()).map(|(_, _, text)| text.len()).sum()
}

/// Splits lines into runs of letters and digits, runs of blanks, and single other characters.
fn words<'t>(lines: &[&'t [u8]]) -> Vec<Word<'t>> {
    // Bytes above ASCII count as letters, so that no UTF-8 character is split.
    let class = |byte: u8| match byte {
        b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'_' | 0x80.. => 1,
        b' ' | b'\t' => 2,
        _ => 0,
    };
    let mut words = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let mut start = 0;
        while start < line.len() {
            let kind = class(line[start]);
            let length =
                if kind == 0 { 1 } else { line[start..].iter().take_while(|&&byte| class(byte) == kind).count() };
            words.push((number, start, line[start..start + length].as_bstr()));
            start += length;
        }
    }
    words
}

/// Adds the words to the ranges of their lines, joining neighbours; line feeds are not emphasized.
fn mark(lines: &mut Emphasis, words: &[Word<'_>]) {
    for (line, start, text) in words.iter().filter(|(_, _, text)| *text != "\n") {
        let end = start + text.len();
        match lines[*line].last_mut() {
            Some(last) if last.end == *start => last.end = end,
            _ => lines[*line].push(*start..end),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a hunk in patch format, with `[` and `]` around emphasized bytes.
    fn patch(hunks: &[Hunk]) -> String {
        let mut text = String::new();
        for hunk in hunks {
            text.push_str(&format!("{}\n", hunk.header()));
            for line in &hunk.lines {
                text.push(match line.side {
                    Side::Common => ' ',
                    Side::Deleted => '-',
                    Side::Added => '+',
                });
                for (at, byte) in line.content.iter().enumerate() {
                    text.extend(line.emphasis.iter().any(|range| range.start == at).then_some('['));
                    text.push(char::from(*byte));
                    text.extend(line.emphasis.iter().any(|range| range.end == at + 1).then_some(']'));
                }
                text.push('\n');
                if !line.is_terminated {
                    text.push_str("\\ No newline at end of file\n");
                }
            }
        }
        text
    }

    #[rstest::rstest]
    #[case::nothing("a\n", "a\n", &[], "")]
    #[case::added_to_empty("", "a\nb\n", &[(0..0, 0..2)], "@@ -0,0 +1,2 @@\n+a\n+b\n")]
    #[case::all_deleted("a\n", "", &[(0..1, 0..0)], "@@ -1 +0,0 @@\n-a\n")]
    #[case::no_newline("a\nb", "a\nb\n", &[(1..2, 1..2)],
        "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n")]
    #[case::words("let a = 1;\n", "let b = 1;\n", &[(0..1, 0..1)], "@@ -1 +1 @@\n-let [a] = 1;\n+let [b] = 1;\n")]
    #[case::too_different("one two three\n", "a, b (c) d\n", &[(0..1, 0..1)],
        "@@ -1 +1 @@\n-one two three\n+a, b (c) d\n")]
    #[case::neighbours_join("f(a)\n", "f(a, b)\n", &[(0..1, 0..1)], "@@ -1 +1 @@\n-f(a)\n+f(a[, b])\n")]
    fn hunks_as_patches(#[case] old: &str, #[case] new: &str, #[case] edits: &[Edit], #[case] expected: &str) {
        assert_eq!(patch(&hunks(old.as_bytes(), new.as_bytes(), edits, 3)), expected);
    }

    #[rstest::rstest]
    #[case::joined(6, 1)]
    #[case::apart(7, 2)]
    fn edits_share_a_hunk_if_their_context_touches(#[case] between: usize, #[case] expected: usize) {
        let common = "x\n".repeat(between);
        let (old, new) = (format!("a\n{common}b\n"), format!("A\n{common}B\n"));
        let edits = [(0..1, 0..1), (between + 1..between + 2, between + 1..between + 2)];
        assert_eq!(hunks(old.as_bytes(), new.as_bytes(), &edits, 3).len(), expected);
    }

    #[test]
    fn the_section_is_the_last_heading_above() {
        let old = b"fn one() {\n  a\n  b\n}\n  1\n  2\n  3\n  x\n";
        let new = b"fn one() {\n  a\n  b\n}\n  1\n  2\n  3\n  y\n";
        let hunks = hunks(old, new, &[(7..8, 7..8)], 3);
        assert_eq!(hunks[0].header(), "@@ -5,4 +5,4 @@ fn one() {");
    }

    #[test]
    fn bytes_that_are_not_utf8_stay() {
        let hunks = hunks(b"\xff\n", b"\xfe\n", &[(0..1, 0..1)], 3);
        assert_eq!(hunks[0].lines[1].content, b"\xfe".as_bstr());
    }

    #[test]
    fn huge_replacements_are_not_searched_for_words() {
        let old = "a b c\n".repeat(3000);
        let new = "a b d\n".repeat(3000);
        let hunks = hunks(old.as_bytes(), new.as_bytes(), &[(0..3000, 0..3000)], 3);
        assert!(hunks[0].lines.iter().all(|line| line.emphasis.is_empty()));
    }
}
