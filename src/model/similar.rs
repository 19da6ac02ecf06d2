//! Which known name a mistyped one was probably meant to be.

/// Returns the candidate that is most similar to `typed`, if any is similar enough; of equal ones, the first.
///
/// One slip in three characters is allowed, and at least one in four characters or more. Where `typed` is the beginning of a
/// candidate, that one is meant.
pub(crate) fn most_similar<'a>(typed: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const LEAST: usize = 3;
    // A name from outside may be as long as it likes, and the comparison takes the product of both lengths.
    const MOST: usize = 256;
    let count = typed.chars().count();
    if !(LEAST..=MOST).contains(&count) {
        return None;
    }
    let wanted = typed.to_lowercase();
    let distance = |candidate: &str| {
        let candidate: String = candidate.to_lowercase().chars().take(MOST).collect();
        if candidate.starts_with(&wanted) { 0 } else { strsim::damerau_levenshtein(&wanted, &candidate) }
    };
    let nearest = candidates.into_iter().map(|candidate| (distance(candidate), candidate)).min_by_key(|(far, _)| *far);
    nearest.filter(|(far, _)| *far <= count / 3).map(|(_, candidate)| candidate)
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

    #[test]
    fn what_is_too_long_is_nothing() {
        assert_eq!(most_similar(&"a".repeat(100_000), ["base"]), None);
    }
}
