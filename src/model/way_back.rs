//! What to type while something is in the way of taking an operation back: a pure function, and the only rule for that.
//!
//! An undo never passes over an operation: to go on would change files of which the person may not think. It stops, and names
//! one command that works.

use gix::ObjectId;

use super::refname::Base;

/// What is in the way of taking an operation back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hindrance {
    /// A later operation stands that has moved one of its refs, and that can be taken back itself.
    Later(ObjectId),
    /// A later operation has moved one of its refs that only saves, or follows commits: no undo takes that back.
    Saved,
    /// HEAD was at another commit then.
    Elsewhere(Base),
    /// Files were edited since, and the operation is taken back as a whole or not at all.
    Edited,
    /// Nothing that a person can type takes away what is in the way.
    Final,
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked<'o> {
    /// The last operation. These are the others that could be next, the latest first.
    Last(&'o [ObjectId]),
    /// The operation that a person has named.
    Named,
}

/// A command that may work in the place of the one that was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// To take this later operation back first.
    First(ObjectId),
    /// To switch to a branch that is at this commit.
    Switch(Base),
    /// To take the operation back together with the edits, which are saved first.
    WithEdits,
    /// To take this earlier operation back; if it is true, together with edits.
    Other(ObjectId, bool),
    /// To go back to how all was before the operation.
    GoBack,
}

/// Returns what is to be tried if the `hindrances` are in the way of the operation that was `asked` for: the best one first. The
/// latest of the hindrances is the last one: an earlier operation may stand on a later one.
///
/// In the place of the last operation, only an earlier one is taken back, and none is brought back: a person who follows hint
/// after hint comes to an end. If nothing of that works, [`ways_by_name`] may still.
pub(crate) fn ways(hindrances: &[Hindrance], asked: Asked<'_>) -> Vec<Way> {
    let Some(first) = hindrances.first() else { return Vec::new() };
    let mut ways = Vec::new();
    if asked == Asked::Named && !hindrances.contains(&Hindrance::Final) {
        let later = hindrances.iter().rev().filter_map(|hindrance| match hindrance {
            Hindrance::Later(id) => Some(Way::First(*id)),
            _ => None,
        });
        // What only saves stays in the way.
        ways.extend(later.filter(|_| !hindrances.contains(&Hindrance::Saved)));
        if hindrances.iter().any(|hindrance| matches!(hindrance, Hindrance::Later(_) | Hindrance::Saved)) {
            ways.push(Way::GoBack);
        }
    }
    if hindrances.iter().all(|hindrance| hindrance == first) {
        match first {
            Hindrance::Elsewhere(base) => ways.push(Way::Switch(*base)),
            Hindrance::Edited => ways.push(Way::WithEdits),
            Hindrance::Later(_) | Hindrance::Saved | Hindrance::Final => {}
        }
    }
    if let Asked::Last(others) = asked {
        ways.extend([false, true].iter().flat_map(|all| others.iter().map(|id| Way::Other(*id, *all))));
    }
    ways
}

/// Returns what is to be tried if nothing is left to undo, and the `hindrances` are in the way of the last operation: what it may be
/// taken back after by its name.
pub(crate) fn ways_by_name(hindrances: &[Hindrance]) -> Vec<Way> {
    let mut ways = ways(hindrances, Asked::Named);
    ways.retain(|way| matches!(way, Way::First(_)));
    ways
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(digit: char) -> ObjectId {
        ObjectId::from_hex(digit.to_string().repeat(40).as_bytes()).expect("a digit")
    }

    fn digit(id: ObjectId) -> String {
        id.to_string()[..1].to_owned()
    }

    /// Of the words, `s` is a save, a hook or what follows HEAD, `e` are edits, `f` is final, `b` and a digit is the commit where
    /// HEAD was, and a digit is a later operation. The others that could be next are 7 and 8.
    #[rstest::rstest]
    #[case::nothing("", "", "")]
    #[case::saved_since("s", "back", "7 8 7all 8all")]
    #[case::another_one_stands("1", "first1 back", "7 8 7all 8all")]
    #[case::two_stand("1 2", "first2 first1 back", "7 8 7all 8all")]
    #[case::saved_and_another_one_stands("s 1", "back", "7 8 7all 8all")]
    #[case::moved_by_another_worktree("f", "", "7 8 7all 8all")]
    #[case::another_one_stands_and_it_is_final("1 f", "", "7 8 7all 8all")]
    #[case::head_is_elsewhere("b3", "switch3", "switch3 7 8 7all 8all")]
    #[case::head_is_elsewhere_for_two_refs("b3 b3", "switch3", "switch3 7 8 7all 8all")]
    #[case::head_was_at_two_commits("b3 b4", "", "7 8 7all 8all")]
    #[case::head_is_elsewhere_and_saved_since("b3 s", "back", "7 8 7all 8all")]
    #[case::edited("e", "edits", "edits 7 8 7all 8all")]
    #[case::edited_and_something_else("e f", "", "7 8 7all 8all")]
    fn what_is_tried(#[case] hindrances: &str, #[case] named: &str, #[case] last: &str) {
        let hindrances: Vec<Hindrance> = hindrances
            .split_whitespace()
            .map(|word| match word {
                "s" => Hindrance::Saved,
                "e" => Hindrance::Edited,
                "f" => Hindrance::Final,
                word => match (word.strip_prefix('b'), word.chars().last().map(id).expect("a digit")) {
                    (Some(_), id) => Hindrance::Elsewhere(Base::Commit(id)),
                    (None, id) => Hindrance::Later(id),
                },
            })
            .collect();
        let words = |asked| {
            let words = ways(&hindrances, asked).into_iter().map(|way| match way {
                Way::First(id) => format!("first{}", digit(id)),
                Way::Switch(base) => format!("switch{}", &base.to_string()[..1]),
                Way::WithEdits => "edits".to_owned(),
                Way::Other(id, all) => format!("{}{}", digit(id), if all { "all" } else { "" }),
                Way::GoBack => "back".to_owned(),
            });
            words.collect::<Vec<_>>().join(" ")
        };
        let found = (words(Asked::Named), words(Asked::Last(&[id('7'), id('8')])));
        assert_eq!(found, (named.to_owned(), last.to_owned()));
    }
}
