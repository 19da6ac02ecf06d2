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
    desk.write("h", "here, and not told of\n");
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
