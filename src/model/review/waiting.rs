//! Decisions that wait: for the end of a turn, or for the next prompt of the agent whose work they are about.

use serde::{Deserialize, Serialize};

use super::{Mark, Part, Verdict};
use crate::model::path_text::StoredPath;

/// The most characters that an agent hears at once.
const MOST: usize = 4000;

/// How far a decision is carried out in the worktree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Stage {
    /// It is to be taken out when the turn ends.
    Queued,
    /// Its lines, or those beside them, had changed by then: it was left.
    Left,
    /// The same, and the person knows.
    Said,
    /// There is nothing more to do.
    Done,
}

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
    /// How far it is carried out.
    pub(crate) stage: Stage,
    /// What the journal of the restore is known by that takes it out, once that begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) nonce: Option<String>,
    /// The sessions that have added lines of it, with their turns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) authors: Vec<Part>,
    /// Those sessions whose agents do not know.
    pub(crate) sessions: Vec<String>,
}

/// A restore by a person that waits for the agents whose files it has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Changed {
    /// The command.
    pub(crate) command: String,
    /// Files that it has changed and the sessions had, too; not all if they are many.
    pub(crate) changed: Vec<StoredPath>,
    /// How many more these are.
    pub(crate) more: usize,
    /// The sessions that do not know.
    pub(crate) sessions: Vec<String>,
}

/// A line of the file of what waits.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Line {
    /// A decision.
    Decision(Waiting),
    /// A restore.
    Changed(Changed),
}

/// All that waits in a worktree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Waits {
    /// The decisions.
    pub(crate) decisions: Vec<Waiting>,
    /// The restores.
    pub(crate) changed: Vec<Changed>,
}

impl Waits {
    /// Returns what `lines` say.
    pub(crate) fn of(lines: impl Iterator<Item = Line>) -> Self {
        let mut waits = Self::default();
        for line in lines {
            match line {
                Line::Decision(waiting) => waits.decisions.push(waiting),
                Line::Changed(changed) => waits.changed.push(changed),
            }
        }
        waits
    }

    /// Returns the same as lines.
    pub(crate) fn lines(&self) -> impl Iterator<Item = Line> {
        let decisions = self.decisions.iter().cloned().map(Line::Decision);
        decisions.chain(self.changed.iter().cloned().map(Line::Changed))
    }

    /// Returns true if rejections wait for the end of a turn.
    pub(crate) fn has_queued(&self) -> bool {
        self.decisions.iter().any(|it| it.stage == Stage::Queued)
    }

    /// Returns true if something is to be said to the agent of `session`.
    pub(crate) fn is_for(&self, session: &str) -> bool {
        let has = |sessions: &[String]| sessions.iter().any(|other| other == session);
        self.decisions.iter().any(|it| it.stage != Stage::Queued && has(&it.sessions))
            || self.changed.iter().any(|it| has(&it.sessions))
    }

    /// Forgets that something is to be said to the agent of `session`, and what waits for nothing more.
    pub(crate) fn forget(&mut self, session: &str) {
        for waiting in self.decisions.iter_mut().filter(|it| it.stage != Stage::Queued) {
            waiting.sessions.retain(|other| other != session);
        }
        for changed in &mut self.changed {
            changed.sessions.retain(|other| other != session);
        }
        self.tidy();
    }

    /// Forgets what waits for nothing more.
    pub(crate) fn tidy(&mut self) {
        self.decisions.retain(|it| matches!(it.stage, Stage::Queued | Stage::Left) || !it.sessions.is_empty());
        self.changed.retain(|it| !it.sessions.is_empty());
    }
}

impl Waiting {
    /// Returns true if both are about the same piece.
    pub(crate) fn is_about(&self, other: &Self) -> bool {
        (&self.path, &self.mark) == (&other.path, &other.mark)
    }

    fn words(&self) -> String {
        let what = match (self.verdict, self.stage) {
            (Verdict::Reject, Stage::Left | Stage::Said) => "rejected, but changed since, and not taken out of",
            (Verdict::Reject, _) => "rejected, and taken out of",
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

impl Changed {
    fn words(&self) -> String {
        let mut names: Vec<String> = self.changed.iter().map(|path| format!("'{}'", path.shown())).collect();
        if self.more > 0 {
            names.push(format!("{} more", self.more));
        }
        format!("- {}\n", names.join(", "))
    }
}

/// Returns what an agent hears of `changed`; at the end, how many do not fit.
pub(crate) fn words_of_restores(changed: &[&Changed]) -> String {
    let start =
        "The user has put files back with git-checkpoint that you had changed. Read them again before you go on:\n";
    listed(start, changed.iter().map(|it| it.words()))
}

/// Returns what an agent hears of `decided`, in its order; at the end, how many do not fit.
pub(crate) fn words(decided: &[&Waiting]) -> String {
    let start = "The user has reviewed changes of yours with git-checkpoint. Build on the files as they are now; do not bring back what was \
                 rejected.\n";
    listed(start, decided.iter().map(|it| it.words()))
}

fn listed(start: &str, lines: impl ExactSizeIterator<Item = String>) -> String {
    let mut text = start.to_owned();
    let count = lines.len();
    for (at, words) in lines.enumerate() {
        if text.chars().count() + words.chars().count() > MOST {
            text.push_str(&format!("- and {} more\n", count - at));
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
            stage: Stage::Done,
            nonce: None,
            authors: Vec::new(),
            sessions: vec!["s1".into()],
        }
    }

    #[test]
    fn an_agent_hears_what_was_decided_and_why() {
        let all = [waiting(Verdict::Reject, Some("too slow"), 1), waiting(Verdict::Comment, Some("name it"), 3)];
        let text = words(&all.iter().collect::<Vec<_>>());
        let lines: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(
            lines,
            ["- rejected, and taken out of f: `+x`: too slow", "- to be changed in f: `+x` (and 2 more): name it"]
        );
    }

    #[test]
    fn it_hears_a_part_of_what_is_too_much() {
        let long = "y".repeat(300);
        let all = vec![waiting(Verdict::Reject, Some(&long), 1); 20];
        let text = words(&all.iter().collect::<Vec<_>>());
        assert!(text.chars().count() <= MOST + 30);
        assert!(text.ends_with("more\n"), "{text}");
    }
}
