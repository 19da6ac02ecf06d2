//! What the last checkpoint lacks is written again as long as the files have it; what only git can bring stops no save.

use serde_json::Value;

use super::broken::{Loss, lose, refs, world};
use crate::support::World;

/// Saves in the directory `place` beside the repository's root, and returns what is said.
fn save_in(world: &World, place: &str) -> Value {
    serde_json::from_str(&world.sh(&format!("cd '{place}' && git checkpoint save --json"))).expect("JSON")
}

/// Clones the repository without blobs to `../clone`.
fn clone(world: &World, options: &str) {
    world.git(&["config", "uploadpack.allowFilter", "true"]);
    world.git(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
    world.sh(&format!("git clone -q --filter=blob:none {options} \"file://$PWD\" ../clone"));
}

/// Asserts that a save in `place`, where nothing has changed since the last one, takes nothing and sets nothing aside.
fn assert_saves_nothing(world: &World, place: &str) {
    let first = save_in(world, place);
    for _ in 0..2 {
        let again = save_in(world, place);
        assert_eq!((&again["created"], &again["id"]), (&false.into(), &first["id"]), "{again}");
    }
    let archived = world.sh(&format!("cd '{place}' && git for-each-ref refs/checkpoints/archive"));
    assert_eq!(archived, "", "nothing is set aside");
}

#[rstest::rstest]
#[case::of_all(&["save"])]
#[case::of_another_path(&["save", "--paths", "f"])]
#[case::by_a_restore(&["restore", "--all", "@{1}"])]
fn the_next_save_writes_again_what_the_files_have(#[case] next: &[&str]) {
    let world = world();
    lose(&world, "live:q/r/three", Loss::Gone);
    world.write("f", "another change\n");
    let tip = refs(&world, "shadow").pop().map(|name| world.git(&["rev-parse", &name])).expect("there is a shadow");
    world.done(next);
    assert_eq!(world.git(&["cat-file", "blob", &format!("{}:q/r/three", tip.trim())]), "three\n");
    assert_eq!(refs(&world, "archive"), Vec::<String>::new(), "nothing is set aside");
    world.assert_sound("after the next save");
}

/// The worktree has all of the directory, but the checkpoint needs another tree for it.
#[rstest::rstest]
#[case::a_directory("HEAD:d")]
#[case::all_of_it("HEAD^{tree}")]
fn a_save_of_nothing_needs_no_tree_of_head(#[case] lost: &str) {
    let world = World::with_commit();
    world.write("d/a", "1\n");
    world.write("d/b", "2\n");
    world.commit_all("a directory");
    world.write("d/c", "staged\n");
    world.git(&["add", "d/c"]);
    world.write("d/a", "changed\n");
    lose(&world, lost, Loss::Gone);
    assert_saves_nothing(&world, ".");
    world.done(&["restore", "--all", "@"]);
}

#[test]
fn a_conflict_in_a_partial_clone_leaves_the_shadow_alone() {
    let world = World::with_commit();
    world.write("x", "x\n");
    world.sh("seq 50 >f && git add . && git commit -qm f && git switch -qc side && git rm -q f && git commit -qm gone");
    world.sh("git switch -q main && echo more >>f && git commit -qam more");
    clone(&world, "");
    world.sh("cd ../clone && ! git merge -q origin/side");
    assert_saves_nothing(&world, "../clone");
}

#[test]
fn what_a_sparse_partial_clone_has_not_fetched_leaves_the_shadow_alone() {
    let world = World::with_commit();
    world.write("in/a", "1\n");
    world.write("out/b", "1\n");
    world.commit_all("first");
    world.write("in/a", "2\n");
    world.write("out/b", "2\n");
    world.commit_all("second");
    clone(&world, "--sparse");
    world.sh("cd ../clone && git sparse-checkout set in && git reset -q --soft HEAD~1");
    assert_saves_nothing(&world, "../clone");
}

#[test]
fn a_conflict_whose_blob_is_lost_leaves_the_shadow_alone() {
    let world = World::with_commit();
    world.sh("seq 50 >c && git add . && git commit -qm c && git switch -qc side && git rm -q c && git commit -qm gone");
    world.sh("git switch -q main && echo more >>c && git commit -qam more");
    world.sh("! git merge -q side");
    lose(&world, "HEAD~1:c", Loss::Gone);
    assert_saves_nothing(&world, ".");
}

#[test]
fn a_save_of_nothing_writes_nothing() {
    let world = World::with_commit();
    world.write("d/g", "new\n");
    world.done(&["save"]);
    world.git(&["add", "d/g"]);
    world.done(&["save"]);
    world.git(&["reset", "-q"]);
    world.done(&["save"]);
    let before = world.git(&["count-objects", "-v"]);
    world.done(&["save"]);
    world.done(&["save"]);
    assert_eq!(world.git(&["count-objects", "-v"]), before);
}
