//! Agents that meet in one worktree: which one is stopped, how, and which one continues.

use std::{
    fs,
    process::{Output, Stdio},
};

use serde_json::{Value, json};

use super::words::{piped, tool};
use crate::support::{World, processes::described};

/// Returns a world where `concurrency` is `policy`.
pub(super) fn world(policy: &str) -> World {
    let world = World::with_lines();
    world.git(&["config", "checkpoint.concurrency", policy]);
    world
}

impl World {
    /// Returns what Claude Code sends of a shell command.
    pub(super) fn claude(&self, event: &str, session: &str, call: &str) -> Value {
        json!({
            "session_id": session,
            "transcript_path": self.root().join("home/.claude/projects/p").join(format!("{session}.jsonl")),
            "cwd": self.repo(),
            "hook_event_name": event,
            "tool_name": "Bash",
            "tool_input": { "command": "make" },
            "tool_use_id": call,
            "prompt": "do it",
        })
    }
}

/// Sends an event as Claude Code does, and returns the exit code and standard error.
pub(super) fn hook(world: &World, event: &str, session: &str, call: &str) -> (i32, String) {
    let output = world.send("claude-code", world.claude(event, session, call).to_string().as_bytes());
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// The same, which must be allowed.
pub(super) fn allowed(world: &World, event: &str, session: &str, call: &str) {
    assert_eq!(hook(world, event, session, call), (0, String::new()), "{event} of {session}");
}

/// The same, which must be denied with `title`, and change nothing.
pub(super) fn denied(world: &World, session: &str, title: &str) -> String {
    let state = || (world.git(&["for-each-ref"]), world.git(&["count-objects", "-v"]), world.ours());
    let before = state();
    let (code, text) = hook(world, "PreToolUse", session, "denied");
    assert_eq!(code, 2, "exit 1 blocks nothing: {text}");
    assert!(text.starts_with(&format!("Error: {title}\n\nThe working copy ")), "{text}");
    assert!(text.contains("\n\nTo fix:\n1. ") && text.contains("\n4. Retry in this session\n"), "{text}");
    assert!(text.contains(&format!("\nThis session:   {}\n", session.chars().take(18).collect::<String>())), "{text}");
    assert_eq!(state(), before, "a denial changes nothing");
    text
}

pub(super) const CONCURRENT: &str = "Concurrent Claude session detected";
pub(super) const TEMPORARY: &str = "Temporary workspace detected";

#[test]
fn of_two_at_once_one_wins() {
    let world = world("strict");
    for round in 0..20 {
        let start = |session: &str| {
            let call = format!("{round}");
            let mut command = world.hook("claude-code");
            let payload = world.claude("PreToolUse", session, &call).to_string();
            let path = world.root().join(format!("{session}.json"));
            fs::write(&path, payload).expect("it can be written");
            command.stdin(Stdio::from(fs::File::open(path).expect("it was written"))).spawn().expect("it starts")
        };
        let both = [start("session-a"), start("session-b")];
        let done: Vec<Output> = both.into_iter().map(|child| child.wait_with_output().expect("it ends")).collect();
        let codes: Vec<_> = done.iter().map(|output| output.status.code().unwrap_or(-1)).collect();
        let winner = if codes[0] == 0 { "session-a" } else { "session-b" };
        let said: Vec<String> = done.iter().map(described).collect();
        assert!(codes == [0, 2] || codes == [2, 0], "round {round}: {said:?}");
        assert!(said.concat().contains(&format!("\nOther session:  {winner}\n")), "{said:?}");
        allowed(&world, "PostToolUse", winner, &round.to_string());
        allowed(&world, "Stop", winner, "");
    }
    world.finish();
}

#[test]
fn of_many_at_once_one_wins() {
    let world = world("strict");
    let done: Vec<i32> = std::thread::scope(|scope| {
        let world = &world;
        let run = |session: usize| {
            let payload = world.claude("PreToolUse", &format!("s{session}"), "1").to_string();
            scope.spawn(move || piped(world.hook("claude-code"), payload.as_bytes()).status.code().unwrap_or(-1))
        };
        let all: Vec<_> = (0..8).map(run).collect();
        all.into_iter().map(|one| one.join().expect("it ends")).collect()
    });
    assert_eq!(done.iter().filter(|code| **code == 0).count(), 1, "{done:?}");
    assert_eq!(done.iter().filter(|code| **code == 2).count(), 7, "{done:?}");
    world.finish();
}

/// An agent that runs the hook before a tool, and lives on until its standard input ends.
struct Agent(std::process::Child);

impl Agent {
    fn begin(world: &World, session: &str) -> Self {
        Self::begin_with(world, session, &["UserPromptSubmit", "PreToolUse"])
    }

    fn begin_with(world: &World, session: &str, events: &[&str]) -> Self {
        for event in events {
            let path = world.root().join(event);
            fs::write(path, world.claude(event, session, "1").to_string()).expect("it can be written");
        }
        let done = world.root().join("done");
        let line = format!(
            "for event in {}; do git checkpoint hook --agent claude-code <../$event || exit; done; echo >../done; read x",
            events.join(" ")
        );
        let mut command = world.command("awk");
        let child = command.arg(format!("BEGIN {{ system(\"{line}\") }}")).stdin(Stdio::piped()).spawn();
        let child = child.expect("awk starts");
        while !done.exists() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        Self(child)
    }

    fn kill(mut self) {
        self.0.kill().expect("it is ours");
        self.0.wait().expect("it has ended");
    }
}

#[test]
fn the_other_sessions_agent_is_named() {
    let world = world("strict");
    world.event("session-start", "other", &json!({}));
    world.before("other", "1", &[]);
    denied(&world, "own", "Concurrent tester session detected");
    world.finish();
}

#[rstest::rstest]
fn a_killed_agents_open_tool_call_does_not_block_the_next_session(#[values("refuse", "strict")] policy: &str) {
    let world = world(policy);
    let agent = Agent::begin(&world, "killed");
    world.add("f", "half of it");
    if policy == "strict" {
        denied(&world, "next", CONCURRENT);
    }
    assert!(!world.done(&["session", "list"]).contains("process gone"));
    agent.kill();
    assert!(world.done(&["session", "list"]).contains("process gone"));
    let payload = world.claude("PreToolUse", "next", "1").to_string();
    let output = world.send("claude-code", payload.as_bytes());
    assert_eq!(output.status.code(), Some(0), "{}", described(&output));
    let said: Value = serde_json::from_slice(&output.stdout).expect("it says so");
    let message = said["systemMessage"].as_str().expect("a text");
    assert!(message.contains("'killed' was interrupted") && message.contains("checkpoint "), "{message}");
    assert_eq!(world.chain(), ["unknown f"]);
    assert!(world.done(&["session", "list"]).contains(", interrupted\n"));
    world.add("g", "of the next");
    allowed(&world, "PostToolUse", "next", "1");
    allowed(&world, "PreToolUse", "next", "2");
    assert_eq!(world.chain(), ["unknown f", "next g"]);
    assert_eq!(world.open(), ["next"]);
    world.finish();
}

#[rstest::rstest]
fn the_next_prompt_reports_a_killed_agent_and_saves_its_work(#[values("refuse", "strict")] policy: &str) {
    let world = world(policy);
    let agent = Agent::begin(&world, "killed");
    world.add("f", "half of it");
    agent.kill();
    let payload = world.claude("UserPromptSubmit", "next", "").to_string();
    let output = world.send("claude-code", payload.as_bytes());
    assert!(String::from_utf8_lossy(&output.stdout).contains("'killed' was interrupted"), "{}", described(&output));
    assert_eq!(world.chain(), ["unknown f"]);
    assert_eq!(world.open(), ["next"]);
    allowed(&world, "PreToolUse", "next", "1");
}

/// The tools that it used before it was killed do not count in the turn that it takes when it is back.
#[test]
fn a_session_killed_between_two_tools_begins_its_next_turn_without_tools() {
    let world = world("refuse");
    Agent::begin_with(&world, "killed", &["UserPromptSubmit", "PreToolUse", "PostToolUse"]).kill();
    world.send("claude-code", world.claude("UserPromptSubmit", "next", "").to_string().as_bytes());
    allowed(&world, "Stop", "next", "");
    allowed(&world, "UserPromptSubmit", "killed", "");
    world.add("g", "while it only answers");
    allowed(&world, "Stop", "killed", "");
    assert_eq!(world.chain(), ["human g"]);
    world.finish();
}

#[rstest::rstest]
#[case::claude_code("claude-code", "post-tool-write", "/hook_event_name=PreToolUse", "")]
#[case::codex("codex", "captured-0.169.0.jsonl:3", "", "")]
#[case::gemini("gemini", "captured-0.61.0.jsonl:5", "", "/decision=deny")]
#[case::cursor("cursor", "pre-tool-write", "", "/permission=deny")]
#[case::copilot("copilot", "post-tool-create", "/hook_event_name=PreToolUse", "/permissionDecision=deny")]
#[case::opencode("opencode", "pre-tool-edit", "", "/deny")]
#[case::droid("droid", "post-tool-patch", "/hook_event_name=PreToolUse", "")]
#[case::cline("cline", "pre-tool-write", "", "/cancel=true")]
#[case::windsurf("windsurf", "pre-tool-write", "", "")]
#[case::kiro("kiro", "pre-tool-write", "", "")]
#[case::goose("goose", "pre-tool-write", "", "")]
#[case::amp("amp", "pre-tool-create", "", "/deny")]
#[case::generic("generic", "pre-tool", "", "")]
fn each_agent_is_held_back_in_its_own_way(
    #[case] agent: &str,
    #[case] name: &str,
    #[case] change: &str,
    #[case] answer: &str,
) {
    let world = world("strict");
    allowed(&world, "PreToolUse", "another", "1");
    let mut payload = world.fixture(agent, name);
    if let Some((pointer, value)) = change.split_once('=') {
        *payload.pointer_mut(pointer).expect("it is there") = value.into();
    }
    let output = world.send(agent, payload.to_string().as_bytes());
    let said = described(&output);
    assert!(said.contains(" session detected") && said.contains("Other session:  another"), "{said}");
    if agent == "generic" {
        let printed: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
        let report = &printed["guard"]["report"];
        assert_eq!(
            (&report["code"], &report["other_session"]),
            (&"tool-call-open".into(), &"another".into()),
            "{said}"
        );
        assert_eq!(
            (&printed["decision"], &report["fix"][3]),
            (&"deny".into(), &"Retry in this session".into()),
            "{said}"
        );
    }
    if answer.is_empty() {
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(output.stderr.starts_with(b"Error: Concurrent "), "{said}");
        return;
    }
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0), "{said}");
    let printed: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let (pointer, value) = answer.split_once('=').unwrap_or((answer, ""));
    let found = printed.pointer(pointer).unwrap_or_else(|| panic!("no {pointer}: {said}"));
    assert!(value.is_empty() || found.to_string().trim_matches('"') == value, "{said}");
}

#[test]
fn with_the_policy_warn_a_tool_call_runs_and_shows_the_warning() {
    let world = world("warn");
    world.git(&["commit", "-q", "--allow-empty", "-m", "wip\n\nClaude-Temp-Change: another"]);
    let payload = world.claude("PreToolUse", "s", "1").to_string();
    let output = world.send("claude-code", payload.as_bytes());
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
    let said: Value = serde_json::from_slice(&output.stdout).expect("it says so");
    assert!(said["systemMessage"].as_str().is_some_and(|text| text.contains(TEMPORARY)), "{said}");
    world.add("f", "a");
    // It was so before the call.
    allowed(&world, "PostToolUse", "s", "1");
    assert_eq!(world.chain(), ["s f"]);
}

#[rstest::rstest]
fn state_removed_during_a_tool_call_makes_the_author_unknown(
    #[values("refuse", "strict")] policy: &str,
    #[values(true, false)] is_all: bool,
) {
    let world = world(policy);
    world.add("h", "of a human");
    world.done(&["save"]);
    allowed(&world, "UserPromptSubmit", "s", "");
    allowed(&world, "PreToolUse", "s", "1");
    world.add("f", "a");
    let ours = world.repo().join(".git/checkpoint");
    if is_all {
        fs::remove_dir_all(&ours).expect("it is there");
    } else {
        fs::remove_file(ours.join("sessions/s.toml")).expect("it is there");
    }
    allowed(&world, "PostToolUse", "s", "1");
    assert_eq!(world.chain().last().map(String::as_str), Some("unknown f"), "{:?}", world.chain());
    assert!(world.done(&["status"]).contains("\nNotes:\n"));
    allowed(&world, "Stop", "s", "");
    allowed(&world, "UserPromptSubmit", "s", "");
    assert!(!world.done(&["status"]).contains("\nNotes:\n"));
}

#[test]
fn no_other_program_is_needed() {
    let world = world("strict");
    let run = |session: &str| {
        let mut command = world.hook("generic");
        command.env("PATH", "/nonexistent");
        let mut payload = tool("1", &["f"]);
        for (key, value) in [("event", "pre-tool"), ("session", session)] {
            payload[key] = value.into();
        }
        payload["cwd"] = world.repo().display().to_string().into();
        piped(command, payload.to_string().as_bytes())
    };
    assert_eq!(run("a").status.code(), Some(0));
    assert_eq!(run("b").status.code(), Some(2));
    assert_eq!(world.trouble(), None);
}
