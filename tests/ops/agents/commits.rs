//! Commits that an agent makes itself, with git's hooks and without them.

use serde_json::{Value, json};

use super::{World, put, world};
use crate::support::program;

/// A shell in the name of which the kernel shows an agent, so that what it runs is the agent's.
fn agent(world: &World, script: &str) {
    let program = world.root().join("agent");
    put(&program, "#!/bin/sh\nset -e\neval \"$1\"\n", 0o755);
    let output = world.command(program.to_str().expect("plain")).arg(script).output().expect("it runs");
    assert!(output.status.success(), "{}", crate::support::processes::described(&output));
}

/// Returns the command that sends an event.
fn tell(world: &World, event: &str, more: &Value) -> String {
    let mut payload = json!({ "hook_event_name": event, "session_id": "s1", "prompt_id": "p1", "cwd": world.repo() });
    let own = payload.as_object_mut().expect("it is one");
    own.extend(more.as_object().expect("it is one").clone());
    format!("printf '%s' '{payload}' | {} hook --agent claude-code\n", program())
}

fn begin(world: &World) -> String {
    let start = tell(world, "SessionStart", &json!({ "source": "startup" }));
    start + &tell(world, "UserPromptSubmit", &json!({ "prompt": "go" }))
}

/// Returns a script in which a shell command runs between its two events.
fn shell(world: &World, id: &str, command: &str) -> String {
    let tool = json!({ "tool_name": "Bash", "tool_input": { "command": "x" }, "tool_use_id": id });
    format!("{}{command}\n{}", tell(world, "PreToolUse", &tool), tell(world, "PostToolUse", &tool))
}

fn writes(world: &World, path: &str) -> String {
    let tool = json!({ "tool_name": "Write", "tool_input": { "file_path": path }, "tool_use_id": path });
    let (before, after) = (tell(world, "PreToolUse", &tool), tell(world, "PostToolUse", &tool));
    format!("{before}echo {path} > {path}\n{after}")
}

/// Returns whose the first line of a file is.
fn owner(world: &World, path: &str) -> Value {
    world.json(&["blame", "--json", path])["lines"][0]["owner"].clone()
}

fn trailer(world: &World, commit: &str) -> String {
    world.git(&["log", "-1", "--format=%(trailers:key=Checkpoint,valueonly)", commit]).trim().to_owned()
}

/// Returns the ids of the records of a commit.
fn records(world: &World, commit: &str) -> Vec<Value> {
    let output = world.checkpoint(&["explain", "--json", commit]);
    let told: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    told["records"].as_array().expect("a list").iter().map(|record| record["id"].clone()).collect()
}

#[test]
fn a_file_that_one_command_writes_and_commits_is_the_agents() {
    let world = world();
    world.done(&["enable"]);
    put(&world.repo().join("mine.txt"), "mine\n", 0o644);
    let commit = "echo quick > quick.txt && git add quick.txt mine.txt && git commit -qm quick";
    let script = begin(&world) + &shell(&world, "c1", commit) + &tell(&world, "Stop", &json!({}));
    agent(&world, &script);
    assert_eq!(owner(&world, "quick.txt"), "agent");
    assert_eq!(owner(&world, "mine.txt"), "human");
    assert_eq!(records(&world, "HEAD"), [json!(trailer(&world, "HEAD"))]);
    assert_eq!(world.json(&["status", "--json"])["last_error"], Value::Null);
}

#[test]
fn a_person_who_commits_meanwhile_is_no_agent() {
    let world = world();
    world.done(&["enable"]);
    // The command never ends, and the agent is gone.
    let script = begin(&world) + &tell(&world, "PreToolUse", &json!({ "tool_name": "Bash", "tool_use_id": "c1" }));
    agent(&world, &script);
    put(&world.repo().join("mine.txt"), "mine\n", 0o644);
    world.git(&["add", "mine.txt"]);
    world.git(&["commit", "-qm", "mine"]);
    assert_eq!(owner(&world, "mine.txt"), "unknown", "the command may have written it before it was killed");
    assert_eq!(records(&world, "HEAD"), [json!(trailer(&world, "HEAD"))]);
    put(&world.repo().join("other.txt"), "mine, too\n", 0o644);
    world.git(&["add", "other.txt"]);
    world.git(&["commit", "-qm", "other"]);
    assert_eq!(owner(&world, "other.txt"), "human");
    assert_eq!((trailer(&world, "HEAD"), records(&world, "HEAD")), (String::new(), Vec::new()));
}

#[test]
fn commits_without_gits_hooks_get_records_at_the_next_event() {
    let world = world();
    world.done(&["enable"]);
    let git = "git -c core.hooksPath= ";
    let commits = format!("git add a.txt && {git} commit -qm one && git add b.txt && {git} commit -qm two");
    let amend = format!("git add c.txt && {git} commit -q --amend -m three");
    let script = [
        begin(&world),
        writes(&world, "a.txt"),
        writes(&world, "b.txt"),
        shell(&world, "c1", &commits),
        writes(&world, "c.txt"),
        shell(&world, "c2", &amend),
        tell(&world, "Stop", &json!({})),
    ];
    agent(&world, &script.concat());
    for path in ["a.txt", "b.txt", "c.txt"] {
        assert_eq!(owner(&world, path), "agent", "{path}");
    }
    // A message is not rewritten afterwards. The amended commit keeps the record of what it was.
    assert_eq!(trailer(&world, "HEAD") + &trailer(&world, "HEAD~1"), "");
    assert_eq!((records(&world, "HEAD~1").len(), records(&world, "HEAD").len()), (1, 2));
    assert_eq!(world.json(&["status", "--json"])["shadow"], Value::Null);
    assert_eq!(world.json(&["status", "--json"])["last_error"], Value::Null);
}
