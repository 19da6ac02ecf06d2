//! A turn of each agent, with the events of its client: the record and the attribution of the commit name the agent.

use serde_json::{Value, json};

use crate::support::World;

/// What is sent in order, and the file that the tool writes: payloads by name, with changes as `/pointer=value`.
struct Turn {
    agent: &'static str,
    start: &'static str,
    prompt: &'static str,
    pre: &'static [&'static str],
    file: &'static str,
    post: &'static [&'static str],
    stop: &'static str,
}

const PLAIN: Turn = Turn {
    agent: "",
    start: "session-start",
    prompt: "prompt",
    pre: &["pre-tool-write"],
    file: "",
    post: &["post-tool-write"],
    stop: "stop",
};

fn payload(world: &World, agent: &str, words: &[&str]) -> Value {
    let mut payload = world.fixture(agent, words[0]);
    for word in &words[1..] {
        let (pointer, value) = word.split_once('=').expect("a pointer and a value");
        *payload.pointer_mut(pointer).unwrap_or_else(|| panic!("{agent}: no {pointer}")) = value.into();
    }
    payload
}

#[rstest::rstest]
#[case::claude_code(Turn {
    agent: "claude-code",
    pre: &["post-tool-write", "/hook_event_name=PreToolUse"],
    file: "new.rs",
    ..PLAIN
})]
#[case::codex(Turn {
    agent: "codex",
    start: "captured-0.169.0.jsonl:1",
    prompt: "captured-0.169.0.jsonl:2",
    pre: &["captured-0.169.0.jsonl:3"],
    file: "src/new.txt",
    post: &["captured-0.169.0.jsonl:4"],
    stop: "captured-0.169.0.jsonl:11",
})]
#[case::gemini(Turn {
    agent: "gemini",
    start: "captured-0.61.0.jsonl:1",
    prompt: "captured-0.61.0.jsonl:2",
    pre: &["captured-0.61.0.jsonl:5"],
    file: "a.txt",
    post: &["captured-0.61.0.jsonl:6"],
    stop: "captured-0.61.0.jsonl:26",
})]
#[case::cursor(Turn { agent: "cursor", file: "t.rs", ..PLAIN })]
#[case::copilot(Turn {
    agent: "copilot",
    pre: &["post-tool-create", "/hook_event_name=PreToolUse"],
    file: "src/b.rs",
    post: &["post-tool-create"],
    ..PLAIN
})]
#[case::opencode(Turn { agent: "opencode", pre: &["pre-tool-edit"], file: "a.ts", post: &["post-tool-edit"], ..PLAIN })]
#[case::droid(Turn {
    agent: "droid",
    pre: &["post-tool-patch", "/hook_event_name=PreToolUse"],
    file: "d.py",
    post: &["post-tool-patch"],
    ..PLAIN
})]
#[case::cline(Turn {
    agent: "cline",
    file: "src/x.js",
    post: &["post-tool-replace", "/postToolUse/toolName=write_to_file"],
    ..PLAIN
})]
#[case::cline_cli(Turn {
    agent: "cline",
    start: "cli-session-start",
    prompt: "cli-prompt",
    pre: &["cli-pre-tool"],
    file: "a.js",
    post: &["cli-post-tool"],
    stop: "cli-stop",
})]
#[case::windsurf(Turn { agent: "windsurf", start: "", file: "w.rb", ..PLAIN })]
#[case::kiro(Turn { agent: "kiro", file: "k.ts", post: &["post-tool-empty"], ..PLAIN })]
#[case::goose(Turn { agent: "goose", file: "g.py", post: &["pre-tool-write", "/event=PostToolUse"], ..PLAIN })]
#[case::amp(Turn {
    agent: "amp",
    pre: &["pre-tool-create"],
    file: "a.go",
    post: &["pre-tool-create", "/hook=tool.result"],
    ..PLAIN
})]
#[case::generic(Turn { agent: "generic", pre: &["pre-tool"], file: "a.txt", post: &["pre-tool", "/event=post-tool"], ..PLAIN })]
fn the_commit_names_the_agent(#[case] turn: Turn) {
    let world = World::with_lines();
    let agent = turn.agent;
    std::fs::create_dir_all(world.root().join("home/.mine")).expect("a folder of an agent of one's own");
    world.git(&["config", "checkpoint.agents.transcriptDirs", "~/.mine"]);
    let mut steps: Vec<&[&str]> = vec![];
    let (start, prompt, stop) = ([turn.start], [turn.prompt], [turn.stop]);
    steps.extend([&start[..], &prompt[..]].into_iter().filter(|words| !words[0].is_empty()));
    for words in steps {
        world.tell(agent, &payload(&world, agent, words));
    }
    world.add("g", "of a human");
    world.tell(agent, &payload(&world, agent, turn.pre));
    world.add(turn.file, "of an agent");
    world.tell(agent, &payload(&world, agent, turn.post));
    world.add("h", "of a human, too");
    world.tell(agent, &payload(&world, agent, &stop));
    world.commit();
    let name = if agent == "generic" { "mine" } else { agent };
    let explained = world.json(&["explain", "--json", "HEAD"]);
    let sessions = explained["records"][0]["sessions"].as_array().expect("a record with sessions");
    assert_eq!(sessions[0]["agent"], name, "{explained}");
    let by_file = world.owners();
    assert!(by_file.contains(&format!("{} agent 1", turn.file)), "{by_file:?}");
    // A tool that does not say what it has changed may have changed anything.
    if agent != "kiro" {
        assert!(by_file.contains(&"g human 1".to_owned()), "{by_file:?}");
        assert!(by_file.contains(&"h human 1".to_owned()), "{by_file:?}");
    }
    world.finish();
}

/// Claude Code names the model in its transcript, which has the model's answer before the first tool.
#[test]
fn the_model_is_that_of_the_transcript_when_the_tool_was_used() {
    let world = World::with_lines();
    let folder = world.root().join("home/.claude/projects/p");
    std::fs::create_dir_all(&folder).expect("directories can be made");
    let transcript = folder.join("s.jsonl");
    let payload = |event: &str| {
        json!({
            "hook_event_name": event, "session_id": "s", "cwd": world.repo().display().to_string(),
            "transcript_path": transcript.display().to_string(), "tool_name": "Write", "tool_use_id": "1",
            "tool_input": { "file_path": world.repo().join("f").display().to_string() }, "prompt": "go on",
        })
    };
    let mut conversation = String::new();
    for (turn, model) in ["m-1", "m-2"].into_iter().enumerate() {
        world.tell("claude-code", &payload("UserPromptSubmit"));
        conversation += &format!("{}\n", json!({ "type": "user", "message": { "content": "go on" } }));
        conversation += &format!("{}\n", json!({ "type": "assistant", "message": { "model": model } }));
        std::fs::write(&transcript, &conversation).expect("a file can be written");
        world.tell("claude-code", &payload("PreToolUse"));
        world.add("f", model);
        world.tell("claude-code", &payload("PostToolUse"));
        world.commit();
        let record = &world.json(&["explain", "--json", "HEAD"])["records"][0];
        let models: Vec<_> =
            record["sessions"].as_array().into_iter().flatten().map(|it| it["model"].clone()).collect();
        assert_eq!(models, [model], "turn {turn}: {record}");
        world.tell("claude-code", &payload("Stop"));
    }
    world.finish();
}

/// Some agents name the model only when they stop.
#[test]
fn a_commit_in_mid_turn_gets_the_model_that_the_stop_reports() {
    let world = World::with_lines();
    world.prompt("s");
    world.edit("s", "1", "f", "of an agent");
    world.commit();
    let model = || world.json(&["explain", "--json", "HEAD"])["records"][0]["sessions"][0]["model"].clone();
    assert_eq!(model(), Value::Null);
    world.event("stop", "s", &serde_json::json!({ "model": "m-1" }));
    assert_eq!(model(), "m-1");
    world.finish();
}
