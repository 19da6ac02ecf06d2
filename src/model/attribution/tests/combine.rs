//! Several records of one commit.

#![expect(clippy::single_range_in_vec_init, reason = "a list with one range is what is meant")]

use super::support::edits;
use crate::model::attribution::{
    AuthorId, Owner, Span,
    combine::{Beside, Removal, combine, removed},
};

const CARRIER: AuthorId = 9;
const BESIDE: Beside = Beside { carrier: CARRIER, author: 0, unclaimed: Owner::Author(0), keeps_base: true };

fn mixed(of: AuthorId, over: Option<AuthorId>) -> Owner {
    Owner::Mixed { of, over, share: 30 }
}

#[rstest::rstest]
#[case::no_view_has_the_line(&[], Owner::Author(0))]
#[case::one(&[Some(Owner::Author(1))], Owner::Author(1))]
#[case::the_newest(&[Some(Owner::Author(2)), Some(Owner::Author(1))], Owner::Author(2))]
#[case::the_older_knows(&[None, Some(Owner::Author(1))], Owner::Author(1))]
#[case::carried_is_unclaimed(&[Some(Owner::Author(CARRIER))], Owner::Author(0))]
#[case::edited_later(&[Some(mixed(2, None)), Some(Owner::Author(1))], mixed(2, Some(1)))]
#[case::edited_later_as_seen_from_before(&[Some(mixed(2, None)), Some(mixed(CARRIER, Some(1)))], mixed(2, Some(1)))]
#[case::edited_by_an_unknown_author(&[None, Some(mixed(CARRIER, Some(1)))], mixed(0, Some(1)))]
#[case::edited_own(&[Some(mixed(1, None)), Some(Owner::Author(1))], Owner::Author(1))]
#[case::base_line_edited(&[Some(mixed(1, None))], mixed(1, None))]
#[case::moved(&[Some(Owner::Base)], Owner::Base)]
#[case::moved_later(&[Some(Owner::Base), Some(Owner::Author(1))], Owner::Author(1))]
fn views_are_joined(#[case] views: &[Option<Owner>], #[case] expected: Owner) {
    let span = |owner: &Option<Owner>| owner.map(|owner| Span { start: 4, end: 4, owner }).into_iter().collect();
    let views: Vec<Vec<Span>> = views.iter().map(span).collect();
    assert_eq!(combine(&views, &[3..4], BESIDE), [Span { start: 4, end: 4, owner: expected }]);
}

#[test]
fn deleted_lines_count_for_the_author_who_deleted_them() {
    let removal = |before: &str, after: &str, by: &[(AuthorId, u32)], kept| Removal {
        before: before.into(),
        after: after.into(),
        by: by.to_vec(),
        kept,
    };
    let base = b"1\n2\n3\n4\n5\n6\n";
    // The first deleted lines 2 and 5, the second x and 6; who deleted line 1 is unknown.
    let removals = [
        removal("1\n2\n3\n4\n5\n6\n", "1\n3\nx\n4\n6\n", &[(1, 2)], 0),
        removal("3\nx\n4\n6\n", "3\n4\n", &[(2, 2)], 0),
    ];
    let found = removed(base, &[0..2, 4..6], &removals, &edits, 0);
    assert_eq!(found, (vec![(0, 1), (1, 2), (2, 1)], 0));
    let part = [removal("1\n2\n3\n4\n5\n6\n", "3\n4\n5\n6\n", &[(1, 1)], 1)];
    assert_eq!(removed(base, &[0..2], &part, &edits, 0), (vec![(1, 1)], 1));
    assert_eq!(removed(base, &[0..1], &[], &edits, 7), (vec![(7, 1)], 0));
}
