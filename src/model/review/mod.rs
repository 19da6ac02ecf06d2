//! What a person decides about changed lines, and what of that still holds for the lines as they are now.
//!
//! A decision belongs to a [`Piece`] of a file, known by its content and its neighbours: not by the number of a line, nor by a commit.
//! So it holds after an amend, a rebase or a partial commit, as long as the piece itself is the same.

mod piece;
mod stored;

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

pub(crate) use self::{
    piece::{Piece, Span, pieces, reverted, split},
    stored::{Decision, Part, added_to, read},
};

/// What a person has decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verdict {
    /// It stays.
    Accept,
    /// It goes.
    Reject,
    /// It is to be changed as the text says.
    Comment,
    /// Nothing yet: this takes an earlier decision back.
    Later,
}

/// How far a piece is reviewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    /// Nothing is decided.
    Open,
    /// It was rejected, and is there.
    Rejected,
    /// It is to be changed.
    Commented,
    /// It stays.
    Accepted,
}

impl State {
    /// Returns the state of a piece that `verdict` holds for.
    pub(crate) fn of(verdict: Option<Verdict>) -> Self {
        match verdict {
            None | Some(Verdict::Later) => Self::Open,
            Some(Verdict::Reject) => Self::Rejected,
            Some(Verdict::Comment) => Self::Commented,
            Some(Verdict::Accept) => Self::Accepted,
        }
    }

    /// Returns the word for it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Rejected => "rejected",
            Self::Commented => "commented",
            Self::Accepted => "accepted",
        }
    }

    /// Returns true if a person still has to decide: what was rejected is there again, or still.
    pub(crate) fn is_undecided(self) -> bool {
        matches!(self, Self::Open | Self::Rejected)
    }

    /// Returns the state of what has pieces in these `states`: all have to be decided.
    pub(crate) fn of_all(states: impl IntoIterator<Item = Self>) -> Self {
        states.into_iter().min().unwrap_or(Self::Open)
    }
}

/// What identifies a piece in its file. The digests are of content.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Mark {
    /// The removed lines.
    pub(crate) removed: String,
    /// The added ones.
    pub(crate) added: String,
    /// The unchanged line before it; none at the beginning of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) before: Option<String>,
    /// The unchanged line after it; none at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) after: Option<String>,
    /// Its place among those of the file that are the same in all of this, from 0.
    #[serde(default)]
    pub(crate) nth: u32,
    /// How many these are.
    #[serde(default = "one")]
    pub(crate) of: u32,
}

fn one() -> u32 {
    1
}

impl Mark {
    /// Returns what stays the same when lines around it change.
    fn content(&self) -> (&str, &str) {
        (&self.removed, &self.added)
    }
}

/// Numbers those of the `marks` of a file that are the same.
pub(crate) fn number(marks: &mut [Mark]) {
    let mut counts: HashMap<Mark, u32> = HashMap::new();
    for mark in marks.iter_mut() {
        let count = counts.entry(mark.clone()).or_default();
        mark.nth = *count;
        *count += 1;
    }
    for mark in marks.iter_mut() {
        let plain = Mark { nth: 0, of: 1, ..mark.clone() };
        mark.of = counts.get(&plain).copied().unwrap_or(1);
    }
}

/// Returns for each of the pieces of a file, with these `marks`, which of the `decisions` for that file holds for it.
///
/// A decision holds for the piece that is the same and has the same neighbours. Where lines around it have changed, it holds if the file has
/// one such piece only, and had only one: otherwise it might be about another one.
pub(crate) fn holding<'d>(marks: &[Mark], decisions: &'d [Decision]) -> Vec<Option<&'d Decision>> {
    let mut latest: HashMap<&Mark, &Decision> = HashMap::new();
    for decision in decisions {
        let known = latest.entry(&decision.mark).or_insert(decision);
        if known.seconds <= decision.seconds {
            *known = decision;
        }
    }
    let mut found: Vec<Option<&Decision>> = marks.iter().map(|mark| latest.remove(mark)).collect();
    let mut left: HashMap<(&str, &str), Vec<&Decision>> = HashMap::new();
    for (mark, decision) in latest {
        left.entry(mark.content()).or_default().push(decision);
    }
    for (at, (mark, count)) in marks.iter().zip(alike(marks)).enumerate() {
        let decisions = left.get(&mark.content()).map(Vec::as_slice).unwrap_or_default();
        let may_be_others = count > 1 || decisions.iter().any(|decision| decision.alike != 1);
        if found[at].is_none() && !may_be_others {
            // Of several, the lines around it have changed more than once.
            found[at] = decisions.iter().copied().max_by_key(|decision| decision.seconds);
        }
    }
    found
}

/// Returns for each of the `marks` of a file how many pieces have the same lines, wherever they are.
pub(crate) fn alike(marks: &[Mark]) -> Vec<u32> {
    let mut counts: HashMap<(&str, &str), u32> = HashMap::new();
    for mark in marks {
        *counts.entry(mark.content()).or_default() += 1;
    }
    marks.iter().map(|mark| counts[&mark.content()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A mark of `-removed+added` between `before` and `after`: `before|removed>added|after`.
    fn mark(text: &str) -> Mark {
        let parts: Vec<&str> = text.split('|').collect();
        let (removed, added) = parts[1].split_once('>').expect("two sides");
        let near = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let (before, after) = (near(parts[0]), near(parts[2]));
        Mark { removed: removed.into(), added: added.into(), before, after, nth: 0, of: 1 }
    }

    fn marks(texts: &[&str]) -> Vec<Mark> {
        let mut marks: Vec<Mark> = texts.iter().map(|text| mark(text)).collect();
        number(&mut marks);
        marks
    }

    fn decision(mark: Mark, verdict: Verdict, seconds: i64) -> Decision {
        Decision { verdict, seconds, ..Decision::of(mark) }
    }

    /// Which pieces are accepted, after the pieces `decided` of the file `then` were accepted.
    #[rstest::rstest]
    #[case::the_same(&["a|x>y|b"], &[0], &["a|x>y|b"], &[0])]
    #[case::nothing(&["a|x>y|b"], &[], &["a|x>y|b"], &[])]
    #[case::other_lines(&["a|x>y|b"], &[0], &["a|x>z|b"], &[])]
    #[case::a_neighbour_changed(&["a|x>y|b"], &[0], &["c|x>y|b"], &[0])]
    #[case::both_neighbours_changed(&["a|x>y|b"], &[0], &["c|x>y|d"], &[0])]
    #[case::another_one_came(&["a|x>y|b"], &[0], &["a|x>y|b", "c|x>y|d"], &[0])]
    #[case::another_one_came_and_a_neighbour_changed(&["a|x>y|b"], &[0], &["e|x>y|b", "c|x>y|d"], &[])]
    #[case::one_of_two(&["a|x>y|b", "c|x>y|d"], &[1], &["a|x>y|b", "c|x>y|d"], &[1])]
    #[case::one_of_two_is_gone(&["a|x>y|b", "c|x>y|d"], &[0, 1], &["c|x>y|d"], &[0])]
    #[case::one_of_two_is_gone_and_a_neighbour_changed(&["a|x>y|b", "c|x>y|d"], &[0], &["e|x>y|d"], &[])]
    #[case::one_of_two_alike(&["a|x>y|b", "a|x>y|b"], &[1], &["a|x>y|b", "a|x>y|b"], &[1])]
    #[case::two_alike_became_one(&["a|x>y|b", "a|x>y|b"], &[1], &["a|x>y|b"], &[])]
    #[case::one_became_two_alike(&["a|x>y|b"], &[0], &["a|x>y|b", "a|x>y|b"], &[])]
    fn what_holds(#[case] then: &[&str], #[case] decided: &[usize], #[case] now: &[&str], #[case] expected: &[usize]) {
        let then = marks(then);
        let decisions: Vec<Decision> = decided
            .iter()
            .map(|at| Decision { alike: alike(&then)[*at], ..decision(then[*at].clone(), Verdict::Accept, 1) })
            .collect();
        let now = marks(now);
        let found = holding(&now, &decisions);
        let accepted: Vec<usize> = (0..now.len()).filter(|at| found[*at].is_some()).collect();
        assert_eq!(accepted, expected);
    }

    #[test]
    fn the_latest_decision_counts() {
        let marks = marks(&["a|x>y|b"]);
        let decisions =
            [decision(marks[0].clone(), Verdict::Accept, 2), decision(marks[0].clone(), Verdict::Reject, 1)];
        assert_eq!(holding(&marks, &decisions)[0].map(|it| it.verdict), Some(Verdict::Accept));
    }

    #[test]
    fn where_a_neighbour_has_changed_twice_the_latest_decision_counts() {
        let decisions = [decision(mark("a|x>y|b"), Verdict::Accept, 1), decision(mark("c|x>y|b"), Verdict::Comment, 2)];
        let found = holding(&marks(&["d|x>y|b"]), &decisions);
        assert_eq!(found[0].map(|it| it.verdict), Some(Verdict::Comment));
    }

    #[rstest::rstest]
    #[case::nothing(&[], State::Open)]
    #[case::all(&[State::Accepted, State::Accepted], State::Accepted)]
    #[case::one_is_open(&[State::Accepted, State::Open], State::Open)]
    #[case::one_is_commented(&[State::Accepted, State::Commented], State::Commented)]
    #[case::one_is_rejected(&[State::Rejected, State::Commented], State::Rejected)]
    fn all_of_a_hunk_has_to_be_decided(#[case] states: &[State], #[case] expected: State) {
        assert_eq!(State::of_all(states.iter().copied()), expected);
    }
}
