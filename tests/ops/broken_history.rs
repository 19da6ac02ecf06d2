//! Commits that are gone behind HEAD or behind a checkpoint: commands that do not need them work.

use crate::support::{World, processes::described};

/// Checkpoints on two commits, neither of which is the first one; returns the one on the older commit, and that commit.
fn world() -> (World, String, String) {
    let world = World::with_commit();
    world.write("a", "committed\n");
    world.write("kept", "kept\n");
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "older"]);
    let base = world.git(&["rev-parse", "HEAD"]).trim().to_owned();
    world.write("a", "work\n");
    world.write("new", "new\n");
    world.done(&["save"]);
    let older = world.git(&["rev-parse", &format!("refs/checkpoints/shadow/{base}/main")]).trim().to_owned();
    world.git(&["add", "kept"]);
    world.git(&["commit", "-qm", "newer", "--allow-empty"]);
    world.write("a", "later\n");
    world.done(&["save"]);
    (world, older, base)
}

fn remove(world: &World, id: &str) {
    std::fs::remove_file(world.repo().join(".git/objects").join(&id[..2]).join(&id[2..])).expect("it is loose");
}

fn read(world: &World, path: &str) -> String {
    std::fs::read_to_string(world.repo().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[rstest::rstest]
#[case::all(&["--all"])]
#[case::one_path(&["--", "a"])]
fn a_checkpoint_whose_base_is_gone_is_restored(#[case] limits: &[&str]) {
    let (world, older, base) = world();
    remove(&world, &base);
    let (options, paths): (Vec<&str>, Vec<&str>) = limits.iter().partition(|it| **it == "--all");
    world.done(&[&["restore"], options.as_slice(), &[&older], &paths].concat());
    assert_eq!((read(&world, "a"), read(&world, "kept")), ("work\n".into(), "kept\n".into()));
    world.done(&["undo"]);
    assert_eq!(read(&world, "a"), "later\n");
}

#[test]
fn of_a_base_that_is_gone_nothing_is_guessed() {
    let (world, older, base) = world();
    remove(&world, &base);
    // Whether a commit has changed it since is unknown.
    let restored = world.checkpoint(&["restore", &older]);
    let said = String::from_utf8_lossy(&restored.stdout).into_owned();
    assert!(restored.status.code() == Some(1) && said.contains("kept     a"), "{}", described(&restored));
    assert_eq!(read(&world, "a"), "later\n");
    // So is what was staged, which is as in the base.
    let refused = world.checkpoint(&["restore", "--all", "--staged", &older]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(128) && said.contains("what was staged"), "{}", described(&refused));
    assert!(said.contains("without '--staged'"), "{said}");
}

#[rstest::rstest]
#[case::of_a_checkpoint(false)]
#[case::of_head(true)]
fn the_doctor_names_a_missing_commit_and_the_other_problems(#[case] is_ancestor: bool) {
    let (world, _, base) = world();
    let missing = if is_ancestor { world.git(&["rev-parse", "HEAD~2"]).trim().to_owned() } else { base };
    remove(&world, &missing);
    std::fs::write(world.repo().join(".git/refs/checkpoints/tags-noise"), "noise\n").expect("written");
    for command in [&["doctor"][..], &["doctor", "--fix"]] {
        let found = world.checkpoint(command);
        let said = String::from_utf8_lossy(&found.stdout);
        assert_eq!(found.status.code(), Some(1), "{}", described(&found));
        assert!(said.contains(&missing) && said.contains("tags-noise"), "{}", described(&found));
    }
}
