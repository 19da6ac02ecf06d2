//! What `undo` and `redo` do with an operation while something is in the way of taking it back: pure functions, and the only
//! rule for that.
//!
//! An operation that nothing takes back any more is passed over, so that it does not keep those before it from being taken
//! back. If something that a person can type still takes it back, the command stops there and names that, since to go on
//! would change files of which the person may not think.

use gix::ObjectId;

/// What is in the way of taking an operation back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hindrance {
    /// A later operation has moved one of its refs, stands, and can be taken back itself.
    Later(ObjectId),
    /// A later operation has moved one of its refs that only saves, or follows commits: no undo takes that back.
    Saved,
    /// Nothing in the log of this worktree takes back what is in the way.
    Final,
}

/// What may take an operation back all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// To take this later operation back first.
    First(ObjectId),
    /// To set the live checkpoints aside, and to make those live again that the operation has set aside, of which this is the
    /// last.
    BringBack(ObjectId),
    /// To go back to how all was before the operation.
    GoBack,
}

/// What is done with an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// It is taken back.
    TakesBack,
    /// Nothing is done: an error says what is in the way, and what to type instead.
    Stops,
    /// It stays as it is, and the one before it is looked at.
    PassesOver,
}

/// Returns what is to be tried in the place of an undo, the best one first. The latest of the `hindrances` is the last one;
/// `set_aside` is the end of what a reset has set aside.
pub(crate) fn ways(hindrances: &[Hindrance], set_aside: Option<ObjectId>) -> Vec<Way> {
    if hindrances.is_empty() || hindrances.contains(&Hindrance::Final) {
        return Vec::new();
    }
    // An earlier operation may stand on a later one.
    let first = hindrances.iter().rev().filter_map(|hindrance| match hindrance {
        Hindrance::Later(id) => Some(Way::First(*id)),
        Hindrance::Saved | Hindrance::Final => None,
    });
    first.chain(set_aside.map(Way::BringBack)).chain([Way::GoBack]).collect()
}

/// Returns what is done with an operation that something hinders or not, if one of its [`ways`] works or none. Only an
/// operation that the command finds itself is passed over, and not one that is named.
pub(crate) fn next(is_hindered: bool, has_way: bool, is_named: bool) -> Next {
    match (is_hindered, has_way || is_named) {
        (false, _) => Next::TakesBack,
        (true, true) => Next::Stops,
        (true, false) => Next::PassesOver,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(digit: char) -> ObjectId {
        ObjectId::from_hex(digit.to_string().repeat(40).as_bytes()).expect("a digit")
    }

    /// Of the words, `s` is a save, a hook or what follows HEAD, `f` is final, and a digit is a later operation. What is tried is
    /// `first` of a digit, `bring` and `back`.
    #[rstest::rstest]
    #[case::nothing("", false, "")]
    #[case::saved_since("s", false, "back")]
    #[case::saved_since_a_reset("s", true, "bring back")]
    #[case::another_one_stands("1", false, "first1 back")]
    #[case::two_stand("1 2", false, "first2 first1 back")]
    #[case::saved_and_another_one_stands("s 1", true, "first1 bring back")]
    #[case::moved_by_another_worktree("f", false, "")]
    #[case::moved_by_another_worktree_and_saved("s f", true, "")]
    #[case::another_one_stands_and_it_is_final("1 f", false, "")]
    fn what_is_tried(#[case] hindrances: &str, #[case] is_reset: bool, #[case] expected: &str) {
        let hindrances: Vec<Hindrance> = hindrances
            .split_whitespace()
            .map(|word| match word {
                "s" => Hindrance::Saved,
                "f" => Hindrance::Final,
                digit => Hindrance::Later(id(digit.chars().next().expect("a digit"))),
            })
            .collect();
        let words = ways(&hindrances, is_reset.then(|| id('9'))).into_iter().map(|way| match way {
            Way::First(id) => format!("first{}", &id.to_string()[..1]),
            Way::BringBack(_) => "bring".to_owned(),
            Way::GoBack => "back".to_owned(),
        });
        assert_eq!(words.collect::<Vec<_>>().join(" "), expected);
    }

    #[rstest::rstest]
    #[case::free(false, false, false, Next::TakesBack)]
    #[case::free_and_named(false, false, true, Next::TakesBack)]
    #[case::something_else_takes_it_back(true, true, false, Next::Stops)]
    #[case::something_else_takes_back_the_named_one(true, true, true, Next::Stops)]
    #[case::nothing_takes_it_back(true, false, false, Next::PassesOver)]
    #[case::nothing_takes_back_the_named_one(true, false, true, Next::Stops)]
    fn what_is_done(#[case] is_hindered: bool, #[case] has_way: bool, #[case] is_named: bool, #[case] expected: Next) {
        assert_eq!(next(is_hindered, has_way, is_named), expected);
    }
}
