//! What an agent is answered about a tool call that the guard allows.

use super::{
    super::guard::Verdict,
    report::{Answer, Message},
};
use crate::config::Overlap;

/// Returns the answer that lets the agent continue, with a warning if `verdict` has something to report.
pub(super) fn answer(verdict: Verdict) -> Answer {
    if verdict.report.is_none() && verdict.notes.is_empty() {
        return Answer::Allow;
    }
    Answer::Warn(Message::Guard(Box::new(verdict)))
}

/// Returns the same answer with `warnings` about other worktrees. If the setting `overlap` says so, the agent asks its user about them.
pub(super) fn with_warnings(mut verdict: Verdict, warnings: Vec<String>, overlap: Overlap) -> Answer {
    let asks = !warnings.is_empty() && overlap == Overlap::Ask;
    verdict.notes.extend(warnings);
    if asks { Answer::Ask(Message::Guard(Box::new(verdict))) } else { answer(verdict) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::nothing(&[], Overlap::Ask, "allow")]
    #[case::warn(&["x"], Overlap::Warn, "warn")]
    #[case::ask(&["x"], Overlap::Ask, "ask")]
    fn the_table(#[case] warnings: &[&str], #[case] overlap: Overlap, #[case] expected: &str) {
        let warnings = warnings.iter().map(ToString::to_string).collect();
        let word = match with_warnings(Verdict::allow(), warnings, overlap) {
            Answer::Allow => "allow",
            Answer::Warn(_) => "warn",
            Answer::Ask(_) => "ask",
            Answer::Deny(_) => "deny",
        };
        assert_eq!(word, expected);
    }
}
