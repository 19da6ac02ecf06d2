//! Objects of ours that are gone: an agent's lines never become a person's for that, and the user hears of it.

use std::process::Output;

use crate::support::{World, processes::described};

fn remove(world: &World, rev: &str) -> String {
    let id = world.git(&["rev-parse", "--verify", rev]).trim().to_owned();
    let path = world.repo().join(".git/objects").join(&id[..2]).join(&id[2..]);
    std::fs::remove_file(path).unwrap_or_else(|error| panic!("'{rev}' is loose: {error}"));
    id
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A turn of `s` that adds lines to `path`.
fn turn(world: &World, path: &str) {
    world.prompt("s");
    world.before("s", path, &[path]);
    world.add(path, &format!("of s in {path}"));
    world.add(path, "of s again");
    world.after("s", path, &[path]);
    world.stop("s");
}

/// Two commits with a record each: of `g` and of `h`.
fn recorded() -> World {
    let world = World::with_lines();
    for path in ["g", "h"] {
        turn(&world, path);
        world.commit();
    }
    assert_eq!(world.owners(), ["h agent 2"]);
    world
}

const HISTORY: &str = "refs/checkpoints/history";

/// What of the records is gone, how many owners of the first commit's lines stay known, and whose those of the second are after the
/// repair.
#[rstest::rstest]
#[case::newest("", "unknown", "unknown")]
#[case::its_tree("^{tree}", "unknown", "unknown")]
#[case::earlier("~1", "agent", "agent")]
fn records_that_are_gone_make_nobody_a_person(#[case] lost: &str, #[case] now: &str, #[case] mended: &str) {
    let world = recorded();
    let id = remove(&world, &format!("{HISTORY}{lost}"));
    let blame = |path: &str| {
        let blamed = world.checkpoint(&["blame", "--json", path]);
        assert!(blamed.status.success(), "{}", described(&blamed));
        assert_eq!(said(&blamed).contains("the records"), now == "unknown", "{}", described(&blamed));
        let blamed: serde_json::Value = serde_json::from_slice(&blamed.stdout).expect("JSON");
        blamed["lines"][1]["owner"].as_str().expect("an owner").to_owned()
    };
    assert_eq!((blame("g"), blame("h")), (now.to_owned(), now.to_owned()));
    assert_eq!(world.owners(), [format!("h {now} 2")]);
    world.add("f", "unsaved");
    let worktree = world.json(&["attribution", "--worktree", "--json"]);
    let unsaved = if now == "unknown" { "unknown" } else { "human" };
    assert_eq!(worktree["files"][0]["owners"][0]["owner"], unsaved, "{worktree}");
    world.git(&["checkout", "-q", "f"]);
    for command in [&["explain", "HEAD"][..], &["why", "g:2"]] {
        let output = world.checkpoint(command);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{command:?}: {}", described(&output));
    }
    let found = world.checkpoint(&["doctor"]);
    let text = String::from_utf8_lossy(&found.stdout).into_owned();
    assert!(found.status.code() == Some(1) && text.contains(&id) && text.contains("--fix"), "{}", described(&found));
    assert!(!text.contains("there are none here"), "{text}");
    let fixed = world.checkpoint(&["doctor", "--fix"]);
    assert!(String::from_utf8_lossy(&fixed.stdout).contains(HISTORY), "{}", described(&fixed));
    world.git(&["fsck", "--connectivity-only"]);
    assert_eq!(world.owners(), [format!("h {mended} 2")], "{}", described(&fixed));
    let blame = world.json(&["blame", "--json", "g"]);
    assert_eq!(blame["lines"][1]["owner"], "agent", "the first record is here again: {blame}");
}
