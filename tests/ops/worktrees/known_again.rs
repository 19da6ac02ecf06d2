//! What the record of a removed worktree says is found again: its registration, its lock, its HEAD and its files.

use std::fs;

use rstest::rstest;
use serde_json::{Value, json};

use super::{
    add, json_of,
    removal_races::dies,
    removed::{state, with_work},
    run_in, said,
};
use crate::support::World;

/// The directory of the worktrees was moved, and a link is in its place: git has registered the path through the link.
#[rstest]
#[case::removal(&["worktree", "remove", "--force", "side"], "worktree:after-tree")]
#[case::restore(&["worktree", "restore", "side"], "worktree:after-admin-back")]
fn a_worktree_that_is_registered_through_a_link_is_put_back(#[case] arguments: &[&str], #[case] step: &str) {
    let world = World::with_commit();
    world.git(&["config", "checkpoint.worktree.dir", "../a"]);
    with_work(&world);
    world.sh("mv ../a ../real; ln -s real ../a");
    let path = world.root().join("real/repo-wt-side");
    let before = state(&world, &path);
    if arguments[1] == "restore" {
        json_of(&world, &["worktree", "remove", "--force", "side", "--json"]);
    }
    dies(&world, arguments, step);
    assert!(!path.exists());
    json_of(&world, &["worktree", "prune", "--json"]);
    assert_eq!(state(&world, &path), before);
    assert!(!world.git(&["worktree", "list", "--porcelain"]).contains("locked"));
}

/// A removal was killed before its lock; the user locks the worktree, or another one with its id.
#[rstest]
#[case::the_worktree("git worktree lock ../repo-wt-side")]
#[case::another_one(
    "git worktree remove --force ../repo-wt-side; git worktree add -q ../x/repo-wt-side side; git worktree lock ../x/repo-wt-side"
)]
fn a_lock_of_the_user_stays(#[case] script: &str) {
    let world = World::with_commit();
    with_work(&world);
    dies(&world, &["worktree", "remove", "--force", "side"], "worktree:after-record");
    world.sh(script);
    json_of(&world, &["worktree", "prune", "--json"]);
    assert!(world.git(&["worktree", "list", "--porcelain"]).lines().any(|line| line == "locked"));
    assert_eq!(world.sh("ls -A .git/checkpoint/removed"), "");
}

/// A restore that fails has detached HEAD, since the branch was checked out elsewhere; then it is free again.
#[rstest]
#[case::as_before("git switch -q main")]
#[case::made_again("git switch -q main; git branch -qD side")]
fn head_is_on_its_branch_again_after_a_restore_that_failed(#[case] script: &str) {
    let world = World::with_commit();
    world.git(&["branch", "-M", "main"]);
    world.git(&["config", "checkpoint.worktree.dir", "../a"]);
    let path = with_work(&world);
    json_of(&world, &["worktree", "remove", "--force", "side", "--json"]);
    world.sh("git switch -q side; rmdir ../a; touch ../a");
    assert!(!world.checkpoint(&["worktree", "restore", "side"]).status.success());
    world.sh(&format!("rm ../a; {script}"));
    let back = json_of(&world, &["worktree", "restore", "side", "--json"]);
    assert_eq!(back["detached"], Value::Null, "{back}");
    assert_eq!(world.sh(&format!("git -C '{}' symbolic-ref HEAD", path.display())).trim(), "refs/heads/side");
}

/// Its files would stay there, as files of the worktree above, whose `git clean` deletes them.
#[test]
fn one_on_another_file_system_inside_another_worktree_is_not_removed() {
    use std::os::unix::fs::MetadataExt as _;
    let world = World::with_commit();
    let elsewhere = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let device = |path: &std::path::Path| fs::metadata(path).expect("it is there").dev();
    if device(elsewhere.path()) == device(&world.repo()) {
        return;
    }
    let above = fs::canonicalize(elsewhere.path()).expect("it is there");
    let path = above.join("w");
    fs::remove_dir(&above).expect("it is empty");
    world.git(&["worktree", "add", "-q", "--detach", above.to_str().expect("plain")]);
    world.git(&["worktree", "add", "-q", "-b", "side", path.to_str().expect("plain")]);
    world.settle();
    let output = world.checkpoint(&["worktree", "remove", "side"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains(&format!("inside the worktree '{}'", above.display())), "{}", said(&output));
    assert!(path.join(".git").exists());
    assert_eq!(world.sh("ls -A .git/checkpoint/removed"), "");
}

/// Somebody has deleted files of a removed worktree: a restore names them, and what brings them back.
#[test]
fn files_that_are_gone_from_a_removed_worktree_are_named() {
    let world = World::with_commit();
    let path = with_work(&world);
    let removed = json_of(&world, &["worktree", "remove", "--force", "side", "--json"]);
    world.sh("rm '.git/checkpoint/removed/'*'/tree/t' '.git/checkpoint/removed/'*'/tree/a b'");
    let back = world.checkpoint(&["worktree", "restore", "side", "--json"]);
    let value: Value = serde_json::from_slice(&back.stdout).unwrap_or_else(|_| panic!("{}", said(&back)));
    assert_eq!(value["missing"], json!(["a b", "t"]), "{value}");
    json_of(&world, &["worktree", "remove", "--force", "side", "--json"]);
    let clean = world.checkpoint(&["worktree", "restore", "side", "--json"]);
    let clean: Value = serde_json::from_slice(&clean.stdout).unwrap_or_else(|_| panic!("{}", said(&clean)));
    assert_eq!(clean["missing"], json!([]), "{clean}");
    let checkpoint = removed["checkpoint"].as_str().expect("an id");
    world.sh(&format!("git -C '{}' cat-file -e {checkpoint}:t", path.display()));
}

/// A damaged registration is in nobody's way.
#[rstest]
#[case::no_name_of_a_ref("echo 'ref: refs/heads/a..b' >.git/worktrees/repo-wt-side/HEAD")]
#[case::empty_head(": >.git/worktrees/repo-wt-side/HEAD")]
fn one_with_a_damaged_head_does_not_stop_the_others(#[case] script: &str) {
    let world = World::with_commit();
    add(&world, "side");
    add(&world, "other");
    world.sh(script);
    assert!(world.checkpoint(&["worktree", "list"]).status.success());
    add(&world, "third");
    let output = world.checkpoint(&["worktree", "remove", "other"]);
    assert!(output.status.success(), "{}", said(&output));
    json_of(&world, &["worktree", "prune", "--json"]);
}

#[rstest]
#[case::index("echo damaged >$d/index")]
#[case::no_head("rm $d/HEAD")]
#[case::empty_head(": >$d/HEAD")]
#[case::no_name_of_a_ref("echo 'ref: refs/heads/a..b' >$d/HEAD")]
#[case::no_commondir("rm $d/commondir")]
fn a_damaged_one_is_left_and_the_others_are_pruned(#[case] script: &str) {
    let world = World::with_commit();
    for branch in ["a", "side", "z"] {
        add(&world, branch);
    }
    world.sh(&format!("d=.git/worktrees/repo-wt-side; {script}; mkdir ../away; mv ../repo-wt-* ../away"));
    let pruned = json_of(&world, &["worktree", "prune", "--json"]);
    let path = world.root().join("repo-wt-side");
    let forgotten = pruned["forgotten"].as_array().map_or(0, Vec::len);
    // Without a HEAD, or with one that names nothing, it may be that nothing has to be kept.
    assert!(
        pruned["left"] == json!([{ "path": path, "why": "damaged" }]) && forgotten == 2 || forgotten == 3,
        "{pruned}"
    );
    assert_eq!(world.sh("ls .git/checkpoint/removed | wc -l").trim(), forgotten.to_string());
    if forgotten == 2 {
        world.git(&["worktree", "prune", "--expire=now"]);
        assert!(!world.repo().join(".git/worktrees/repo-wt-side").exists());
    }
}

/// Git gives a new worktree the id of a removed one, whose checkpoints are not the new one's.
#[test]
fn a_new_worktree_does_not_begin_with_the_checkpoints_of_a_removed_one() {
    let world = World::with_commit();
    let path = with_work(&world);
    run_in(&world, &path, &["save", "-q", "-m", "mine"]);
    let removed = json_of(&world, &["worktree", "remove", "--force", "side", "--json"]);
    let id = removed["id"].as_str().expect("an id");
    let added = json_of(&world, &["worktree", "add", "side", "--json"]);
    assert_eq!(added["id"], removed["worktree"]);
    let live = || world.git(&["for-each-ref", "--format=%(subject)", "refs/checkpoints/shadow"]);
    assert_eq!(live(), "");
    let status = String::from_utf8(run_in(&world, &path, &["status"]).stdout).expect("text");
    assert!(status.contains("No checkpoint on this base yet"), "{status}");
    assert!(world.done(&["reset", "--list"]).contains("mine"));
    fs::write(path.join("other"), "new\n").expect("writable");
    run_in(&world, &path, &["save", "-q", "-m", "of the new one"]);
    world.settle();
    // The old one comes back with its own.
    let output = world.checkpoint(&["worktree", "remove", "--force", "side"]);
    assert!(output.status.success(), "{}", said(&output));
    let back = world.checkpoint(&["worktree", "restore", id]);
    assert!(back.status.success(), "{}", said(&back));
    assert_eq!(live(), "mine\n");
    assert!(world.done(&["reset", "--list"]).contains("of the new one"));
}

/// Each session has a chain of its own, and a chain may stay on an earlier commit.
#[rstest]
#[case::by_us("git checkpoint worktree add side >/dev/null")]
#[case::by_git("git worktree add -q ../repo-wt-side side")]
fn all_checkpoints_of_a_removed_worktree_come_back(#[case] add_again: &str) {
    let world = World::with_commit();
    world.git(&["config", "checkpoint.storage", "session"]);
    let path = with_work(&world);
    run_in(&world, &path, &["save", "-q", "-m", "by a person"]);
    for session in ["s1", "s2"] {
        run_in(&world, &path, &["session", "prompt", session, "-m", "go"]);
        fs::write(path.join(session), "1\n").expect("writable");
        run_in(&world, &path, &["session", "end", session]);
    }
    world.sh("cd ../repo-wt-side; git commit -q --allow-empty -m next; git checkpoint save -q --allow-empty -m later
         git checkpoint verify --mark >/dev/null 2>&1 || true");
    world.settle();
    let refs = || {
        let format = "--format=%(refname) %(objectname)";
        world.git(&["for-each-ref", format, "refs/checkpoints/shadow", "refs/checkpoints/verified"])
    };
    let log = || String::from_utf8(run_in(&world, &path, &["op", "log"]).stdout).expect("text");
    let id = json_of(&world, &["worktree", "remove", "--force", "side", "--json"])["id"].clone();
    let (before, operations) = (refs(), world.git(&["rev-parse", "refs/checkpoints/operations/repo-wt-side"]));
    assert!(before.lines().count() >= 3, "{before}");
    world.sh(add_again);
    fs::write(path.join("other"), "new\n").expect("writable");
    run_in(&world, &path, &["save", "-q", "-m", "of the new one"]);
    assert!(!log().contains("by a person"), "{}", log());
    world.settle();
    let output = world.checkpoint(&["worktree", "remove", "--force", "side"]);
    assert!(output.status.success(), "{}", said(&output));
    let back = world.checkpoint(&["worktree", "restore", id.as_str().expect("an id")]);
    assert!(back.status.success(), "{}", said(&back));
    assert_eq!(refs(), before);
    assert_eq!(world.git(&["rev-parse", "refs/checkpoints/operations/repo-wt-side"]), operations);
    assert!(world.done(&["reset", "--list"]).contains("of the new one"));
    world.sh("git fsck --strict --no-dangling");
}

/// Before any command has written there, those that only read do not take what a removed one has left for its own, either.
#[test]
fn a_worktree_by_git_does_not_begin_with_the_checkpoints_of_a_removed_one() {
    let world = World::with_commit();
    let path = with_work(&world);
    run_in(&world, &path, &["save", "-q", "-m", "mine"]);
    json_of(&world, &["worktree", "remove", "--force", "side", "--json"]);
    // Dates of checkpoints have no smaller unit.
    world.next_second();
    world.git(&["worktree", "add", "-q", "../repo-wt-side", "side"]);
    let status = || String::from_utf8(run_in(&world, &path, &["status"]).stdout).expect("text");
    assert!(status().contains("No checkpoint on this base yet"), "{}", status());
    run_in(&world, &path, &["save", "-q", "--allow-empty", "-m", "of the new one"]);
    let live = world.git(&["for-each-ref", "--format=%(subject)", "refs/checkpoints/shadow"]);
    assert_eq!(live, "of the new one\n");
    assert!(world.done(&["reset", "--list"]).contains("mine"));
}

/// Git would lose the inner one.
#[test]
fn a_worktree_with_another_one_inside_is_not_moved() {
    let world = World::with_commit();
    let path = add(&world, "side");
    world.git(&["worktree", "add", "-q", "--detach", path.join("inner").to_str().expect("plain")]);
    let output = world.checkpoint(&["worktree", "move", "side", "../moved"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("inner' is inside"), "{}", said(&output));
    assert!(path.join("inner/.git").exists());
}
