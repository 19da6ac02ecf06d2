//! The result of a check as forges read it, to show it beside the lines.

use bstr::BString;
use serde_json::{Value, json};

use super::super::output::printable;
use crate::{
    git::digest,
    ops::ci::{Breach, Checked},
};

/// GitLab shows a finding only if it names a file.
const ANY_FILE: &str = ".checkpoint.toml";

/// Returns an annotation for each breach: a workflow command of GitHub, one a line.
pub(super) fn github(checked: &Checked) -> String {
    let mut text = String::new();
    for breach in &checked.breaches {
        let mut places = Vec::new();
        if let Some(path) = &breach.path {
            places.push(format!("file={}", property(&name_of(path))));
            places.extend(breach.line.map(|line| format!("line={line}")));
        }
        places.push(format!("title={}", property(breach.policy)));
        text.push_str(&format!("::error {}::{}\n", places.join(","), data(&message_of(breach))));
    }
    for note in &checked.notes {
        text.push_str(&format!("::warning title=git-checkpoint::{}\n", data(note)));
    }
    text
}

fn message_of(breach: &Breach) -> String {
    format!("{}: {}", breach.commit, breach.message)
}

/// Returns the name of a file as a forge knows it: bytes that are no text are replaced, since JSON has none.
fn name_of(path: &BString) -> String {
    String::from_utf8_lossy(path).into_owned()
}

/// Escapes the message of a workflow command, as `escapeData()` of @actions/core does.
fn data(text: &str) -> String {
    visible(&text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A"))
}

/// Escapes the value of a property, as `escapeProperty()` of @actions/core does.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// Makes other control characters visible: they would reach the terminal of those who read the log.
fn visible(text: &str) -> String {
    if text.chars().any(char::is_control) { printable(text) } else { text.to_owned() }
}

/// Returns a Code Quality report of GitLab.
pub(super) fn gitlab(checked: &Checked) -> Value {
    let finding = |breach: &Breach| {
        let path = breach.path.as_ref().map_or_else(|| ANY_FILE.to_owned(), name_of);
        let commit = breach.commit.to_string();
        let parts = [breach.policy, "\n", &commit, "\n", &path].map(str::as_bytes);
        json!({
            "description": message_of(breach),
            "check_name": format!("git-checkpoint/{}", breach.policy),
            "fingerprint": digest::sha256(&parts),
            "severity": "major",
            "location": { "path": path, "lines": { "begin": breach.line.unwrap_or(1) } },
        })
    };
    Value::Array(checked.breaches.iter().map(finding).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::plain("a b", "a b", "a b")]
    #[case::percent("100 % of\n::error::x\r", "100 %25 of%0A::error::x%0D", "100 %25 of%0A%3A%3Aerror%3A%3Ax%0D")]
    #[case::separators("a:b,c", "a:b,c", "a%3Ab%2Cc")]
    #[case::escaped_already("%0A", "%250A", "%250A")]
    fn workflow_commands_are_escaped(#[case] text: &str, #[case] message: &str, #[case] value: &str) {
        assert_eq!((data(text).as_str(), property(text).as_str()), (message, value));
    }

    #[test]
    fn no_control_character_reaches_a_log() {
        assert!(!property("a\u{1b}[31m\u{9b}b").chars().any(char::is_control));
    }
}
