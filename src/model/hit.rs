//! What a search finds, and in which order it is shown: pure functions.

use serde::Serialize;

/// Where a text was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Field {
    /// A note.
    Note,
    /// The message of a checkpoint or a commit.
    Subject,
    /// What an agent was asked.
    Prompt,
    /// Changed lines.
    Content,
    /// The path of a changed file.
    Path,
    /// The id of a record, or the session, the agent or the model that it names.
    Record,
    /// A transcript.
    Transcript,
}

/// All fields, with the words for them on the command line.
pub(crate) const FIELDS: [(&str, Field); 7] = [
    ("notes", Field::Note),
    ("subjects", Field::Subject),
    ("prompts", Field::Prompt),
    ("content", Field::Content),
    ("paths", Field::Path),
    ("records", Field::Record),
    ("transcripts", Field::Transcript),
];

impl Field {
    /// Returns the word for one such place in the output.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Subject => "subject",
            Self::Prompt => "prompt",
            Self::Content => "content",
            Self::Path => "path",
            Self::Record => "record",
            Self::Transcript => "transcript",
        }
    }

    /// What a person has written about the work counts most, what was said on the way least.
    fn weight(self) -> u64 {
        match self {
            Self::Note => 100,
            Self::Subject => 80,
            Self::Prompt => 60,
            Self::Content => 50,
            Self::Path => 40,
            Self::Record => 30,
            Self::Transcript => 20,
        }
    }
}

/// After this time, a hit counts half.
const HALF: u64 = 30 * 24 * 60 * 60;

/// Returns how much a hit in `field` counts that is `age` seconds old.
pub(crate) fn score(field: Field, age: i64) -> u64 {
    let age = u64::try_from(age).unwrap_or_default();
    field.weight() * 1_000 * HALF / HALF.saturating_add(age)
}

/// A line with a match, cut at both ends if it is long.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Excerpt {
    /// What is before the match.
    pub(crate) before: String,
    /// The match, as far as it is on its first line.
    pub(crate) r#match: String,
    /// What is after it.
    pub(crate) after: String,
}

/// The most characters before the match, and in and after it.
const MOST_BEFORE: usize = 60;
const MOST_AFTER: usize = 300;
/// What stands where something is left out.
const LEFT_OUT: &str = "...";

/// Returns the line of `text` in which the match begins that is at `start` and ends before `end`.
pub(crate) fn excerpt(text: &[u8], (start, end): (usize, usize)) -> Excerpt {
    let first = text[..start].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let last = text[start..].iter().position(|byte| *byte == b'\n').map_or(text.len(), |at| start + at);
    let lossy = |part: &[u8]| String::from_utf8_lossy(part).into_owned();
    let before = lossy(&text[first..start]);
    let count = before.chars().count();
    let before = match count.checked_sub(MOST_BEFORE) {
        Some(surplus) if surplus > 0 => LEFT_OUT.to_owned() + &before.chars().skip(surplus).collect::<String>(),
        _ => before.trim_start().to_owned(),
    };
    let cut = |text: String| match text.char_indices().nth(MOST_AFTER) {
        Some((at, _)) => text[..at].to_owned() + LEFT_OUT,
        None => text,
    };
    let after = cut(lossy(&text[end.clamp(start, last)..last]).trim_end().to_owned());
    Excerpt { before, r#match: cut(lossy(&text[start..end.clamp(start, last)])), after }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::one_line("a needle here", (2, 8), "a |needle| here")]
    #[case::inner_line("one\n  a needle \nthree", (8, 14), "a |needle|")]
    #[case::over_lines("a needle\nb", (2, 10), "a |needle|")]
    #[case::at_both_ends("x", (0, 1), "|x|")]
    #[case::empty_match("ab", (1, 1), "a||b")]
    #[case::not_ascii("é needle é", (3, 9), "é |needle| é")]
    fn lines_of_matches(#[case] text: &str, #[case] at: (usize, usize), #[case] expected: &str) {
        let Excerpt { before, r#match, after } = excerpt(text.as_bytes(), at);
        assert_eq!(format!("{before}|{match}|{after}"), expected);
    }

    #[test]
    fn a_long_line_is_cut_at_both_ends() {
        let text = format!("{}needle{}", "ж".repeat(100), "ж".repeat(400));
        let found = excerpt(text.as_bytes(), (200, 206));
        assert_eq!(found.before, format!("...{}", "ж".repeat(60)));
        assert_eq!((found.r#match.as_str(), found.after), ("needle", format!("{}...", "ж".repeat(300))));
    }

    #[test]
    fn a_recent_prompt_comes_before_an_old_note() {
        const DAY: i64 = 24 * 60 * 60;
        let mut hits = [(Field::Note, 300), (Field::Prompt, 1), (Field::Transcript, 0), (Field::Note, 2)];
        hits.sort_by_key(|(field, days)| std::cmp::Reverse(score(*field, days * DAY)));
        let expected = [(Field::Note, 2), (Field::Prompt, 1), (Field::Transcript, 0), (Field::Note, 300)];
        assert_eq!(hits, expected);
        assert_eq!(score(Field::Note, -5), score(Field::Note, 0), "a clock may be wrong");
    }
}
