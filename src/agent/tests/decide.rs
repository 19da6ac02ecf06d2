//! Which agent's payload it is, and who submitted the prompt.

use std::fs;

use serde_json::json;

use super::{
    super::{self as agent, dialect::Environment, dialects::named, event::Moment},
    fixtures, read,
};

type Pairs = &'static [(&'static str, &'static str)];

fn environment(pairs: &[(&str, &str)]) -> Environment {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn name(payload: &str, pairs: &[(&str, &str)], given: &str) -> Option<String> {
    agent::read(payload.as_bytes(), &environment(pairs), named(given)).ok().map(|(_, dialect)| dialect.name.to_owned())
}

/// Agents that run another's hooks send their own payloads.
#[test]
fn the_payload_overrides_the_given_agent() {
    for given in ["claude-code", "generic", "cursor"] {
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
            assert_eq!(name(&text, &[], given).as_deref(), Some(agent), "{file} given {given}");
        }
    }
}

#[test]
fn the_environment_overrides_the_given_agent_if_it_fits_the_payload() {
    let plain = r#"{"hook_event_name": "SessionEnd", "session_id": "s1", "cwd": "/x"}"#;
    let cases: [(Pairs, &str, Option<&str>); 8] = [
        (&[], "claude-code", Some("claude-code")),
        (&[], "kiro", Some("kiro")),
        (&[], "no-such-agent", None),
        (&[("GEMINI_SESSION_ID", "s1")], "claude-code", Some("gemini")),
        // An agent that another agent runs.
        (&[("GEMINI_SESSION_ID", "another")], "claude-code", Some("claude-code")),
        (&[("CURSOR_VERSION", "2")], "claude-code", Some("claude-code")),
        (&[("DROID_PROJECT_DIR", "/x")], "claude-code", Some("droid")),
        (&[("CLAUDE_PROJECT_DIR", "/x")], "kiro", Some("kiro")),
    ];
    for (pairs, given, expected) in cases {
        assert_eq!(name(plain, pairs, given).as_deref(), expected, "{pairs:?} {given}");
    }
}

/// Claude Code submits more than people type.
#[rstest::rstest]
#[case::typed("do it", "", Moment::Prompt)]
#[case::sent_by_a_program("do it", "sdk", Moment::Prompt)]
#[case::no_text("", "user", Moment::Prompt)]
#[case::about_it("what is <task-notification>?", "user", Moment::Prompt)]
#[case::a_command_of_the_users("<command-name>/init</command-name>", "", Moment::Prompt)]
#[case::has_ended("<task-notification>\n<task-id>b1</task-id>", "", Moment::Notice)]
#[case::after_a_blank("\n <task-notification>", "user", Moment::Notice)]
#[case::reminder("<system-reminder>\nx", "", Moment::Notice)]
#[case::two("<system-reminder>x</system-reminder>\n<task-notification>y</task-notification> ", "", Moment::Notice)]
#[case::pasted_before("<system-reminder>x</system-reminder>\nplease fix it", "", Moment::Prompt)]
#[case::of_another_name("<system-reminders>", "", Moment::Prompt)]
#[case::output("<local-command-stdout>x</local-command-stdout>", "", Moment::Notice)]
#[case::from_a_peer("do it", "system", Moment::Notice)]
#[case::loops("do it", "loop_wakeup", Moment::Notice)]
#[case::scheduled("do it", "schedule_wakeup", Moment::Notice)]
#[case::an_event_of_the_host("do it", "poll_event", Moment::Notice)]
fn a_prompt_that_no_person_typed_is_a_notice(#[case] prompt: &str, #[case] source: &str, #[case] moment: Moment) {
    let mut payload = json!({ "hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": prompt });
    if !source.is_empty() {
        payload["source"] = source.into();
    }
    let event = read(payload.to_string().as_bytes(), named("claude-code")).expect("it is read");
    assert_eq!((event.moment, event.prompt.is_some()), (moment, moment == Moment::Prompt));
    // Other agents' payloads have no such marks.
    let event = read(payload.to_string().as_bytes(), named("droid")).expect("it is read");
    assert_eq!(event.moment, Moment::Prompt);
}
