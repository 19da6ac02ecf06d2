//! Commands that are killed after their entry in the operation log is written, and before they have changed a file.

use std::fs;

use crate::support::{World, program};

/// Between the entry and the journal.
const AFTER_LOG: &str = "restore:after-log";

fn save(world: &World, content: &str) -> String {
    world.write("f", content);
    world.json(&["save", "--json"])["id"].as_str().expect("an id").to_owned()
}

fn kill(world: &World, point: &str, line: &[&str]) {
    let died = world.command(program()).args(line).env("CHECKPOINT_FAILPOINT", point).output().expect("it runs");
    assert!(!died.status.success(), "{line:?}");
}

fn text(world: &World) -> String {
    fs::read_to_string(world.repo().join("f")).expect("a file")
}

/// Returns the newest operation in the log.
fn newest(world: &World) -> String {
    let log = world.json(&["op", "log", "--json"]);
    log["operations"][0]["id"].as_str().expect("an id").to_owned()
}

/// Returns how many entries the log marks as taken back.
fn count_undone(world: &World) -> usize {
    world.done(&["op", "log"]).matches("[undone]").count()
}

/// Nothing says that something is interrupted.
fn assert_at_rest(world: &World) {
    let output = world.checkpoint(&["restore", "--continue"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("no restore was interrupted"));
    assert!(!world.done(&["status"]).contains("interrupted"));
    world.done(&["doctor"]);
}

/// Returns a world whose file was three, and is one after a restore.
fn restored() -> World {
    let world = World::with_commit();
    let one = save(&world, "one\n");
    save(&world, "two\n");
    world.write("f", "three\n");
    world.done(&["restore", "--all", &one]);
    world
}

#[rstest::rstest]
#[case::between_log_and_journal(AFTER_LOG)]
#[case::before_the_log("restore:after-sync")]
fn a_restore(#[case] point: &str) {
    let world = restored();
    kill(&world, point, &["restore", "--all", "@{2}"]);
    assert_eq!(text(&world), "one\n");
    assert_at_rest(&world);
    world.done(&["undo"]);
    assert_eq!(text(&world), "three\n");
    assert_eq!(count_undone(&world), 1);
    world.done(&["redo"]);
    assert_eq!(text(&world), "one\n");
    world.assert_sound("at the end");
}

#[test]
fn a_restore_that_is_killed_ends_no_redo() {
    let world = restored();
    world.done(&["undo"]);
    kill(&world, AFTER_LOG, &["restore", "--all", "@{1}"]);
    world.done(&["redo"]);
    assert_eq!(text(&world), "one\n");
}

#[rstest::rstest]
#[case::undo(&["undo"])]
#[case::op_undo(&["op", "undo", "@"])]
fn an_undo(#[case] line: &[&str]) {
    let world = restored();
    kill(&world, AFTER_LOG, line);
    assert_eq!((text(&world).as_str(), count_undone(&world)), ("one\n", 0));
    assert_at_rest(&world);
    assert!(!world.checkpoint(&["redo"]).status.success(), "nothing was undone");
    world.done(&["undo"]);
    assert_eq!((text(&world).as_str(), count_undone(&world)), ("three\n", 1));
    world.done(&["redo"]);
    assert_eq!(text(&world), "one\n");
    world.assert_sound("at the end");
}

#[test]
fn an_undo_of_a_named_operation_can_be_repeated() {
    let world = restored();
    let restore = newest(&world);
    kill(&world, AFTER_LOG, &["op", "undo", &restore]);
    let killed = newest(&world);
    assert_ne!(killed, restore);
    let output = world.checkpoint(&["op", "undo", &killed]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("was killed before it changed a file"), "{output:?}");
    world.done(&["op", "undo", &restore]);
    assert_eq!(text(&world), "three\n");
}

#[rstest::rstest]
#[case::between_log_and_journal(AFTER_LOG)]
#[case::before_the_log("restore:after-sync")]
#[case::before_the_save("save:after-objects")]
fn a_redo(#[case] point: &str) {
    let world = restored();
    world.done(&["undo"]);
    world.write("new", "unsaved\n");
    kill(&world, point, &["redo"]);
    assert_eq!((text(&world).as_str(), count_undone(&world)), ("three\n", 1));
    assert_at_rest(&world);
    world.done(&["redo"]);
    assert_eq!(text(&world), "one\n");
    world.done(&["undo"]);
    assert_eq!(text(&world), "three\n");
    world.done(&["redo"]);
    assert_eq!(text(&world), "one\n");
    world.assert_sound("at the end");
}

#[test]
fn a_way_back() {
    let world = World::with_commit();
    save(&world, "one\n");
    let at = newest(&world);
    save(&world, "two\n");
    let restore = ["op", "restore", at.as_str()];
    kill(&world, AFTER_LOG, &restore);
    assert_eq!(text(&world), "two\n");
    assert_at_rest(&world);
    let killed = newest(&world);
    world.done(&["op", "restore", &killed]);
    assert_eq!(text(&world), "two\n");
    world.done(&restore);
    assert_eq!(text(&world), "one\n");
    world.done(&["undo"]);
    assert_eq!(text(&world), "two\n");
    kill(&world, AFTER_LOG, &["redo"]);
    world.done(&["redo"]);
    assert_eq!(text(&world), "one\n");
    kill(&world, AFTER_LOG, &["undo"]);
    world.done(&["undo"]);
    assert_eq!(text(&world), "two\n");
    world.assert_sound("at the end");
}

/// The journal says that all is done, and is replaced by the next restore.
#[rstest::rstest]
#[case::before_done("restore:before-done")]
#[case::after_done("restore:after-done")]
fn what_was_killed_at_its_end_counts_after_the_next_restore(#[case] point: &str) {
    let world = restored();
    kill(&world, point, &["restore", "--all", "@{2}"]);
    if point == "restore:before-done" {
        world.done(&["restore", "--continue"]);
    }
    assert_eq!(text(&world), "two\n");
    world.write("f", "four\n");
    let four = world.json(&["save", "--json"])["id"].as_str().expect("an id").to_owned();
    world.write("f", "five\n");
    world.done(&["restore", "--all", &four]);
    world.done(&["undo"]);
    assert_eq!(text(&world), "five\n");
    world.write("f", "two\n");
    world.done(&["undo"]);
    assert_eq!(text(&world), "one\n");
}

/// What finishes a killed undo is that undo.
#[test]
fn an_undo_that_is_continued_is_an_undo() {
    let world = restored();
    kill(&world, "restore:after-journal", &["undo"]);
    world.done(&["restore", "--continue"]);
    assert_eq!((text(&world).as_str(), count_undone(&world)), ("three\n", 1));
    world.done(&["redo"]);
    assert_eq!(text(&world), "one\n");
    kill(&world, "restore:after-journal", &["undo"]);
    world.done(&["undo"]);
    assert_eq!(text(&world), "one\n");
    let redo = world.checkpoint(&["redo"]);
    assert!(!redo.status.success(), "the killed undo was taken back");
    world.done(&["undo"]);
    // The restore, the redo, and the undo that was taken back half-way.
    assert_eq!((text(&world).as_str(), count_undone(&world)), ("three\n", 3));
}

#[test]
fn a_restore_that_was_redone_and_undone_again_is_marked() {
    let world = restored();
    let restore = newest(&world);
    world.done(&["undo"]);
    world.done(&["redo"]);
    world.done(&["undo"]);
    let show = world.done(&["op", "show", &restore]);
    assert!(show.contains("Undone"), "{show}");
    world.done(&["redo"]);
    world.done(&["op", "undo", &restore]);
    assert_eq!(text(&world), "three\n");
    world.done(&["redo"]);
    assert_eq!(text(&world), "one\n");
}
