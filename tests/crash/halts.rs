//! A save that is slow at the worst moments, while git keeps house.

use std::process::Child;

use crate::support::{
    World,
    processes::{described, halted, signal},
};

fn repository() -> World {
    let world = World::with_commit();
    world.write("f", "saved before\n");
    world.done(&["save", "-q"]);
    world
}

/// Starts a save of `count` new files that halts at `step`.
fn halt(world: &World, count: usize, step: &str) -> Child {
    for n in 0..count {
        world.write(&format!("many/{n}"), format!("only in the worktree {n}\n"));
    }
    let child = world.start_with(&["save", "--json"], &format!("stop@{step}"));
    halted(&child);
    child
}

/// Resumes the process, and checks that everything is there.
fn go_on(world: &World, child: Child) {
    signal(&child, "CONT");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}", described(&output));
    world.assert_sound("after it was resumed");
    let saved: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(saved["tree"], world.tree().to_string());
    world.git(&["gc", "-q"]);
    world.assert_sound("after git gc");
    assert_eq!(world.leftovers(), Vec::<std::path::PathBuf>::new());
}

#[rstest::rstest]
#[case::pack_written(200, "save:after-objects")]
#[case::pack_before_index(200, "pack:before-index")]
#[case::loose(3, "save:after-objects")]
#[case::committed(3, "save:after-commit")]
#[cfg_attr(not(feature = "failpoints"), ignore = "needs the feature 'failpoints'")]
fn git_repacks_meanwhile(#[case] count: usize, #[case] step: &str) {
    let world = repository();
    let child = halt(&world, count, step);
    world.git(&["repack", "-adq"]);
    world.git(&["pack-refs", "--all"]);
    world.git(&["prune-packed", "-q"]);
    go_on(&world, child);
}

#[rstest::rstest]
#[case::before(3, "save:before-objects")]
#[case::written(200, "save:after-objects")]
#[case::committed(3, "save:after-commit")]
#[cfg_attr(not(feature = "failpoints"), ignore = "needs the feature 'failpoints'")]
fn git_collects_meanwhile(#[case] count: usize, #[case] step: &str) {
    let world = repository();
    let child = halt(&world, count, step);
    world.git(&["gc", "-q"]);
    go_on(&world, child);
}

const PRUNE: &[&str] = &["prune", "--expire=now"];
const GC: &[&str] = &["gc", "-q", "--prune=now"];

#[rstest::rstest]
#[case::before(3, "save:before-objects", GC)]
#[case::objects(3, "save:after-objects", PRUNE)]
#[case::objects_and_packs(3, "save:after-objects", GC)]
#[case::commits(3, "save:after-commit", PRUNE)]
#[case::pack_being_written(200, "pack:before-pack", GC)]
#[case::pack_written(200, "save:after-objects", PRUNE)]
#[case::pack_written_and_repacked(200, "save:after-objects", GC)]
#[cfg_attr(not(feature = "failpoints"), ignore = "needs the feature 'failpoints'")]
fn git_prunes_all_meanwhile(#[case] count: usize, #[case] step: &str, #[case] prune: &[&str]) {
    let world = repository();
    let child = halt(&world, count, step);
    world.git(prune);
    go_on(&world, child);
}

#[rstest::rstest]
#[case::loose(false)]
#[case::packed(true)]
#[cfg_attr(not(feature = "failpoints"), ignore = "needs the feature 'failpoints'")]
fn git_prunes_what_was_found_stored(
    #[case] is_packed: bool,
    #[values("save:after-objects", "save:after-commit")] step: &str,
) {
    let world = repository();
    for n in 0..3 {
        world.write(&format!("many/{n}"), format!("only in the worktree {n}\n"));
    }
    // Stored, and nothing leads there any more.
    world.git(&["update-ref", "refs/x", &world.tree().to_string()]);
    if is_packed {
        world.git(&["repack", "-adq"]);
    }
    world.git(&["update-ref", "-d", "refs/x"]);
    let child = halt(&world, 3, step);
    world.git(&["gc", "-q", "--prune=now"]);
    go_on(&world, child);
}

#[test]
#[cfg_attr(not(feature = "failpoints"), ignore = "needs the feature 'failpoints'")]
fn another_worktree_folds_meanwhile() {
    let world = repository();
    let linked = world.root().join("linked");
    world.git(&["worktree", "add", "-q", "-b", "side", linked.to_str().expect("a plain path")]);
    let child = halt(&world, 3, "save:after-commit");
    for n in 0..80 {
        std::fs::write(linked.join("f"), format!("version {n}\n")).expect("written");
        world.done(&["-C", "../linked", "save", "-q"]);
    }
    world.git(&["repack", "-adq"]);
    go_on(&world, child);
}

#[test]
#[cfg_attr(not(feature = "failpoints"), ignore = "needs the feature 'failpoints'")]
fn an_object_of_an_old_pack_is_saved_again_before_git_drops_it() {
    let world = repository();
    // An unreachable blob, old and packed: the next save finds it here and would not write it.
    world.write("old", "seen long ago\n");
    world.git(&["add", "old"]);
    world.git(&["commit", "-qm", "old"]);
    world.git(&["repack", "-adq"]);
    world.git(&["reset", "-q", "--hard", "HEAD^"]);
    world.git(&["reflog", "expire", "--expire=now", "--all"]);
    world.write("old", "seen long ago\n");
    std::fs::write(world.repo().join(".git/gc.pid"), "1 elsewhere\n").expect("written");
    let child = halt(&world, 3, "save:after-commit");
    std::fs::remove_file(world.repo().join(".git/gc.pid")).expect("it is there");
    // What git does to packs at the end of a gc that began before.
    world.git(&["repack", "-adq"]);
    go_on(&world, child);
}
