//! Decisions that wait: for the end of a turn, or for the next prompt of the agent whose work they are about.

use serde::{Deserialize, Serialize};

use super::{Mark, Verdict};
use crate::model::path_text::StoredPath;

/// The most characters that an agent is told at once.
const MOST: usize = 4000;

/// A decision that waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Waiting {
    /// The file.
    #[serde(flatten)]
    pub(crate) path: StoredPath,
    /// The piece.
    #[serde(flatten)]
    pub(crate) mark: Mark,
    /// What was decided: to reject, or to comment.
    pub(crate) verdict: Verdict,
    /// Why, or what is to be changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
    /// The first changed line, with its sign.
    pub(crate) line: String,
    /// How many lines were changed.
    pub(crate) lines: u32,
    /// True if it is still to be taken out of the worktree.
    pub(crate) is_queued: bool,
    /// The sessions that have added lines of it, and have not been told.
    pub(crate) sessions: Vec<String>,
}

impl Waiting {
    /// Returns true if both are about the same piece.
    pub(crate) fn is_about(&self, other: &Self) -> bool {
        (&self.path, &self.mark) == (&other.path, &other.mark)
    }

    fn words(&self) -> String {
        let what = match self.verdict {
            Verdict::Reject => "rejected, and taken out of",
            _ => "to be changed in",
        };
        let more = match self.lines.saturating_sub(1) {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        let text = self.text.as_ref().map(|text| format!(": {text}")).unwrap_or_default();
        format!("- {what} {}: `{}`{more}{text}\n", self.path.shown(), self.line)
    }
}

/// Returns what an agent is told of `decided`, in its order; at the end, how many do not fit.
pub(crate) fn told(decided: &[&Waiting]) -> String {
    let mut text =
        "The user has reviewed changes of yours with git-checkpoint. Build on the files as they are now; do not bring back what was \
         rejected.\n"
            .to_owned();
    for (at, waiting) in decided.iter().enumerate() {
        let words = waiting.words();
        if text.chars().count() + words.chars().count() > MOST {
            text.push_str(&format!("- and {} more\n", decided.len() - at));
            break;
        }
        text.push_str(&words);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(verdict: Verdict, text: Option<&str>, lines: u32) -> Waiting {
        let mark = Mark { removed: "r".into(), added: "a".into(), before: None, after: None, nth: 0, of: 1 };
        Waiting {
            path: StoredPath::from(&"f".into()),
            mark,
            verdict,
            text: text.map(str::to_owned),
            line: "+x".into(),
            lines,
            is_queued: false,
            sessions: vec!["s1".into()],
        }
    }

    #[test]
    fn an_agent_is_told_what_was_decided_and_why() {
        let all = [waiting(Verdict::Reject, Some("too slow"), 1), waiting(Verdict::Comment, Some("name it"), 3)];
        let text = told(&all.iter().collect::<Vec<_>>());
        let lines: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(
            lines,
            ["- rejected, and taken out of f: `+x`: too slow", "- to be changed in f: `+x` (and 2 more): name it"]
        );
    }

    #[test]
    fn it_is_told_a_part_of_what_is_too_much() {
        let long = "y".repeat(300);
        let all = vec![waiting(Verdict::Reject, Some(&long), 1); 20];
        let text = told(&all.iter().collect::<Vec<_>>());
        assert!(text.chars().count() <= MOST + 30);
        assert!(text.ends_with("more\n"), "{text}");
    }
}
