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
#[case::in_a_name_that_is_left_elsewhere("echo 4711-the-code >x.lock")]
#[case::called_index("mkdir sub; echo 4711-the-code >sub/index")]
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

/// The chain is another one since: it is still that of the worktree.
#[test]
fn a_purged_chain_of_a_removed_worktree_stays_its_own() {
    let world = World::with_commit();
    let path = with_work(&world);
    for text in ["4711-the-code\n", "nothing\n"] {
        fs::write(path.join("n"), text).expect("writable");
        world.sh("cd ../repo-wt-side; git checkpoint save -q");
    }
    world.settle();
    let refs = || world.git(&["for-each-ref", "--format=%(refname) %(objectname)", "refs/checkpoints/shadow"]);
    let before = refs();
    json_of(&world, &["worktree", "remove", "--force", "side", "--json"]);
    let output = world.checkpoint(&["purge", "--force", "4711-the-code"]);
    assert!(output.status.success(), "{}", said(&output));
    let purged = refs();
    assert_ne!(purged, before);
    let back = world.checkpoint(&["worktree", "restore", "side"]);
    assert!(back.status.success(), "{}", said(&back));
    assert_eq!(refs(), purged);
}

/// Ignored files are in no checkpoint, and no save stores them.
#[rstest]
#[case::ignored("echo 4711-the-code >.env")]
#[case::ignored_directory("echo 4711-the-code >out/o")]
#[case::unreadable_and_ignored("chmod 000 out")]
fn a_purge_does_not_mind_ignored_files_of_removed_worktrees(#[case] script: &str) {
    let world = World::with_commit();
    let path = with_work(&world);
    world.sh(&format!("cd '{}'; {script}; cd -; echo 4711-the-code >n", path.display()));
    world.settle();
    assert!(world.checkpoint(&["save", "-q"]).status.success());
    fs::remove_file(world.repo().join("n")).expect("it is there");
    assert!(world.checkpoint(&["save", "-q"]).status.success());
    json_of(&world, &["worktree", "remove", "--force", "side", "--json"]);
    let output = world.checkpoint(&["purge", "--force", "4711-the-code"]);
    assert!(output.status.success(), "{}", said(&output));
}

/// What cannot be read names the worktree.
#[test]
fn a_removed_worktree_that_cannot_be_read_is_named() {
    let world = World::with_commit();
    let path = with_work(&world);
    world.sh("echo 4711-the-code >n");
    assert!(world.checkpoint(&["save", "-q"]).status.success());
    let removed = json_of(&world, &["worktree", "remove", "--force", "side", "--json"]);
    let id = removed["id"].as_str().expect("an id").to_owned();
    // Somebody else's, or a damaged disk.
    world.sh("rm n; cd .git/checkpoint/removed/*/tree; chmod 000 t");
    if fs::File::open(world.repo().join(format!(".git/checkpoint/removed/{id}/tree/t"))).is_ok() {
        return;
    }
    let output = world.checkpoint(&["purge", "--force", "4711-the-code"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains(&format!("the removed worktree {id}")), "{}", said(&output));
    drop(path);
}

/// A commit that only the reflog of a removed worktree has: no `git gc` removes it, and no checkpoint is based on it.
#[test]
fn a_purge_names_the_removed_worktree_that_leads_to_a_commit() {
    let world = World::with_commit();
    let path = with_work(&world);
    world.sh(&format!(
        "cd '{}'; git stash -q -u; echo 4711-the-code >leak; git add leak; git commit -qm l; git reset -q --hard HEAD~; cd -; echo 4711-the-code >m",
        path.display()
    ));
    assert!(world.checkpoint(&["save", "-q"]).status.success());
    fs::remove_file(world.repo().join("m")).expect("it is there");
    assert!(world.checkpoint(&["save", "-q"]).status.success());
    world.settle();
    let removed = json_of(&world, &["worktree", "remove", "--force", "side", "--json"]);
    let id = removed["id"].as_str().expect("an id").to_owned();
    let output = world.checkpoint(&["purge", "--dry-run", "4711-the-code"]);
    let text = said(&output) + &String::from_utf8_lossy(&output.stdout);
    assert!(text.contains(&format!("the removed worktree {id} leads to it")), "{text}");
    assert!(!text.contains("are based on it") && text.contains("worktree prune --removed"), "{text}");
}

/// A path that is only staged in a removed worktree is refused as it is in a live one.
#[test]
fn a_path_that_is_only_staged_in_a_removed_worktree_is_refused() {
    let world = World::with_commit();
    let path = with_work(&world);
    world.sh(&format!("cd '{}'; git reset -q --hard; git clean -fdq; echo P >pp; git add pp; rm pp", path.display()));
    world.settle();
    let removed = json_of(&world, &["worktree", "remove", "--force", "side", "--json"]);
    let id = removed["id"].as_str().expect("an id").to_owned();
    let output = world.checkpoint(&["purge", "--force", "--path", "pp"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains(&format!("the removed worktree {id} still has 'pp'")), "{}", said(&output));
}
