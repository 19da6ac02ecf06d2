//! Where the agent works: in a directory below the root, and in linked worktrees.

use serde_json::json;

use super::desk::Desk;

#[test]
fn paths_count_from_where_the_agent_is() {
    let desk = Desk::new();
    desk.write("sub/deep/x", "x\n");
    desk.commit();
    let cwd = desk.repo().join("sub/deep").display().to_string();
    let tool = |paths: &[&str]| json!({ "cwd": cwd, "tool": { "name": "write", "id": "1", "paths": paths } });
    desk.event("prompt", "s", &json!({ "cwd": cwd }));
    desk.add("g", "of a human");
    desk.event("pre-tool", "s", &tool(&["x", "../y"]));
    desk.add("sub/deep/x", "a");
    desk.add("sub/y", "b");
    desk.event("post-tool", "s", &tool(&["x", "../y"]));
    assert_eq!(desk.chain(), ["s sub/deep/x sub/y"]);
    desk.event("stop", "s", &json!({ "cwd": cwd }));
    desk.finish();
}

#[test]
fn an_agent_moves_to_another_worktree_and_back() {
    let desk = Desk::new();
    desk.git(&["worktree", "add", "-q", "-b", "side", "../side"]);
    let side = desk.root().join("side");
    let there = |more: serde_json::Value| {
        let mut more = more;
        more["cwd"] = side.display().to_string().into();
        more
    };
    desk.prompt("s");
    desk.edit("s", "1", "f", "here");
    desk.event("pre-tool", "s", &there(json!({ "tool": { "name": "shell", "id": "2" } })));
    std::fs::write(side.join("g"), "there\n").expect("a file can be written");
    desk.event("post-tool", "s", &there(json!({ "tool": { "name": "shell", "id": "2" } })));
    desk.write("h", "here, and not reported\n");
    desk.event("stop", "s", &there(json!({})));
    let session = &desk.json(&["session", "show", "s", "--json"])["session"];
    assert_eq!((&session["phase"], &session["checkpoints"]), (&json!("idle"), &json!(2)), "{session}");
    assert_eq!(desk.chain().len(), 2, "{:?}", desk.chain());
    assert_eq!(desk.shadows().len(), 2);
    desk.event("prompt", "s", &there(json!({ "prompt": "on" })));
    std::fs::write(side.join("f"), "there\n").expect("a file can be written");
    desk.event("session-end", "s", &there(json!({})));
    assert_eq!(desk.json(&["session", "show", "s", "--json"])["session"]["phase"], "ended");
    desk.finish();
}

/// Returns a desk, and the path of a second worktree.
fn with_side(path: &str) -> (Desk, std::path::PathBuf) {
    let desk = Desk::new();
    desk.git(&["worktree", "add", "-q", "-b", "side", path]);
    let side = desk.repo().join(path).canonicalize().expect("it was made");
    (desk, side)
}

/// Returns who made the checkpoints of the worktree `side` and in which files, oldest first.
fn chain_of(desk: &Desk, side: &std::path::Path) -> Vec<String> {
    let shadows = desk.git(&["for-each-ref", "--format=%(refname)", "refs/checkpoints/shadow/"]);
    let shadow = shadows.lines().find(|name| name.ends_with("/side") || name.ends_with("/inside"));
    let Some(shadow) = shadow else { return Vec::new() };
    let format = "--format=%x00%(trailers:key=Checkpoint-Contributor,valueonly,separator=)\
        /%(trailers:key=Checkpoint-Session,valueonly,separator=)";
    let range = format!("side..{shadow}");
    let log = ["-C", side.to_str().expect("it is text"), "log", "--first-parent", "-m", "--reverse", "--name-only"];
    let text = desk.git(&[&log[..], &[format, &range]].concat());
    text.split('\0').skip(1).map(|part| part.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[rstest::rstest]
#[case::beside("../side")]
#[case::inside("sub/inside")]
fn a_tool_names_files_of_another_worktree(#[case] path: &str) {
    let (desk, side) = with_side(path);
    desk.write(".git/info/exclude", "sub\n");
    let named = side.join("f").display().to_string();
    desk.prompt("s");
    let write = |call: &str, paths: &[&str], line: &str| {
        desk.before("s", call, paths);
        for path in paths {
            desk.add(path, line);
        }
        desk.after("s", call, paths);
    };
    std::fs::write(side.join("g"), "of a person\n").expect("it can be written");
    write("1", &[&named], "of s, there");
    write("2", &[&named, "h"], "of s, in both");
    assert_eq!(desk.chain(), ["s h"]);
    assert_eq!(chain_of(&desk, &side), ["agent/s f", "agent/s f"]);
    // A tool that is interrupted.
    desk.before("s", "3", &[&named]);
    desk.add(&named, "a half");
    desk.stop("s");
    assert_eq!(chain_of(&desk, &side)[2..], ["agent/s f"]);
    let there = side.to_str().expect("it is text");
    desk.git(&["-C", there, "commit", "-qam", "there"]);
    let value = desk.json(&["attribution", "--json", "side"]);
    let owners: Vec<_> = value["files"].as_array().expect("files").iter().map(|it| &it["owners"][0]["owner"]).collect();
    assert_eq!(owners, ["agent", "human"], "{value}");
    desk.commit();
    assert_eq!(desk.owners(), ["h agent 1"]);
    desk.finish();
}

/// A command that the agent runs here commits there: it is not known who has made what was unsaved there.
#[test]
fn a_command_commits_in_another_worktree() {
    let (desk, side) = with_side("../side");
    let there = side.to_str().expect("it is text");
    desk.prompt("s");
    desk.edit("s", "0", "f", "the first that is recorded");
    desk.commit();
    let payload = |event: &str| {
        json!({ "hook_event_name": event, "session_id": "s", "cwd": desk.repo(), "tool_name": "Bash",
            "tool_use_id": "1", "tool_input": { "command": "make" } })
    };
    desk.tell("claude-code", &payload("PreToolUse"));
    std::fs::write(side.join("f"), "of s\n").expect("it can be written");
    desk.git(&["-C", there, "commit", "-qam", "there"]);
    desk.tell("claude-code", &payload("PostToolUse"));
    desk.stop("s");
    let value = desk.json(&["attribution", "--json", "side"]);
    assert_eq!(value["files"][0]["owners"][0]["owner"], "unknown", "{value}");
    std::fs::write(side.join("f"), "of s\nof a person\n").expect("it can be written");
    desk.git(&["-C", there, "commit", "-qam", "later"]);
    let value = desk.json(&["attribution", "--json", "side"]);
    assert_eq!(value["files"][0]["owners"][0]["owner"], "human", "{value}");
    desk.finish();
}

#[test]
fn an_agent_deletes_the_directory_that_it_works_in() {
    let desk = Desk::new();
    desk.write("sub/deep/x", "x\n");
    desk.commit();
    let cwd = desk.repo().join("sub/deep").display().to_string();
    let event = |event: &str| {
        desk.event(event, "s", &json!({ "cwd": cwd, "tool": { "name": "shell", "id": "1" } }));
    };
    for name in ["prompt", "pre-tool"] {
        event(name);
    }
    std::fs::remove_dir_all(desk.repo().join("sub")).expect("it is there");
    desk.add("f", "of s");
    event("post-tool");
    assert_eq!(desk.chain(), ["s f sub/deep/x"]);
    desk.add("g", "of s, later");
    event("stop");
    assert_eq!(desk.chain()[1..], ["s g"]);
    assert_eq!(desk.open(), Vec::<String>::new());
    // A session that is not known here is none of ours.
    desk.event("pre-tool", "t", &json!({ "cwd": cwd, "tool": { "name": "shell", "id": "1" } }));
    assert_eq!(desk.open(), Vec::<String>::new());
    desk.finish();
}

/// What a person had there before the turn is in the archive, though nothing of that worktree is left.
#[test]
fn an_agent_deletes_the_worktree_that_it_works_in() {
    let (desk, side) = with_side("sub/inside");
    desk.write(".git/info/exclude", "sub\n");
    let event = |event: &str| {
        let cwd = side.display().to_string();
        desk.event(event, "s", &json!({ "cwd": cwd, "tool": { "name": "shell", "id": "1" } }));
    };
    std::fs::write(side.join("f"), "of a person\n").expect("it can be written");
    event("prompt");
    event("pre-tool");
    std::fs::remove_dir_all(&side).expect("it is there");
    event("post-tool");
    event("stop");
    assert_eq!(desk.git(&["for-each-ref", "refs/checkpoints/pending"]), "");
    let kept = desk.git(&["for-each-ref", "--format=%(refname)", "refs/checkpoints/archive"]);
    assert_eq!(desk.git(&["show", &format!("{}:f", kept.trim())]), "of a person\n");
    assert_eq!(desk.chain(), Vec::<String>::new());
    desk.finish();
}

/// Another repository is in the place of a worktree that is gone: nothing is written there.
#[test]
fn another_repository_in_the_place_of_a_worktree_is_left_alone() {
    let (desk, side) = with_side("../side");
    std::fs::remove_dir_all(&side).expect("it is there");
    desk.git(&["init", "-q", "../side"]);
    desk.prompt("s");
    let path = side.join("n").display().to_string();
    let tool = json!({ "tool": { "name": "write", "id": "1", "paths": [path] } });
    desk.event("pre-tool", "s", &tool);
    std::fs::write(side.join("n"), "new\n").expect("a file can be written");
    desk.event("post-tool", "s", &tool);
    desk.event("stop", "s", &json!({}));
    assert!(!side.join(".git/checkpoint").exists());
    assert_eq!(desk.git(&["-C", "../side", "for-each-ref"]), "");
    desk.finish();
}
