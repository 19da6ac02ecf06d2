//! What an agent that is held back can still do, and whether the steps that it prints help.

use std::fs;

use super::{
    guard::{allowed, denied, hook, world},
    words::piped,
};
use crate::support::World;

/// The end of a message that makes its commit a session's.
const OF_A: &str = "work\n\nCheckpoint-Session: session-a";

/// Returns the commands that the guard names in its steps.
fn commands(text: &str) -> Vec<String> {
    let is_step = |line: &&str| line.split_once(". ").is_some_and(|(number, _)| number.parse::<u32>().is_ok());
    text.lines()
        .filter(is_step)
        .filter_map(|line| Some(line.split_once('`')?.1.split_once('`')?.0.to_owned()))
        .collect()
}

fn run(world: &World, command: &str) {
    let output = world.command("sh").args(["-c", command]).output().expect("sh runs");
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
}

#[rstest::rstest]
fn a_tool_that_only_reads_is_not_held_back(#[values("refuse", "strict")] policy: &str) {
    let world = world(policy);
    allowed(&world, "UserPromptSubmit", "session-a", "");
    allowed(&world, "UserPromptSubmit", "session-b", "");
    world.git(&["commit", "-q", "--allow-empty", "-m", OF_A]);
    denied(&world, "session-b", "Concurrent Claude session detected");
    let read = |event: &str| {
        let mut payload = world.claude(event, "session-b", "r");
        payload["tool_name"] = "Read".into();
        payload["tool_input"] = serde_json::json!({ "file_path": world.repo().join("f") });
        let output = piped(world.hook("claude-code"), payload.to_string().as_bytes());
        assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0), "{event}");
    };
    read("PreToolUse");
    world.add("f", "of a human");
    read("PostToolUse");
    denied(&world, "session-b", "Concurrent Claude session detected");
    assert_eq!(world.chain(), Vec::<String>::new(), "it has changed nothing");
}

#[test]
fn where_the_end_of_the_other_session_does_not_help_the_steps_do_not_name_it() {
    let world = world("strict");
    allowed(&world, "UserPromptSubmit", "session-a", "");
    allowed(&world, "UserPromptSubmit", "session-b", "");
    world.git(&["commit", "-q", "--allow-empty", "-m", OF_A]);
    let text = denied(&world, "session-b", "Concurrent Claude session detected");
    world.done(&["session", "end", "session-a"]);
    let after = denied(&world, "session-b", "Concurrent Claude session detected");
    assert_eq!(
        (commands(&text), after),
        (vec!["git switch <your-branch>".into(), "git commit --allow-empty".into()], text)
    );
    run(&world, "git commit -q --allow-empty -m own");
    allowed(&world, "PreToolUse", "session-b", "1");
}

#[test]
fn where_it_helps_the_steps_name_it() {
    let world = world("refuse");
    allowed(&world, "UserPromptSubmit", "session-a", "");
    allowed(&world, "UserPromptSubmit", "session-b", "");
    world.git(&["commit", "-q", "--allow-empty", "-m", OF_A]);
    let text = denied(&world, "session-b", "Concurrent Claude session detected");
    run(&world, &commands(&text)[0]);
    allowed(&world, "PreToolUse", "session-b", "1");
}

#[rstest::rstest]
fn a_worktree_is_taken_over_as_the_steps_say(#[values(true, false)] is_known: bool) {
    let world = world("refuse");
    let linked = world.root().join("linked");
    world.git(&["worktree", "add", "-q", &linked.display().to_string()]);
    let ours = world.repo().join(".git/worktrees/linked/checkpoint");
    fs::create_dir_all(&ours).expect("it can be made");
    fs::write(ours.join("owner"), "session-a\n").expect("it can be written");
    let send = |event: &str, call: &str| {
        let mut payload = world.claude(event, "session-b", call);
        payload["cwd"] = linked.display().to_string().into();
        let output = piped(world.hook("claude-code"), payload.to_string().as_bytes());
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    if is_known {
        assert_eq!(send("UserPromptSubmit", "").0, Some(0));
    }
    let (code, text) = send("PreToolUse", "1");
    assert_eq!(code, Some(2), "{text}");
    let adopt = commands(&text).into_iter().find(|command| command.contains("adopt")).expect("a step");
    let status = world.command("sh").args(["-c", &adopt]).current_dir(&linked).output().expect("sh runs");
    assert!(status.status.success(), "{adopt}: {}", String::from_utf8_lossy(&status.stderr));
    assert_eq!(send("PreToolUse", "2"), (Some(0), String::new()));
}

#[test]
fn the_agent_is_told_to_stop_and_the_user_what_to_do() {
    let world = world("strict");
    allowed(&world, "PreToolUse", "session-a", "1");
    let (code, text) = hook(&world, "PreToolUse", "session-b", "1");
    assert_eq!(code, 2);
    assert!(
        text.contains("\n1. Agent: stop, and show this to your user; until then, only tools that read may run\n"),
        "{text}"
    );
    assert!(
        text.contains("\n2. User: let the other session finish, or end it: `git checkpoint session end session-a`\n")
    );
}
