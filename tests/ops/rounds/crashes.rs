//! Rounds that are killed at each of their steps: the next call goes on, and nothing is lost.

use std::fs;

use rstest::rstest;
use serde_json::json;

use super::{dies, end, field, folder, path, start, text};
use crate::support::World;

#[rstest]
#[case("round:after-state")]
#[case("state:before-rename:2")]
#[case("worktree:before-fill")]
#[case("round:after-worktree")]
#[case("round:after-mark")]
#[case("round:after-place")]
#[case("agent-hooks:before-rename")]
fn a_start_that_was_killed_goes_on(#[case] failpoint: &str) {
    let world = World::with_commit();
    let workspace = folder(&world, "ws");
    dies(&world, failpoint, &["round", "start", "--context", ".", "--workspace", text(&workspace), "--json"]);
    let round = start(&world, &[]);
    assert_eq!(world.git(&["for-each-ref", "refs/heads/agents"]).lines().count(), 1, "{round}");
    assert_eq!(world.git(&["worktree", "list"]).lines().count(), 2);
    assert_eq!(world.json(&["round", "list", "--all", "--json"])["rounds"].as_array().map(Vec::len), Some(1));
    fs::write(format!("{}/note", field(&round, "scratch")), "an idea\n").expect("writable");
    assert_eq!(world.git(&["-C", field(&round, "path"), "status", "--porcelain"]), "");
    end(&world, &round);
}

/// The second call makes again what was made in part: files of a checkpoint, and what is copied, included.
#[rstest]
#[case::anonymous(&[])]
#[case::with_a_label(&["--label", "presenter"])]
fn a_start_from_a_checkpoint_that_was_killed_goes_on(#[case] label: &[&str]) {
    let world = World::with_commit();
    world.sh("echo .env >.gitignore; echo .env >.worktreeinclude; git add .; git commit -qm rules; echo secret >.env; echo mine >mine");
    let saved = world.json(&["save", "--json"]);
    let id = saved["id"].as_str().expect("it has an id");
    let workspace = folder(&world, "ws");
    let words = [&["round", "start", "--context", ".", "--workspace", text(&workspace), "--base", id], label].concat();
    dies(&world, "worktree:before-fill", &words);
    let round = world.json(&[&words[..], &["--json"]].concat());
    assert_eq!(world.sh(&format!("cd '{}'; cat mine .env", field(&round, "path"))), "mine\nsecret\n");
    assert_eq!(world.git(&["for-each-ref", "refs/heads"]).lines().count(), 2);
    assert_eq!(world.git(&["worktree", "list"]).lines().count(), 2);
}

/// What was killed can be ended as it is.
#[rstest]
#[case("round:after-state")]
#[case("round:after-worktree")]
#[case("round:after-place")]
fn a_start_that_was_killed_can_be_ended(#[case] failpoint: &str) {
    let world = World::with_commit();
    let workspace = folder(&world, "ws");
    dies(&world, failpoint, &["round", "start", "--context", ".", "--workspace", text(&workspace)]);
    let listed = world.json(&["round", "list", "--json"]);
    assert_eq!(listed["rounds"][0]["phase"], json!("starting"));
    end(&world, &listed["rounds"][0]);
    assert_eq!(world.git(&["worktree", "list"]).lines().count(), 1);
}

#[rstest]
#[case("round:before-commit")]
#[case("round:after-commit")]
#[case("condense:before-record")]
#[case("round:before-archive")]
#[case("round:after-archive")]
#[case("round:before-removal")]
#[case("worktree:after-record")]
#[case("worktree:after-lock")]
#[case("worktree:after-tree")]
#[case("worktree:after-admin")]
#[case("round:after-removal")]
fn an_end_that_was_killed_goes_on(#[case] failpoint: &str) {
    let world = World::with_commit();
    world.sh("echo .env >.gitignore; git add .; git commit -qm rules");
    let round = start(&world, &["--agent", "agent1", "--session", "s1"]);
    let (root, id) = (path(&round), round["round"].as_str().expect("it has an id"));
    world.done(&["-C", text(&root), "session", "prompt", "s1", "-m", "write it"]);
    for (name, content) in [("new", "work\n"), (".env", "secret\n"), (".checkpoint_scratch/note", "an idea\n")] {
        fs::write(root.join(name), content).expect("writable");
    }
    world.done(&["-C", text(&root), "session", "stop", "s1"]);
    world.done(&["-C", text(&root), "session", "end", "s1"]);
    dies(&world, failpoint, &["round", "end", id]);
    let ended = end(&world, &round);
    let branch = field(&round, "branch");
    assert!(!root.exists(), "{ended}");
    assert_eq!(world.git(&["show", &format!("{branch}:new")]), "work\n");
    assert_eq!(world.git(&["rev-list", "--count", &format!("main..{branch}")]), "1\n");
    assert_eq!(world.sh("cd ../ws/.scratch_archive; find . -type f -exec cat {} +"), "an idea\n", "{ended}");
    assert!(world.done(&["blame", "--rev", branch, "new"]).contains("s1"), "it has its record");
    let listed = world.json(&["worktree", "restore", "--list", "--json"]);
    let removed = listed["removed"][0]["id"].as_str().unwrap_or_else(|| panic!("{listed}"));
    world.done(&["worktree", "restore", removed]);
    assert_eq!(fs::read_to_string(root.join(".env")).expect("it is back"), "secret\n");
    world.git(&["fsck", "--strict", "--no-dangling"]);
}

#[rstest]
#[case("round:after-state")]
#[case("round:before-switch")]
#[case("round:after-place")]
fn a_round_in_a_workspace_that_was_killed_goes_on(#[case] failpoint: &str) {
    let world = World::with_commit();
    world.sh("echo mine >mine");
    dies(&world, failpoint, &["round", "start", "--workspace", ".", "--with-changes"]);
    let round = world.json(&["round", "start", "--workspace", ".", "--json"]);
    assert_eq!(world.git(&["branch", "--show-current"]).trim(), field(&round, "branch"));
    let id = round["round"].as_str().expect("it has an id");
    dies(&world, "round:after-commit", &["round", "end", id]);
    end(&world, &round);
    assert_eq!(world.git(&["branch", "--show-current"]), "main\n");
    assert_eq!(world.git(&["show", &format!("{}:mine", field(&round, "branch"))]), "mine\n");
}
