//! An agent that continues without a prompt, because a background task of it has ended, and helpers that work in the background.

use serde_json::{Value, json};

use super::words::tool;
use crate::support::World;

fn turn(world: &World, session: &str) -> Value {
    world.json(&["session", "show", session, "--json"])["session"]["turn"].clone()
}

/// Sends an event as Claude Code does, for the session in its payloads.
fn claude(world: &World, name: &str, more: &Value) {
    let mut payload = world.fixture("claude-code", name);
    for (key, value) in more.as_object().expect("an object") {
        payload[key] = value.clone();
    }
    assert_eq!(world.tell("claude-code", &payload), "", "{name}");
}

#[rstest::rstest]
#[case::a_command_has_ended("notice-task")]
#[case::a_time_has_come("notice-wakeup")]
fn a_notice_within_a_turn_continues_the_turn(#[case] name: &str) {
    let world = World::with_lines();
    let written = json!({ "hook_event_name": "PreToolUse", "tool_use_id": "w" });
    claude(&world, "prompt", &json!({}));
    claude(&world, "pre-tool-bash", &json!({}));
    claude(&world, "post-tool-bash-background", &json!({ "tool_use_id": "toolu_01D" }));
    world.add("f", "of the command, or of a person");
    claude(&world, name, &json!({}));
    claude(&world, "post-tool-write", &written);
    world.add("new.rs", "of the agent");
    claude(&world, "post-tool-write", &json!({ "tool_use_id": "w" }));
    claude(&world, "stop", &json!({}));
    let session = world.fixture("claude-code", "stop")["session_id"].as_str().expect("a text").to_owned();
    assert_eq!(turn(&world, &session), 1);
    assert_eq!(world.chain(), [format!("{session} new.rs"), "unknown f".to_owned()]);
    let prompts = world.json(&["session", "show", &session, "--json"])["prompts"].clone();
    assert_eq!(prompts.as_array().map(Vec::len), Some(1), "{prompts}");
    world.finish();
}

#[test]
fn a_notice_after_a_stop_continues_the_last_turn() {
    let world = World::with_lines();
    world.prompt("s");
    world.shell("s", "1", "f", "a");
    world.stop("s");
    world.add("late", "of a command in the background, or of a person");
    world.event("notice", "s", &json!({}));
    assert_eq!(world.chain(), ["s f", "unknown late"]);
    world.add("g", "of a person");
    world.edit("s", "2", "g", "b");
    world.stop("s");
    world.add("h", "of a person");
    world.prompt("s");
    world.edit("s", "3", "f", "c");
    world.stop("s");
    assert_eq!(world.chain()[2..], ["human g", "s g", "human h", "s f"]);
    assert_eq!(turn(&world, "s"), 2);
    world.commit();
    assert_eq!(world.owners(), ["f agent 2", "g agent 1 human 1", "h human 1", "late unknown 1"]);
    let prompts = world.json(&["explain", "--json", "HEAD"])["records"][0]["sessions"][0]["prompts"].clone();
    assert_eq!(prompts.as_array().map(Vec::len), Some(2), "{prompts}");
    world.finish();
}

/// An agent that only answers a notice has changed nothing.
#[test]
fn changes_before_a_notice_stay_unknown() {
    let world = World::with_lines();
    // The first conversation of a project has no folder yet.
    std::fs::create_dir(world.root().join("home/.claude")).expect("a folder can be made");
    claude(&world, "prompt", &json!({}));
    claude(&world, "stop", &json!({}));
    world.add("late", "a");
    claude(&world, "notice-task", &json!({}));
    world.add("g", "of a person");
    claude(&world, "stop", &json!({}));
    claude(&world, "prompt", &json!({ "prompt": "and now?" }));
    claude(&world, "stop", &json!({}));
    assert_eq!(world.chain(), ["unknown late", "human g"]);
    world.finish();
}

/// As with a prompt, work that was set aside before does not continue.
#[test]
fn stashed_work_is_not_continued_by_a_notice() {
    let world = World::with_lines();
    world.prompt("s");
    world.edit("s", "1", "f", "a");
    world.stop("s");
    world.git(&["stash", "-q"]);
    let answer = world.answer("notice", "s", &json!({}));
    assert!(answer["message"].as_str().is_some_and(|text| text.contains("the stash holds work of s")), "{answer}");
    world.edit("s", "2", "g", "b");
    world.stop("s");
    assert_eq!(world.chain(), ["s g"]);
    world.finish();
}

#[test]
fn it_is_the_first_that_is_heard_of_a_session() {
    let world = World::with_lines();
    world.add("h", "of a person");
    world.event("notice", "s", &json!({}));
    world.edit("s", "1", "f", "a");
    world.stop("s");
    assert_eq!((world.chain(), turn(&world, "s")), (vec!["unknown h".to_owned(), "s f".to_owned()], json!(1)));
    world.finish();
}

/// Returns `told`, an event in the neutral protocol, as one of the helper `h`.
fn of_helper(mut told: Value) -> Value {
    told["agent_id"] = "h".into();
    told
}

fn phase(world: &World, session: &str) -> Value {
    world.json(&["session", "show", session, "--json"])["session"]["phase"].clone()
}

/// Nothing reports the end of a turn that a helper would begin.
#[test]
fn a_helper_in_the_background_works_for_the_last_turn() {
    let world = World::with_lines();
    world.prompt("s");
    world.shell("s", "1", "f", "a");
    world.stop("s");
    world.add("h", "of a person");
    for (call, path, named) in [("2", "g", &["g"][..]), ("3", "new", &[]), ("4", "h", &["h"])] {
        world.event("pre-tool", "s", &of_helper(tool(call, named)));
        assert_eq!(phase(&world, "s"), "idle");
        world.add(path, "of the helper");
        world.event("post-tool", "s", &of_helper(tool(call, named)));
    }
    world.event("subagent-stop", "s", &of_helper(json!({})));
    world.add("f", "of a person");
    assert_eq!((turn(&world, "s"), phase(&world, "s"), world.open()), (json!(1), json!("idle"), Vec::new()));
    world.prompt("s");
    world.edit("s", "5", "g", "b");
    world.stop("s");
    assert_eq!(turn(&world, "s"), 2);
    world.commit();
    assert_eq!(
        world.owners(),
        ["f agent 1 human 1", "g agent 2", "h agent 1 human 1", "new agent 1"],
        "{:?}",
        world.chain()
    );
    world.finish();
}

/// As Claude Code names it in the events that it reports.
#[test]
fn changes_by_a_claude_code_helper_after_the_stop_belong_to_the_last_turn() {
    let world = World::with_lines();
    world.write("src/a.rs", "1\n");
    world.commit();
    claude(&world, "prompt", &json!({}));
    claude(&world, "stop", &json!({}));
    claude(&world, "subagent-tool", &json!({}));
    world.write("src/a.rs", "2\n");
    claude(&world, "subagent-tool", &json!({ "hook_event_name": "PostToolUse" }));
    claude(&world, "subagent-stop", &json!({}));
    let session = world.fixture("claude-code", "stop")["session_id"].as_str().expect("a text").to_owned();
    assert_eq!((turn(&world, &session), phase(&world, &session), world.open()), (json!(1), json!("idle"), Vec::new()));
    assert_eq!(world.chain(), [format!("{session}+a1b2 src/a.rs")]);
    claude(&world, "notice-task", &json!({}));
    claude(&world, "stop", &json!({}));
    assert_eq!(turn(&world, &session), 1);
    world.finish();
}

/// What a tool of the helper has changed so far is not what was there before the turn.
#[test]
fn a_prompt_while_a_helper_uses_a_tool() {
    let world = World::with_lines();
    world.prompt("s");
    world.edit("s", "1", "f", "a");
    world.stop("s");
    world.event("pre-tool", "s", &of_helper(tool("3", &[])));
    world.event("pre-tool", "s", &of_helper(tool("2", &["g"])));
    world.add("g", "of the helper");
    world.prompt("s");
    world.add("h", "of the helper");
    for call in [tool("2", &["g"]), tool("3", &[])] {
        world.event("post-tool", "s", &of_helper(call));
    }
    world.stop("s");
    assert_eq!(world.chain(), ["s f", "s+h g", "s+h h"]);
    assert_eq!(world.open(), Vec::<String>::new());
    world.finish();
}

/// A tool that was not done when the helper ended was interrupted.
#[test]
fn a_helper_that_ends_in_a_tool_call_after_the_stop() {
    let world = World::with_lines();
    world.prompt("s");
    world.edit("s", "1", "f", "a");
    world.stop("s");
    world.event("pre-tool", "s", &of_helper(tool("2", &[])));
    world.add("g", "of the helper");
    world.event("subagent-stop", "s", &of_helper(json!({})));
    world.add("h", "of a person");
    assert_eq!((phase(&world, "s"), world.open()), (json!("idle"), Vec::new()));
    world.prompt("s");
    world.edit("s", "3", "f", "b");
    world.stop("s");
    assert_eq!(world.chain(), ["s f", "s+h g", "human h", "s f"]);
    world.finish();
}
