//! Which known name a mistyped one was probably meant to be: of commands and options, settings, checkpoints, sessions, pages.

use std::cmp::Reverse;

/// The most characters that are compared: a name from outside may be as long as it likes, and the comparison takes the product of
/// both lengths.
const MOST: usize = 256;

/// How far a name is from what was typed: first the slips, then how many characters at the beginning are the same.
type Distance = (usize, Reverse<usize>);

/// Returns how many slips lie between `typed` and `meant`: a character too many or too few, another one, or two that have changed
/// places. Capitals do not count.
pub(crate) fn slips(typed: &str, meant: &str) -> usize {
    strsim::damerau_levenshtein(&compared(typed), &compared(meant))
}

/// Returns true if a name with so many `slips` may be what `typed` was meant to be: one in three characters, but no more than two
/// in a word of common length, where three make another word.
pub(crate) fn are_few(slips: usize, typed: &str) -> bool {
    const AT_MOST: usize = 2;
    let count = typed.chars().count();
    count <= MOST && slips <= (count / 3).clamp(1, AT_MOST).max(count / 6)
}

/// Returns how far `meant` is from `typed`; the least is nearest.
pub(crate) fn distance(typed: &str, meant: &str) -> Distance {
    let same = compared(typed).chars().zip(compared(meant).chars()).take_while(|(one, other)| one == other).count();
    (slips(typed, meant), Reverse(same))
}

/// Returns the candidate that is most similar to `typed`, if any is similar enough; of equal ones, the first. Where `typed` is the
/// beginning of a candidate, that one is meant.
pub(crate) fn most_similar<'a>(typed: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const LEAST: usize = 3;
    if typed.chars().count() < LEAST {
        return None;
    }
    let wanted = compared(typed);
    let far = |candidate: &str| {
        if compared(candidate).starts_with(&wanted) { (0, Reverse(0)) } else { distance(typed, candidate) }
    };
    let nearest = candidates.into_iter().map(|candidate| (far(candidate), candidate)).min_by_key(|(far, _)| *far);
    nearest.filter(|((slips, _), _)| are_few(*slips, typed)).map(|(_, candidate)| candidate)
}

/// The same for ids, of which people type the beginning: each candidate counts as long as `typed`, if it is longer.
pub(crate) fn most_similar_beginning<'a>(
    typed: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    const LEAST: usize = 4;
    let count = typed.chars().count();
    if count < LEAST {
        return None;
    }
    let candidates: Vec<&str> = candidates.into_iter().collect();
    let beginning = |it: &&'a str| it.char_indices().nth(count).map_or(*it, |(end, _)| &it[..end]);
    let beginnings: Vec<&str> = candidates.iter().map(beginning).collect();
    let found = most_similar(typed, beginnings.iter().copied())?;
    // What several begin with names none of them.
    let mut meant = candidates.iter().zip(&beginnings).filter(|(_, it)| **it == found).map(|(candidate, _)| *candidate);
    meant.next().filter(|_| meant.next().is_none())
}

/// Returns the hint that asks for the name that was `meant`, if any, before `list`, which says how to see all.
pub(crate) fn hint(meant: Option<&str>, list: &str) -> String {
    meant.map_or_else(|| list.to_owned(), |meant| format!("did you mean '{meant}'? {list}"))
}

/// Returns the part of `text` that is compared, in small letters.
fn compared(text: &str) -> String {
    text.chars().take(MOST).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::a_letter_is_missing("verifed", Some("verified"))]
    #[case::two_letters_have_changed_places("bsae", Some("base"))]
    #[case::a_beginning("veri", Some("verified"))]
    #[case::capitals("Verified", Some("verified"))]
    #[case::another_word("nothing", None)]
    #[case::too_short("ba", None)]
    #[case::empty("", None)]
    fn what_is_close_is_meant(#[case] typed: &str, #[case] expected: Option<&str>) {
        assert_eq!(most_similar(typed, ["base", "verified"]), expected);
    }

    #[rstest::rstest]
    #[case::a_digit("0197", Some("0196b1f2-aaaa"))]
    #[case::a_longer_one("0195b1f2-aaaa", Some("0196b1f2-aaaa"))]
    #[case::all_of_it_and_more("0196b1f2-aaaab", Some("0196b1f2-aaaa"))]
    #[case::several("77ff", None)]
    #[case::too_short("019", None)]
    #[case::another("abcd", None)]
    fn a_beginning_is_compared_with_beginnings(#[case] typed: &str, #[case] expected: Option<&str>) {
        assert_eq!(most_similar_beginning(typed, ["0196b1f2-aaaa", "77fe-1", "77fe-2"]), expected);
    }

    #[rstest::rstest]
    #[case::one_of_three("lst", 1, true)]
    #[case::two_of_five("sorce", 2, false)]
    #[case::three_make_another_word("newer-than", 3, false)]
    #[case::a_long_name("save.max-untraked-flie", 3, true)]
    fn slips_are_few(#[case] typed: &str, #[case] slips: usize, #[case] expected: bool) {
        assert_eq!(are_few(slips, typed), expected);
    }

    #[test]
    fn of_as_many_slips_the_same_beginning_is_nearer() {
        assert_eq!(slips("--sorce", "--force"), slips("--sorce", "--source"));
        assert!(distance("--sorce", "--source") < distance("--sorce", "--force"));
    }

    #[test]
    fn what_is_too_long_is_nothing() {
        assert_eq!(most_similar(&"a".repeat(100_000), ["base"]), None);
    }
}
