//! Where two texts meet that were both made from a third one: line by line, as git's merge sees it.
//!
//! git stops at changes with no unchanged line between them (xdiff/xmerge.c). Here, such changes are told apart: those of the same
//! lines conflict, those of lines next to each other touch.

use std::ops::Range;

use serde::{Serialize, Serializer, ser::SerializeStruct as _};

use super::line_diff::Edit;

/// How two changes of a file meet. The later one is the worse one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Meeting {
    /// The changes are in lines apart: git merges them.
    Clean,
    /// The changed lines are next to each other: a merge by git stops there.
    Touching,
    /// The same lines were changed: a merge by git stops there.
    Conflict,
    /// It is not known, because something cannot be read.
    Unknown,
}

/// Lines of a text, counted from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lines(pub(crate) Range<usize>);

impl Serialize for Lines {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Lines", 2)?;
        fields.serialize_field("start", &(self.0.start + 1))?;
        fields.serialize_field("lines", &self.0.len())?;
        fields.end()
    }
}

/// Lines in which two changes meet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Place {
    /// How.
    pub state: Meeting,
    /// The lines of the one text.
    pub here: Lines,
    /// The lines of the other text.
    pub there: Lines,
}

/// Returns where the edits `here` and `there` of the same text meet, in order. `is_same` returns true if lines of the one text are
/// those of the other: what both changed alike does not meet. If git shows the base of a conflict, `shows_base`, it does not look
/// whether both have come to the same by different edits.
pub(crate) fn meet(
    here: &[Edit],
    there: &[Edit],
    shows_base: bool,
    is_same: &mut dyn FnMut(Range<usize>, Range<usize>) -> bool,
) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    let (mut ours, mut theirs) = (here, there);
    while let ([(base, new), ..], [(other_base, other_new), ..]) = (ours, theirs) {
        if base.end < other_base.start {
            ours = &ours[1..];
            continue;
        }
        if other_base.end < base.start {
            theirs = &theirs[1..];
            continue;
        }
        if base != other_base || !is_same(new.clone(), other_new.clone()) {
            let state = if share_a_place(base, other_base) { Meeting::Conflict } else { Meeting::Touching };
            // Each side as far as both reach: what only the other one changed is unchanged here, and as long as in the base.
            let start = base.start.min(other_base.start);
            let end = base.end.max(other_base.end);
            let reach = |base: &Range<usize>, new: &Range<usize>| {
                new.start.saturating_sub(base.start - start)..new.end + (end - base.end)
            };
            add(
                &mut places,
                Place { state, here: Lines(reach(base, new)), there: Lines(reach(other_base, other_new)) },
            );
        }
        let (end, other_end) = (base.end, other_base.end);
        if end >= other_end {
            theirs = &theirs[1..];
        }
        if other_end >= end {
            ours = &ours[1..];
        }
    }
    places.retain(|place| shows_base || !is_agreed(place, is_same));
    places
}

/// Returns true if both sides have changed a line of the base, or have added lines at the same point, or if one has added lines
/// within those that the other one changed.
fn share_a_place(one: &Range<usize>, other: &Range<usize>) -> bool {
    let is_within = |one: &Range<usize>, other: &Range<usize>| other.start < one.start && one.start < other.end;
    let both_add = one.is_empty() && other.is_empty();
    one.start.max(other.start) < one.end.min(other.end) || both_add || is_within(one, other) || is_within(other, one)
}

/// Adds `place`, or joins it with the last one if they overlap or touch.
fn add(places: &mut Vec<Place>, place: Place) {
    match places.last_mut() {
        Some(last) if place.here.0.start <= last.here.0.end || place.there.0.start <= last.there.0.end => {
            last.state = last.state.max(place.state);
            // The later one knows all changes before its end: an earlier one may lie before others of the same side.
            last.here.0.end = place.here.0.end;
            last.there.0.end = place.there.0.end;
        }
        _ => places.push(place),
    }
}

/// Returns true if both texts have the same lines at `place` after all. If one has none there, git does not look.
fn is_agreed(place: &Place, is_same: &mut dyn FnMut(Range<usize>, Range<usize>) -> bool) -> bool {
    let (here, there) = (&place.here.0, &place.there.0);
    !here.is_empty() && here.len() == there.len() && is_same(here.clone(), there.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The texts have the same lines if `same` is true.
    fn states(here: &[Edit], there: &[Edit], same: bool) -> Vec<(Meeting, Range<usize>, Range<usize>)> {
        let places = meet(here, there, false, &mut |_, _| same);
        places.into_iter().map(|place| (place.state, place.here.0, place.there.0)).collect()
    }

    #[rstest::rstest]
    #[case::apart(&[(0..1, 0..1)], &[(2..3, 2..3)], &[])]
    #[case::next_to_each_other(&[(0..1, 0..1)], &[(1..2, 1..2)], &[(Meeting::Touching, 0..2, 0..2)])]
    #[case::next_to_each_other_the_other_way(&[(1..2, 1..3)], &[(0..1, 0..0)], &[(Meeting::Touching, 0..3, 0..1)])]
    #[case::the_same_line(&[(4..5, 4..6)], &[(4..5, 4..5)], &[(Meeting::Conflict, 4..6, 4..5)])]
    #[case::added_at_one_point(&[(4..4, 4..6)], &[(4..4, 4..5)], &[(Meeting::Conflict, 4..6, 4..5)])]
    #[case::added_before_what_was_changed(&[(4..4, 4..6)], &[(4..5, 4..5)], &[(Meeting::Touching, 4..7, 4..5)])]
    #[case::added_within_what_was_deleted(&[(2..6, 2..2)], &[(4..4, 4..5)], &[(Meeting::Conflict, 2..2, 2..7)])]
    #[case::one_spans_two(&[(0..9, 0..1)], &[(1..2, 1..2), (8..9, 8..9)], &[(Meeting::Conflict, 0..1, 0..9)])]
    #[case::one_spans_a_change_and_a_deletion(
        &[(0..4, 0..4)],
        &[(0..1, 0..1), (2..3, 2..2)],
        &[(Meeting::Conflict, 0..4, 0..3)]
    )]
    #[case::touching_and_a_conflict(
        &[(0..1, 0..1), (9..10, 9..9)],
        &[(1..2, 1..2), (9..10, 9..10)],
        &[(Meeting::Touching, 0..2, 0..2), (Meeting::Conflict, 9..9, 9..10)]
    )]
    fn the_table(
        #[case] here: &[Edit],
        #[case] there: &[Edit],
        #[case] expected: &[(Meeting, Range<usize>, Range<usize>)],
    ) {
        assert_eq!(states(here, there, false), expected);
    }

    #[test]
    fn both_may_come_to_the_same_unless_git_shows_the_base() {
        let found = |shows_base| meet(&[(0..1, 0..1)], &[(1..2, 1..2)], shows_base, &mut |_, _| true).len();
        assert_eq!((found(false), found(true)), (0, 1));
    }

    #[test]
    fn the_same_change_does_not_meet() {
        assert_eq!(states(&[(1..2, 1..4)], &[(1..2, 1..4)], true), []);
        assert_eq!(states(&[(1..2, 1..1)], &[(1..2, 1..1)], true), []);
    }
}
