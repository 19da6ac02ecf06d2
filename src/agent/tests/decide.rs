//! Whose payload it is.

use std::fs;

use super::{
    super::{
        self as agent,
        dialect::{Environment, named},
    },
    fixtures,
};

type Pairs = &'static [(&'static str, &'static str)];

fn environment(pairs: &[(&str, &str)]) -> Environment {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn name(payload: &str, pairs: &[(&str, &str)], told: &str) -> Option<String> {
    agent::read(payload.as_bytes(), &environment(pairs), named(told)).ok().map(|(_, dialect)| dialect.name.to_owned())
}

/// Agents that run another's hooks send their own payloads.
#[test]
fn the_payload_comes_before_what_was_told() {
    for told in ["claude-code", "generic", "cursor"] {
        for (agent, file) in [
            ("cursor", "pre-tool-write"),
            ("codex", "no-transcript"),
            ("codex", "interrupt"),
            ("gemini", "background"),
            ("copilot", "session-start"),
            ("copilot", "camel-pre-tool"),
            ("droid", "stop"),
            ("cline", "prompt"),
            ("windsurf", "stop"),
            ("goose", "stop"),
            ("opencode", "stop"),
            ("amp", "stop"),
            ("generic", "pre-tool"),
            ("kiro", "cli-session-start"),
            ("claude-code", "stop"),
        ] {
            let text = fs::read_to_string(fixtures().join(agent).join(format!("{file}.json"))).expect("there");
            assert_eq!(name(&text, &[], told).as_deref(), Some(agent), "{file} told {told}");
        }
    }
}

#[test]
fn the_environment_comes_next_where_it_fits_the_payload() {
    let plain = r#"{"hook_event_name": "SessionEnd", "session_id": "s1", "cwd": "/x"}"#;
    let cases: [(Pairs, &str, Option<&str>); 8] = [
        (&[], "claude-code", Some("claude-code")),
        (&[], "kiro", Some("kiro")),
        (&[], "nobody", None),
        (&[("GEMINI_SESSION_ID", "s1")], "claude-code", Some("gemini")),
        // An agent that another agent runs.
        (&[("GEMINI_SESSION_ID", "another")], "claude-code", Some("claude-code")),
        (&[("CURSOR_VERSION", "2")], "claude-code", Some("claude-code")),
        (&[("DROID_PROJECT_DIR", "/x")], "claude-code", Some("droid")),
        (&[("CLAUDE_PROJECT_DIR", "/x")], "kiro", Some("kiro")),
    ];
    for (pairs, told, expected) in cases {
        assert_eq!(name(plain, pairs, told).as_deref(), expected, "{pairs:?} {told}");
    }
}
