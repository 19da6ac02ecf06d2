//! Another program acts between two steps of a restore: each step in turn, with each way of saving a file.

use std::{
    fs,
    path::PathBuf,
    process::{Child, Output},
    time::{Duration, Instant},
};

use crate::support::{
    World,
    processes::{described, kill_after, signal},
};

/// What the other program does while the restore is halted.
type Act = fn(&World);

fn path(world: &World) -> PathBuf {
    world.repo().join("f")
}

fn nothing(_: &World) {}

fn save(world: &World, text: &str) {
    let spare = world.root().join("spare");
    fs::write(&spare, text).expect("written");
    fs::rename(spare, path(world)).expect("renamed");
}

fn save_first(world: &World) {
    save(world, "saved first\n");
}

fn save_second(world: &World) {
    save(world, "saved second\n");
}

fn save_third(world: &World) {
    save(world, "saved third\n");
}

fn delete(world: &World) {
    fs::remove_file(path(world)).expect("removed");
}

fn delete_and_save(world: &World) {
    delete(world);
    save_second(world);
}

/// Keeps the size and the time, as a write within one tick of the clock may.
fn write_in_place(world: &World) {
    let metadata = fs::metadata(path(world)).expect("there");
    let file = fs::File::options().write(true).open(path(world)).expect("opened");
    std::io::Write::write_all(&mut &file, b"NOW\n").expect("written");
    file.set_modified(metadata.modified().expect("it has a time")).expect("set");
}

/// Writes through a name that is not the one of the restore's: as a program that has had the file open for long.
fn write_to_old_file(world: &World) {
    fs::write(world.root().join("open"), "WAS\n").expect("written");
}

/// Returns a world with the file `f`, and a checkpoint in which it is `then`, or is not there.
fn repository(is_deletion: bool) -> (World, String) {
    let world = World::with_commit();
    if is_deletion {
        fs::remove_file(path(&world)).expect("it is there");
    } else {
        world.write("f", "then\n");
    }
    let saved = world.json(&["save", "--json", "--allow-empty"]);
    world.write("f", "now\n");
    fs::hard_link(path(&world), world.root().join("open")).expect("linked");
    (world, saved["id"].as_str().expect("an id").to_owned())
}

/// Waits until `child` has halted itself or ended; returns true if it has halted.
fn has_halted(child: &mut Child) -> bool {
    let start = Instant::now();
    loop {
        let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap_or_default();
        match stat.rsplit(") ").next().and_then(|rest| rest.chars().next()) {
            Some('T') => return true,
            Some('Z') => return false,
            _ => assert!(start.elapsed() < Duration::from_secs(20), "it neither halts nor ends"),
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Restores `target`, with each of `acts` in turn while it is halted between two steps.
fn restore(world: &World, target: &str, acts: &[Act]) -> Output {
    let mut child = world.start_with(&["restore", "--all", "--json", target], "stop@rename:*");
    let mut acts = acts.iter();
    while has_halted(&mut child) {
        acts.next().unwrap_or(&(nothing as Act))(world);
        signal(&child, "CONT");
        // Until it runs again.
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(acts.count(), 0, "it has halted as often as there are acts");
    child.wait_with_output().expect("it ends")
}

/// Returns `name=content` of all files in the worktree.
fn files(world: &World) -> Vec<String> {
    let entries = fs::read_dir(world.repo()).expect("readable").flatten().filter(|entry| entry.file_name() != ".git");
    let text = |path: PathBuf| fs::read_to_string(path).expect("text").trim_end().to_owned();
    let mut files: Vec<_> =
        entries.map(|entry| format!("{}={}", entry.file_name().to_string_lossy(), text(entry.path()))).collect();
    files.sort();
    files
}

const KEPT: &str = "f.git-checkpoint-conflict-1";

/// The steps of a replacement: before the exchange, after it, before each way back, after it.
#[rstest::rstest]
#[case::undisturbed(&[], &["f=then"])]
#[case::saved_before(&[save_first as Act], &["f=saved first"])]
#[case::saved_before_and_after(&[save_first as Act, save_second], &["f=saved second", "=saved first"])]
// The first save is the one that the program itself has replaced by the third.
#[case::saved_three_times(&[save_first as Act, save_second, nothing, save_third], &["f=saved third", "=saved second"])]
#[case::saved_before_the_way_back(&[save_first as Act, nothing, save_second], &["f=saved second", "=saved first"])]
#[case::saved_after_the_way_back(&[save_first as Act, nothing, nothing, save_second], &["f=saved second"])]
#[case::saved_after(&[nothing as Act, save_first], &["f=saved first"])]
#[case::saved_and_deleted(&[save_first as Act, delete], &["=saved first"])]
#[case::deleted(&[delete as Act], &[])]
#[case::deleted_and_created(&[save_first as Act, delete_and_save], &["f=saved second", "=saved first"])]
#[case::written_in_place(&[write_in_place as Act], &["f=NOW"])]
#[case::written_in_place_twice(&[write_in_place as Act, write_in_place], &["f=NOW", "=NOW"])]
#[case::open_file_written(&[nothing as Act, write_to_old_file], &["f=WAS"])]
#[case::open_file_written_and_saved(&[nothing as Act, write_to_old_file, save_first], &["f=saved first", "=WAS"])]
#[cfg_attr(not(feature = "failpoints"), ignore = "needs the feature 'failpoints'")]
fn a_file_that_is_replaced(#[case] acts: &[Act], #[case] expected: &[&str]) {
    check(false, acts, expected);
}

/// The steps of a removal: before it is renamed, after it, before the way back.
#[rstest::rstest]
#[case::undisturbed(&[], &[])]
#[case::saved_before(&[save_first as Act], &["f=saved first"])]
#[case::saved_before_and_after(&[save_first as Act, save_second], &["f=saved second", "=saved first"])]
#[case::saved_before_the_way_back(&[save_first as Act, nothing, save_second], &["f=saved second", "=saved first"])]
#[case::created_after(&[nothing as Act, save_first], &["f=saved first"])]
#[case::deleted(&[delete as Act], &[])]
#[case::written_in_place(&[write_in_place as Act], &["f=NOW"])]
#[case::open_file_written(&[nothing as Act, write_to_old_file], &["f=WAS"])]
#[cfg_attr(not(feature = "failpoints"), ignore = "needs the feature 'failpoints'")]
fn a_file_that_is_removed(#[case] acts: &[Act], #[case] expected: &[&str]) {
    check(true, acts, expected);
}

/// `=text` in `expected` is a file that was kept beside `f`.
fn check(is_deletion: bool, acts: &[Act], expected: &[&str]) {
    let (world, target) = repository(is_deletion);
    let restored = restore(&world, &target, acts);
    let said: serde_json::Value = serde_json::from_slice(&restored.stdout).expect("JSON");
    let full = |file: &&str| if file.starts_with('=') { format!("{KEPT}{file}") } else { (*file).to_owned() };
    let mut expected: Vec<String> = expected.iter().map(full).collect();
    expected.sort();
    assert_eq!(files(&world), expected, "{}", described(&restored));
    let kept: Vec<_> = said["conflicts"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|conflict| conflict["kept_as"].as_str())
        .collect();
    let is_kept = expected.iter().any(|file| file.starts_with(KEPT));
    assert_eq!(kept, if is_kept { vec![KEPT] } else { vec![] }, "{said}");
    let is_whole = said["conflicts"].as_array().expect("a list").is_empty();
    assert_eq!(restored.status.code(), Some(i32::from(!is_whole)), "{said}");
    // What is at the name by then is seen by the next save, and by git.
    let saved = world.json(&["save", "--json", "--allow-empty"]);
    assert_eq!(saved["tree"], world.tree().to_string());
    assert_eq!(world.leftovers(), Vec::<PathBuf>::new());
}

/// A restore that is killed between two steps, with something that another program has saved under a temporary name.
#[rstest::rstest]
#[case::what_was_saved_before(Some(save_first as Act), None, Some("saved first"))]
#[case::what_was_written_since(None, Some(write_to_old_file as Act), Some("WAS"))]
#[case::what_the_checkpoint_holds(None, None, None)]
#[cfg_attr(not(feature = "failpoints"), ignore = "needs the feature 'failpoints'")]
fn a_killed_restore_keeps_a_file_that_another_program_saved(
    #[case] before: Option<Act>,
    #[case] since: Option<Act>,
    #[case] aside: Option<&str>,
    #[values(false, true)] is_deletion: bool,
    #[values(false, true)] goes_on: bool,
) {
    let (world, target) = repository(is_deletion);
    let mut child = world.start_with(&["restore", "--all", &target], "stop@rename:*");
    assert!(has_halted(&mut child), "just before the file gives way");
    before.unwrap_or(nothing)(&world);
    signal(&child, "CONT");
    std::thread::sleep(Duration::from_millis(5));
    assert!(has_halted(&mut child), "just after");
    drop(kill_after(child, Duration::ZERO));
    assert_eq!(world.leftovers().len(), 1, "its temporary file is left");
    since.unwrap_or(nothing)(&world);
    let then = world.checkpoint(if goes_on { &["restore", "--continue", "--json"] } else { &["undo", "--json"] });
    let said: serde_json::Value = serde_json::from_slice(&then.stdout).expect("JSON");
    let mut expected: Vec<String> = aside.iter().map(|text| format!("{KEPT}={text}")).collect();
    match (goes_on, is_deletion) {
        (true, true) => {}
        (true, false) => expected.push("f=then".into()),
        (false, _) => expected.push("f=now".into()),
    }
    assert_eq!(files(&world), expected, "{}", described(&then));
    let conflicts = said["conflicts"].as_array().expect("a list").iter();
    let kept: Vec<_> = conflicts.filter_map(|conflict| conflict["kept_as"].as_str()).collect();
    assert_eq!(kept, aside.map(|_| KEPT).into_iter().collect::<Vec<_>>());
    assert_eq!(then.status.code(), Some(i32::from(aside.is_some())), "{}", described(&then));
}
