//! Duplicate events: some agents also run the hooks of another one.

use std::fs;

use serde_json::json;

use super::words::{piped, tool};
use crate::support::World;

fn turns(world: &World, session: &str) -> u64 {
    world.json(&["session", "show", session, "--json"])["session"]["turn"].as_u64().expect("a number")
}

#[test]
fn one_turn_is_begun() {
    let world = World::with_lines();
    for _ in 0..2 {
        world.prompt("s");
    }
    assert_eq!(turns(&world, "s"), 1);
    for (call, line) in [("1", "a"), ("2", "b")] {
        world.before("s", call, &["f"]);
        world.before("s", call, &["f"]);
        world.add("f", line);
        world.after("s", call, &["f"]);
        world.after("s", call, &["f"]);
    }
    world.stop("s");
    world.stop("s");
    assert_eq!(world.chain(), ["s f", "s f"]);
    world.prompt("s");
    assert_eq!(turns(&world, "s"), 2, "the same prompt after another event is another one");
    world.finish();
}

/// What a second hook sees before the tool is begun is not what a human did while it is at work.
#[test]
fn a_late_copy_takes_nothing_from_the_tool() {
    let world = World::with_lines();
    world.prompt("s");
    world.before("s", "1", &["f"]);
    world.add("f", "a");
    world.before("s", "1", &["f"]);
    world.after("s", "1", &["f"]);
    world.stop("s");
    assert_eq!(world.chain(), ["s f"]);
    world.finish();
}

#[test]
fn copies_that_come_at_once_are_one() {
    let world = World::with_lines();
    let at_once = |event: &str, more: serde_json::Value| {
        let mut payload = json!({ "event": event, "session": "s", "cwd": world.repo().display().to_string() });
        for (key, value) in more.as_object().expect("an object") {
            payload[key] = value.clone();
        }
        let text = payload.to_string();
        std::thread::scope(|scope| {
            let all: Vec<_> = (0..4).map(|_| scope.spawn(|| piped(world.hook("generic"), text.as_bytes()))).collect();
            for one in all {
                let output = one.join().expect("no panic");
                assert!(output.status.success() && output.stderr.is_empty());
            }
        });
    };
    at_once("session-start", json!({}));
    at_once("prompt", json!({ "prompt": "go" }));
    assert_eq!(turns(&world, "s"), 1);
    at_once("pre-tool", tool("1", &[]));
    world.add("f", "a");
    at_once("post-tool", tool("1", &[]));
    at_once("stop", json!({}));
    assert_eq!(world.chain(), ["s f"]);
    let prompts = world.json(&["session", "show", "s", "--json"])["prompts"].as_array().map(Vec::len);
    assert_eq!(prompts, Some(1));
    world.finish();
}

/// Cursor runs Claude Code's hooks with payloads of its own.
#[test]
fn the_hooks_of_another_agent_are_no_other_session() {
    let world = World::with_lines();
    for (name, is_written) in [
        ("session-start", false),
        ("prompt", false),
        ("pre-tool-write", false),
        ("post-tool-write", true),
        ("stop", false),
    ] {
        if is_written {
            world.add("t.rs", "of an agent");
        }
        let payload = world.fixture("cursor", name);
        world.tell("cursor", &payload);
        world.tell("claude-code", &payload);
    }
    let sessions = world.json(&["session", "list", "--all", "--json"]);
    let names: Vec<_> = sessions["sessions"].as_array().expect("a list").iter().map(|it| it["agent"].clone()).collect();
    assert_eq!(names, ["cursor"]);
    assert_eq!(world.chain().len(), 1);
    world.finish();
}

/// Every event reads and writes all notes of earlier ones, so those that no second report can match any more go.
#[test]
fn notes_of_old_events_are_removed() {
    let world = World::with_lines();
    world.prompt("s");
    let path = world.repo().join(".git/checkpoint/turns.toml");
    let noted = || {
        let turns = fs::read_to_string(&path).expect("it is there");
        turns.matches("[[handled]]").count()
    };
    let aged = |line: &str| if line.starts_with("seconds = ") { "seconds = 1".to_owned() } else { line.to_owned() };
    world.before("s", "1", &["f"]);
    world.add("f", "a");
    world.after("s", "1", &["f"]);
    assert_eq!(noted(), 3);
    let turns = fs::read_to_string(&path).expect("it is there");
    fs::write(&path, turns.lines().map(aged).collect::<Vec<_>>().join("\n")).expect("it is ours");
    world.before("s", "2", &["f"]);
    assert_eq!(noted(), 1);
    world.finish();
}
