//! Sessions and the worktrees that were made for them.

use std::{fs, path::Path};

use rstest::rstest;
use serde_json::{Value, json};

use super::{add, by_git, json_of, run_in, said};
use crate::support::World;

/// Makes a worktree of the branch `branch` for the session `s1`.
fn made_for_s1(world: &World, branch: &str) -> std::path::PathBuf {
    let added = json_of(world, &["worktree", "add", "-c", branch, "--session", "s1", "--json"]);
    added["path"].as_str().unwrap_or_else(|| panic!("{added}")).into()
}

fn owner(world: &World, id: &str) -> Option<String> {
    fs::read_to_string(world.repo().join(".git/worktrees").join(id).join("checkpoint/owner")).ok()
}

fn place_of_s1(world: &World) -> String {
    world.done(&["session", "cwd", "s1"]).trim_end().to_owned()
}

#[test]
fn a_session_with_a_turn_elsewhere_gets_no_worktree() {
    let world = World::with_commit();
    world.done(&["session", "prompt", "s1", "-m", "go"]);
    let before = by_git(&world);
    let output = world.checkpoint(&["worktree", "add", "-c", "side", "--session", "s1", "--json"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{}", said(&output));
    let hint = format!("'git -C {} checkpoint session stop s1' ends it", world.repo().display());
    assert!(said(&output).contains("has a turn under way in '") && said(&output).contains(&hint), "{}", said(&output));
    assert_eq!((by_git(&world), world.git(&["branch", "--list", "side"])), (before, String::new()));
    world.done(&["session", "stop", "s1"]);
    let path = made_for_s1(&world, "side");
    assert_eq!(Path::new(&place_of_s1(&world)), path);
}

#[test]
fn a_session_that_waits_goes_to_its_new_worktree() {
    let world = World::with_commit();
    let first = made_for_s1(&world, "first");
    let added = json_of(&world, &["worktree", "add", "-c", "second", "--session", "s1", "--json"]);
    assert_eq!(added["left"].as_str(), first.to_str());
    assert_eq!(Path::new(&place_of_s1(&world)), world.root().join("repo-wt-second"));
    assert_eq!((owner(&world, "repo-wt-first"), owner(&world, "repo-wt-second").as_deref()), (None, Some("s1\n")));
}

/// A program reports an event in the wrong directory: it must not take the session away from its worktree.
#[rstest]
#[case::start(&["session", "start", "s1"])]
#[case::prompt(&["session", "prompt", "s1", "-m", "go"])]
#[case::stop(&["session", "stop", "s1"])]
#[case::end(&["session", "end", "s1"])]
fn an_event_elsewhere_is_refused(#[case] event: &[&str]) {
    let world = World::with_commit();
    let path = made_for_s1(&world, "side");
    fs::write(world.repo().join("mine"), "by a person\n").expect("writable");
    let output = world.checkpoint(event);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    for words in [format!("the worktree '{}' was made for the session 's1'", path.display()), "session adopt s1".into()]
    {
        assert!(said(&output).contains(&words), "{}", said(&output));
    }
    assert_eq!(Path::new(&place_of_s1(&world)), path);
    assert!(run_in(&world, &path, event).status.success());
}

/// What an agent does is saved where it does it. The session is where it was seen last, and nothing says otherwise.
#[test]
fn a_hook_moves_a_session_out_of_the_worktree_that_was_made_for_it() {
    let world = World::with_commit();
    let path = made_for_s1(&world, "side");
    let hook = |directory: &Path, session: &str, event: &str, more: &str| {
        let json = json!({ "session_id": session, "cwd": directory, "hook_event_name": event, "prompt": "go" });
        let json = json.to_string().replace('}', &format!("{more}}}"));
        let script = format!("cd '{}'; echo '{json}' | git checkpoint hook --agent claude-code", directory.display());
        let output = world.command("sh").args(["-c", &script]).output().expect("there is a shell");
        said(&output)
    };
    let tool = r#","tool_name":"Bash","tool_use_id":"1","tool_input":{"command":"ls"}"#;
    let denied =
        |session: &str| hook(&path, session, "PreToolUse", tool).contains("is the worktree of another session");
    hook(&path, "s2", "UserPromptSubmit", "");
    assert!(denied("s2"), "it is the worktree of another session");
    hook(&world.repo(), "s1", "UserPromptSubmit", "");
    assert_eq!(Path::new(&place_of_s1(&world)), world.repo());
    world.done(&["session", "stop", "s1"]);
    world.done(&["session", "prompt", "s1", "-m", "go"]);
    assert!(!denied("s2"), "that session has left it");
    // It is back, and bound again.
    world.done(&["session", "stop", "s1"]);
    hook(&path, "s1", "UserPromptSubmit", "");
    assert_eq!(Path::new(&place_of_s1(&world)), path);
    assert_eq!(world.checkpoint(&["session", "prompt", "s1", "-m", "go"]).status.code(), Some(1));
}

/// A person can move it.
#[test]
fn an_adopted_session_is_where_it_was_adopted() {
    let world = World::with_commit();
    made_for_s1(&world, "side");
    world.done(&["session", "adopt", "s1"]);
    world.done(&["session", "prompt", "s1", "-m", "go"]);
    assert_eq!(Path::new(&place_of_s1(&world)), world.repo());
}

#[test]
fn a_worktree_that_is_gone_holds_no_session() {
    let world = World::with_commit();
    made_for_s1(&world, "side");
    world.sh("rm -rf ../repo-wt-side");
    world.done(&["session", "end", "s1"]);
    let pruned = json_of(&world, &["worktree", "prune", "--json"]);
    assert_eq!(pruned["left"], json!([]), "{pruned}");
}

/// Git gives a new worktree the id of a removed one: no session of that one is in it.
#[rstest]
#[case::removed_by_us("git checkpoint worktree remove --force side", "git checkpoint worktree add side")]
#[case::both_by_git("git worktree remove --force ../repo-wt-side", "git worktree add -q ../repo-wt-side side")]
#[case::added_by_git("git checkpoint worktree remove --force side", "git worktree add -q ../repo-wt-side side")]
fn a_session_of_a_removed_worktree_is_not_in_the_next_one(#[case] remove: &str, #[case] add_again: &str) {
    let world = World::with_commit();
    let path = add(&world, "side");
    for event in ["start", "prompt", "stop"] {
        assert!(run_in(&world, &path, &["session", event, "s1"]).status.success());
    }
    if remove.contains("checkpoint") {
        // Its process, this one, would keep the worktree.
        assert!(run_in(&world, &path, &["session", "end", "s1"]).status.success());
    }
    assert_eq!(Path::new(&place_of_s1(&world)), path);
    world.settle();
    world.sh(&format!("{{ {remove}; {add_again}; }} >/dev/null"));
    let output = world.checkpoint(&["session", "cwd", "s1"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{}", said(&output));
    assert!(said(&output).contains("is gone") && said(&output).contains("session adopt s1"), "{}", said(&output));
    let shown = json_of(&world, &["worktree", "show", "side", "--json"]);
    assert_eq!(shown["worktree"]["sessions"], json!([]), "{shown}");
    // An event there brings it there.
    assert!(run_in(&world, &path, &["session", "start", "s1"]).status.success());
    assert_eq!(Path::new(&place_of_s1(&world)), path);
}

/// A restored worktree has its sessions again.
#[test]
fn a_session_is_in_its_worktree_when_that_is_back() {
    let world = World::with_commit();
    let path = add(&world, "side");
    for event in ["start", "end"] {
        assert!(run_in(&world, &path, &["session", event, "s1"]).status.success());
    }
    world.settle();
    let id = json_of(&world, &["worktree", "remove", "--force", "side", "--json"])["id"].clone();
    let id = id.as_str().expect("an id");
    world.sh("git worktree add -q ../repo-wt-side side");
    let output = world.checkpoint(&["session", "cwd", "s1"]);
    assert!(said(&output).contains(&format!("git checkpoint worktree restore {id}")), "{}", said(&output));
    world.sh("git worktree remove ../repo-wt-side");
    assert!(world.checkpoint(&["worktree", "restore", id]).status.success());
    assert_eq!(Path::new(&place_of_s1(&world)), path);
}

/// The hint is a command that can be run where the refused one was.
#[test]
fn the_session_that_keeps_a_worktree_is_named() {
    let world = World::with_commit();
    let path = add(&world, "side");
    assert!(run_in(&world, &path, &["session", "prompt", "s1", "-m", "go"]).status.success());
    let output = world.checkpoint(&["worktree", "remove", "side"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let command = format!("git -C {} checkpoint session stop s1", path.display());
    assert!(said(&output).contains(&format!("'{command}'")), "{}", said(&output));
    world.sh(&command);
    assert!(path.exists());
}

/// The agent was killed in the middle of its turn: it does not come back, and its work is in the checkpoint.
#[cfg(target_os = "linux")]
#[test]
fn a_turn_whose_process_is_gone_keeps_no_worktree() {
    let world = World::with_commit();
    let path = made_for_s1(&world, "side");
    assert!(run_in(&world, &path, &["session", "prompt", "s1", "-m", "go"]).status.success());
    fs::write(path.join("work"), "by the agent\n").expect("writable");
    // Another process has its number now.
    world.sh("sed -i 's/^start = .*/start = 1/' .git/checkpoint/sessions/s1.toml");
    let removed = json_of(&world, &["worktree", "remove", "--force", "side", "--json"]);
    let checkpoint = removed["checkpoint"].as_str().unwrap_or_else(|| panic!("{removed}"));
    assert_eq!(world.git(&["show", &format!("{checkpoint}:work")]), "by the agent\n");
}

/// An agent would work there without a single checkpoint.
#[test]
fn a_worktree_without_the_hooks_of_an_agent_is_named() {
    let world = World::with_commit();
    world.done(&["enable", "--agent", "claude-code"]);
    let output = world.checkpoint(&["worktree", "add", "-c", "side", "--json"]);
    let added: Value = serde_json::from_slice(&output.stdout).expect("it prints JSON");
    let expected = json!([{ "agent": "claude-code", "scope": "local", "worktree": "main" }]);
    assert_eq!(added["agents_elsewhere"], expected, "{added}");
    let path = added["path"].as_str().expect("a path");
    let command = format!("git -C {path} checkpoint enable --agent claude-code");
    assert!(said(&output).contains(&format!("hint: '{command}'")), "{}", said(&output));
    world.sh(&command);
    let status = run_in(&world, Path::new(path), &["status", "--json"]);
    let status: Value = serde_json::from_slice(&status.stdout).expect("it prints JSON");
    assert_eq!(status["agents_elsewhere"], json!([]), "{status}");
    // What `.worktreeinclude` brings along counts.
    world.sh("echo .claude/settings.local.json >.worktreeinclude");
    let copied = json_of(&world, &["worktree", "add", "-c", "other", "--json"]);
    assert_eq!((&copied["agents_elsewhere"], &copied["copied"]), (&json!([]), &json!([".claude/settings.local.json"])));
}
