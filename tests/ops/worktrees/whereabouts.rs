//! What is said of a removed worktree is what is so: where it is, what its HEAD is, whose its files are.

use std::{fs, path::PathBuf};

use rstest::rstest;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    add, json_of,
    left_alone::{end, on_another_file_system, sleeper},
    removal_races::{dies, wait_until_halted},
    removed::{state, with_work},
    run_in, said,
};
use crate::support::World;

/// Makes a worktree of the branch `side`, on another file system if that is asked for, where the directory above is removed with
/// the first value; the second is its path. Returns nothing where there is no other file system.
fn side(world: &World, is_elsewhere: bool) -> Option<(Option<TempDir>, PathBuf)> {
    if !is_elsewhere {
        return Some((None, add(world, "side")));
    }
    on_another_file_system(world).map(|(elsewhere, path)| (Some(elsewhere), path))
}

/// Returns what [`state`] has returned without the file `.git`.
fn without_dot_git(state: &str) -> String {
    state.lines().filter(|line| !line.ends_with(" ./.git")).collect::<Vec<_>>().join("\n")
}

/// The removal was killed before it had moved anything, and the directory is gone since: there is nothing to restore.
#[rstest]
#[case::beside(false)]
#[case::on_another_file_system(true)]
fn a_worktree_that_is_gone_is_not_back(#[case] is_elsewhere: bool) {
    let world = World::with_commit();
    let Some((_elsewhere, path)) = side(&world, is_elsewhere) else { return };
    dies(&world, &["worktree", "remove", "--force", "side"], "worktree:after-lock");
    fs::remove_dir_all(&path).expect("it can be removed");
    let output = world.checkpoint(&["worktree", "restore", "side", "--json"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{}", said(&output));
    assert!(said(&output).contains(&format!("the worktree '{}' is gone", path.display())), "{}", said(&output));
    // The command that the hint names ends it, so that git can forget the worktree.
    if is_elsewhere {
        let unlock = format!("git worktree unlock {}", path.display());
        assert!(said(&output).contains(&unlock), "{}", said(&output));
        let pruned = world.checkpoint(&["worktree", "prune"]);
        assert!(said(&pruned).contains(&unlock), "{}", said(&pruned));
        world.git(&["worktree", "unlock", path.to_str().expect("plain")]);
    }
    let pruned = json_of(&world, &["worktree", "prune", "--json"]);
    assert_ne!(pruned["left"][0]["why"], json!("files-not-mounted"), "{pruned}");
    world.git(&["worktree", "prune"]);
    assert!(!world.git(&["worktree", "list", "--porcelain"]).contains("side"));
}

/// The restore was killed when the worktree was back, or the removal before it was gone, and the repository was moved then: only
/// git-worktree(1) lets the worktree name another repository.
#[rstest]
#[case::restored(&["worktree", "restore", "side"], "worktree:after-tree-back")]
#[case::not_removed(&["worktree", "remove", "--force", "side"], "worktree:after-lock")]
fn a_repository_that_is_moved_after_a_kill_has_its_worktree_after_a_repair(
    #[case] killed: &[&str],
    #[case] step: &str,
    #[values(false, true)] is_elsewhere: bool,
    #[values(&["restore", "side"], &["prune"], &["remove", "--force", "side"])] next: &[&str],
) {
    let world = World::with_commit();
    let Some((_elsewhere, path)) = side(&world, is_elsewhere) else { return };
    world.settle();
    if killed.contains(&"restore") {
        json_of(&world, &["worktree", "remove", "--force", "side", "--json"]);
    }
    dies(&world, killed, step);
    world.sh("mkdir ../moved; mv .git ../moved/.git; cd ../moved; git reset -q --hard");
    let moved = world.root().join("moved");
    let root = path.to_str().expect("plain");
    let dot_git = fs::read(path.join(".git")).expect("it is there");
    let next = [&["worktree"], next].concat();
    let output = run_in(&world, &moved, &next);
    let repair = format!("git worktree repair {root}");
    let hint = match (next[1], is_elsewhere) {
        ("prune", false) => "",
        ("remove", true) => "'git checkpoint worktree prune' puts it back",
        _ => &repair,
    };
    assert!(said(&output).contains(hint), "{}", said(&output));
    assert_eq!(fs::read(path.join(".git")).expect("it is there"), dot_git);
    world.git(&["-C", moved.to_str().expect("plain"), "worktree", "repair", root]);
    world.settle();
    let output = run_in(&world, &moved, &next);
    assert!(output.status.success(), "{}", said(&output));
    if next[1] == "remove" {
        let output = run_in(&world, &moved, &["worktree", "restore", "side"]);
        assert!(output.status.success(), "{}", said(&output));
    }
    let branch = world.try_git(&["-C", root, "branch", "--show-current"]);
    assert_eq!(String::from_utf8_lossy(&branch.stdout), "side\n", "{}", said(&branch));
    let output = run_in(&world, &moved, &["worktree", "prune"]);
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(world.sh("ls -A ../moved/.git/checkpoint/removed"), "");
}

/// A copy of the repository, made while the original is about to delete, does not go on with that once the original has taken it
/// back.
#[cfg(target_os = "linux")]
#[rstest]
#[case::where_it_was("true", "repo", "of-another")]
#[case::moved("mkdir ../moved; mv .git ../moved; cd ../moved; git reset -q --hard", "moved", "repository-gone")]
fn a_copy_does_not_go_on_with_a_deletion_of_the_original(
    #[case] script: &str,
    #[case] original: &str,
    #[case] why: &str,
) {
    let world = World::with_commit();
    let Some((elsewhere, path)) = on_another_file_system(&world) else { return };
    let before = state(&world, &path);
    let id = json_of(&world, &["worktree", "remove", "--force", "side", "--json"])["id"].clone();
    let child = world.start_with(&["worktree", "prune", "--removed"], "stop@worktree:after-dropped");
    wait_until_halted(child.id());
    world.sh("cp -a . ../copy");
    let process = sleeper(&elsewhere.path().join(format!(".w.removed-{}", id.as_str().expect("an id"))));
    world.sh(&format!("kill -CONT {}", child.id()));
    child.wait_with_output().expect("it ends");
    end(process);
    world.sh(script);
    let copy = world.root().join("copy");
    let pruned = run_in(&world, &copy, &["worktree", "prune", "--json"]);
    let pruned: Value = serde_json::from_slice(&pruned.stdout).unwrap_or_else(|_| panic!("{}", said(&pruned)));
    assert_eq!(pruned["left"], json!([{ "path": path, "why": why }]), "{pruned}");
    let output = run_in(&world, &world.root().join(original), &["worktree", "restore", "side"]);
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(without_dot_git(&state(&world, &path)), without_dot_git(&before));
    // What the copy has is for a person to delete.
    let pruned = run_in(&world, &copy, &["worktree", "prune"]);
    assert!(said(&pruned).contains("if they are gone for good, 'rm -r "), "{}", said(&pruned));
}

/// The root was the last thing in its directory, which is empty now, as a mount point is while nothing is mounted there.
#[test]
fn a_deletion_goes_on_when_the_root_is_deleted() {
    let world = World::with_commit();
    let Some((elsewhere, _)) = on_another_file_system(&world) else { return };
    json_of(&world, &["worktree", "remove", "--force", "side", "--json"]);
    dies(&world, &["worktree", "prune", "--removed"], "worktree:after-root-deleted");
    assert_eq!(fs::read_dir(elsewhere.path()).expect("it is there").count(), 0);
    let pruned = json_of(&world, &["worktree", "prune", "--json"]);
    assert_eq!((&pruned["left"], &pruned["deleted"][0]["path"]), (&json!([]), &json!(elsewhere.path().join("w"))));
    assert_eq!(world.sh("ls -A .git/checkpoint/removed"), "");
}

/// The original is not there for the moment: its copy says whose files it takes.
#[test]
fn a_restore_says_which_repository_the_files_named() {
    let world = World::with_commit();
    let Some((_elsewhere, _)) = on_another_file_system(&world) else { return };
    json_of(&world, &["worktree", "remove", "--force", "side", "--json"]);
    world.sh("cp -a . ../copy; mv .git ../absent");
    let output = run_in(&world, &world.root().join("copy"), &["worktree", "restore", "side"]);
    let named = format!("named the repository '{}'", world.repo().join(".git").display());
    assert!(output.status.success() && said(&output).contains(&named), "{}", said(&output));
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
    let Some((_elsewhere, path)) = side(&world, is_elsewhere) else { return };
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
    assert_eq!(without_dot_git(&state(&world, &path)), without_dot_git(&before));
}
