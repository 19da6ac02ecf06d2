//! What waits for the end of a turn is taken out once, whatever other commands do with the file meanwhile.

use serde_json::Value;

use super::{events, notes, reviewed, words, world};
use crate::support::{World, processes::described};

/// Ends the turn by a command that is killed at `point`.
fn stop_killed_at(world: &World, point: &str) {
    let mut command = world.command(env!("CARGO_BIN_EXE_git-checkpoint"));
    let output = command.args(["session", "stop", "s1"]).env("CHECKPOINT_FAILPOINT", point).output().expect("it runs");
    assert!(!output.status.success(), "{}", described(&output));
}

#[test]
fn what_was_brought_back_stays_though_another_file_was_restored_since() {
    let world = world("claude-code");
    world.sh("echo x >other; git add other; git commit -qm other -- other; echo y >other");
    world.done(&["save"]);
    reviewed(&world, "n\ntoo short\nq\n");
    stop_killed_at(&world, "review:after-taken-out");
    assert_eq!(words(&world), "forty-five\n");
    world.sh("git checkpoint undo; git checkpoint restore HEAD -- other");
    assert_eq!(words(&world), "five\nforty-five\n");
    reviewed(&world, "q\n");
    assert_eq!(words(&world), "five\nforty-five\n");
    assert!(!notes(&world).contains("taken out"), "{}", notes(&world));
}

#[test]
fn an_interrupted_removal_that_was_undone_does_not_come_again() {
    let world = world("claude-code");
    reviewed(&world, "n\ntoo short\nq\n");
    stop_killed_at(&world, "restore:after-write");
    world.sh("git checkpoint undo");
    assert_eq!(words(&world), "five\nforty-five\n");
    reviewed(&world, "q\n");
    assert_eq!(words(&world), "five\nforty-five\n");
}

#[test]
fn another_restore_of_the_file_does_not_stop_it() {
    let world = world("claude-code");
    reviewed(&world, "n\ntoo short\nq\n");
    let id = world.sh("git checkpoint list --json | grep -o '\"id\": *\"[0-9a-f]*' | head -1 | grep -o '[0-9a-f]*$'");
    world.sh("sed -i 's/^25$/mine/' f");
    world.sh(&format!("git checkpoint restore {} -- f", id.trim()));
    assert_eq!(words(&world), "five\nforty-five\n");
    world.done(&["session", "stop", "s1"]);
    assert_eq!(words(&world), "forty-five\n");
    assert!(!notes(&world).contains("not taken out"), "{}", notes(&world));
}

#[test]
fn what_another_restore_took_out_is_not_said_to_be_the_rejection() {
    let world = world("claude-code");
    reviewed(&world, "n\ntoo short\nq\n");
    world.sh("git checkpoint restore HEAD -- f");
    assert_eq!(words(&world), "");
    world.done(&["session", "stop", "s1"]);
    let [prompt, _] = events(&world, "claude-code");
    let said = world.tell("claude-code", &prompt);
    assert!(!said.contains("rejected, and taken out"), "{said}");
    assert!(said.contains("put files back"), "{said}");
}

#[test]
fn an_interrupted_restore_of_a_person_is_not_finished_by_it() {
    let world = world("claude-code");
    reviewed(&world, "n\ntoo short\nq\n");
    world.sh("mkdir d; echo x >d/new");
    world.done(&["save"]);
    let mut command = world.command(env!("CARGO_BIN_EXE_git-checkpoint"));
    let command = command.args(["restore", "HEAD", "--", "f"]).env("CHECKPOINT_FAILPOINT", "restore:after-journal");
    assert!(!command.output().expect("it runs").status.success());
    let [_, stop] = events(&world, "claude-code");
    world.tell("claude-code", &stop);
    assert_eq!(words(&world), "five\nforty-five\n");
    assert!(!world.json(&["status", "--json"])["interrupted_restore"].is_null());
    world.sh("git checkpoint undo");
    reviewed(&world, "q\n");
    assert_eq!(words(&world), "forty-five\n");
}

/// Usually a line that comes back is its author's again. Where it counts as work of another turn, it is not what was rejected.
#[test]
fn the_same_text_of_another_turn_stays() {
    let world = world("claude-code");
    reviewed(&world, "n\ntoo short\nq\n");
    world.sh("sed -i 's/\"turn\":1/\"turn\":7/' .git/checkpoint/review.jsonl");
    let said = world.sh("git checkpoint session stop s1 2>&1");
    assert_eq!(words(&world), "five\nforty-five\n");
    assert!(said.contains("not taken out"), "{said}");
}

/// What the last restore did cannot be read, and nothing can be taken out then. No command fails for that which is about something else.
#[rstest::rstest]
#[case::stop("stop")]
#[case::end("end")]
fn the_command_that_ends_a_turn_warns_if_nothing_can_be_taken_out(#[case] command: &str) {
    let world = world("claude-code");
    reviewed(&world, "n\ntoo short\nq\n");
    world.sh("echo damaged >.git/checkpoint/restore.json");
    let mut ending = world.command(env!("CARGO_BIN_EXE_git-checkpoint"));
    let output = ending.args(["session", command, "s1", "--json"]).output().expect("it runs");
    assert!(output.status.success(), "{}", described(&output));
    serde_json::from_slice::<Value>(&output.stdout).expect("JSON");
    assert!(described(&output).contains("is not taken out yet"), "{}", described(&output));
    let printed = reviewed(&world, "q\n");
    assert!(printed.contains("is not taken out yet"), "{printed}");
    assert_eq!(words(&world), "five\nforty-five\n");
    world.sh("rm .git/checkpoint/restore.json");
    let printed = reviewed(&world, "q\n");
    assert!(printed.contains("took out 1 change"), "{printed}");
    assert_eq!(words(&world), "forty-five\n");
}

#[test]
fn status_names_all_turns_that_it_waits_for() {
    let world = world("claude-code");
    world.done(&["session", "prompt", "s2", "--agent", "codex", "-m", "x", "--on-multisession", "continue"]);
    reviewed(&world, "n\ntoo short\nq\n");
    let said = notes(&world);
    assert!(said.contains("turn 1 of the session s1") && said.contains("turn 1 of the session s2"), "{said}");
    world.done(&["session", "stop", "s1"]);
    assert_eq!(words(&world), "five\nforty-five\n");
    world.done(&["session", "stop", "s2"]);
    assert_eq!(words(&world), "forty-five\n");
}
