//! Spans of a blob, carried to another.

use super::support::{AGENT, DIFFER, HUMAN};
use crate::model::attribution::{
    Owner, Span,
    carry::{carry, restrict},
};

fn span(start: u32, end: u32, owner: Owner) -> Span {
    Span { start, end, owner }
}

const MINE: Owner = Owner::Author(HUMAN);
const ITS: Owner = Owner::Author(AGENT);

#[rstest::rstest]
#[case::same("a1\nb2\n", "a1\nb2\n", &[span(2, 2, ITS)])]
#[case::lines_above("a1\nb2\n", "x\ny\na1\nb2\n", &[span(1, 2, MINE), span(4, 4, ITS)])]
#[case::gone("a1\nb2\n", "a1\n", &[])]
#[case::formatted("a1\nb 2\n", "a1\n  b 2\n", &[span(2, 2, ITS)])]
#[case::resolved("a1\nb2\n", "a1\nb2\nc3\n", &[span(2, 2, ITS), span(3, 3, MINE)])]
#[case::edited("a1\nlet alpha = beta\n", "a1\nlet alpha = gamma\n",
    &[span(2, 2, Owner::Mixed { of: HUMAN, over: Some(AGENT), share: 36 })])]
fn spans_are_carried(#[case] before: &str, #[case] after: &str, #[case] expected: &[Span]) {
    let spans = [span(2, 2, ITS)];
    assert_eq!(carry(&DIFFER, &spans, before.as_bytes(), after.as_bytes(), HUMAN), expected);
}

#[test]
fn spans_beyond_the_end_do_no_harm() {
    let spans = [span(1, 1, ITS), span(5, u32::MAX, ITS)];
    assert_eq!(carry(&DIFFER, &spans, b"a\nb\n", b"a\nb\n", HUMAN), [span(1, 1, ITS)]);
}

#[test]
fn only_added_lines_have_spans() {
    let spans = [span(2, 4, ITS), span(6, 6, MINE)];
    let expected =
        [span(1, 1, Owner::Base), span(2, 2, ITS), span(4, 4, ITS), span(6, 6, MINE), span(7, 7, Owner::Base)];
    assert_eq!(restrict(&spans, &[0..2, 3..4, 5..7], Owner::Base), expected);
}
