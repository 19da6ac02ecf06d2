//! A failure in a hook is noted, and the agent continues.

use std::{fs, os::unix::fs::PermissionsExt as _};

use serde_json::json;

use super::words::tool;
use crate::support::{World, processes::described};

#[test]
fn outside_of_a_repository_nothing_happens() {
    let world = World::with_lines();
    for place in [world.root().join("home"), "/nowhere/at/all".into()] {
        let payload = json!({ "event": "prompt", "session": "s", "cwd": place.display().to_string() });
        assert_eq!(world.tell("generic", &payload), "{\"version\":1,\"decision\":\"allow\"}\n");
    }
    assert_eq!(fs::read_dir(world.root().join("home")).expect("readable").count(), 0);
    assert_eq!(world.json(&["session", "list", "--all", "--json"])["sessions"], json!([]));
    world.finish();
}

#[test]
fn where_hooks_are_switched_off_nothing_is_kept() {
    let world = World::with_lines();
    world.git(&["config", "checkpoint.enabled", "false"]);
    world.shell("s", "1", "f", "a");
    world.stop("s");
    assert!(!world.repo().join(".git/checkpoint/turns.toml").exists());
    assert!(!world.repo().join(".git/checkpoint/agents").exists());
    assert_eq!(world.shadows().len(), 0);
}

#[test]
fn state_that_is_damaged_costs_nothing_that_was_saved() {
    let world = World::with_lines();
    world.prompt("s");
    world.shell("s", "1", "f", "a");
    let ours = world.repo().join(".git/checkpoint");
    for path in ["turns.toml", "sessions/s.toml", "base", "index", "agents/generic", "events.jsonl"] {
        fs::write(ours.join(path), b"\0\xff[[[").expect("it is ours");
        world.shell("s", path, "f", path);
    }
    world.stop("s");
    assert!(world.chain().iter().filter(|it| *it == "s f").count() >= 5, "{:?}", world.chain());
    world.assert_sound("in the end");
}

#[test]
fn state_that_cannot_be_written_is_no_matter_of_the_agents() {
    let world = World::with_lines();
    world.prompt("s");
    let ours = world.repo().join(".git/checkpoint");
    fs::remove_dir_all(&ours).expect("it is ours");
    fs::write(&ours, "in the way").expect("a file can be written");
    for event in ["session-start", "prompt", "pre-tool", "post-tool", "stop", "session-end"] {
        world.event(event, "s", &tool("1", &[]));
    }
    world.assert_sound("in the end");
    fs::remove_file(&ours).expect("it is ours");
    world.prompt("s");
    world.shell("s", "2", "f", "a");
    world.stop("s");
    assert_eq!(world.chain(), ["s f"]);
    world.finish();
}

#[test]
fn a_lock_that_others_hold_is_waited_for_and_then_given_up() {
    let world = World::with_lines();
    world.git(&["config", "checkpoint.lockTimeout", "1s"]);
    world.prompt("s");
    let path = world.repo().join(".git/checkpoint/lock");
    let file = fs::File::options().read(true).write(true).open(&path).expect("it is there");
    file.lock().expect("it is free");
    world.add("f", "a");
    world.after("s", "1", &["f"]);
    drop(file);
    assert!(world.trouble().is_some_and(|text| text.contains("locked")), "{:?}", world.trouble());
    world.stop("s");
    assert_eq!(world.chain(), ["s f"]);
    world.finish();
}

#[test]
fn a_repository_that_cannot_be_opened_is_let_be() {
    let world = World::with_lines();
    fs::write(world.repo().join(".git/config"), "[core\n").expect("it is ours to break");
    let payload = json!({ "event": "prompt", "session": "s", "cwd": world.repo().display().to_string() });
    let mut command = world.hook("generic");
    command.current_dir("/");
    let output = super::words::piped(command, payload.to_string().as_bytes());
    assert!(output.status.success() && output.stderr.is_empty(), "{}", described(&output));
}

/// An agent is asked once: sending the prompt again is the answer.
#[test]
fn a_session_beside_another_is_asked_about() {
    let world = World::with_lines();
    world.git(&["config", "checkpoint.enableMultisessionWarning", "true"]);
    world.prompt("a");
    world.shell("a", "1", "f", "a");
    world.stop("a");
    let tell = |agent: &str, event: &serde_json::Value, flags: &[&str]| {
        let mut command = world.hook(agent);
        command.args(flags);
        world.run(command, event.to_string().as_bytes())
    };
    let cwd = world.repo().display().to_string();
    let named = |event: &str| json!({ "hook_event_name": event, "session_id": "b", "prompt_id": "1", "cwd": cwd, "prompt": "go" });
    let said = |output: &std::process::Output| described(output);
    let output = tell("claude-code", &named("SessionStart"), &[]);
    assert!(output.status.success() && said(&output).contains("uncommitted work"), "{}", said(&output));
    let output = tell("claude-code", &named("UserPromptSubmit"), &["--on-multisession=cancel"]);
    assert!(output.status.code() == Some(2) && said(&output).contains("uncommitted work"), "{}", said(&output));
    let output = tell("claude-code", &named("UserPromptSubmit"), &[]);
    assert!(output.status.code() == Some(2) && said(&output).contains("again"), "{}", said(&output));
    let turn = || world.json(&["session", "show", "b", "--json"])["session"]["turn"].clone();
    assert_eq!(turn(), 0);
    let output = tell("claude-code", &named("UserPromptSubmit"), &[]);
    assert!(output.status.success() && output.stdout.is_empty(), "{}", said(&output));
    assert_eq!(turn(), 1);
    // Where a prompt cannot be held back, it is shown.
    let goose = json!({ "event": "UserPromptSubmit", "session_id": "c", "message": "go", "working_dir": cwd });
    let output = tell("goose", &goose, &[]);
    assert!(output.status.success() && output.stdout.is_empty(), "{}", said(&output));
    let output = tell("copilot", &json!({ "sessionId": "d", "timestamp": 1, "cwd": cwd, "prompt": "go" }), &[]);
    assert!(output.status.success() && said(&output).contains("uncommitted work"), "{}", said(&output));
    world.finish();
}

#[test]
fn objects_that_cannot_be_written_are_noted() {
    let world = World::with_lines();
    world.prompt("s");
    world.before("s", "1", &["f"]);
    let objects = world.repo().join(".git/objects");
    let mode = |mode: u32| {
        let folders = fs::read_dir(&objects).expect("readable").flatten().map(|it| it.path());
        let folders: Vec<_> = folders.chain([objects.clone()]).filter(|path| path.is_dir()).collect();
        for path in folders {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
        }
    };
    world.add("f", "a");
    mode(0o555);
    let is_root = fs::write(objects.join("probe"), "").is_ok();
    world.after("s", "1", &["f"]);
    mode(0o755);
    if is_root {
        fs::remove_file(objects.join("probe")).expect("it is ours");
    } else {
        assert!(world.trouble().is_some());
    }
    world.stop("s");
    assert_eq!(world.chain(), ["s f"]);
    world.finish();
}

/// A hook starts no process, and looks at no session but its own: an old one's file would never end here.
#[test]
fn nothing_is_started_and_old_sessions_are_let_be() {
    let world = World::with_lines();
    world.prompt("s");
    for number in 0..20 {
        let path = world.repo().join(format!(".git/checkpoint/sessions/old-{number}.toml"));
        let status = world.command("mkfifo").arg(path).status();
        assert!(status.expect("mkfifo runs").success());
    }
    let tell = |event: &str, more: serde_json::Value| {
        let mut payload = json!({ "event": event, "session": "s", "cwd": world.repo().display().to_string() });
        payload["tool"] = more["tool"].clone();
        let mut command = world.hook("generic");
        command.env("PATH", "/nowhere");
        let output = super::words::piped(command, payload.to_string().as_bytes());
        assert!(output.status.success() && output.stderr.is_empty(), "{}", described(&output));
    };
    for (call, paths) in [("1", &["f"][..]), ("2", &[])] {
        tell("pre-tool", tool(call, paths));
        world.add("f", call);
        tell("post-tool", tool(call, paths));
    }
    tell("stop", json!({}));
    tell("prompt", json!({}));
    tell("session-end", json!({}));
    assert_eq!(world.trouble(), None);
    assert_eq!(world.chain(), ["s f", "s f"]);
}

/// Git itself would wait for it without end.
#[rstest::rstest]
fn a_pipe_in_the_place_of_rules_blocks_no_tool(#[values(".gitignore", ".gitattributes")] name: &str) {
    let world = World::with_lines();
    world.prompt("s");
    world.sh(&format!("mkfifo {name}"));
    world.add("f", "a");
    world.after("s", "1", &["f"]);
    world.after("s", "2", &[]);
    world.stop("s");
    world.sh(&format!("rm {name}"));
    assert!(world.trouble().is_some_and(|text| text.contains(&format!("{name}' is a pipe"))), "{:?}", world.trouble());
    world.prompt("s");
    world.shell("s", "3", "f", "b");
    world.stop("s");
    assert!(world.chain().contains(&"s f".to_owned()), "{:?}", world.chain());
}

/// The home directory is no project, and that is no trouble.
#[test]
fn a_protected_place_is_left_alone() {
    let world = World::new();
    world.git(&["init", "-q", "../home"]);
    let home = world.root().join("home");
    let payload = json!({ "event": "prompt", "session": "s", "cwd": home.display().to_string() });
    let mut command = world.hook("generic");
    command.current_dir(&home);
    let output = super::words::piped(command, payload.to_string().as_bytes());
    assert!(output.status.success() && output.stderr.is_empty(), "{}", described(&output));
    assert!(!home.join(".git/checkpoint/sessions").exists());
}
