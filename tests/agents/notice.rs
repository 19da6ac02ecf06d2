//! An agent that continues without a prompt, because a background task of it has ended.

use serde_json::{Value, json};

use super::desk::{Desk, fixture};

fn turn(desk: &Desk, session: &str) -> Value {
    desk.world.json(&["session", "show", session, "--json"])["session"]["turn"].clone()
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
fn the_turn_goes_on(#[case] name: &str) {
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
    let prompts = desk.world.json(&["session", "show", &session, "--json"])["prompts"].clone();
    assert_eq!(prompts.as_array().map(Vec::len), Some(1), "{prompts}");
    desk.finish();
}

#[test]
fn the_last_turn_goes_on_after_its_end() {
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
    let prompts = desk.world.json(&["explain", "--json", "HEAD"])["records"][0]["sessions"][0]["prompts"].clone();
    assert_eq!(prompts.as_array().map(Vec::len), Some(2), "{prompts}");
    desk.finish();
}

/// Who says no more than that it has heard has changed nothing.
#[test]
fn what_was_written_meanwhile_stays_unknown() {
    let desk = Desk::new();
    // The first conversation of a project has no folder yet.
    std::fs::create_dir(desk.world.root().join("home/.claude")).expect("a folder can be made");
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
fn work_that_was_stashed_does_not_go_on() {
    let desk = Desk::new();
    desk.prompt("s");
    desk.edit("s", "1", "f", "a");
    desk.stop("s");
    desk.world.git(&["stash", "-q"]);
    desk.event("notice", "s", &json!({}));
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
