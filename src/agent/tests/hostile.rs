//! Payloads that come from anywhere: an error at worst, never a panic, nothing taken over that is not what it says.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    super::{
        self as agent,
        dialect::Environment,
        dialects::{ALL, named},
        event::Reach,
    },
    read,
};

fn any_json() -> impl Strategy<Value = Value> {
    let key = prop_oneof![
        proptest::sample::select(vec![
            "session_id",
            "session",
            "sessionId",
            "conversation_id",
            "trajectory_id",
            "taskId",
            "hook_event_name",
            "event",
            "hookName",
            "hook",
            "plugin",
            "agent_action_name",
            "cursor_version",
            "clineVersion",
            "tool_name",
            "tool_input",
            "tool_response",
            "tool_info",
            "command",
            "path",
            "file_path",
            "files",
            "changes",
            "edits",
            "input",
            "output",
            "properties",
            "info",
            "parent",
            "parentID",
            "thread",
            "id",
            "cwd",
            "prompt",
            "transcript_path",
            "agent_id",
            "preToolUse",
            "toolName",
            "parameters",
            "tool",
            "paths",
            "workspaceRoots",
            "model",
            "timestamp",
            "turn_id",
        ])
        .prop_map(str::to_owned),
        ".{0,8}",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        proptest::sample::select(vec![
            "PreToolUse",
            "PostToolUse",
            "BeforeTool",
            "preToolUse",
            "pre-tool",
            "tool.call",
            "tool.execute.before",
            "amp",
            "opencode",
            "apply_patch",
            "Edit",
            "write",
            "s1",
            "pre_write_code",
            "*** Begin Patch\n*** Add File: a\n",
            "/x/.codex/y",
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 48, 8, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((key.clone(), inner), 0..10)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn check(bytes: &[u8]) {
    for given in std::iter::once(None).chain(ALL.iter().map(Some)) {
        if let Ok((event, dialect)) = agent::read(bytes, &Environment::new(), given) {
            let is_known = event.moment != agent::event::Moment::Ignore;
            assert!(!is_known || crate::model::session::is_valid_id(&event.session));
            let words = [&event.cwd, &event.model, &event.transcript, &event.agent_id];
            assert!(words.into_iter().flatten().all(|word| !word.is_empty() && !word.contains(char::is_control)));
            if let Some(tool) = &event.tool {
                assert_eq!(tool.reach == Reach::Files, !tool.paths.is_empty());
                assert!(tool.paths.iter().all(|path| !path.is_empty() && !path.contains('\0')));
            }
            for reply in
                [dialect.allow(event.moment), dialect.deny(event.moment, "no"), dialect.warn(event.moment, "x")]
            {
                assert!(reply.code == 0 || reply.code == 2);
            }
        }
    }
}

proptest! {
    #[test]
    fn arbitrary_json_never_panics(value in any_json()) {
        check(value.to_string().as_bytes());
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        check(&bytes);
    }

    #[test]
    fn cut_payloads_never_panic(at in 0usize..400) {
        let text = json!({ "session_id": "s\u{e4}", "hook_event_name": "PreToolUse", "tool_name": "Edit",
            "tool_input": { "file_path": "a" } }).to_string();
        check(&text.as_bytes()[..at.min(text.len())]);
    }
}

fn given(value: &Value) -> crate::error::Result<agent::event::Event> {
    read(value.to_string().as_bytes(), named("claude-code"))
}

#[test]
fn a_payload_without_required_fields_is_an_error() {
    for (payload, message) in [
        ("", "the payload is no JSON"),
        ("[]", "the payload is no JSON object"),
        ("{\"a\":", "the payload is no JSON"),
        ("{}", "the payload names no event"),
        (r#"{"hook_event_name": 7, "session_id": "s"}"#, "the payload names no event"),
        (r#"{"hook_event_name": "Stop"}"#, "the payload has no session id"),
        (r#"{"hook_event_name": "Stop", "session_id": ["s"]}"#, "the payload has no session id"),
        (r#"{"hook_event_name": "Stop", "session_id": ""}"#, "the payload has an invalid session id"),
        (r#"{"hook_event_name": "Stop", "session_id": "a\nb"}"#, "the payload has an invalid session id"),
    ] {
        let error = read(payload.as_bytes(), named("claude-code")).expect_err(payload);
        assert_eq!(error.message(), message, "{payload}");
    }
    assert!(read(b"{}", None).expect_err("no session").hint().is_some());
}

#[test]
fn deep_and_long_payloads() {
    let deep = format!("{{\"hook_event_name\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(read(deep.as_bytes(), named("claude-code")).is_err());
    let long = json!({ "session_id": "s", "hook_event_name": "PostToolUse", "tool_name": "Write",
        "tool_input": { "file_path": "a", "content": "x".repeat(10 << 20) } });
    let event = given(&long).expect("10 MB are nothing");
    assert_eq!(event.tool.expect("a tool").paths, ["a"]);
    assert!(read(&vec![b' '; agent::LONGEST + 1], None).is_err());
}

/// Where a file's name is not sure, the whole worktree is looked at.
#[test]
fn broken_paths_are_a_full_pass() {
    for path in
        [json!("a\0b"), json!("a\nb"), json!("a\u{fffd}"), json!("x".repeat(5000)), json!(7), json!(""), json!(null)]
    {
        let value = json!({ "session_id": "s", "hook_event_name": "PostToolUse", "tool_name": "Edit",
            "tool_input": { "file_path": path } });
        assert_eq!(given(&value).expect("read").tool.expect("a tool").reach, Reach::Anything, "{value:.100}");
    }
    let many: Vec<String> = (0..2000).map(|number| format!("f{number}")).collect();
    let value = json!({ "session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "Edit",
        "tool_input": { "paths": many } });
    assert_eq!(given(&value).expect("read").tool.expect("a tool").reach, Reach::Anything);
}

#[test]
fn bytes_that_are_not_utf8_and_marks_of_order() {
    let mut bytes =
        b"\xef\xbb\xbf{\"session_id\": \"s\", \"hook_event_name\": \"UserPromptSubmit\", \"prompt\": \"caf\xe9\"}"
            .to_vec();
    let event = read(&bytes, named("claude-code")).expect("read");
    assert_eq!(event.prompt.as_deref(), Some("caf\u{fffd}"));
    bytes.extend_from_slice(b"\n\n");
    assert!(read(&bytes, named("claude-code")).is_ok());
}
