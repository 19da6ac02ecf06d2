//! `purge` and removed worktrees: a removed worktree counts as a worktree, whose files no purge changes.

use std::fs;

use rstest::rstest;

use super::{
    json_of,
    removed::{state, with_work},
    said,
};
use crate::support::World;

/// The text is in a removed worktree: purge names it, changes nothing, and a restore brings all of it back.
#[rstest]
#[case::ignored("echo 4711-the-code >.env")]
#[case::in_a_name_that_is_left_elsewhere("echo 4711-the-code >x.lock")]
#[case::called_index("mkdir out/sub; echo 4711-the-code >out/sub/index")]
#[case::unstaged("echo 4711-the-code >t")]
#[case::staged("echo 4711-the-code >t; git add t; echo other >t")]
fn a_purge_leaves_removed_worktrees_alone(#[case] script: &str) {
    let world = World::with_commit();
    let path = with_work(&world);
    world.sh(&format!("cd '{}'; chmod 444 out/o; {script}", path.display()));
    world.settle();
    let before = state(&world, &path);
    let removed = json_of(&world, &["worktree", "remove", "--force", "side", "--json"]);
    let id = removed["id"].as_str().expect("an id").to_owned();
    for arguments in [&["purge", "--dry-run", "4711-the-code"][..], &["purge", "--force", "4711-the-code"]] {
        let output = world.checkpoint(arguments);
        let text = said(&output) + &String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(text.contains(&format!("the removed worktree {id} still has")), "{text}");
        assert!(text.contains("git checkpoint worktree prune --removed"), "{text}");
    }
    let back = world.checkpoint(&["worktree", "restore", &id]);
    assert!(back.status.success(), "{}", said(&back));
    assert_eq!(state(&world, &path), before);
    world.sh("git fsck --strict --no-dangling; git gc -q --prune=now");
}

/// What is committed is the user's, and once the removed worktree is deleted, nothing is in the way.
#[test]
fn a_purge_does_not_mind_what_is_committed_or_deleted() {
    let world = World::with_commit();
    let path = with_work(&world);
    world.sh(&format!("cd '{}'; echo 4711-the-code >c; git add c; git commit -qm c -- c", path.display()));
    world.settle();
    json_of(&world, &["worktree", "remove", "--force", "side", "--json"]);
    let output = world.checkpoint(&["purge", "--force", "4711-the-code"]);
    assert!(!said(&output).contains("the removed worktree"), "{}", said(&output));
    let kept = world.repo().join(".git/checkpoint/removed");
    assert_eq!(fs::read_dir(kept).expect("readable").count(), 1);
    let path = super::add(&world, "other");
    fs::write(path.join("secret"), "0815-another\n").expect("writable");
    world.settle();
    json_of(&world, &["worktree", "remove", "--force", "other", "--json"]);
    json_of(&world, &["worktree", "prune", "--removed", "--json"]);
    let output = world.checkpoint(&["purge", "--force", "0815-another"]);
    assert!(output.status.success(), "{}", said(&output));
}
