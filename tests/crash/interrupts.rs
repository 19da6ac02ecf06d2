//! Ctrl-C, and readers that have seen enough.

use std::{
    os::unix::process::ExitStatusExt as _,
    path::PathBuf,
    process::{Child, Output},
    time::Duration,
};

use crate::support::{
    World,
    dice::Dice,
    processes::{described, ended, halted, signal},
};

const INTERRUPTED: Option<i32> = Some(130);
const SIGINT: i32 = 2;

fn repository(files: usize) -> World {
    let world = World::with_commit();
    for n in 0..files {
        world.write(&format!("many/{n}"), format!("then {n}\n"));
    }
    world
}

/// Sends Ctrl-C to the halted `child`, and returns how it ended.
fn interrupt(child: Child) -> Output {
    signal(&child, "INT");
    signal(&child, "CONT");
    child.wait_with_output().expect("it ends")
}

fn assert_nothing_left(world: &World, when: &str) {
    assert_eq!(world.leftovers(), Vec::<PathBuf>::new(), "{when}");
    world.assert_sound(when);
}

#[rstest::rstest]
#[case::loose(3, "save:before-objects")]
#[case::packed(200, "save:before-objects")]
#[case::committed(200, "save:after-commit")]
#[cfg_attr(not(feature = "failpoints"), ignore = "needs the feature 'failpoints'")]
fn an_interrupted_save_is_none(#[case] files: usize, #[case] step: &str) {
    let world = repository(files);
    let facts = world.facts();
    let child = world.start_with(&["save", "--json"], &format!("stop@{step}"));
    halted(&child);
    let output = interrupt(child);
    assert_eq!(output.status.code(), INTERRUPTED, "{}", described(&output));
    assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{}", described(&output));
    assert_eq!(world.shadows(), Vec::<String>::new());
    assert_nothing_left(&world, step);
    assert!(world.json(&["status", "--json"])["last_error"].is_null(), "the user knows");
    assert_eq!(world.json(&["save", "--json"])["tree"], world.tree().to_string());
    assert_eq!(world.facts(), facts);
}

#[test]
#[cfg_attr(not(feature = "failpoints"), ignore = "needs the feature 'failpoints'")]
fn a_second_signal_ends_at_once_and_the_next_save_sweeps() {
    let world = repository(200);
    let child = world.start_with(&["save", "--json"], "stop@pack:before-pack");
    halted(&child);
    signal(&child, "INT");
    signal(&child, "TERM");
    let output = interrupt(child);
    assert_eq!(output.status.code(), INTERRUPTED, "{}", described(&output));
    world.done(&["save", "--json"]);
    assert_nothing_left(&world, "after the next save");
}

#[test]
#[cfg_attr(not(feature = "failpoints"), ignore = "needs the feature 'failpoints'")]
fn an_interrupted_restore_can_be_finished_or_undone() {
    for goes_on in [true, false] {
        let world = repository(20);
        let id = world.json(&["save", "--json"])["id"].as_str().expect("an id").to_owned();
        for n in 0..20 {
            world.write(&format!("many/{n}"), format!("now {n}\n"));
        }
        let (before, facts) = (world.tree(), world.facts());
        let child = world.start_with(&["restore", &id], "stop@restore:after-write:5");
        halted(&child);
        let output = interrupt(child);
        assert_eq!(output.status.code(), INTERRUPTED, "{}", described(&output));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("--continue") && said.contains("git checkpoint undo"), "{said}");
        assert_nothing_left(&world, "interrupted");
        let tree = world.git(&["rev-parse", &format!("{id}^{{tree}}")]);
        if goes_on {
            world.done(&["restore", "--continue"]);
            assert_eq!(world.tree().to_string(), tree.trim());
        } else {
            world.done(&["undo"]);
            assert_eq!(world.tree(), before);
        }
        assert_nothing_left(&world, "in the end");
        assert_eq!(world.facts(), facts);
    }
}

#[test]
#[cfg_attr(not(feature = "failpoints"), ignore = "needs the feature 'failpoints'")]
fn waiting_for_the_lock_can_be_interrupted() {
    let world = repository(3);
    let owner = world.start_with(&["save", "--json"], "stop@save:before-objects");
    halted(&owner);
    let mut waiting = world.start(&["save", "--json"]);
    std::thread::sleep(Duration::from_millis(300));
    signal(&waiting, "INT");
    let status = ended(&mut waiting, Duration::from_secs(5));
    assert_eq!(status.code(), INTERRUPTED);
    signal(&owner, "CONT");
    let output = owner.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}", described(&output));
}

#[test]
fn ctrl_c_at_any_moment_leaves_nothing_behind() {
    let world = repository(0);
    let facts = world.facts();
    let mut dice = Dice(5);
    for trial in 0..12u64 {
        for n in 0..120 {
            world.write(&format!("many/{n}"), format!("{trial} {n}\n").repeat(40));
        }
        let child = world.start(if trial % 3 == 2 { &["undo", "--all"] } else { &["save"] });
        std::thread::sleep(Duration::from_millis(dice.below(60)));
        let output = interrupt(child);
        let is_expected = matches!(output.status.code(), Some(0 | 1 | 128 | 130));
        // Before it listens, the signal just ends it.
        let is_early = output.status.signal() == Some(SIGINT);
        assert!(is_expected || is_early, "{}", described(&output));
        assert_nothing_left(&world, "interrupted");
        assert_eq!(world.facts(), facts);
    }
    assert_eq!(world.json(&["save", "--json"])["tree"], world.tree().to_string());
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let world = repository(0);
    for n in 0..40 {
        let message = format!("{n} {}", "words ".repeat(500));
        world.done(&["save", "-q", "--allow-empty", "-m", &message]);
    }
    for line in ["list --all", "list --all --json", "events"] {
        let script = format!("set -o pipefail; git checkpoint {line} | head -n 1");
        let output = world.command("bash").args(["-c", &script]).output().expect("bash runs");
        assert!(output.status.success() && output.stderr.is_empty(), "{line}: {}", described(&output));
        assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 1, "{line}");
    }
}
