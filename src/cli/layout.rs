//! Measures, cuts and wraps text for the columns of a terminal.

use std::ops::Range;

use textwrap::{
    Options, WordSeparator, WordSplitter,
    core::{Word, display_width},
};

/// Stands for the part of a text that was cut off.
const ELLIPSIS: &str = "...";
/// Columns of a tab at the beginning of a line.
pub(super) const TAB: usize = 8;
/// Below this width, tables leave out what is least needed.
const NARROW: usize = 80;

/// Returns how many columns `text` takes; colours take none, wide characters two.
pub(super) fn width(text: &str) -> usize {
    display_width(text)
}

/// Returns true if tables must save columns.
pub(super) fn is_narrow(columns: Option<usize>) -> bool {
    columns.is_some_and(|columns| columns < NARROW)
}

/// Returns `text`, which has no colours, in at most `columns`: the beginning of it, and an ellipsis.
pub(super) fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let room = columns.saturating_sub(ELLIPSIS.len());
    let (mut kept, mut used) = (String::new(), 0);
    for c in text.chars() {
        used += width(c.encode_utf8(&mut [0; 4]));
        if used > room {
            break;
        }
        kept.push(c);
    }
    kept.truncate(kept.trim_end().len());
    kept.push_str(&ELLIPSIS[..columns.min(ELLIPSIS.len())]);
    kept
}

/// Returns `text` with blanks after it, so that it takes `columns` at least.
pub(super) fn padded(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// Returns `text` in lines of at most `columns`, broken between words only; the lines after the first begin with `indent` blanks.
///
/// A command in quotes can be pasted: it stays on one line, even if that line gets too long.
pub(super) fn wrap(text: &str, columns: usize, indent: usize) -> Vec<String> {
    if width(text) <= columns {
        return vec![text.to_owned()];
    }
    let indent = " ".repeat(indent);
    let options = Options::new(columns)
        .subsequent_indent(&indent)
        .break_words(false)
        .word_separator(WordSeparator::Custom(words))
        .word_splitter(WordSplitter::NoHyphenation);
    textwrap::wrap(text, options).into_iter().map(String::from).collect()
}

/// Returns the words of `line`; a command in quotes is one word.
fn words(line: &str) -> Box<dyn Iterator<Item = Word<'_>> + '_> {
    let commands = commands(line);
    let (mut at, mut start) = (0, 0);
    let pieces = WordSeparator::AsciiSpace.find_words(line).filter_map(move |word| {
        at += word.word.len() + word.whitespace.len();
        // Where the word ends, `at` is the begin of the next one.
        let is_within = commands.iter().any(|command| command.start < at && at < command.end);
        (!is_within).then(|| Word::from(&line[std::mem::replace(&mut start, at)..at]))
    });
    Box::new(pieces)
}

/// Returns where `line` has commands of git in single quotes. A word of a command may be in quotes of its own, as a shell needs it.
fn commands(line: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for (start, _) in line.match_indices("'git ") {
        let is_new = found.last().is_none_or(|last| last.end <= start);
        if is_new && !line[..start].ends_with(char::is_alphanumeric) {
            found.extend(end_of_quoted(&line[start..]).map(|end| start..start + end));
        }
    }
    found
}

/// Returns where the command ends that begins `text` with its quote; none if it does not end. A quote within it opens one of the
/// shell's if it begins a word or a value, or follows what a backslash takes, as in `'\''`.
fn end_of_quoted(text: &str) -> Option<usize> {
    let (mut is_quoted, mut may_open) = (false, false);
    let mut characters = text.char_indices().skip(1);
    while let Some((at, c)) = characters.next() {
        match c {
            '\'' if is_quoted => (is_quoted, may_open) = (false, false),
            _ if is_quoted => {}
            '\'' if may_open => is_quoted = true,
            '\'' => return Some(at + 1),
            '\\' => {
                characters.next();
                may_open = true;
            }
            _ => may_open = c == ' ' || c == '=',
        }
    }
    None
}

/// Returns `text`, which has no colours, in lines of at most `columns`, broken anywhere.
pub(super) fn fold(text: &str, columns: usize) -> Vec<String> {
    // No character takes more columns than bytes.
    if text.len() <= columns {
        return vec![text.to_owned()];
    }
    let (mut lines, mut line, mut used) = (Vec::new(), String::new(), 0);
    for c in text.chars() {
        let wide = width(c.encode_utf8(&mut [0; 4]));
        if used + wide > columns && !line.is_empty() {
            lines.push(std::mem::take(&mut line));
            used = 0;
        }
        line.push(c);
        used += wide;
    }
    lines.push(line);
    lines
}

/// Returns `text` in lines of at most `columns`, broken between words only and all indented like the first, by blanks or tabs.
pub(super) fn prose(text: &str, columns: usize) -> Vec<String> {
    let blanks = text.len() - text.trim_start_matches(' ').len();
    let (tabs, rest) = text.split_at(text.len() - text.trim_start_matches('\t').len());
    let lines = wrap(rest, columns.saturating_sub(tabs.len() * TAB), blanks);
    lines.into_iter().map(|line| format!("{tabs}{line}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::fits("add mul", 7, "add mul")]
    #[case::too_long("add mul and div", 10, "add mul...")]
    #[case::blank_at_the_end("add mul and div", 11, "add mul...")]
    #[case::wide("\u{4f60}\u{597d}\u{4e16}\u{754c}", 7, "\u{4f60}\u{597d}...")]
    #[case::wide_at_the_edge("\u{4f60}\u{597d}\u{4e16}\u{754c}", 6, "\u{4f60}...")]
    #[case::accents_take_none("e\u{301}e\u{301}e\u{301}", 3, "e\u{301}e\u{301}e\u{301}")]
    #[case::no_room("add mul", 2, "..")]
    #[case::none_at_all("add mul", 0, "")]
    fn texts_are_cut(#[case] text: &str, #[case] columns: usize, #[case] expected: &str) {
        assert_eq!(cut(text, columns), expected);
        assert!(width(&cut(text, columns)) <= columns);
    }

    #[rstest::rstest]
    #[case::fits("one two", 7, 2, &["one two"])]
    #[case::two_lines("one two three", 9, 2, &["one two", "  three"])]
    #[case::options_stay_whole("use --no-pager here", 12, 0, &["use", "--no-pager", "here"])]
    #[case::a_word_that_is_too_long("a verylongword b", 6, 2, &["a", "  verylongword", "  b"])]
    #[case::colours_take_no_columns("\u{1b}[31mone\u{1b}[0m two", 7, 2, &["\u{1b}[31mone\u{1b}[0m two"])]
    #[case::a_command("see 'git checkpoint op log' now", 16, 0, &["see", "'git checkpoint op log'", "now"])]
    #[case::two_commands("'git a b' or 'git c d'", 12, 2, &["'git a b' or", "  'git c d'"])]
    #[case::its_comma_stays_with_it("after 'git a b', go", 11, 0, &["after", "'git a b',", "go"])]
    #[case::a_command_with_quotes("do 'git a -- 'b c' d' x y", 9, 0, &["do", "'git a -- 'b c' d'", "x y"])]
    #[case::a_command_with_a_quote("do 'git a 'b'\\''s c'' x", 9, 0, &["do", "'git a 'b'\\''s c''", "x"])]
    #[case::a_word_with_a_quote("do 'git a -m 'x '\\''y'' z", 9, 0, &["do", "'git a -m 'x '\\''y''", "z"])]
    #[case::a_word_with_an_exclamation("do 'git a -m 'a'\\!' b c'' z", 9, 0, &["do", "'git a -m 'a'\\!' b c''", "z"])]
    #[case::no_command("the agents' git is 'one two'", 16, 0, &["the agents' git", "is 'one two'"])]
    #[case::it_does_not_end("do 'git one two", 9, 0, &["do 'git", "one two"])]
    fn lines_break_between_words(
        #[case] text: &str,
        #[case] columns: usize,
        #[case] indent: usize,
        #[case] expected: &[&str],
    ) {
        assert_eq!(wrap(text, columns, indent), expected);
    }

    #[rstest::rstest]
    #[case::blanks("  (use it or not)", &["  (use it", "  or not)"])]
    #[case::a_tab("\tab cd", &["\tab", "\tcd"])]
    #[case::none("use it or not", &["use it or", "not"])]
    fn prose_keeps_its_indentation(#[case] text: &str, #[case] expected: &[&str]) {
        assert_eq!(prose(text, 11), expected);
    }

    #[rstest::rstest]
    #[case::fits("abc", &["abc"])]
    #[case::empty("", &[""])]
    #[case::two_lines("abcdef", &["abcd", "ef"])]
    #[case::wide("abc\u{4f60}d", &["abc", "\u{4f60}d"])]
    #[case::accents_stay_with_their_letter("abcde\u{301}f", &["abcd", "e\u{301}f"])]
    fn long_lines_are_folded(#[case] text: &str, #[case] expected: &[&str]) {
        assert_eq!(fold(text, 4), expected);
    }

    #[test]
    fn columns_are_filled_up() {
        assert_eq!(padded("\u{4f60}", 4), "\u{4f60}  ");
    }
}
