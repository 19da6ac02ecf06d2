//! Ids, paths and places that come from anywhere.

use std::fs;

use serde_json::json;

use super::words::tool;
use crate::support::{World, processes::described};

#[rstest::rstest]
#[case::up("../../../x", true)]
#[case::absolute("/etc/passwd", true)]
#[case::lock("x.lock", true)]
#[case::option("--help", true)]
#[case::long(&"a".repeat(5000), false)]
#[case::newline("a\nb", false)]
#[case::escape("a\u{1b}[2Jb", false)]
#[case::empty("", false)]
fn sessions_are_named_by_anything(#[case] id: &str, #[case] is_taken: bool) {
    let world = World::with_lines();
    let cwd = world.repo().display().to_string();
    for event in ["session-start", "prompt", "pre-tool", "post-tool", "stop", "session-end"] {
        let payload = json!({ "event": event, "session": id, "cwd": cwd, "tool": { "name": "shell", "id": "1" } });
        if event == "post-tool" {
            world.add("f", "a");
        }
        let output = world.send("generic", payload.to_string().as_bytes());
        assert!(output.status.success() && output.stderr.is_empty(), "{}", described(&output));
    }
    assert_eq!(world.chain().len(), usize::from(is_taken));
    assert_eq!(world.trouble().is_none(), is_taken);
    let mut outside: Vec<_> =
        fs::read_dir(world.root()).expect("readable").flatten().map(|it| it.file_name()).collect();
    outside.sort();
    assert_eq!(outside, ["home", "repo", "state"], "nothing lands elsewhere");
    world.assert_sound("in the end");
}

/// Where a path leads out of the worktree, the tool may have changed anything.
#[test]
fn paths_lead_anywhere() {
    let world = World::with_lines();
    let outside = world.root().join("outside");
    fs::create_dir(&outside).expect("a directory can be made");
    fs::write(outside.join("secret"), "not of this worktree").expect("a file can be written");
    std::os::unix::fs::symlink(&outside, world.repo().join("link")).expect("a link can be made");
    std::os::unix::fs::symlink("/nowhere/at/all", world.repo().join("dangling")).expect("a link can be made");
    world.prompt("s");
    let absolute = outside.join("secret").display().to_string();
    let paths =
        ["../outside/secret", "link/secret", &absolute, "sub/../../outside/secret", "dangling/x", "/", ".", "", "a\0b"];
    for (number, path) in paths.iter().enumerate() {
        let (call, line) = (format!("{number}"), format!("{number}"));
        world.before("s", &call, &[path]);
        world.add("f", &line);
        world.after("s", &call, &[path]);
        assert_eq!(world.chain().last().map(String::as_str), Some("s f"), "{path}");
    }
    world.stop("s");
    assert!(world.done(&["events"]).contains("not of this worktree"), "the log says so");
    let names = world.git(&["log", "--all", "--format=", "--name-only"]);
    assert!(!names.contains("secret"), "{names}");
    let held = world.held();
    assert!(!held.contains(b"not of this worktree".as_slice()));
    world.finish();
}

/// What such a tool may have changed here is seen when it is done; the rest of the turn is as ever.
#[test]
fn a_tool_that_names_files_elsewhere_gets_no_later_changes_here() {
    let world = World::with_lines();
    world.prompt("s");
    world.before("s", "1", &["../elsewhere"]);
    world.add("f", "perhaps of the tool");
    world.after("s", "1", &["../elsewhere"]);
    world.add("g", "of a human");
    world.stop("s");
    assert_eq!(world.chain(), ["s f", "human g"]);
    world.prompt("s");
    world.before("s", "2", &["../elsewhere"]);
    world.add("h", "while it is at it");
    world.stop("s");
    assert_eq!(world.chain()[2..], ["s h"]);
    world.finish();
}

#[test]
fn links_inside_are_followed_to_where_the_file_is() {
    let world = World::with_lines();
    world.write("real/x", "x\n");
    std::os::unix::fs::symlink("real", world.repo().join("way")).expect("a link can be made");
    world.prompt("s");
    world.add("g", "of a human");
    world.edit("s", "1", "way/x", "a");
    world.edit("s", "2", "./new/./y", "b");
    let absolute = world.repo().join("real/../f").display().to_string();
    world.before("s", "3", &[&absolute]);
    world.add("f", "c");
    world.after("s", "3", &[&absolute]);
    assert_eq!(world.chain(), ["human real/x way", "s real/x", "s new/y", "s f"]);
    world.stop("s");
    assert_eq!(world.chain()[4..], ["human g"]);
    world.finish();
}

#[test]
fn the_environment_of_git_is_not_the_agents() {
    let world = World::with_lines();
    let stray = |event: &str, more: serde_json::Value| {
        let mut payload = json!({ "event": event, "session": "s", "cwd": world.repo().display().to_string() });
        for (key, value) in more.as_object().expect("an object") {
            payload[key] = value.clone();
        }
        let mut command = world.hook("generic");
        command.current_dir(world.root());
        for name in
            ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR", "GIT_NAMESPACE"]
        {
            command.env(name, "/nowhere");
        }
        command.env("GIT_PREFIX", "x/");
        let output = world.run(command, payload.to_string().as_bytes());
        assert!(output.status.success() && output.stderr.is_empty(), "{}", described(&output));
    };
    stray("prompt", json!({}));
    stray("pre-tool", tool("1", &["f"]));
    world.add("f", "a");
    stray("post-tool", tool("1", &["f"]));
    stray("pre-tool", tool("2", &[]));
    world.add("new", "a");
    stray("post-tool", tool("2", &[]));
    stray("stop", json!({}));
    assert_eq!(world.chain(), ["s f", "s new"]);
    world.finish();
}

/// What a user pastes from a hint runs nothing.
#[test]
fn hints_quote_what_agents_name() {
    let world = World::with_lines();
    let session = "ev$(touch pw);x";
    world.prompt(session);
    world.stop(session);
    let output = world.checkpoint(&["restore", &format!("{session}@1")]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("git checkpoint prompts 'ev$(touch pw);x'"), "{text}");
}
