//! A save that dies at each of its steps.

use std::{os::unix::process::ExitStatusExt as _, path::PathBuf};

use crate::support::{World, processes::described, program};

/// What the save that dies has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Full,
    Paths,
    /// More new objects than are stored one by one.
    Big,
    /// HEAD has no commit yet.
    Unborn,
}

const STEPS: [&str; 4] = ["save:before-objects", "save:after-objects", "save:after-commit", "save:after-refs"];
const SIGABRT: i32 = 6;

fn site(work: Work) -> World {
    if work == Work::Unborn {
        let world = World::new();
        world.git(&["init", "-q", "-b", "main", "."]);
        return world;
    }
    let world = World::with_commit();
    world.write("f", "saved before\n");
    world.settle();
    world.done(&["save", "-q", "-m", "before"]);
    world
}

/// Changes the worktree, and returns the arguments of the save that takes the change.
fn change(world: &World, work: Work) -> Vec<&'static str> {
    world.write("f", "only in the worktree\n");
    world.write("dir/new", "new\n");
    if work == Work::Big {
        for n in 0..200 {
            world.write(&format!("many/{n}"), format!("{n}\n").repeat(50));
        }
    }
    match work {
        Work::Paths => vec!["save", "--json", "--paths", "f", "dir/new"],
        _ => vec!["save", "--json"],
    }
}

/// Runs a save that dies at `step`, if it meets that, and checks all that it may not have done.
fn dies(world: &World, arguments: &[&str], step: &str) -> bool {
    let (facts, before) = (world.facts(), world.held());
    let died =
        world.command(program()).args(arguments).env("CHECKPOINT_FAILPOINT", step).output().expect("the program runs");
    if died.status.success() {
        return false;
    }
    assert_eq!(died.status.signal(), Some(SIGABRT), "{step}: {}", described(&died));
    assert!(died.stdout.is_empty(), "{step}: no id is printed: {}", described(&died));
    world.assert_sound(step);
    assert_eq!(world.facts(), facts, "{step}");
    assert!(world.held().is_superset(&before), "{step}: earlier content stays");
    true
}

/// Checks that the next commands work, and hold everything.
fn goes_on(world: &World, step: &str) {
    let (facts, tree, before) = (world.facts(), world.tree().to_string(), world.held());
    world.json(&["status", "--json"]);
    let saved = world.json(&["save", "--json"]);
    assert_eq!(saved["tree"], tree, "{step}");
    let id = saved["id"].as_str().expect("an id");
    assert_eq!(world.git(&["rev-parse", &format!("{id}^{{tree}}")]).trim(), tree, "{step}");
    assert_eq!(world.shadows(), [id], "{step}");
    let held = world.held();
    assert!(held.is_superset(&before), "{step}");
    assert!(held.contains("only in the worktree\n".as_bytes()), "{step}");
    assert!(!world.done(&["list"]).is_empty(), "{step}");
    world.assert_sound(step);
    assert_eq!(world.facts(), facts, "{step}");
    assert_eq!(world.leftovers(), Vec::<PathBuf>::new(), "{step}");
}

#[rstest::rstest]
#[case::full(Work::Full, &["state:before-append"])]
#[case::paths(Work::Paths, &[])]
#[case::big(Work::Big, &["pack:before-pack", "pack:before-index"])]
#[case::unborn(Work::Unborn, &["state:before-rename"])]
#[cfg_attr(not(feature = "failpoints"), ignore = "needs the feature 'failpoints'")]
fn a_save_that_dies_leaves_the_state_before_or_after(#[case] work: Work, #[case] more: &[&str]) {
    for step in STEPS.iter().chain(more) {
        let world = site(work);
        let arguments = change(&world, work);
        assert!(dies(&world, &arguments, step), "{work:?} meets {step}");
        goes_on(&world, step);
    }
}

/// A `git prune` beside a save removes objects before the save's ref leads to them, and the save dies before it looks for them
/// once more. The next save finds the worktree as it was saved, and must not answer for what is gone.
#[rstest::rstest]
#[case::whole(&["save", "--json"])]
#[case::paths(&["save", "--json", "--paths", "f", "dir/new", "crlf"])]
#[cfg_attr(not(feature = "failpoints"), ignore = "needs the feature 'failpoints'")]
fn what_a_dead_save_lost_is_written_by_the_next_one(#[case] next: &[&str]) {
    let world = site(Work::Full);
    world.sh("git config core.autocrlf input; printf 'a\\r\\n' >crlf; echo staged >s; git add s; echo s >s");
    change(&world, Work::Full);
    let before = world.shadows();
    assert!(dies(&world, &["save", "--json"], "save:after-refs"), "the save dies");
    let tip = world.shadows().remove(0);
    let new = world.git(&["rev-list", "--objects", &tip]);
    let kept = world.git(&["rev-list", "--objects", "--indexed-objects", &before[0], "HEAD"]);
    let kept: Vec<&str> = kept.lines().filter_map(|line| line.split(' ').next()).collect();
    let lost: Vec<&str> =
        new.lines().filter_map(|line| line.split(' ').next()).filter(|id| !kept.contains(id)).collect();
    assert!(lost.len() > 8, "files, trees, side data and commits: {new}");
    world.sh("cp -a .git ../kept");
    for id in &lost {
        world.sh(&format!("rm -rf .git; cp -a ../kept .git; rm -f .git/objects/{}/{}", &id[..2], &id[2..]));
        let saved = world.json(next);
        let when = format!("without {id}, of {new}");
        assert_eq!(saved["tree"], world.tree().to_string(), "{when}");
        world.assert_sound(&when);
        let held = world.held();
        assert!(held.contains("only in the worktree\n".as_bytes()) && held.contains("staged\n".as_bytes()), "{when}");
        assert!(held.contains("a\r\n".as_bytes()), "{when}");
    }
}

/// A turn whose first checkpoint sets the shadow aside, and takes its place.
#[rstest::rstest]
#[cfg_attr(not(feature = "failpoints"), ignore = "needs the feature 'failpoints'")]
fn a_shadow_that_is_set_aside_is_held_all_the_time(#[values(1, 2)] nth: usize) {
    let world = site(Work::Full);
    world.git(&["checkout", "-q", "f"]);
    world.done(&["session", "prompt", "s1", "-m", "do it"]);
    world.write("f", "only in the worktree\n");
    let step = format!("refs:after-change:{nth}");
    assert!(dies(&world, &["save", "--json", "--session", "s1"], &step), "meets {step}");
    goes_on(&world, &step);
    assert!(world.held().contains("saved before\n".as_bytes()), "{step}");
}

#[test]
#[cfg_attr(not(feature = "failpoints"), ignore = "needs the feature 'failpoints'")]
fn repacking_that_dies_loses_no_object() {
    let world = site(Work::Full);
    let mut version = 0;
    for step in
        ["repack:after-pack", "repack:after-loose:40", "repack:after-index", "repack:after-loose", "repack:after-packs"]
    {
        // As many saves as it takes until there is enough to repack.
        let died = (0..80).any(|_| {
            version += 1;
            world.write("f", format!("version {version}\n"));
            world
                .command(program())
                .args(["save", "-q"])
                .env("CHECKPOINT_FAILPOINT", step)
                .status()
                .expect("the program runs")
                .signal()
                == Some(SIGABRT)
        });
        assert!(died, "{step} is met");
        world.assert_sound(step);
        let held = world.held();
        for version in 1..=version {
            assert!(held.contains(format!("version {version}\n").as_bytes()), "{step}: {version}");
        }
        world.write("f", "only in the worktree\n");
        goes_on(&world, step);
    }
}
