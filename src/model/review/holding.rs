//! Which decisions hold for the pieces of a file as it is now.

use std::collections::HashMap;

use super::{Decision, Mark};

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
/// A decision holds for the piece that is the same and has the same neighbours. Where the line before or after it has changed, it holds if the
/// other one is the same and the file has one such piece only, and had only one: otherwise it might be about another one. A neighbour with
/// the added lines themselves is no change: what was decided is in the file already, and this comes in addition.
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
        let is_addition = [&mark.before, &mark.after].into_iter().flatten().any(|near| *near == mark.added);
        if found[at].is_none() && !may_be_others && !is_addition {
            // Of several, the lines around it have changed more than once.
            let near = decisions.iter().copied().filter(|decision| decision.mark.is_beside_the_same(mark));
            found[at] = near.max_by_key(|decision| decision.seconds);
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
    use crate::model::review::Verdict;

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
    #[case::both_neighbours_changed(&["a|x>y|b"], &[0], &["c|x>y|d"], &[])]
    #[case::once_more(&["a|>y|b"], &[0], &["y|>y|b"], &[])]
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
}
