//! Lines that a record has in one file, and another version of its commit in another one.

use super::support::{AGENT, DIFFER};
use crate::model::attribution::{
    Owner, Span,
    carry::Version,
    moved_on::{Enough, Target, moved_on},
};

/// Each letter stands for a line, and a capital one for a line of the agent in the record.
fn text(letters: &str) -> String {
    letters.chars().map(|letter| format!("the line with the letter {}\n", letter.to_ascii_lowercase())).collect()
}

fn spans(letters: &str) -> Vec<Span> {
    let own = (1..).zip(letters.chars()).filter(|(_, letter)| letter.is_ascii_uppercase());
    own.map(|(line, _)| Span { start: line, end: line, owner: Owner::Author(AGENT) }).collect()
}

/// Returns the letters of `after` that keep their owner, and `.` for the others.
fn kept(recorded: &str, left: &str, before: &str, after: &str, is_moved: bool) -> String {
    let (own, [old, left, before, new]) = (spans(recorded), [recorded, left, before, after].map(text));
    let from = [Version { spans: &own, before: old.as_bytes(), after: left.as_bytes() }];
    let to = [Target { before: before.as_bytes(), after: new.as_bytes() }];
    let found = moved_on(&DIFFER, &from, &to, Enough::Half, &|_, _| is_moved).remove(0);
    let is_kept = |line: u32| found.iter().any(|span| span.start <= line && line <= span.end);
    (1..).zip(after.chars()).map(|(line, letter)| if is_kept(line) { letter } else { '.' }).collect()
}

#[rstest::rstest]
#[case::all("xABCDy", "xy", "z", "zabcd", false, ".abcd")]
#[case::with_base_lines("xaBCDy", "xy", "z", "zabcd", false, "..bcd")]
#[case::a_part("xABCDEF", "xABC", "", "def", false, "def")]
#[case::with_a_line_of_another("ABCD", "", "z", "zqabcd", false, "..abcd")]
#[case::half_of_what_is_gained("ABC", "", "", "abcqrs", false, "abc...")]
#[case::less_than_half_of_what_is_gained("ABC", "", "", "abcqrst", false, ".......")]
#[case::less_than_half_of_what_is_lost("ABCDEFG", "", "", "abc", false, "...")]
#[case::that_is_known("ABCDEFG", "", "", "abcqrst", true, "abc....")]
#[case::still_there("ABCD", "ABCD", "", "abcd", false, "....")]
#[case::two_lines("AB", "", "", "ab", false, "..")]
#[case::nothing("ABCD", "", "z", "z", false, ".")]
fn the_table(
    #[case] recorded: &str,
    #[case] left: &str,
    #[case] before: &str,
    #[case] after: &str,
    #[case] is_moved: bool,
    #[case] expected: &str,
) {
    assert_eq!(kept(recorded, left, before, after, is_moved), expected);
}

/// A record from elsewhere may claim lines that are not there.
#[test]
fn spans_beyond_the_end_do_no_harm() {
    let own = [Span { start: 2, end: u32::MAX, owner: Owner::Author(AGENT) }];
    let (old, new) = (text("abcd"), text("abcd"));
    let from = [Version { spans: &own, before: old.as_bytes(), after: b"" }];
    let to = [Target { before: b"", after: new.as_bytes() }];
    let found = moved_on(&DIFFER, &from, &to, Enough::Half, &|_, _| false).remove(0);
    assert_eq!(found, [Span { start: 2, end: 4, owner: Owner::Author(AGENT) }]);
}
