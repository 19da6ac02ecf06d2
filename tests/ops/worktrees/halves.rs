//! Removed worktrees of which only half is aside, whose files are elsewhere, or that git would have forgotten parts of.

use std::fs;

use rstest::rstest;
use serde_json::{Value, json};

use super::{
    add, json_of,
    left_alone::on_another_file_system,
    removal_races::{dies, wait_until_halted},
    removed::{state, with_work},
    run_in, said,
};
use crate::support::World;

fn listed(world: &World) -> usize {
    json_of(world, &["worktree", "restore", "--list", "--json"])["removed"].as_array().map_or(0, Vec::len)
}

/// Removes the worktree of the branch `side`, and returns its id.
fn remove(world: &World) -> String {
    let removed = json_of(world, &["worktree", "remove", "--force", "side", "--json"]);
    removed["id"].as_str().unwrap_or_else(|| panic!("{removed}")).to_owned()
}

/// What only the worktree's reflog, refs and index lead to.
#[rstest]
#[case::files(&[])]
#[case::reftable(&["--ref-format=reftable"])]
fn git_keeps_what_only_a_removed_worktree_leads_to(#[case] options: &[&str]) {
    let world = World::new();
    world.git(&[&["init", "-q", "-b", "main"], options, &["."]].concat());
    world.git(&["commit", "-q", "--allow-empty", "-m", "base"]);
    let path = with_work(&world);
    world.sh(&format!(
        "cd '{}'; git commit -qm amended; git commit -q --amend -m again; git reset -q --hard HEAD~
         git commit -q --allow-empty -m mine; git update-ref refs/worktree/mine HEAD; git reset -q --hard HEAD~
         echo in the index alone >x; git add x; echo other >x",
        path.display()
    ));
    world.settle();
    let before = state(&world, &path);
    let known = || {
        world.sh(&format!(
            "cd '{}'; git show :x; git log -g --format=%H%s; git log -1 refs/worktree/mine",
            path.display()
        ))
    };
    let facts = known();
    let id = remove(&world);
    // The checkpoints go before the worktree can.
    world.sh("git for-each-ref --format='delete %(refname)' refs/checkpoints/shadow refs/checkpoints/archive refs/checkpoints/operations | git update-ref --stdin
         git gc -q --prune=now; git fsck --strict --no-dangling");
    let back = world.checkpoint(&["worktree", "restore", &id]);
    assert!(back.status.success(), "{}", said(&back));
    assert_eq!((state(&world, &path), known()), (before, facts));
    world.sh("git gc -q --prune=now; git fsck --strict --no-dangling");
    let held = || world.git(&["for-each-ref", "refs/checkpoints/removed"]).lines().count();
    assert_eq!(held(), 0);
    remove(&world);
    assert_eq!(held(), 1);
    json_of(&world, &["worktree", "prune", "--removed", "--json"]);
    assert_eq!(held(), 0);
}

#[test]
fn git_keeps_a_detached_commit_of_a_forgotten_worktree() {
    let world = World::with_commit();
    world.sh("mkdir ../a; touch ../a/beside; git worktree add -q --detach ../a/w; cd ../a/w; git commit -q --allow-empty -m lost; mv ../w ../../away");
    json_of(&world, &["worktree", "prune", "--json"]);
    world.sh("git gc -q --prune=now; mv ../away ../a/w");
    let back = world.checkpoint(&["worktree", "restore", "w"]);
    assert!(back.status.success(), "{}", said(&back));
    assert_eq!(world.git(&["-C", "../a/w", "log", "-1", "--format=%s"]).trim(), "lost");
}

/// A removal was killed, and something else has taken the place: nothing is deleted that git still has registered.
#[test]
fn half_of_a_worktree_is_never_deleted() {
    let world = World::with_commit();
    let path = with_work(&world);
    let before = state(&world, &path);
    dies(&world, &["worktree", "remove", "--force", "side"], "worktree:after-tree");
    fs::create_dir(&path).expect("its place is free");
    let pruned = json_of(&world, &["worktree", "prune", "--removed", "--json"]);
    let half = json!({ "path": path, "why": "half" });
    assert_eq!(pruned["deleted"], json!([]), "{pruned}");
    assert!(pruned["left"].as_array().is_some_and(|left| left.contains(&half)), "{pruned}");
    assert_eq!(listed(&world), 1);
    let output = world.checkpoint(&["worktree", "restore", "side"]);
    assert!(said(&output).contains("exists already"), "{}", said(&output));
    fs::remove_dir(&path).expect("it is empty");
    json_of(&world, &["worktree", "prune", "--json"]);
    assert_eq!(state(&world, &path), before);
    assert_eq!(listed(&world), 0);
}

/// One that cannot be put back is in nobody's way.
#[test]
fn one_that_cannot_be_put_back_does_not_stop_the_others() {
    let world = World::with_commit();
    world.git(&["config", "checkpoint.worktree.dir", "../a"]);
    let path = with_work(&world);
    let before = state(&world, &path);
    dies(&world, &["worktree", "remove", "--force", "side"], "worktree:after-tree");
    world.sh("rmdir ../a; touch ../a; git config --unset checkpoint.worktree.dir");
    add(&world, "other");
    assert!(world.checkpoint(&["worktree", "remove", "other"]).status.success());
    assert_eq!(listed(&world), 2);
    world.sh("rm ../a");
    json_of(&world, &["worktree", "prune", "--json"]);
    assert_eq!(state(&world, &path), before);
}

/// A restore that fails leaves the worktree removed, as it was.
#[test]
fn a_restore_that_fails_is_taken_back() {
    let world = World::with_commit();
    world.git(&["config", "checkpoint.worktree.dir", "../a"]);
    let path = with_work(&world);
    let before = state(&world, &path);
    let id = remove(&world);
    world.sh("rmdir ../a; touch ../a");
    let output = world.checkpoint(&["worktree", "restore", &id]);
    assert!(!output.status.success(), "{}", said(&output));
    assert_eq!((listed(&world), super::by_git(&world).len()), (1, 1));
    world.sh("rm ../a");
    let output = world.checkpoint(&["worktree", "restore", &id]);
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(state(&world, &path), before);
}

/// The repository was moved meanwhile: its worktree finds it.
#[test]
fn a_restored_worktree_names_its_repository() {
    let world = World::with_commit();
    let path = with_work(&world);
    let before = state(&world, &path);
    remove(&world);
    world.sh("echo gitdir: /was/elsewhere/.git/worktrees/repo-wt-side >$(echo .git/checkpoint/removed/*/tree)/.git");
    assert!(world.checkpoint(&["worktree", "restore", "side"]).status.success());
    assert_eq!(state(&world, &path), before);
}

/// A rebase in another worktree returns to the branch: for git, it is checked out there.
#[test]
fn a_branch_that_is_being_rebased_elsewhere_is_left_to_it() {
    let world = World::with_commit();
    with_work(&world);
    remove(&world);
    world.sh("git worktree add -q ../other side; cd ../other; echo 1 >n; git add n; git commit -qm n
         GIT_SEQUENCE_EDITOR=\"sed -i 's/^pick/edit/'\" git rebase -q -i HEAD~ 2>/dev/null");
    let back = json_of(&world, &["worktree", "restore", "side", "--json"]);
    assert_eq!(back["detached"], json!("elsewhere"), "{back}");
}

/// HEAD of a bare repository is no checkout.
#[test]
fn a_bare_repository_has_no_branch_checked_out() {
    let world = World::with_commit();
    world.sh("git branch -M main; git clone -q --bare . ../bare.git; git -C ../bare.git worktree add -q ../one -b one");
    let one = world.root().join("one");
    let added = run_in(&world, &one, &["worktree", "add", "main", "--json"]);
    assert!(added.status.success(), "{}", said(&added));
    let path = run_in(&world, &one, &["worktree", "path", "main"]);
    assert_eq!(
        path.stdout,
        format!("{}\n", world.root().join("bare-wt-main").display()).into_bytes(),
        "{}",
        said(&path)
    );
    world.settle();
    let removed = run_in(&world, &one, &["worktree", "remove", "main"]);
    assert!(removed.status.success(), "{}", said(&removed));
    let back = run_in(&world, &one, &["worktree", "restore", "main", "--json"]);
    let back: Value = serde_json::from_slice(&back.stdout).unwrap_or_else(|_| panic!("{}", said(&back)));
    assert_eq!((&back["branch"], &back["detached"]), (&json!("main"), &Value::Null));
}

/// A copy of the repository does not delete what the original has removed.
#[test]
fn a_copy_leaves_the_files_of_the_original() {
    let world = World::with_commit();
    let Some((elsewhere, path)) = on_another_file_system(&world) else { return };
    let before = state(&world, &path);
    remove(&world);
    world.sh("cp -a . ../copy");
    let pruned = run_in(&world, &world.root().join("copy"), &["worktree", "prune", "--removed", "--json"]);
    let pruned: Value = serde_json::from_slice(&pruned.stdout).unwrap_or_else(|_| panic!("{}", said(&pruned)));
    assert_eq!(pruned["left"], json!([{ "path": path, "why": "of-another" }]), "{pruned}");
    // Nor does the original, while they are not there.
    world.sh(&format!("mv '{0}' '{0}-absent'; mkdir '{0}'", elsewhere.path().display()));
    let pruned = json_of(&world, &["worktree", "prune", "--removed", "--json"]);
    assert_eq!(pruned["left"], json!([{ "path": path, "why": "files-not-mounted" }]), "{pruned}");
    world.sh(&format!("rmdir '{0}'; mv '{0}-absent' '{0}'", elsewhere.path().display()));
    assert!(world.checkpoint(&["worktree", "restore", "side"]).status.success());
    assert_eq!(state(&world, &path), before);
}

/// The command runs in another linked worktree, and a process comes between the last look and the move.
#[cfg(target_os = "linux")]
#[test]
fn a_process_that_comes_at_the_last_moment_is_seen_from_a_linked_worktree() {
    let world = World::with_commit();
    let path = with_work(&world);
    let other = add(&world, "other");
    let other = other.to_str().expect("plain");
    let child = world.start_with(&["-C", other, "worktree", "remove", "--force", "side"], "stop@worktree:after-lock");
    wait_until_halted(child.id());
    let sleeper = std::process::Command::new("sleep").arg("60").current_dir(&path).spawn();
    let mut sleeper = sleeper.expect("it starts");
    world.sh(&format!("kill -CONT {}", child.id()));
    let output = child.wait_with_output().expect("it ends");
    sleeper.kill().expect("it is ours");
    sleeper.wait().expect("it has ended");
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("(sleep) works in"), "{}", said(&output));
    assert!(path.join("out/o").exists());
}

/// Asks for what would be done, after a removal was killed when only the root was aside.
#[test]
fn a_dry_run_puts_nothing_back() {
    let world = World::with_commit();
    let path = with_work(&world);
    dies(&world, &["worktree", "remove", "--force", "side"], "worktree:after-tree");
    let dry = json_of(&world, &["worktree", "prune", "-n", "--json"]);
    assert_eq!(
        (dry["left"].as_array().map(Vec::len), &dry["left"][0]["why"]),
        (Some(1), &json!("interrupted")),
        "{dry}"
    );
    assert!(!path.exists());
    // Whoever restores it finds that it is back.
    let back = json_of(&world, &["worktree", "restore", "side", "--json"]);
    assert_eq!((&back["created"], &back["detached"], path.exists()), (&json!(false), &Value::Null, true), "{back}");
}

/// Git shows it as locked, so people unlock it and let git prune it: the files are named, and stay.
#[test]
fn files_that_git_has_forgotten_are_named() {
    let world = World::with_commit();
    with_work(&world);
    dies(&world, &["worktree", "remove", "--force", "side"], "worktree:after-tree");
    world.sh("git worktree unlock ../repo-wt-side; git worktree prune");
    let pruned = json_of(&world, &["worktree", "prune", "--removed", "--json"]);
    assert_eq!(pruned["left"][0]["why"], json!("forgotten"), "{pruned}");
    let files = pruned["left"][0]["files"].as_str().expect("a path");
    assert_eq!(fs::read(std::path::Path::new(files).join(".env")).expect("it stays"), b"secret\n");
}

/// A command was killed before it wrote down what it was about to do.
#[test]
fn an_empty_folder_goes() {
    let world = World::with_commit();
    world.sh("mkdir -p .git/checkpoint/removed/12345678 .git/checkpoint/removed/other");
    json_of(&world, &["worktree", "prune", "--json"]);
    assert_eq!(world.sh("ls .git/checkpoint/removed").trim(), "other");
}

/// The index leads to more than what is staged: to what undoes a resolved conflict, and to trees that were written of it.
#[rstest]
#[case::resolved_conflict(
    "echo stashed >f; git stash -q; echo other >f; git commit -qam other; ! git stash pop -q
     echo resolved >f; git add f; git stash drop -q; git commit -qm resolved; git ls-files --resolve-undo | grep -q f"
)]
#[case::written_tree_of_a_commit_given_up("mkdir new; echo new >new/f; git add .; git write-tree")]
fn git_keeps_all_that_the_index_of_a_removed_worktree_leads_to(#[case] script: &str) {
    let world = World::with_commit();
    let path = add(&world, "side");
    world.sh(&format!("cd '{}'; echo one >f; git add .; git commit -qm f; ({script}) >/dev/null 2>&1", path.display()));
    world.settle();
    let known = || world.sh(&format!("cd '{}'; git rev-list --objects --indexed-objects", path.display()));
    let before = known();
    let id = remove(&world);
    world.sh("git for-each-ref --format='delete %(refname)' refs/checkpoints/shadow refs/checkpoints/archive refs/checkpoints/operations | git update-ref --stdin
         git gc -q --prune=now");
    let back = world.checkpoint(&["worktree", "restore", &id]);
    assert!(back.status.success(), "{}", said(&back));
    world.sh("git gc -q --prune=now; git fsck --strict --no-dangling");
    assert_eq!(known(), before);
}

/// The directory was away when git forgot the worktree.
#[test]
fn git_keeps_the_trees_of_the_index_of_a_forgotten_worktree() {
    let world = World::with_commit();
    let path = add(&world, "side");
    world.sh(&format!(
        "cd '{}'; mkdir new; echo new >new/f; git add .; git write-tree; mv ../repo-wt-side ../away",
        path.display()
    ));
    json_of(&world, &["worktree", "prune", "--json"]);
    world.sh("git gc -q --prune=now; mv ../away ../repo-wt-side");
    let back = world.checkpoint(&["worktree", "restore", "side"]);
    assert!(back.status.success(), "{}", said(&back));
    world.sh("git gc -q --prune=now; git fsck --strict --no-dangling");
}
