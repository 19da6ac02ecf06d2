//! Duplicate events: some agents also run the hooks of another one.

use serde_json::json;

use super::desk::{Desk, fixture, piped, tool};

fn turns(desk: &Desk, session: &str) -> u64 {
    desk.json(&["session", "show", session, "--json"])["session"]["turn"].as_u64().expect("a number")
}

#[test]
fn one_turn_is_begun() {
    let desk = Desk::new();
    for _ in 0..2 {
        desk.prompt("s");
    }
    assert_eq!(turns(&desk, "s"), 1);
    for (call, line) in [("1", "a"), ("2", "b")] {
        desk.before("s", call, &["f"]);
        desk.before("s", call, &["f"]);
        desk.add("f", line);
        desk.after("s", call, &["f"]);
        desk.after("s", call, &["f"]);
    }
    desk.stop("s");
    desk.stop("s");
    assert_eq!(desk.chain(), ["s f", "s f"]);
    desk.prompt("s");
    assert_eq!(turns(&desk, "s"), 2, "the same prompt after another event is another one");
    desk.finish();
}

/// What a second hook sees before the tool is begun is not what a human did while it is at work.
#[test]
fn a_late_copy_takes_nothing_from_the_tool() {
    let desk = Desk::new();
    desk.prompt("s");
    desk.before("s", "1", &["f"]);
    desk.add("f", "a");
    desk.before("s", "1", &["f"]);
    desk.after("s", "1", &["f"]);
    desk.stop("s");
    assert_eq!(desk.chain(), ["s f"]);
    desk.finish();
}

#[test]
fn copies_that_come_at_once_are_one() {
    let desk = Desk::new();
    let at_once = |event: &str, more: serde_json::Value| {
        let mut payload = json!({ "event": event, "session": "s", "cwd": desk.repo().display().to_string() });
        for (key, value) in more.as_object().expect("an object") {
            payload[key] = value.clone();
        }
        let text = payload.to_string();
        std::thread::scope(|scope| {
            let all: Vec<_> = (0..4).map(|_| scope.spawn(|| piped(desk.hook("generic"), text.as_bytes()))).collect();
            for one in all {
                let output = one.join().expect("no panic");
                assert!(output.status.success() && output.stderr.is_empty());
            }
        });
    };
    at_once("session-start", json!({}));
    at_once("prompt", json!({ "prompt": "go" }));
    assert_eq!(turns(&desk, "s"), 1);
    at_once("pre-tool", tool("1", &[]));
    desk.add("f", "a");
    at_once("post-tool", tool("1", &[]));
    at_once("stop", json!({}));
    assert_eq!(desk.chain(), ["s f"]);
    let prompts = desk.json(&["session", "show", "s", "--json"])["prompts"].as_array().map(Vec::len);
    assert_eq!(prompts, Some(1));
    desk.finish();
}

/// Cursor runs Claude Code's hooks with payloads of its own.
#[test]
fn the_hooks_of_another_agent_are_no_other_session() {
    let desk = Desk::new();
    for (name, is_written) in [
        ("session-start", false),
        ("prompt", false),
        ("pre-tool-write", false),
        ("post-tool-write", true),
        ("stop", false),
    ] {
        if is_written {
            desk.add("t.rs", "of an agent");
        }
        let payload = fixture(&desk.world, "cursor", name);
        desk.tell("cursor", &payload);
        desk.tell("claude-code", &payload);
    }
    let sessions = desk.json(&["session", "list", "--all", "--json"]);
    let names: Vec<_> = sessions["sessions"].as_array().expect("a list").iter().map(|it| it["agent"].clone()).collect();
    assert_eq!(names, ["cursor"]);
    assert_eq!(desk.chain().len(), 1);
    desk.finish();
}
