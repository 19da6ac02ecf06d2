//! An agent that continues without a prompt, because a background task of it has ended, and helpers that work in the background.

use serde_json::{Value, json};

use super::desk::{Desk, fixture, tool};

fn turn(desk: &Desk, session: &str) -> Value {
    desk.json(&["session", "show", session, "--json"])["session"]["turn"].clone()
}

/// Sends an event as Claude Code does, for the session in its payloads.
fn claude(desk: &Desk, name: &str, more: &Value) {
    let mut payload = fixture(&desk.world, "claude-code", name);
    for (key, value) in more.as_object().expect("an object") {
        payload[key] = value.clone();
    }
    assert_eq!(desk.tell("claude-code", &payload), "", "{name}");
}

#[rstest::rstest]
#[case::a_command_has_ended("notice-task")]
#[case::a_time_has_come("notice-wakeup")]
fn a_notice_within_a_turn_continues_the_turn(#[case] name: &str) {
    let desk = Desk::new();
    let written = json!({ "hook_event_name": "PreToolUse", "tool_use_id": "w" });
    claude(&desk, "prompt", &json!({}));
    claude(&desk, "pre-tool-bash", &json!({}));
    claude(&desk, "post-tool-bash-background", &json!({ "tool_use_id": "toolu_01D" }));
    desk.add("f", "of the command, or of a person");
    claude(&desk, name, &json!({}));
    claude(&desk, "post-tool-write", &written);
    desk.add("new.rs", "of the agent");
    claude(&desk, "post-tool-write", &json!({ "tool_use_id": "w" }));
    claude(&desk, "stop", &json!({}));
    let session = fixture(&desk.world, "claude-code", "stop")["session_id"].as_str().expect("a text").to_owned();
    assert_eq!(turn(&desk, &session), 1);
    assert_eq!(desk.chain(), [format!("{session} new.rs"), format!("{session} f")]);
    let prompts = desk.json(&["session", "show", &session, "--json"])["prompts"].clone();
    assert_eq!(prompts.as_array().map(Vec::len), Some(1), "{prompts}");
    desk.finish();
}

#[test]
fn a_notice_after_a_stop_continues_the_last_turn() {
    let desk = Desk::new();
    desk.prompt("s");
    desk.shell("s", "1", "f", "a");
    desk.stop("s");
    desk.add("late", "of a command in the background, or of a person");
    desk.event("notice", "s", &json!({}));
    assert_eq!(desk.chain(), ["s f", "unknown late"]);
    desk.add("g", "of a person");
    desk.edit("s", "2", "g", "b");
    desk.stop("s");
    desk.add("h", "of a person");
    desk.prompt("s");
    desk.edit("s", "3", "f", "c");
    desk.stop("s");
    assert_eq!(desk.chain()[2..], ["human g", "s g", "human h", "s f"]);
    assert_eq!(turn(&desk, "s"), 2);
    desk.commit();
    assert_eq!(desk.owners(), ["f agent 2", "g agent 1 human 1", "h human 1", "late unknown 1"]);
    let prompts = desk.json(&["explain", "--json", "HEAD"])["records"][0]["sessions"][0]["prompts"].clone();
    assert_eq!(prompts.as_array().map(Vec::len), Some(2), "{prompts}");
    desk.finish();
}

/// An agent that only answers a notice has changed nothing.
#[test]
fn changes_before_a_notice_stay_unknown() {
    let desk = Desk::new();
    // The first conversation of a project has no folder yet.
    std::fs::create_dir(desk.root().join("home/.claude")).expect("a folder can be made");
    claude(&desk, "prompt", &json!({}));
    claude(&desk, "stop", &json!({}));
    desk.add("late", "a");
    claude(&desk, "notice-task", &json!({}));
    desk.add("g", "of a person");
    claude(&desk, "stop", &json!({}));
    claude(&desk, "prompt", &json!({ "prompt": "and now?" }));
    claude(&desk, "stop", &json!({}));
    assert_eq!(desk.chain(), ["unknown late", "human g"]);
    desk.finish();
}

/// As with a prompt, work that was set aside before does not continue.
#[test]
fn stashed_work_is_not_continued_by_a_notice() {
    let desk = Desk::new();
    desk.prompt("s");
    desk.edit("s", "1", "f", "a");
    desk.stop("s");
    desk.git(&["stash", "-q"]);
    let answer = desk.answer("notice", "s", &json!({}));
    assert!(answer["message"].as_str().is_some_and(|text| text.contains("the stash holds work of s")), "{answer}");
    desk.edit("s", "2", "g", "b");
    desk.stop("s");
    assert_eq!(desk.chain(), ["s g"]);
    desk.finish();
}

#[test]
fn it_is_the_first_that_is_heard_of_a_session() {
    let desk = Desk::new();
    desk.add("h", "of a person");
    desk.event("notice", "s", &json!({}));
    desk.edit("s", "1", "f", "a");
    desk.stop("s");
    assert_eq!((desk.chain(), turn(&desk, "s")), (vec!["unknown h".to_owned(), "s f".to_owned()], json!(1)));
    desk.finish();
}

/// Returns `told`, an event in the neutral protocol, as one of the helper `h`.
fn of_helper(mut told: Value) -> Value {
    told["agent_id"] = "h".into();
    told
}

fn phase(desk: &Desk, session: &str) -> Value {
    desk.json(&["session", "show", session, "--json"])["session"]["phase"].clone()
}

/// Nothing reports the end of a turn that a helper would begin.
#[test]
fn a_helper_in_the_background_works_for_the_last_turn() {
    let desk = Desk::new();
    desk.prompt("s");
    desk.shell("s", "1", "f", "a");
    desk.stop("s");
    desk.add("h", "of a person");
    for (call, path, named) in [("2", "g", &["g"][..]), ("3", "new", &[]), ("4", "h", &["h"])] {
        desk.event("pre-tool", "s", &of_helper(tool(call, named)));
        assert_eq!(phase(&desk, "s"), "idle");
        desk.add(path, "of the helper");
        desk.event("post-tool", "s", &of_helper(tool(call, named)));
    }
    desk.event("subagent-stop", "s", &of_helper(json!({})));
    desk.add("f", "of a person");
    assert_eq!((turn(&desk, "s"), phase(&desk, "s"), desk.open()), (json!(1), json!("idle"), Vec::new()));
    desk.prompt("s");
    desk.edit("s", "5", "g", "b");
    desk.stop("s");
    assert_eq!(turn(&desk, "s"), 2);
    desk.commit();
    assert_eq!(
        desk.owners(),
        ["f agent 1 human 1", "g agent 2", "h agent 1 human 1", "new agent 1"],
        "{:?}",
        desk.chain()
    );
    desk.finish();
}

/// As Claude Code names it in the events that it reports.
#[test]
fn changes_by_a_claude_code_helper_after_the_stop_belong_to_the_last_turn() {
    let desk = Desk::new();
    desk.write("src/a.rs", "1\n");
    desk.commit();
    claude(&desk, "prompt", &json!({}));
    claude(&desk, "stop", &json!({}));
    claude(&desk, "subagent-tool", &json!({}));
    desk.write("src/a.rs", "2\n");
    claude(&desk, "subagent-tool", &json!({ "hook_event_name": "PostToolUse" }));
    claude(&desk, "subagent-stop", &json!({}));
    let session = fixture(&desk.world, "claude-code", "stop")["session_id"].as_str().expect("a text").to_owned();
    assert_eq!((turn(&desk, &session), phase(&desk, &session), desk.open()), (json!(1), json!("idle"), Vec::new()));
    assert_eq!(desk.chain(), [format!("{session}+a1b2 src/a.rs")]);
    claude(&desk, "notice-task", &json!({}));
    claude(&desk, "stop", &json!({}));
    assert_eq!(turn(&desk, &session), 1);
    desk.finish();
}

/// What a tool of the helper has changed so far is not what was there before the turn.
#[test]
fn a_prompt_while_a_helper_uses_a_tool() {
    let desk = Desk::new();
    desk.prompt("s");
    desk.edit("s", "1", "f", "a");
    desk.stop("s");
    desk.event("pre-tool", "s", &of_helper(tool("2", &["g"])));
    desk.event("pre-tool", "s", &of_helper(tool("3", &[])));
    desk.add("g", "of the helper");
    desk.prompt("s");
    desk.add("h", "of the helper");
    for call in [tool("2", &["g"]), tool("3", &[])] {
        desk.event("post-tool", "s", &of_helper(call));
    }
    desk.stop("s");
    assert_eq!(desk.chain(), ["s f", "s+h g", "s+h h"]);
    assert_eq!(desk.open(), Vec::<String>::new());
    desk.finish();
}

/// A tool that was not done when the helper ended was interrupted.
#[test]
fn a_helper_that_ends_in_a_tool_call_after_the_stop() {
    let desk = Desk::new();
    desk.prompt("s");
    desk.edit("s", "1", "f", "a");
    desk.stop("s");
    desk.event("pre-tool", "s", &of_helper(tool("2", &[])));
    desk.add("g", "of the helper");
    desk.event("subagent-stop", "s", &of_helper(json!({})));
    desk.add("h", "of a person");
    assert_eq!((phase(&desk, "s"), desk.open()), (json!("idle"), Vec::new()));
    desk.prompt("s");
    desk.edit("s", "3", "f", "b");
    desk.stop("s");
    assert_eq!(desk.chain(), ["s f", "s+h g", "human h", "s f"]);
    desk.finish();
}
