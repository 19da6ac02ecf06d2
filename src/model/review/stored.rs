//! Decisions as they are stored: for each file a text with a line of JSON for each decision.
//!
//! Two such texts are joined line by line: of several decisions about one piece, the latest counts.

use std::collections::{BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use super::{Mark, Verdict};
use crate::model::path_text::StoredPath;

/// The most bytes of a text.
const MOST_BYTES: usize = 4 << 20;

/// The part of a session in a piece.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct Part {
    /// The session.
    pub(crate) session: String,
    /// Its turn, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) turn: Option<u32>,
}

/// A decision about a piece of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Decision {
    /// The path, for readers: which file it is about follows from where the text is stored.
    #[serde(flatten)]
    pub(crate) path: StoredPath,
    /// What it is about.
    #[serde(flatten)]
    pub(crate) mark: Mark,
    /// How many pieces of the file had the same lines then, wherever.
    #[serde(default)]
    pub(crate) alike: u32,
    /// How many lines were removed, and added.
    pub(crate) lines: (u32, u32),
    /// What was decided.
    pub(crate) verdict: Verdict,
    /// Why, or what is to be changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
    /// Who has added the lines, of agents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) sessions: Vec<Part>,
    /// Who has decided: the name and the address.
    pub(crate) by: String,
    /// When, in Unix seconds.
    pub(crate) seconds: i64,
}

impl Decision {
    #[cfg(test)]
    /// Returns an empty decision about the piece with the mark `mark`.
    pub(crate) fn of(mark: Mark) -> Self {
        Self {
            path: StoredPath::default(),
            mark,
            alike: 1,
            lines: (0, 0),
            verdict: Verdict::Later,
            text: None,
            sessions: Vec::new(),
            by: String::new(),
            seconds: 0,
        }
    }

    fn line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Returns the decisions in `text`, without lines that are none.
pub(crate) fn read(text: &[u8]) -> Vec<Decision> {
    text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

/// Returns `text` with the decisions `new` in the place of earlier ones about the same pieces. If it is too long, the oldest ones go.
pub(crate) fn added_to(text: &[u8], new: &[Decision]) -> Vec<u8> {
    let mut latest: HashMap<Mark, Decision> = HashMap::new();
    for decision in read(text).into_iter().chain(new.iter().cloned()) {
        let is_newer = latest.get(&decision.mark).is_none_or(|known| known.seconds <= decision.seconds);
        if is_newer {
            latest.insert(decision.mark.clone(), decision);
        }
    }
    let mut all: Vec<(i64, String)> = latest.values().map(|decision| (decision.seconds, decision.line())).collect();
    all.sort_by(|one, other| other.cmp(one));
    let mut left = MOST_BYTES;
    let fits = |(_, line): &(i64, String)| {
        let has_room = line.len() < left;
        left = left.saturating_sub(line.len() + 1);
        has_room
    };
    let lines: BTreeSet<String> = all.into_iter().take_while(fits).map(|(_, line)| line).collect();
    lines.into_iter().flat_map(|line| [line.into_bytes(), b"\n".to_vec()].concat()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decision(added: &str, verdict: Verdict, seconds: i64) -> Decision {
        let mark = Mark { removed: "r".into(), added: added.into(), before: None, after: None, nth: 0, of: 1 };
        Decision { verdict, seconds, by: "A <a@example.com>".into(), ..Decision::of(mark) }
    }

    #[test]
    fn what_is_stored_is_read() {
        let one = Decision {
            path: StoredPath::from(&"a\u{e9}".into()),
            text: Some("two\nlines".into()),
            sessions: vec![Part { session: "s1".into(), turn: Some(2) }],
            lines: (1, 2),
            ..decision("x", Verdict::Reject, 7)
        };
        let text = added_to(b"", std::slice::from_ref(&one));
        assert_eq!(text.split(|byte| *byte == b'\n').count(), 2);
        assert_eq!(read(&text), [one]);
    }

    #[test]
    fn a_later_decision_takes_the_place_of_an_earlier_one() {
        let text = added_to(b"", &[decision("x", Verdict::Accept, 1), decision("y", Verdict::Accept, 1)]);
        let text = added_to(&text, &[decision("x", Verdict::Later, 2)]);
        let found: Vec<Verdict> = read(&text).into_iter().map(|it| it.verdict).collect();
        assert_eq!(found.len(), 2);
        assert!(found.contains(&Verdict::Later));
        // As after a join with a text from before.
        let text = added_to(&text, &[decision("x", Verdict::Reject, 1)]);
        assert!(read(&text).iter().any(|it| it.verdict == Verdict::Later));
    }

    #[rstest::rstest]
    #[case::nothing(b"")]
    #[case::no_json(b"a\n\xff\n{}\n[1]\nnull\n")]
    #[case::wrong_types(
        br#"{"path":1,"removed":"a","added":"b","lines":[1,1],"verdict":"accept","by":"","seconds":1}"#
    )]
    #[case::unknown_verdict(
        br#"{"path":"a","removed":"a","added":"b","lines":[1,1],"verdict":"run","by":"","seconds":1}"#
    )]
    fn what_is_no_decision_is_left_out(#[case] text: &[u8]) {
        assert_eq!(read(text), []);
    }

    #[test]
    fn of_too_many_decisions_the_latest_stay() {
        let long = |at: i64| Decision {
            text: Some("x".repeat(MOST_BYTES / 4)),
            ..decision(&at.to_string(), Verdict::Comment, at)
        };
        let all: Vec<Decision> = (1..=5).map(long).collect();
        let text = added_to(b"", &all);
        assert!(text.len() <= MOST_BYTES);
        let mut found: Vec<i64> = read(&text).into_iter().map(|it| it.seconds).collect();
        found.sort_unstable();
        assert_eq!(found, [3, 4, 5]);
    }
}
