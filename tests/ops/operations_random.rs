//! Random commands are undone one after the other back to the first state, and redone to the last: refs and files, byte for byte.
//! A command that is killed leaves the state before it or the one after it.

use std::{collections::BTreeMap, fs};

use crate::support::{World, dice::Dice};

/// The refs of checkpoints without the operation logs, and the files of the worktree.
type State = (BTreeMap<String, String>, BTreeMap<String, Vec<u8>>);

// In the root: the checkpoint after a restore does not know of directories that became empty.
const NAMES: [&str; 4] = ["f", "a", "b", "c"];

fn state(world: &World) -> State {
    let all = world.git(&["for-each-ref", "--format=%(refname) %(objectname)", "refs/checkpoints/"]);
    let pair = |line: &str| line.split_once(' ').map(|(name, id)| (name.to_owned(), id.to_owned()));
    let refs = all.lines().filter_map(pair).filter(|(name, _)| !name.contains("/operations/")).collect();
    let read = |name: &&str| Some(((*name).to_owned(), fs::read(world.repo().join(name)).ok()?));
    (refs, NAMES.iter().filter_map(read).collect())
}

fn newest(world: &World) -> Option<String> {
    let log = world.json(&["op", "log", "-n", "1", "--json"]);
    log["operations"][0]["id"].as_str().map(str::to_owned)
}

/// Edits some files and saves that.
fn edit(world: &World, dice: &mut Dice) {
    for _ in 0..=dice.below(2) {
        let name = NAMES[usize::try_from(dice.below(4)).expect("small")];
        let path = world.repo().join(name);
        if dice.below(4) == 0 && path.exists() {
            fs::remove_file(path).expect("it is ours");
        } else {
            world.write(name, format!("{}\r\n{}\0", dice.below(1000), dice.below(1000)));
        }
    }
    world.done(&["save", "-q"]);
}

/// Does one thing, which may be refused.
fn act(world: &World, dice: &mut Dice, saved: &[String]) {
    let target = &saved[usize::try_from(dice.below(u64::try_from(saved.len()).expect("few"))).expect("few")];
    let line: Vec<&str> = match dice.below(8) {
        0 => vec!["verify"],
        1 => vec!["verify", target],
        2 => vec!["verify", "--reset"],
        3 => vec!["reset"],
        4 => vec!["reset", "--restore-archived", target],
        5 => vec!["prune", "--keep", "1"],
        _ => vec!["restore", "--all", target],
    };
    world.checkpoint(&line);
}

fn play(seed: u64, is_reftable: bool) {
    let world = World::with_commit();
    if is_reftable {
        world.sh("rm -rf .git/logs && git refs migrate --ref-format=reftable");
    }
    let mut dice = Dice(seed);
    let mut saved = Vec::new();
    for _ in 0..3 {
        edit(&world, &mut dice);
        saved.push(world.git(&["rev-parse", &world.shadows()[0]]).trim().to_owned());
    }
    let first = newest(&world);
    let (mut states, mut ids) = (vec![state(&world)], Vec::new());
    for _ in 0..14 {
        act(&world, &mut dice, &saved);
        let id = newest(&world);
        if id.is_some() && id != first && ids.last() != id.as_ref() {
            ids.extend(id);
            states.push(state(&world));
        }
    }
    assert!(ids.len() > 1, "seed {seed}: something was done");
    for (number, _) in ids.iter().enumerate().rev() {
        world.done(&["undo"]);
        let log = world.done(&["op", "log"]);
        assert_eq!(state(&world), states[number], "seed {seed}: undo of {number}\n{log}");
    }
    for (number, _) in ids.iter().enumerate() {
        world.done(&["redo"]);
        assert_eq!(state(&world), states[number + 1], "seed {seed}: redo of {number}");
    }
    world.assert_sound(&format!("seed {seed}"));
}

#[rstest::rstest]
fn random_commands_are_undone_to_the_first_state_and_redone(#[values(1, 2, 3, 4, 5, 6)] seed: u64) {
    play(seed, false);
}

#[test]
fn the_same_with_a_reftable() {
    play(7, true);
}

#[rstest::rstest]
#[case::reset_between_refs(&["reset"], "refs:after-change")]
#[case::reset_later(&["reset"], "refs:after-change:2")]
#[case::undo_before_refs(&["undo"], "undo:before-refs")]
#[case::undo_between_refs(&["undo"], "refs:after-change")]
#[case::undo_after_refs(&["undo"], "undo:after-refs")]
fn a_killed_command_leaves_either(#[case] line: &[&str], #[case] point: &str) {
    let world = World::with_commit();
    world.write("f", "one\n");
    world.done(&["save", "-q"]);
    if line == ["undo"] {
        world.done(&["reset", "-q"]);
    }
    let before = state(&world);
    let died = world.command(crate::support::program()).args(line).env("CHECKPOINT_FAILPOINT", point).output();
    assert!(!died.expect("it runs").status.success());
    let shadows: Vec<String> = state(&world).0.into_values().collect();
    assert!(!shadows.is_empty(), "the chain is held at all times");
    // The killed command is either not done, or can be undone: at most two commands restore the state before it.
    let is_done = state(&world) != before;
    if line == ["undo"] {
        // The log may say that the operation is undone before its refs have moved. Redo and undo work in both cases.
        if is_done || point == "refs:after-change" {
            world.done(&["redo"]);
        }
        assert_eq!(state(&world), before);
        world.done(&["undo"]);
        world.done(&["redo"]);
        assert_eq!(state(&world), before);
    } else if is_done {
        world.done(&["undo"]);
        assert_eq!(state(&world), before);
    }
    world.assert_sound("after the kill");
    world.done(&["save", "-q"]);
    world.done(&["op", "log"]);
}

#[rstest::rstest]
#[case::before_the_log("restore:after-sync", false)]
#[case::between_log_and_journal("restore:after-log", false)]
#[case::after_the_journal("restore:after-journal", true)]
#[case::between_files("restore:after-write", true)]
#[case::before_done("restore:before-done", true)]
#[case::before_the_checkpoint("restore:after-done", false)]
fn a_restore_that_was_killed_is_undone_once(#[case] point: &str, #[case] is_interrupted: bool) {
    let world = World::with_commit();
    world.write("f", "one\n");
    world.write("a", "one\n");
    world.done(&["save", "-q"]);
    let one = world.git(&["rev-parse", &world.shadows()[0]]).trim().to_owned();
    world.write("f", "two\n");
    world.write("a", "two\n");
    world.done(&["save", "-q"]);
    let before = state(&world);
    let line = ["restore", "--all", &one];
    let died = world.command(crate::support::program()).args(line).env("CHECKPOINT_FAILPOINT", point).output();
    assert!(!died.expect("it runs").status.success());
    if is_interrupted {
        world.done(&["restore", "--continue"]);
        assert_eq!(world.sh("cat f a"), "one\none\n");
    }
    if state(&world).1 != before.1 {
        world.done(&["undo"]);
    }
    assert_eq!(state(&world).1, before.1);
    world.assert_sound("after the kill");
    world.done(&["restore", "--all", &one]);
    world.done(&["undo"]);
    assert_eq!(state(&world).1, before.1);
}
