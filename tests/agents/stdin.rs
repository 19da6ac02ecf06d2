//! What comes on standard input, and how.

use std::{
    io::Write as _,
    time::{Duration, Instant},
};

use serde_json::json;

use super::words::{piped, tool};
use crate::support::{World, processes::described};

#[test]
fn an_agent_that_never_closes_its_end_is_answered() {
    let world = World::with_lines();
    let payload = json!({ "event": "prompt", "session": "s", "cwd": world.repo().display().to_string() });
    let start = Instant::now();
    let begun = [payload.to_string(), String::new(), "{\"event\": ".to_owned()].map(|text| {
        let mut child = world.hook("generic").spawn().expect("the program runs");
        let mut input = child.stdin.take().expect("it is piped");
        input.write_all(text.as_bytes()).expect("it reads");
        (text, child, input)
    });
    for (text, child, input) in begun {
        let output = child.wait_with_output().expect("it ends");
        assert!(start.elapsed() < Duration::from_secs(20), "it waits for ever");
        assert!(output.status.success() && output.stderr.is_empty(), "{text}: {}", described(&output));
        assert!(!output.stdout.is_empty(), "{text}");
        drop(input);
    }
    assert_eq!(world.json(&["session", "show", "s", "--json"])["session"]["turn"], 1);
    world.assert_sound("in the end");
}

#[test]
fn ten_megabytes_are_read() {
    let world = World::with_lines();
    world.prompt("s");
    let mut told = tool("1", &["f"]);
    told["tool"]["input"] = "x".repeat(10 << 20).into();
    world.event("pre-tool", "s", &told);
    world.add("f", "a");
    world.event("post-tool", "s", &told);
    world.stop("s");
    assert_eq!(world.chain(), ["s f"]);
    world.finish();
}

#[test]
fn half_a_character_loses_no_event() {
    let world = World::with_lines();
    world.prompt("s");
    let payload = |event: &str| {
        let told = json!({
            "hook_event_name": event, "session_id": "s", "cwd": world.repo().display().to_string(),
            "tool_name": "Write", "tool_use_id": "1", "tool_input": { "file_path": "f", "content": "HALF" },
        });
        told.to_string().replace("HALF", r"\\ud83d \ud83d\ude00 \\\ud83d").into_bytes()
    };
    assert!(world.send("claude-code", &payload("PreToolUse")).status.success());
    world.add("f", "a");
    assert!(world.send("claude-code", &payload("PostToolUse")).status.success());
    assert_eq!((world.chain(), world.trouble()), (vec!["s f".to_owned()], None));
    world.finish();
}

#[rstest::rstest]
#[case::broken(b"{\"event\": \"prompt\", \"session\": ")]
#[case::no_object(b"[1, 2]")]
#[case::binary(b"\xff\0\x01{")]
#[case::unknown_event(b"{\"event\": \"lunch\", \"session\": \"s\"}")]
#[case::hostile_session(b"{\"event\": \"prompt\", \"session\": \"a\\u0000b\"}")]
fn a_malformed_event_is_noted_and_changes_nothing(#[case] payload: &[u8]) {
    let world = World::with_lines();
    for agent in ["generic", "gemini", "claude-code", "copilot"] {
        let output = world.send(agent, payload);
        assert!(output.status.success() && output.stderr.is_empty(), "{agent}: {}", described(&output));
        let is_silent = ["claude-code", "copilot"].contains(&agent);
        assert_eq!(output.stdout.is_empty(), is_silent, "{agent}: {}", described(&output));
    }
    assert!(world.trouble().is_some());
    world.assert_sound("in the end");
}

#[rstest::rstest]
#[case::no_such_agent(&["hook", "--agent", "no-such-agent"])]
#[case::no_name(&["hook", "--agent"])]
#[case::unknown_option(&["hook", "--agent", "claude-code", "--lunch"])]
#[case::both(&["hook", "--agent", "claude-code", "post-commit"])]
fn a_mistake_in_the_command_line_denies_no_tool(#[case] arguments: &[&str]) {
    let world = World::with_lines();
    let mut command = world.hook("x");
    command = {
        let mut plain = world.command(command.get_program().to_str().expect("a plain path"));
        plain.args(arguments);
        plain.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        plain.stderr(std::process::Stdio::piped());
        plain
    };
    let output = piped(command, b"{\"hook_event_name\": \"PreToolUse\"}");
    assert!(output.status.success() && output.stderr.is_empty() && output.stdout.is_empty(), "{}", described(&output));
    assert!(world.trouble().is_some());
}

#[test]
fn an_event_that_is_not_known_is_let_go() {
    let world = World::with_lines();
    let payload =
        json!({ "hook_event_name": "SomethingNew", "session_id": "s", "cwd": world.repo().display().to_string() });
    assert_eq!(world.tell("claude-code", &payload), "");
    world.finish();
}
