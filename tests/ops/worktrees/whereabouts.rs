//! What is said of a removed worktree is what is so: where it is, what its HEAD is, whose its files are.

use std::fs;

use rstest::rstest;
use serde_json::{Value, json};

use super::{
    add, json_of,
    left_alone::on_another_file_system,
    removal_races::dies,
    removed::{state, with_work},
    run_in, said,
};
use crate::support::World;

/// The removal was killed before it had moved anything, and the directory is gone since: there is nothing to restore.
#[rstest]
#[case::beside(false)]
#[case::on_another_file_system(true)]
fn a_worktree_that_is_gone_is_not_back(#[case] is_elsewhere: bool) {
    let world = World::with_commit();
    let elsewhere = is_elsewhere.then(|| on_another_file_system(&world));
    let path = match &elsewhere {
        None => with_work(&world),
        Some(Some((_, path))) => path.clone(),
        Some(None) => return,
    };
    dies(&world, &["worktree", "remove", "--force", "side"], "worktree:after-lock");
    fs::remove_dir_all(&path).expect("it can be removed");
    let output = world.checkpoint(&["worktree", "restore", "side", "--json"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{}", said(&output));
    assert!(said(&output).contains(&format!("the worktree '{}' is gone", path.display())), "{}", said(&output));
}

/// One that cannot be looked at is not called gone, and no command is named that leaves it.
#[test]
fn a_worktree_that_cannot_be_looked_at_is_not_called_gone() {
    let world = World::with_commit();
    world.sh("git worktree add -q ../w -b side; mv ../w ../away; ln -s w ../w");
    for arguments in [&["remove", "side"][..], &["add", "side"], &["path", "side"], &["list"]] {
        let output = world.checkpoint(&[&["worktree"], arguments].concat());
        let words = format!("{}{}", said(&output), String::from_utf8_lossy(&output.stdout));
        assert!(!words.contains("gone") && !words.contains("prune"), "{words}");
    }
    let output = world.checkpoint(&["worktree", "remove", "side"]);
    assert!(said(&output).contains("cannot be looked at"), "{}", said(&output));
}

/// The restore was killed when the worktree was back, and HEAD has moved since.
#[rstest]
#[case::commit("git commit -q --allow-empty -m more", json!("side"), Value::Null)]
#[case::other_branch("git switch -qc other", json!("other"), Value::Null)]
#[case::detached("git switch -q --detach; git commit -q --allow-empty -m more", Value::Null, Value::Null)]
#[case::branch_moved("git switch -q --detach; git branch -f side main", json!("side"), json!("moved"))]
fn a_restore_that_is_done_says_where_head_is(#[case] script: &str, #[case] branch: Value, #[case] detached: Value) {
    let world = World::with_commit();
    world.git(&["branch", "-M", "main"]);
    let path = with_work(&world);
    json_of(&world, &["worktree", "remove", "--force", "side", "--json"]);
    dies(&world, &["worktree", "restore", "side"], "worktree:after-tree-back");
    let head = world.sh(&format!("cd '{}'; ({script}) 2>/dev/null; git rev-parse HEAD", path.display()));
    let back = json_of(&world, &["worktree", "restore", "side", "--json"]);
    assert_eq!((&back["branch"], &back["detached"]), (&branch, &detached), "{back}");
    assert_eq!((back["head"].as_str(), &back["created"]), (Some(head.trim()), &json!(false)), "{back}");
}

/// The repository was moved after the removal, and the restore is killed there: git works in what is back.
#[rstest]
#[case::same_file_system(false, "worktree:after-tree-back")]
#[case::other_file_system(true, "worktree:after-tree-back")]
#[case::other_file_system_and_half_way(true, "worktree:after-admin-back")]
fn a_killed_restore_in_a_moved_repository_goes_on(
    #[case] is_elsewhere: bool,
    #[case] step: &str,
    #[values(&["worktree", "restore", "side"], &["worktree", "prune"])] next: &[&str],
) {
    let world = World::with_commit();
    let elsewhere = is_elsewhere.then(|| on_another_file_system(&world));
    let path = match &elsewhere {
        None => add(&world, "side"),
        Some(Some((_, path))) => path.clone(),
        Some(None) => return,
    };
    world.settle();
    json_of(&world, &["worktree", "remove", "--force", "side", "--json"]);
    world.sh("mkdir ../moved; mv .git ../moved/.git; cd ../moved; git reset -q --hard");
    let moved = world.root().join("moved");
    let there = moved.to_str().expect("plain");
    dies(&world, &["-C", there, "worktree", "restore", "side"], step);
    let output = run_in(&world, &moved, next);
    assert!(output.status.success(), "{}", said(&output));
    let branch = world.try_git(&["-C", path.to_str().expect("plain"), "branch", "--show-current"]);
    assert_eq!(String::from_utf8_lossy(&branch.stdout), "side\n", "{}", said(&branch));
    assert!(!world.git(&["-C", there, "worktree", "list", "--porcelain"]).contains("locked"));
    assert_eq!(world.sh("ls -A ../moved/.git/checkpoint/removed"), "");
}

/// The repository was moved, and another one, which knows nothing of the worktree, is in its old place.
#[test]
fn files_belong_to_the_repository_that_knows_them() {
    let world = World::with_commit();
    let Some((_elsewhere, path)) = on_another_file_system(&world) else { return };
    let before = state(&world, &path);
    json_of(&world, &["worktree", "remove", "--force", "side", "--json"]);
    world.sh("mv ../repo ../moved; git clone -q ../moved ../repo");
    let moved = world.root().join("moved");
    let pruned = run_in(&world, &moved, &["worktree", "prune", "--removed", "--json"]);
    let pruned: Value = serde_json::from_slice(&pruned.stdout).unwrap_or_else(|_| panic!("{}", said(&pruned)));
    assert_eq!(pruned["left"], json!([{ "path": path, "why": "repository-gone" }]), "{pruned}");
    let output = run_in(&world, &moved, &["worktree", "restore", "side"]);
    assert!(output.status.success(), "{}", said(&output));
    // Its `.git` alone is another one.
    let files = |state: &str| state.lines().filter(|line| !line.ends_with(" ./.git")).collect::<Vec<_>>().join("\n");
    assert_eq!(files(&state(&world, &path)), files(&before));
}
