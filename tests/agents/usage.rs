//! What agents report of the tokens that they use, by their own files and by their hooks.

use std::{fs, path::PathBuf};

use serde_json::{Value, json};

use crate::support::World;

/// Adds `line` to `file` below the home directory, and returns its path.
fn write(world: &World, file: &str, line: &Value) -> PathBuf {
    let path = world.root().join("home").join(file);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder can be made");
    let before = fs::read_to_string(&path).unwrap_or_default();
    fs::write(&path, format!("{before}{line}\n")).expect("writable");
    path
}

fn now() -> String {
    jiff::Timestamp::now().to_string()
}

/// Returns what the sessions of the last commit have used: input, output, from cache, into cache, reasoning, by turn and model.
fn used(world: &World) -> Vec<(u64, Value, [u64; 5])> {
    let explained: Value = serde_json::from_str(&world.done(&["explain", "--json"])).expect("JSON");
    let sessions = explained["records"][0]["sessions"].as_array().expect("a list").clone();
    let used = sessions.iter().flat_map(|it| it["used"].as_array().expect("a list").clone());
    let number = |it: &Value, name: &str| it[name].as_u64().expect("a number");
    used.map(|it| {
        let numbers = ["input", "output", "cache_read", "cache_write", "reasoning"].map(|name| number(&it, name));
        (number(&it, "turn"), it["model"].clone(), numbers)
    })
    .collect()
}

fn codex_count(total: [u64; 4], last: [u64; 4]) -> Value {
    let usage = |[input, cached, output, reasoning]: [u64; 4]| {
        json!({ "input_tokens": input, "cached_input_tokens": cached, "output_tokens": output,
            "reasoning_output_tokens": reasoning })
    };
    let info = json!({ "total_token_usage": usage(total), "last_token_usage": usage(last) });
    json!({ "timestamp": now(), "type": "event_msg", "payload": { "type": "token_count", "info": info } })
}

#[test]
fn codex_counts_all_and_its_subagents() {
    let world = World::with_lines();
    let file = ".codex/sessions/rollout-s.jsonl";
    let context = json!({ "timestamp": now(), "type": "turn_context", "payload": { "model": "gpt-x" } });
    let path = write(&world, file, &context);
    let child = write(&world, ".codex/sessions/rollout-child.jsonl", &context);
    let tell = |event: &str, more: Value| {
        let mut payload = json!({ "session_id": "s", "turn_id": "t", "transcript_path": path, "cwd": world.repo(),
            "hook_event_name": event, "model": "gpt-x" });
        payload.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        world.tell("codex", &payload);
    };
    tell("UserPromptSubmit", json!({ "prompt": "do it" }));
    write(&world, file, &codex_count([100, 40, 30, 10], [100, 40, 30, 10]));
    write(&world, ".codex/sessions/rollout-child.jsonl", &codex_count([7, 0, 5, 0], [7, 0, 5, 0]));
    for _ in 0..2 {
        tell("SubagentStop", json!({ "agent_id": "x", "agent_transcript_path": child }));
    }
    world.add("f", "a line");
    write(&world, file, &codex_count([250, 140, 50, 15], [150, 100, 20, 5]));
    tell("Stop", json!({}));
    tell("UserPromptSubmit", json!({ "prompt": "and more" }));
    write(&world, file, &codex_count([300, 140, 60, 15], [50, 0, 10, 0]));
    world.add("f", "another line");
    tell("Stop", json!({}));
    world.commit();
    let model = json!("gpt-x");
    let expected = [(1, model.clone(), [110 + 7, 35 + 5, 140, 0, 15]), (2, model, [50, 10, 0, 0, 0])];
    assert_eq!(used(&world), expected);
    world.finish();
}

/// A subagent's file is read only where the agent keeps its conversations.
#[test]
fn a_subagents_file_elsewhere_is_not_read() {
    let world = World::with_lines();
    let path = write(&world, ".codex/sessions/rollout-s.jsonl", &json!({}));
    let child = write(&world, "elsewhere.jsonl", &codex_count([7, 0, 5, 0], [7, 0, 5, 0]));
    let tell = |event: &str, more: Value| {
        let mut payload = json!({ "session_id": "s", "turn_id": "t", "transcript_path": path, "cwd": world.repo(),
            "hook_event_name": event });
        payload.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        world.tell("codex", &payload);
    };
    tell("UserPromptSubmit", json!({ "prompt": "do it" }));
    world.add("f", "a line");
    tell("SubagentStop", json!({ "agent_id": "x", "agent_transcript_path": child }));
    tell("Stop", json!({}));
    world.commit();
    assert_eq!(used(&world), []);
}

#[test]
fn gemini_writes_messages_again() {
    let world = World::with_lines();
    let message = |id: &str, output: u64| {
        json!({ "id": id, "timestamp": now(), "type": "gemini", "content": "", "model": "g-1",
            "tokens": { "input": 50, "output": output, "cached": 30, "thoughts": 4, "tool": 2, "total": 86 } })
    };
    let file = ".gemini/tmp/x/chats/session-1.jsonl";
    let path = write(&world, file, &json!({ "sessionId": "s", "kind": "main" }));
    let tell = |event: &str, more: Value| {
        let mut payload = json!({ "session_id": "s", "transcript_path": path, "cwd": world.repo(),
            "hook_event_name": event, "timestamp": now() });
        payload.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        world.tell("gemini", &payload);
    };
    tell("BeforeAgent", json!({ "prompt": "do it" }));
    write(&world, file, &message("a", 5));
    write(&world, file, &message("a", 5));
    write(&world, ".gemini/tmp/x/chats/s/child.jsonl", &message("c", 1));
    let tool = json!({ "tool_name": "write_file", "tool_input": { "file_path": "f" } });
    tell("BeforeTool", tool.clone());
    world.add("f", "a line");
    tell("AfterTool", tool);
    tell("AfterAgent", json!({ "prompt": "do it" }));
    world.commit();
    assert_eq!(used(&world), [(1, json!("g-1"), [44, 6, 60, 0, 8])]);
    world.finish();
}

#[test]
fn an_agent_of_its_own_says_it_at_the_end_of_the_turn() {
    let world = World::with_lines();
    world.prompt("s");
    world.add("f", "a line");
    let tokens = json!({ "input": 1, "output": 2, "cache_read": 3, "cache_write": 4, "reasoning": 5 });
    world.event("stop", "s", &json!({ "model": "m", "tokens": tokens }));
    world.prompt("s");
    world.add("f", "another line");
    world.event("stop", "s", &json!({ "tokens": { "output": 7, "input": -1, "reasoning": "many" } }));
    world.commit();
    assert_eq!(used(&world), [(1, json!("m"), [1, 2, 3, 4, 5]), (2, json!("m"), [0, 7, 0, 0, 0])]);
    world.finish();
}
