//! What is somebody else's is not taken for ours, and what is not seen is not forgotten.

use std::fs;

use rstest::rstest;
use serde_json::{Value, json};

use super::{
    add, by_git, json_of,
    left_alone::on_another_file_system,
    removal_races::{dies, wait_until_halted},
    removed::{state, with_work},
    run_in, said,
};
use crate::support::World;

/// Something is in the mount point, as people put there to see that nothing is mounted.
#[rstest]
#[case::removal("remove", "worktree:after-tree")]
#[case::restore("restore", "worktree:after-admin-back")]
fn files_that_are_not_mounted_are_not_forgotten(#[case] killed: &str, #[case] step: &str) {
    let world = World::with_commit();
    let Some((elsewhere, path)) = on_another_file_system(&world) else { return };
    let before = state(&world, &path);
    if killed == "restore" {
        json_of(&world, &["worktree", "remove", "--force", "side", "--json"]);
    }
    let force: &[&str] = if killed == "remove" { &["--force"] } else { &[] };
    dies(&world, &[&["worktree", killed, "side"], force].concat(), step);
    let mount_point = elsewhere.path().display();
    world.sh(&format!(
        "mv '{mount_point}' '{mount_point}-absent'; mkdir '{mount_point}'; touch '{mount_point}/NOT-MOUNTED'"
    ));
    add(&world, "other");
    let pruned = json_of(&world, &["worktree", "prune", "--removed", "--json"]);
    world.sh("git worktree prune --expire=now; git -c gc.reflogExpire=never gc -q --prune=now");
    world.sh(&format!("rm -r '{mount_point}'; mv '{mount_point}-absent' '{mount_point}'"));
    assert_eq!(pruned["left"], json!([{ "path": path, "why": "files-not-mounted" }]), "{pruned}");
    json_of(&world, &["worktree", "restore", "side", "--json"]);
    assert_eq!(state(&world, &path), before);
}

/// It has the same id in a repository that is away, whose worktree has come to the place of ours after a kill.
#[rstest]
#[case::same_file_system(false)]
#[case::other_file_system(true)]
fn a_worktree_of_a_repository_that_is_away_is_not_ours(#[case] is_elsewhere: bool) {
    let world = World::with_commit();
    let (_elsewhere, path) = if is_elsewhere {
        let Some((elsewhere, path)) = on_another_file_system(&world) else { return };
        (Some(elsewhere), path)
    } else {
        (None, with_work(&world))
    };
    dies(&world, &["worktree", "remove", "--force", "side"], "worktree:after-lock");
    world.sh(&format!(
        "rm -r '{0}'; git init -q ../other; cd ../other; git commit -q --allow-empty -m other
         git worktree add -q -b mine '{0}'; echo mine >'{0}/mine'; git -C '{0}' add mine; mv ../other ../away",
        path.display()
    ));
    let dot_git = fs::read(path.join(".git")).expect("it is there");
    add(&world, "another");
    world.settle();
    for arguments in [&["restore", "side"][..], &["prune"], &["remove", "--force", "side"], &["prune", "--removed"]] {
        let output = world.checkpoint(&[&["worktree"], arguments].concat());
        assert!(output.status.success() == (arguments[0] == "prune"), "{arguments:?}: {}", said(&output));
        assert_eq!(fs::read(path.join(".git")).expect("it is there"), dot_git, "{arguments:?}");
    }
    world.sh("mv ../away ../other");
    assert_eq!(world.git(&["-C", path.to_str().expect("plain"), "status", "--porcelain"]), "A  mine\n");
}

/// One is gone, the file system of the other is away: what is said of both forgets only the one that is meant.
#[test]
fn one_that_may_not_be_mounted_is_forgotten_alone() {
    let world = World::with_commit();
    world.sh("mkdir ../one ../two; git worktree add -q ../one/a -b a; git worktree add -q ../two/b -b b
         echo staged >../two/b/g; git -C ../two/b add g; rm -r ../one; mv ../two ../away");
    let output = world.checkpoint(&["worktree", "prune"]);
    let gone = world.root().join("one/a");
    let above = gone.parent().expect("a directory");
    let line = format!("mkdir -p {0} && touch {0}/gone", above.display());
    let hint = format!("'{line}' says so; then run this again");
    assert!(said(&output).contains(&hint) && !said(&output).contains("git worktree"), "{}", said(&output));
    world.sh(&line);
    world.checkpoint(&["worktree", "prune"]);
    world.sh("git gc -q --prune=now; mv ../away ../two");
    assert_eq!(world.git(&["-C", "../two/b", "show", ":g"]), "staged\n");
    assert_eq!(by_git(&world).len(), 2);
}

/// A removal was killed, and its disk may be away: an unlock would let the next command forget where its files are.
#[test]
fn add_names_no_unlock_of_a_worktree_that_a_removal_has_locked() {
    let world = World::with_commit();
    let Some((elsewhere, _)) = on_another_file_system(&world) else { return };
    let directory = elsewhere.path().join("all");
    fs::create_dir(&directory).expect("writable");
    world.git(&["config", "checkpoint.worktree.dir", directory.to_str().expect("plain")]);
    add(&world, "a/b");
    let path = add(&world, "a-b");
    world.git(&["-C", path.to_str().expect("plain"), "switch", "-q", "-c", "foo"]);
    world.settle();
    dies(&world, &["worktree", "remove", "--force", "foo"], "worktree:after-tree");
    fs::rename(&directory, elsewhere.path().join("away")).expect("writable");
    fs::create_dir(&directory).expect("writable");
    let output = world.checkpoint(&["worktree", "add", "a-b"]);
    let said = said(&output);
    assert!(!output.status.success() && !said.contains("unlock"), "{said}");
    assert!(said.contains("'git checkpoint worktree prune' puts it back"), "{said}");
}

/// The disk of the repository is full, for example.
#[cfg(target_os = "linux")]
#[test]
fn a_deletion_goes_on_if_its_record_cannot_be_written() {
    let world = World::with_commit();
    let Some((elsewhere, path)) = on_another_file_system(&world) else { return };
    json_of(&world, &["worktree", "remove", "--force", "side", "--json"]);
    let child = world.start_with(&["worktree", "prune", "--removed", "--json"], "stop@worktree:after-dropped");
    wait_until_halted(child.id());
    // No file can be renamed to that.
    world.sh("cd .git/checkpoint/removed/dropped-*; rm worktree.json; mkdir worktree.json");
    world.sh(&format!("kill -CONT {}", child.id()));
    let output = child.wait_with_output().expect("it ends");
    let pruned: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", said(&output)));
    assert_eq!((&pruned["left"], &pruned["deleted"][0]["path"]), (&json!([]), &json!(path)), "{pruned}");
    assert_eq!(fs::read_dir(elsewhere.path()).expect("it is there").count(), 0);
    assert_eq!(world.sh("ls -A .git/checkpoint/removed"), "");
}

/// Somebody has written a record.
#[rstest]
#[case::any_directory("dropped-12345678", "$T/precious", true)]
#[case::any_directory_to_restore("12345678", "$T/precious", false)]
#[case::no_id("dropped-precious", "tree", false)]
fn no_record_names_a_directory_of_somebody_else(#[case] folder: &str, #[case] tree: &str, #[case] is_named: bool) {
    let world = World::with_commit();
    let path = with_work(&world);
    json_of(&world, &["worktree", "remove", "--force", "side", "--json"]);
    world.sh(&format!(
        "T=$(cd ..; pwd); mkdir ../precious; echo 1 >../precious/file; cd .git/checkpoint/removed; mkdir -p {folder}/tree/x
         sed \"s,\\\"path\\\": \\\"tree\\\",\\\"path\\\": \\\"{tree}\\\",\" [0-9a-f]*[0-9a-f]/worktree.json >../made
         mv ../made {folder}/worktree.json"
    ));
    let pruned = json_of(&world, &["worktree", "prune", "--removed", "--json"]);
    assert!(world.root().join("precious/file").exists(), "{pruned}");
    let folder = world.repo().join(".git/checkpoint/removed").join(folder);
    assert!(folder.join("tree/x").exists(), "{pruned}");
    let left = json!([{ "path": folder, "why": "not-deleted" }]);
    assert_eq!(pruned["left"], if is_named { left } else { json!([]) }, "{pruned}");
    assert_eq!(pruned["deleted"][0]["path"], json!(path), "{pruned}");
    if is_named {
        let output = world.checkpoint(&["worktree", "prune"]);
        let hint = format!("'rm -r {}' deletes what is left", folder.display());
        assert!(said(&output).contains(&hint), "{}", said(&output));
    }
}

/// The removal was killed when only the root was aside, and the repository was copied then.
#[test]
fn a_copy_does_not_put_back_the_files_of_the_original() {
    let world = World::with_commit();
    let Some((_elsewhere, path)) = on_another_file_system(&world) else { return };
    let before = state(&world, &path);
    dies(&world, &["worktree", "remove", "--force", "side"], "worktree:after-tree");
    world.sh("cp -a . ../copy");
    let copy = world.root().join("copy");
    let pruned = run_in(&world, &copy, &["worktree", "prune", "--json"]);
    let pruned: Value = serde_json::from_slice(&pruned.stdout).unwrap_or_else(|_| panic!("{}", said(&pruned)));
    assert_eq!(pruned["left"], json!([{ "path": path, "why": "of-another" }]), "{pruned}");
    let output = run_in(&world, &copy, &["worktree", "restore", "side"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("are those of another repository"), "{}", said(&output));
    assert!(!path.exists());
    json_of(&world, &["worktree", "prune", "--json"]);
    assert_eq!(state(&world, &path), before);
}
