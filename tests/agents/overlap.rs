//! What an agent hears before it changes a file that a live session in another worktree has changed.

use std::{fs, path::PathBuf};

use serde_json::{Value, json};

use super::words::tool;
use crate::support::World;

/// A repository with the worktree `../side`, where the session `s1` has changed `f`.
fn world() -> (World, PathBuf) {
    let world = World::with_lines();
    world.git(&["worktree", "add", "-q", "-b", "side", "../side"]);
    let side = world.root().join("side");
    there(&world, "prompt", &json!({ "prompt": "count\nup" }));
    change(&world, "1", "there");
    (world, side)
}

/// Sends an event of `s1`, in the other worktree.
fn there(world: &World, event: &str, more: &Value) -> Value {
    let mut more = more.clone();
    more["cwd"] = world.root().join("side").display().to_string().into();
    world.answer(event, "s1", &more)
}

/// Lets `s1` add a line to `f`.
fn change(world: &World, call: &str, line: &str) {
    there(world, "pre-tool", &tool(call, &["f"]));
    let path = world.root().join("side/f");
    let text = fs::read_to_string(&path).expect("it is there");
    fs::write(path, format!("{text}{line}\n")).expect("it can be written");
    there(world, "post-tool", &tool(call, &["f"]));
}

/// Returns what `s2` hears before it changes `path`.
fn heard(world: &World, call: &str, path: &str) -> String {
    let answer = world.answer("pre-tool", "s2", &tool(call, &[path]));
    assert_eq!(answer["decision"], "allow");
    let message = answer["message"].as_str().unwrap_or_default().to_owned();
    world.answer("post-tool", "s2", &tool(call, &[path]));
    message
}

#[test]
fn it_is_said_once_for_each_path_and_state() {
    let (world, _) = world();
    world.prompt("s2");
    let first = heard(&world, "1", "f");
    assert_eq!(
        first,
        "'f' was changed in the worktree 'side' by the session s1 (tester, 'count')\n\
         'git checkpoint overlap' shows what both worktrees have changed\n"
    );
    assert_eq!(heard(&world, "2", "f"), "", "once");
    assert_eq!(heard(&world, "3", "g"), "", "nobody has changed it");
    world.edit("s2", "4", "f", "here");
    let conflict = heard(&world, "5", "f");
    assert!(conflict.contains("(tester, 'count'), in the same lines as here\n"), "{conflict}");
    assert_eq!(heard(&world, "6", "f"), "", "once");
    // Another session hears it, too.
    world.stop("s2");
    world.prompt("s3");
    let answer = world.answer("pre-tool", "s3", &tool("1", &["f"]));
    assert!(answer["message"].as_str().is_some_and(|text| text.contains("in the same lines as here")), "{answer}");
    world.finish();
}

#[test]
fn the_session_itself_hears_nothing() {
    let (world, _) = world();
    let answer = world.answer("pre-tool", "s1", &tool("2", &["f"]));
    assert_eq!(answer.get("message"), None, "{answer}");
}

#[test]
fn a_session_that_has_ended_is_no_matter() {
    let (world, _) = world();
    there(&world, "session-end", &json!({}));
    world.prompt("s2");
    assert_eq!(heard(&world, "1", "f"), "");
}

#[test]
fn the_same_change_is_no_matter() {
    let (world, _) = world();
    world.prompt("s2");
    heard(&world, "1", "f");
    world.edit("s2", "2", "f", "there");
    assert_eq!(heard(&world, "3", "f"), "");
}

#[test]
fn what_was_committed_there_counts() {
    let (world, _) = world();
    world.git(&["-C", "../side", "commit", "-q", "-a", "-m", "there"]);
    world.prompt("s2");
    assert!(heard(&world, "1", "f").contains("by the session s1"));
}

#[test]
fn it_can_be_switched_off() {
    let (world, _) = world();
    world.git(&["config", "checkpoint.overlap", "off"]);
    world.prompt("s2");
    assert_eq!(heard(&world, "1", "f"), "");
}

#[test]
fn what_cannot_be_compared_is_no_trouble_for_the_agent() {
    let (world, side) = world();
    world.sh("git -C ../side checkout -q --orphan new && git -C ../side commit -q -m orphan");
    world.prompt("s2");
    assert_eq!(heard(&world, "1", "f"), "");
    fs::remove_dir_all(side).expect("it can be removed");
    assert_eq!(heard(&world, "2", "f"), "");
    world.finish();
}

#[test]
fn claude_code_asks_its_user_and_others_warn() {
    let (world, _) = world();
    world.git(&["config", "checkpoint.overlap", "ask"]);
    let event = |session: &str, home: &str| {
        json!({
            "session_id": session,
            "transcript_path": world.root().join(format!("home/{home}/projects/p/{session}.jsonl")),
            "cwd": world.repo(),
            "hook_event_name": "PreToolUse",
            "tool_name": "Write",
            "tool_input": { "file_path": world.repo().join("f"), "content": "x" },
            "tool_use_id": "1",
        })
    };
    let reply = world.tell("claude-code", &event("s2", ".claude"));
    let reply: Value = serde_json::from_str(&reply).expect("it is JSON");
    let output = &reply["hookSpecificOutput"];
    assert_eq!((&output["hookEventName"], &output["permissionDecision"]), (&json!("PreToolUse"), &json!("ask")));
    assert!(output["permissionDecisionReason"].as_str().is_some_and(|text| text.contains("by the session s1")));
    let reply = world.tell("droid", &event("s3", ".factory"));
    assert!(reply.contains("systemMessage") && reply.contains("by the session s1"), "{reply}");
    let answer = world.answer("pre-tool", "s4", &tool("1", &["f"]));
    assert!(answer["message"].as_str().is_some_and(|text| text.contains("by the session s1")), "{answer}");
}

#[test]
fn hostile_words_are_bounded_and_escaped() {
    let (world, _) = world();
    let long = "x\u{1b}[31m\u{202e}\u{7}".repeat(500);
    there(&world, "prompt", &json!({ "prompt": long }));
    change(&world, "2", "more");
    world.prompt("s2");
    let text = heard(&world, "1", "f");
    assert!(text.len() < 500 && text.contains("by the session s1"), "{text}");
    assert!(!text.chars().any(|c| c.is_control() && c != '\n' || c == '\u{202e}'), "{text:?}");
}
