//! The file of what is open in a worktree: how often an event reads and writes it, and what a crash leaves of it.

use std::{fs, os::unix::process::ExitStatusExt as _, process::Output};

use serde_json::{Value, json};

use super::words::{piped, tool};
use crate::support::{World, processes::described};

/// Reports `event` of the session `s` to a hook that dies at `step`.
fn dies_at(world: &World, step: &str, event: &str, more: &Value) -> Output {
    let mut payload = json!({ "event": event, "session": "s", "agent": "tester", "cwd": world.repo() });
    for (key, value) in more.as_object().expect("an object") {
        payload[key] = value.clone();
    }
    let mut command = world.hook("generic");
    command.env("CHECKPOINT_FAILPOINT", step);
    piped(command, payload.to_string().as_bytes())
}

/// A turn: each event, what comes with it, and whether the turn's first checkpoint is taken then.
fn events() -> Vec<(&'static str, Value, bool)> {
    let files = tool("2", &["f"]);
    vec![
        ("session-start", json!({}), false),
        ("prompt", json!({ "prompt": "do" }), false),
        ("pre-tool", tool("1", &[]), true),
        ("post-tool", tool("1", &[]), false),
        ("pre-tool", files.clone(), false),
        ("post-tool", files, false),
        ("subagent-stop", json!({ "agent_id": "h" }), false),
        ("notice", json!({}), false),
        ("stop", json!({}), false),
        ("pre-tool", tool("late", &[]), false),
        ("session-end", json!({}), true),
    ]
}

#[test]
#[cfg_attr(not(feature = "failpoints"), ignore = "needs the feature 'failpoints'")]
fn an_event_reads_it_once_and_writes_it_once() {
    for step in ["turns:before-read", "turns:before-write"] {
        let world = World::with_lines();
        for (at, (event, more, is_first)) in events().into_iter().enumerate() {
            world.add("f", &format!("line {at}"));
            // What the turn was to do first is noted as soon as it is done.
            let most = if is_first && step == "turns:before-write" { 3 } else { 2 };
            let output = dies_at(&world, &format!("{step}:{most}"), event, &more);
            assert!(output.status.success(), "{event}, number {at}, at {step}: {}", described(&output));
        }
        assert_eq!(world.open(), Vec::<String>::new());
        world.finish();
    }
}

#[rstest::rstest]
#[case::prompt(0, "prompt")]
#[case::begun_by_a_tool(0, "pre-tool")]
#[case::before(1, "pre-tool")]
#[case::after(2, "post-tool")]
#[case::stop(2, "stop")]
#[case::end(2, "session-end")]
#[cfg_attr(not(feature = "failpoints"), ignore = "needs the feature 'failpoints'")]
fn a_crash_leaves_a_turn_open_or_ended(#[case] before: usize, #[case] event: &str) {
    let is_end = ["stop", "session-end"].contains(&event);
    let after: &[&str] = if is_end { &[] } else { &["s"] };
    for step in ["turns:before-write", "state:before-rename", "prompt:after-session", "stop:after-session"] {
        let world = World::with_lines();
        if before > 0 {
            world.prompt("s");
        }
        if before > 1 {
            world.before("s", "1", &[]);
            world.add("f", "of s");
        }
        let is_reached = match step {
            "prompt:after-session" => before == 0,
            "stop:after-session" => is_end,
            _ => true,
        };
        let was_open = world.open();
        let output = dies_at(&world, step, event, &tool("1", &[]));
        let is_open = world.open();
        let phase = world.json(&["session", "list", "--all", "--json"])["sessions"][0]["phase"].clone();
        assert_eq!(phase == "active", is_open == ["s"], "{event} at {step}: {phase}");
        if is_reached {
            assert_eq!((output.status.signal(), is_open), (Some(6), was_open), "{event} at {step}");
        } else {
            assert!(output.status.success() && is_open == after, "{event} at {step}: {}", described(&output));
        }
        world.done(&["save", "-q"]);
        let chain = world.chain();
        world.event("stop", "s", &json!({}));
        assert_eq!(world.open(), Vec::<String>::new(), "{event} at {step}");
        world.add("g", "of a person");
        world.done(&["save", "-q"]);
        assert_eq!(world.chain().last().map(String::as_str), Some("human g"), "{event} at {step}: {chain:?}");
        world.assert_sound("in the end");
    }
}

#[test]
fn a_damaged_file_is_set_aside_and_named() {
    let world = World::with_lines();
    world.prompt("s");
    let path = world.repo().join(".git/checkpoint/turns.toml");
    fs::write(&path, "version = 1\n[[session]]\nid = \"a\\nb\"\n").expect("it is ours");
    world.add("f", "of an unknown author");
    world.done(&["save", "-q"]);
    world.shell("s", "1", "g", "of s");
    world.stop("s");
    assert_eq!(world.chain(), ["unknown f", "s g"]);
    assert!(path.with_extension("bad").exists());
    let doctor = world.json(&["doctor", "--json"]);
    assert_eq!(doctor["problems"][0]["code"], "turns-damaged", "{doctor}");
}

/// The next event knows as little as a save.
#[test]
fn unsaved_changes_are_unknown_if_an_event_finds_the_file_of_turns_damaged() {
    let world = World::with_lines();
    world.prompt("s");
    let path = world.repo().join(".git/checkpoint/turns.toml");
    fs::write(&path, "noise").expect("it is ours");
    world.add("f", "of an unknown author");
    world.edit("s", "1", "g", "of s");
    world.stop("s");
    assert_eq!(world.chain(), ["unknown f", "s g"]);
}

/// A command that only reads names the same authors as a save would.
#[rstest::rstest]
#[case::damaged(false)]
#[case::unreadable(true)]
fn blame_works_without_the_file_of_turns(#[case] is_unreadable: bool) {
    let world = World::with_lines();
    world.prompt("s");
    world.edit("s", "1", "f", "of s");
    world.add("f", "of an unknown author");
    world.add("new", "of an unknown author");
    let path = world.repo().join(".git/checkpoint/turns.toml");
    fs::remove_file(&path).expect("it is there");
    if is_unreadable {
        std::os::unix::fs::symlink("turns.toml", &path).expect("it leads to itself");
    } else {
        fs::write(&path, "noise").expect("it is ours");
    }
    let owners = |path: &str| {
        let lines = world.json(&["blame", "--json", path])["lines"].clone();
        let owner =
            |lines: &serde_json::Value| format!("{} {}", lines["end"], lines["owner"].as_str().unwrap_or_default());
        lines.as_array().expect("a list").iter().map(owner).collect::<Vec<_>>()
    };
    assert_eq!(owners("f"), ["20 unknown", "21 agent", "22 unknown"]);
    assert_eq!(owners("new"), ["1 unknown"]);
    let said = |path: &str| {
        let output = world.checkpoint(&["blame", path]);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(said("f").contains("'git checkpoint doctor'"), "{}", said("f"));
    assert_eq!(said("g"), "", "it has no line that is not committed");
    let files = world.json(&["attribution", "--worktree", "--json"])["files"].clone();
    assert_eq!(files[1]["owners"][0]["owner"], "unknown", "{files}");
    let doctor: serde_json::Value =
        serde_json::from_slice(&world.checkpoint(&["doctor", "--json"]).stdout).expect("it prints JSON");
    assert!(doctor["problems"][0]["code"].as_str().is_some_and(|code| code.starts_with("turns-")), "{doctor}");
    world.checkpoint(&["save", "-q"]);
    assert_eq!(owners("f"), ["20 unknown", "21 agent", "22 unknown"]);
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let world = World::with_lines();
    world.prompt("s");
    let path = world.repo().join(".git/checkpoint/turns.toml");
    fs::remove_file(&path).expect("it is there");
    std::os::unix::fs::symlink("turns.toml", &path).expect("it leads to itself");
    let status = world.json(&["status", "--json"]);
    assert!(status["notes"][0].as_str().is_some_and(|note| note.contains("turns.toml")), "{status}");
    let doctor: serde_json::Value =
        serde_json::from_slice(&world.checkpoint(&["doctor", "--json"]).stdout).expect("it prints JSON");
    assert_eq!(doctor["problems"][0]["code"], "turns-unreadable", "{doctor}");
}

#[test]
fn files_of_an_earlier_version_are_removed() {
    let world = World::with_lines();
    let ours = world.repo().join(".git/checkpoint");
    for folder in ["claims", "turns"] {
        fs::create_dir_all(ours.join(folder)).expect("it can be made");
    }
    for file in ["claims/s.toml", "turns/s", "calls.toml"] {
        fs::write(ours.join(file), "noise").expect("it can be written");
    }
    world.prompt("s");
    assert!(["claims", "turns", "calls.toml"].iter().all(|name| !ours.join(name).exists()));
    world.stop("s");
    world.finish();
}
