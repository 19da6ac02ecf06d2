//! In one event, each of our files is read at most once and written at most once.

use std::{collections::BTreeMap, fs, path::PathBuf, process::Command};

use serde_json::{Value, json};

use super::words::tool;
use crate::support::{World, processes::described, program};

/// The file that the programs append what they open to.
fn log(world: &World) -> PathBuf {
    world.root().join("opened")
}

/// Sends `event` of `session` in the neutral protocol, and returns what it opened more than once.
fn event(world: &World, event: &str, session: &str, more: &Value) -> Vec<String> {
    let mut payload = json!({ "event": event, "session": session, "agent": "tester", "cwd": world.repo() });
    for (key, value) in more.as_object().expect("an object") {
        payload[key] = value.clone();
    }
    let mut command = world.hook("generic");
    command.env("CHECKPOINT_OPENED", log(world));
    let output = world.run(command, payload.to_string().as_bytes());
    assert!(output.status.success() && output.stderr.is_empty(), "{}", described(&output));
    opened_again(world, event)
}

/// Runs `arguments`, and returns what one of its processes opened more than once.
fn run(world: &World, program: &str, arguments: &[&str]) -> Vec<String> {
    let mut command: Command = world.command(program);
    let output = command.args(arguments).env("CHECKPOINT_OPENED", log(world)).output().expect("it runs");
    assert!(output.status.success(), "{}", described(&output));
    opened_again(world, arguments[0])
}

/// Returns what was read or written more than once by a process, and forgets what was opened.
fn opened_again(world: &World, what: &str) -> Vec<String> {
    let text = fs::read_to_string(log(world)).expect("something was opened");
    fs::remove_file(log(world)).expect("it is the test's");
    let mut counts = BTreeMap::new();
    for line in text.lines() {
        *counts.entry(line).or_insert(0) += 1;
    }
    let repo = format!("{}/.git/checkpoint/", world.repo().display());
    let again = counts.into_iter().filter(|(_, count)| *count > 1);
    let again = again.map(|(line, count)| {
        let opened = line.split_once(' ').map_or(line, |(_, opened)| opened);
        format!("{what}: {count} times {}", opened.replace(&repo, ""))
    });
    again.collect()
}

#[test]
fn events_open_each_file_once() {
    let world = World::with_lines();
    let mut again = Vec::new();
    again.extend(event(&world, "prompt", "s", &json!({ "prompt": "a wish" })));
    for (call, paths) in [("1", &["f"][..]), ("2", &["f"]), ("3", &[])] {
        again.extend(event(&world, "pre-tool", "s", &tool(call, paths)));
        world.add("f", call);
        again.extend(event(&world, "post-tool", "s", &tool(call, paths)));
    }
    // What nothing has reported is saved by the next event, and before a commit.
    world.add("g", "typed");
    again.extend(event(&world, "pre-tool", "s", &tool("4", &[])));
    world.add("f", "4");
    world.git(&["add", "f"]);
    again.extend(run(&world, "git", &["commit", "-qm", "in mid-turn"]));
    again.extend(event(&world, "post-tool", "s", &tool("4", &[])));
    // The turn has ended before the record of its commit is completed, which may take so long that the agent kills the hook.
    let twice = ["stop: 2 times write sessions/s.toml"];
    assert_eq!(event(&world, "stop", "s", &json!({})), twice);
    world.add("h", "typed");
    again.extend(run(&world, program(), &["save"]));
    again.extend(run(&world, "git", &["commit", "-qam", "between turns"]));
    again.extend(run(&world, "git", &["commit", "-qm", "empty", "--allow-empty"]));
    again.extend(event(&world, "prompt", "s", &json!({ "prompt": "another wish" })));
    again.extend(event(&world, "pre-tool", "s", &tool("5", &["f"])));
    world.add("f", "5");
    again.extend(event(&world, "post-tool", "s", &tool("5", &["f"])));
    again.extend(event(&world, "session-end", "s", &json!({})));
    again.extend(run(&world, "git", &["commit", "-qam", "after the session"]));
    // Before notes are dropped, they are read again: a commit may have been prepared without the lock since.
    again.retain(|it| !it.ends_with(": 2 times read commit.toml"));
    assert!(again.is_empty(), "\n{}", again.join("\n"));
    world.finish();
}

/// An agent waits for the hooks of each of its tools: they start no process of git.
#[test]
fn tools_start_no_process() {
    let world = World::with_lines();
    let folder = world.root().join("bin");
    fs::create_dir(&folder).expect("the root is the test's");
    let path = std::env::var("PATH").expect("there is a PATH");
    let script = "#!/bin/sh\necho \"$@\" >>\"${0%/bin/git}/started\"\nPATH=${PATH#*:} exec git \"$@\"\n";
    fs::write(folder.join("git"), script).expect("the folder is new");
    world.sh("chmod +x ../bin/git");
    let event = |event: &str, more: &Value| {
        let mut payload = json!({ "event": event, "session": "s", "agent": "tester", "cwd": world.repo() });
        for (key, value) in more.as_object().expect("an object") {
            payload[key] = value.clone();
        }
        let mut command = world.hook("generic");
        command.env("PATH", format!("{}:{path}", folder.display()));
        let output = world.run(command, payload.to_string().as_bytes());
        assert!(output.status.success() && output.stderr.is_empty(), "{}", described(&output));
        let started = world.root().join("started");
        let text = fs::read_to_string(&started).unwrap_or_default();
        drop(fs::remove_file(started));
        text
    };
    for turn in ["1", "2"] {
        event("prompt", &json!({ "prompt": "a wish" }));
        for (call, paths) in [("a", &["f"][..]), ("b", &["f"]), ("c", &[])] {
            assert_eq!(event("pre-tool", &tool(call, paths)), "", "{turn} {call}");
            world.add("f", &format!("{turn} {call}"));
            assert_eq!(event("post-tool", &tool(call, paths)), "", "{turn} {call}");
        }
        event("stop", &json!({}));
        // The mark of the first checkpoint of each base moves in the next turn.
        world.commit();
    }
    world.finish();
}
