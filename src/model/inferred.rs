//! What a commit message hints about agents. Hints are shown as such, and never counted.

use bstr::{BStr, ByteSlice as _};

/// A text in the value of a `Co-authored-by` trailer, in lower case, and the agent that writes it.
const SIGNATURES: &[(&str, &str)] = &[
    ("noreply@anthropic.com", "claude-code"),
    ("cursoragent@cursor.com", "cursor"),
    ("noreply@openai.com", "codex"),
    ("codex@openai.com", "codex"),
    ("copilot@users.noreply.github.com", "copilot"),
    ("gemini-code-assist", "gemini"),
    ("gemini-cli", "gemini"),
    ("noreply@opencode.ai", "opencode"),
    ("amp@ampcode.com", "amp"),
    ("factory-droid", "droid"),
    ("aider@aider.chat", "aider"),
    ("devin-ai-integration", "devin"),
];

/// Returns the agents that `message` names as co-authors, sorted.
pub(crate) fn agents(message: &BStr) -> Vec<String> {
    let mut found = Vec::new();
    for line in message.lines() {
        let Some((key, value)) = line.split_once_str(":") else { continue };
        if !key.eq_ignore_ascii_case(b"co-authored-by") {
            continue;
        }
        let value = value.to_ascii_lowercase();
        let known = SIGNATURES.iter().filter(|(signature, _)| value.contains_str(signature));
        found.extend(known.map(|(_, agent)| (*agent).to_owned()));
    }
    found.sort();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::none("s\n\nCo-authored-by: A Person <a@example.com>\n", &[])]
    #[case::known("s\n\nCo-Authored-By: Claude <noreply@anthropic.com>\n", &["claude-code"])]
    #[case::in_prose("see Co-authored-by: noreply@anthropic.com\n", &[])]
    #[case::several("s\n\nco-authored-by: x <aider@aider.chat>\nCo-authored-by: Cursor <cursoragent@cursor.com>", &["aider", "cursor"])]
    fn co_authors_are_known(#[case] message: &str, #[case] expected: &[&str]) {
        assert_eq!(agents(message.into()), expected);
    }
}
