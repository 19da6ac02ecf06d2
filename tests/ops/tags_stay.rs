//! What becomes of a tag when its checkpoint is set aside, pruned, dropped or purged, or its worktree is removed.

use std::path::PathBuf;

use super::tags::{pairs, save, tags, world};
use crate::support::{
    World,
    processes::{described, halted, signal},
    program,
};

fn tip_of_tag(world: &World, name: &str) -> String {
    world.git(&["rev-parse", &format!("refs/checkpoints/tags/{name}")]).trim().to_owned()
}

fn archived(world: &World) -> usize {
    world.git(&["for-each-ref", "refs/checkpoints/archive/"]).lines().count()
}

/// The subjects that `list` with `arguments` has.
fn subjects(world: &World, arguments: &[&str]) -> String {
    let all: Vec<&str> = ["list", "--format", "%s"].iter().chain(arguments).copied().collect();
    world.done(&all).lines().collect::<Vec<_>>().join(", ")
}

#[test]
fn a_tag_keeps_what_a_prune_drops() {
    let (world, ids) = world(3);
    world.done(&["tag", "kept", &ids[1]]);
    world.done(&["reset"]);
    assert_eq!(tags(&world), pairs(&[("kept", &ids[1])]), "reset lets tags be");
    assert_eq!(subjects(&world, &["--tag", "k*", "--archived"]), "number 2");
    world.done(&["prune", "--keep", "0"]);
    assert_eq!((archived(&world), subjects(&world, &[])), (0, String::new()));
    assert_eq!(subjects(&world, &["--tag", "kept"]), "number 2", "the tag lists it");
    assert_eq!(subjects(&world, &["--tag", "kept", "--live"]), "");
    world.git(&["reflog", "expire", "--expire=now", "--all"]);
    world.git(&["gc", "-q", "--prune=now"]);
    world.done(&["restore", "--all", "kept"]);
    assert_eq!(world.read("f"), "line\n".repeat(3).as_str());
    world.done(&["prune", "--keep", "0"]);
    assert_eq!(tags(&world), pairs(&[("kept", &ids[1])]));
    world.assert_sound("after a prune");
}

/// The archive keeps it then, and an undo takes both back.
#[test]
fn the_last_tags_of_a_checkpoint_are_deleted_together() {
    let (world, ids) = world(3);
    for name in ["one", "two"] {
        world.done(&["tag", name, &ids[2]]);
    }
    world.done(&["reset"]);
    world.done(&["prune", "--keep", "0"]);
    assert_eq!(archived(&world), 0);
    world.done(&["tag", "-d", "one"]);
    assert_eq!(archived(&world), 0, "the other tag holds it");
    world.done(&["undo"]);
    world.done(&["tag", "-d", "one", "two"]);
    assert_eq!(archived(&world), 1);
    assert_eq!(subjects(&world, &["--archived"]), "number 3, number 2, number 1");
    world.done(&["undo"]);
    assert_eq!((archived(&world), tags(&world)), (0, pairs(&[("one", &ids[2]), ("two", &ids[2])])));
    // The same if it is moved away.
    world.done(&["tag", "-d", "two"]);
    let other = save(&world, 7);
    world.done(&["tag", "-f", "one", &other]);
    assert_eq!(archived(&world), 1);
    world.done(&["undo"]);
    assert_eq!(tags(&world), pairs(&[("one", &ids[2])]));
    world.assert_sound("after all");
}

/// After a drop and back, the live chain and one in the archive begin with the same checkpoint.
#[test]
fn what_a_live_chain_has_is_live() {
    let world = World::with_commit();
    for number in 1..=3 {
        world.write("f", "line\n".repeat(number + 1));
        world.settle();
        world.sh(&format!("GIT_COMMITTER_DATE='@190000000{number} +0000' git checkpoint save -q -m 'number {number}'"));
    }
    world.done(&["drop", "@{1}"]);
    world.done(&["op", "restore", "@{1}"]);
    assert_eq!(subjects(&world, &["--live"]), "number 3, number 2, number 1");
    let first = world.done(&["list", "--json"]).lines().last().map(ToOwned::to_owned).expect("a line");
    let first: serde_json::Value = serde_json::from_str(&first).expect("JSON");
    assert_eq!((&first["subject"], &first["archived"]), (&"number 1".into(), &false.into()), "{first}");
}

/// A tag of git's may name an object of any kind. The archive is for checkpoints.
#[test]
fn what_is_no_checkpoint_does_not_get_into_the_archive() {
    let (world, ids) = world(3);
    world.sh("git tag -a -m x v1 HEAD");
    for (name, object) in [("ann", "v1"), ("tree", "HEAD^{tree}"), ("blob", "HEAD:f")] {
        world.sh(&format!("git update-ref refs/checkpoints/tags/{name} $(git rev-parse {object})"));
    }
    world.done(&["tag", "-d", "ann", "tree", "blob"]);
    assert_eq!((archived(&world), tags(&world)), (0, Vec::new()));
    world.done(&["drop", &ids[1]]);
    // Of a checkpoint, it is all the same by which tag it is named.
    let saved = save(&world, 7);
    world.sh(&format!(
        "git tag -a -m x v2 {saved}; git update-ref refs/checkpoints/tags/two $(git rev-parse v2); git tag -d v2"
    ));
    world.done(&["reset"]);
    world.done(&["prune", "--keep", "0"]);
    world.done(&["tag", "-d", "two"]);
    assert_eq!(subjects(&world, &["--archived"]).split(", ").next(), Some("number 7"));
    world.assert_sound("after all");
}

/// Each of two processes, in worktrees of their own, sees that the tag of the other one still leads to the checkpoint.
#[test]
#[cfg_attr(not(feature = "failpoints"), ignore = "needs the feature 'failpoints'")]
fn the_last_two_tags_may_go_at_once() {
    let (world, ids) = world(2);
    for name in ["one", "two"] {
        world.done(&["tag", name, &ids[1]]);
    }
    world.done(&["reset"]);
    world.done(&["prune", "--keep", "0"]);
    world.sh("git worktree add -q ../linked");
    let child = world.start_with(&["tag", "-d", "one"], "stop@refs:before-lock");
    halted(&child);
    let mut other = world.command(program());
    let output = other.current_dir(world.root().join("linked")).args(["tag", "-d", "two"]).output();
    let output = output.expect("the program runs");
    assert!(output.status.success(), "{}", described(&output));
    signal(&child, "CONT");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}", described(&output));
    assert_eq!((archived(&world), tags(&world)), (1, Vec::new()));
    assert_eq!(subjects(&world, &["--archived"]), "number 2, number 1");
    world.assert_sound("after both");
}

#[test]
fn a_drop_takes_the_tag_along_and_later_ones_go_on() {
    let (world, ids) = world(3);
    world.done(&["tag", "of the-first".replace(' ', "/").as_str(), &ids[0]]);
    world.done(&["tag", "last", &ids[2]]);
    let dropped = world.done(&["drop", &ids[0]]);
    assert!(dropped.contains("deleted the tag 'of/the-first'"), "{dropped}");
    let last = tip_of_tag(&world, "last");
    assert_ne!(last, ids[2], "it is a copy");
    assert_eq!(tags(&world), pairs(&[("last", &last)]));
    assert_eq!(world.git(&["diff", &ids[2], &last]), "");
    world.done(&["undo"]);
    assert_eq!(tags(&world), pairs(&[("last", &ids[2]), ("of/the-first", &ids[0])]));
}

#[test]
fn a_purge_moves_the_tag_to_the_copy() {
    let (world, _) = world(1);
    world.write("secret.txt", "the code is 4711-0815\n");
    world.settle();
    let id = world.json(&["save", "--json"])["id"].as_str().expect("an id").to_owned();
    world.done(&["tag", "kept", &id]);
    world.done(&["reset"]);
    world.done(&["prune", "--keep", "0"]);
    world.remove("secret.txt");
    world.done(&["purge", "--force", "the code is 4711-0815"]);
    let copy = tip_of_tag(&world, "kept");
    assert_ne!(copy, id);
    let text = world.git(&["show", &format!("{copy}:secret.txt")]);
    assert!(!text.contains("4711"), "{text}");
    assert_eq!(tags(&world), pairs(&[("kept", &copy)]));
}

#[test]
fn a_tag_is_of_all_worktrees_and_outlives_its_own() {
    let (world, ids) = world(1);
    world.done(&["worktree", "add", "--create", "side"]);
    let path = PathBuf::from(world.done(&["worktree", "path", "side"]).trim());
    let in_side = |script: &str| world.sh(&format!("cd '{}' && {script}", path.display()));
    in_side("echo side >g && git checkpoint save -q -m 'of the side' && git checkpoint tag side");
    let side = tip_of_tag(&world, "side");
    // Each sees and names the checkpoints of the other.
    world.done(&["tag", "-f", "again", &side]);
    in_side(&format!("git checkpoint tag main-one {}", ids[0]));
    let expected = pairs(&[("again", &side), ("main-one", &ids[0]), ("side", &side)]);
    assert_eq!(tags(&world), expected);
    assert!(world.done(&["show", "side"]).starts_with(&format!("checkpoint {side}")));
    assert_eq!(subjects(&world, &["--tag", "side"]), "");
    assert_eq!(subjects(&world, &["--tag", "side", "--all-worktrees"]), "of the side");
    let hint = world.checkpoint(&["list", "--tag", "side"]);
    assert!(String::from_utf8_lossy(&hint.stderr).contains("--all-worktrees"), "{hint:?}");
    // What one worktree did, an undo in another one does not take back.
    world.done(&["undo"]);
    assert_eq!(tags(&world), pairs(&[("main-one", &ids[0]), ("side", &side)]));
    world.done(&["worktree", "remove", "--force", "side"]);
    assert_eq!(tags(&world), pairs(&[("main-one", &ids[0]), ("side", &side)]));
    assert_eq!(world.git(&["show", &format!("{side}:g")]), "side\n");
}
