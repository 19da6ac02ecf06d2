//! What an undo takes back: the last operation that stands. Nothing that was taken back, took back or was interrupted is in its way.

use std::{collections::BTreeMap, fs};

use crate::support::{World, processes::described, program};

/// Returns the refs of checkpoints without the operation logs.
fn refs(world: &World) -> BTreeMap<String, String> {
    let all = world.git(&["for-each-ref", "--format=%(refname) %(objectname)", "refs/checkpoints/"]);
    let pair = |line: &str| line.split_once(' ').map(|(name, id)| (name.to_owned(), id.to_owned()));
    all.lines().filter_map(pair).filter(|(name, _)| !name.contains("/operations/")).collect()
}

fn text(world: &World, name: &str) -> Option<String> {
    fs::read_to_string(world.repo().join(name)).ok()
}

fn save(world: &World, content: &str) -> String {
    world.write("f", content);
    world.json(&["save", "--json"])["id"].as_str().expect("an id").to_owned()
}

fn kill(world: &World, point: &str, line: &[&str]) {
    let died = world.command(program()).args(line).env("CHECKPOINT_FAILPOINT", point).output().expect("it runs");
    assert!(!died.status.success(), "{line:?}: {}", described(&died));
}

fn refused(world: &World, line: &[&str]) -> String {
    let output = world.checkpoint(line);
    assert!(!output.status.success(), "{line:?}: {}", described(&output));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns the command lines that `undo --list` shows.
fn listed(world: &World) -> Vec<String> {
    let list = world.json(&["undo", "--list", "--json"]);
    let list = list["operations"].as_array().expect("a list");
    list.iter().map(|it| it["command"].as_str().expect("a line").to_owned()).collect()
}

/// Returns the first id in `said`.
fn id_in(said: &str) -> String {
    let is_id = |word: &&str| word.len() == 8 && word.bytes().all(|it| it.is_ascii_hexdigit());
    said.split_whitespace().find(is_id).expect("an id").to_owned()
}

/// Runs the last command that a hint in `said` names, which must succeed.
fn follow_hint(world: &World, said: &str) {
    let hint = said.lines().find_map(|line| line.strip_prefix("hint: ")).unwrap_or_else(|| panic!("no hint: {said}"));
    let line: Vec<&str> =
        hint.split('\'').find(|part| part.starts_with("git checkpoint ")).expect("one").split(' ').collect();
    world.done(&line[2..]);
}

/// Returns a world with unsaved work, which a restore has taken away.
fn with_unsaved_work() -> World {
    let world = World::with_commit();
    save(&world, "one\n");
    world.write("f", "two\n");
    world.write("w", "unsaved\n");
    world.done(&["restore", "--all", "@{0}"]);
    assert_eq!((text(&world, "f").as_deref(), text(&world, "w")), (Some("one\n"), None));
    world
}

fn assert_has_work(world: &World) {
    let found = (text(world, "f"), text(world, "w"));
    assert_eq!(found, (Some("two\n".into()), Some("unsaved\n".into())));
}

#[rstest::rstest]
#[case::before_a_file("restore:after-journal")]
#[case::between_files("restore:after-write")]
#[case::at_the_end("restore:before-done")]
fn an_undo_that_was_taken_back_half_way_is_not_used_up(#[case] point: &str) {
    let world = with_unsaved_work();
    let before = refs(&world);
    kill(&world, point, &["undo"]);
    world.done(&["undo"]);
    assert_eq!((text(&world, "f").as_deref(), text(&world, "w")), (Some("one\n"), None));
    assert_eq!(refs(&world), before);
    assert!(refused(&world, &["redo"]).contains("nothing to redo"));
    world.done(&["undo"]);
    assert_has_work(&world);
    world.done(&["redo"]);
    assert_eq!((text(&world, "f").as_deref(), text(&world, "w")), (Some("one\n"), None));
    assert_eq!(refs(&world), before);
    world.done(&["undo"]);
    assert_has_work(&world);
    world.assert_sound("at the end");
}

/// What was to take a half-way state back is done again, and does not bring that state back itself.
#[rstest::rstest]
#[case::again(&["undo"])]
#[case::finished(&["restore", "--continue"])]
fn so_it_is_if_taking_it_back_was_interrupted_too(#[case] line: &[&str]) {
    let world = with_unsaved_work();
    kill(&world, "restore:after-write", &["undo"]);
    kill(&world, "restore:after-journal", &["undo"]);
    world.done(line);
    assert_eq!((text(&world, "f").as_deref(), text(&world, "w")), (Some("one\n"), None));
    world.done(&["undo"]);
    assert_has_work(&world);
    world.assert_sound("at the end");
}

/// What was saved each time that it was tried is no more on the shadow than what is saved once.
#[rstest::rstest]
#[case::of_a_restore(&["restore", "--all", "@{0}"])]
#[case::of_a_way_back(&["op", "restore", "@"])]
fn so_do_the_refs_if_taking_it_back_was_interrupted_too(#[case] line: &[&str]) {
    let world = World::with_commit();
    save(&world, "one\n");
    world.write("f", "two\n");
    world.write("w", "unsaved\n");
    world.done(line);
    let before = refs(&world);
    for _ in 0..2 {
        kill(&world, "restore:after-write", &["undo"]);
    }
    world.done(&["undo"]);
    assert_eq!((text(&world, "f").as_deref(), text(&world, "w")), (Some("one\n"), None));
    assert_eq!(refs(&world), before);
    world.done(&["undo"]);
    assert_has_work(&world);
    world.assert_sound("at the end");
}

/// An undo that was taken back half-way is not what the restore is named after.
#[test]
fn a_restore_can_be_undone_by_its_name_after_a_half_way_undo() {
    let world = with_unsaved_work();
    let restore = world.json(&["op", "log", "--json"])["operations"][0]["id"].as_str().expect("an id").to_owned();
    kill(&world, "restore:after-write", &["undo"]);
    world.done(&["undo"]);
    assert!(!world.done(&["op", "show", &restore]).contains("undone"));
    world.done(&["op", "undo", &restore]);
    assert_has_work(&world);
    world.assert_sound("at the end");
}

#[rstest::rstest]
#[case::before_a_file("restore:after-journal")]
#[case::between_files("restore:after-write")]
fn a_redo_that_was_taken_back_half_way_can_be_redone(#[case] point: &str) {
    let world = with_unsaved_work();
    let redone = refs(&world);
    world.done(&["undo"]);
    let before = refs(&world);
    kill(&world, point, &["redo"]);
    world.done(&["undo"]);
    assert_has_work(&world);
    assert_eq!(refs(&world), before);
    world.done(&["redo"]);
    assert_eq!((text(&world, "f").as_deref(), text(&world, "w")), (Some("one\n"), None));
    assert_eq!(refs(&world), redone);
    world.done(&["undo"]);
    assert_has_work(&world);
    world.assert_sound("at the end");
}

#[test]
fn a_restore_that_was_taken_back_half_way_cannot_be_redone_and_ends_no_redo() {
    let world = with_unsaved_work();
    world.done(&["undo"]);
    let (before, saved) = (refs(&world), world.shadows().remove(0));
    kill(&world, "restore:after-write", &["restore", "--all", &saved]);
    let killed = world.json(&["op", "log", "--json"])["operations"][0]["id"].as_str().expect("an id").to_owned();
    world.done(&["undo"]);
    assert_has_work(&world);
    assert_eq!(refs(&world), before);
    assert!(refused(&world, &["op", "undo", &killed]).contains("was interrupted"));
    assert!(refused(&world, &["op", "undo", "@{0}"]).contains("was interrupted"));
    assert_eq!(listed(&world), ["git checkpoint undo"]);
    world.done(&["redo"]);
    assert_eq!((text(&world, "f").as_deref(), text(&world, "w")), (Some("one\n"), None));
}

/// Versions before this one did not mark what is half-way in the log.
#[test]
fn so_it_is_with_one_that_an_earlier_version_has_begun() {
    let world = World::with_commit();
    save(&world, "one\n");
    world.write("f", "two\n");
    world.write("w", "unsaved\n");
    kill(&world, "restore:after-write", &["restore", "--all", "@{0}"]);
    let log = "refs/checkpoints/operations/main";
    world.sh(&format!(
        "git cat-file commit {log} | sed '/^Operation-Nonce/d; /^Operation-Unfinished/d' >entry; \
         git update-ref {log} $(git hash-object -t commit -w entry); rm entry"
    ));
    assert_eq!(listed(&world).len(), 1);
    world.done(&["undo"]);
    assert_has_work(&world);
    assert!(refused(&world, &["redo"]).contains("nothing to redo"));
    refused(&world, &["undo"]);
    assert_has_work(&world);
    world.assert_sound("at the end");
}

/// What no checkpoint can hold stays, and the undo does not say that it is done.
#[test]
fn an_undo_that_keeps_all_paths_is_not_done() {
    let world = World::with_commit();
    world.git(&["config", "checkpoint.save.max-file-size", "1KiB"]);
    world.write("x", "saved\n");
    world.done(&["save", "-q"]);
    world.done(&["restore", "-q", "base"]);
    world.write("x", "x".repeat(3000));
    for line in [&["undo"][..], &["undo", "--all"]] {
        let output = world.checkpoint(line);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{line:?}: {said}");
        assert!(said.contains("nothing restored: 1 path kept") && !said.contains("undone:"), "{line:?}: {said}");
        assert_eq!(text(&world, "x").map(|text| text.len()), Some(3000), "{line:?}");
    }
    fs::remove_file(world.repo().join("x")).expect("it is there");
    world.done(&["undo"]);
    assert_eq!(text(&world, "x").as_deref(), Some("saved\n"));
}

/// What a person has not saved would count as the session's afterwards.
#[rstest::rstest]
#[case::drop("drop -q -f @{0}", "undo")]
#[case::reset("reset -q", "undo")]
#[case::redo("drop -q -f @{0} && git checkpoint undo -q", "redo")]
fn no_shadow_moves_back_while_a_turn_is_open(#[case] before: &str, #[case] command: &str) {
    let world = World::with_commit();
    world.done(&["enable"]);
    world.write("h", "h\n");
    world.done(&["save", "-q"]);
    world.write("g", "1\n");
    world.done(&["save", "-q"]);
    world.write("f", "base\nhuman\n");
    world.sh(&format!("git checkpoint {before}"));
    world.done(&["session", "prompt", "s1", "--agent", "claude-code", "-m", "go on"]);
    let said = refused(&world, &[command]);
    assert!(said.contains("a session has a turn under way") && said.contains("session stop"), "{said}");
    world.write("a", "agent\n");
    world.done(&["session", "stop", "s1"]);
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "all"]);
    assert_eq!(world.json(&["blame", "--json", "a"])["lines"][0]["owner"], "agent");
    let blame = world.json(&["blame", "--json", "f"]);
    assert_eq!(blame["lines"][1]["owner"], "human");
}

#[test]
fn an_undo_is_not_in_the_way_of_the_next_one() {
    let world = World::with_commit();
    let base = text(&world, "f");
    save(&world, "work\n");
    let first = (refs(&world), text(&world, "f"));
    world.done(&["restore", "base"]);
    assert_eq!(text(&world, "f"), base);
    let restored = refs(&world);
    world.done(&["reset"]);
    let reset = refs(&world);
    world.done(&["op", "restore", "@{1}"]);
    world.done(&["undo"]);
    assert_eq!(refs(&world), reset);
    world.done(&["undo"]);
    assert_eq!((refs(&world), text(&world, "f")), (restored, base));
    world.done(&["undo"]);
    assert_eq!((refs(&world), text(&world, "f")), first);
    for _ in 0..3 {
        world.done(&["redo"]);
    }
    world.assert_sound("at the end");
}

/// What an agent has written stays saved when a restore is undone, and is in the archive when the reset before it is.
#[test]
fn nor_is_what_was_saved_for_an_operation_that_is_undone() {
    let world = World::with_commit();
    world.done(&["session", "start", "s1", "--agent", "claude-code"]);
    world.done(&["session", "prompt", "-q", "s1", "-m", "go"]);
    world.write("f", "of the agent\n");
    world.done(&["session", "stop", "-q", "s1"]);
    let first = refs(&world);
    world.done(&["reset"]);
    world.done(&["restore", "base"]);
    world.done(&["undo"]);
    world.done(&["undo"]);
    assert_eq!(text(&world, "f").as_deref(), Some("of the agent\n"));
    let mut now = refs(&world);
    now.retain(|name, _| first.contains_key(name) || !name.contains("/archive/"));
    assert_eq!(now, first);
    assert!(world.done(&["blame", "f"]).contains("claude-code"));
    world.assert_sound("at the end");
}

#[test]
fn undo_does_what_its_list_shows() {
    let world = World::with_commit();
    save(&world, "one\n");
    world.done(&["restore", "@{0}"]);
    assert_eq!(listed(&world), [""; 0]);
    let nothing = "nothing to undo in this worktree yet";
    assert!(refused(&world, &["undo"]).contains(nothing));
    save(&world, "a secret text\n");
    world.done(&["restore", "@{1}"]);
    world.done(&["undo"]);
    world.remove("f");
    world.done(&["save"]);
    world.done(&["purge", "--force", "a secret text"]);
    assert_eq!(listed(&world), [""; 0]);
    for line in [vec!["undo"], vec!["undo", "--all"], vec!["redo"]] {
        refused(&world, &line);
        assert_eq!(text(&world, "f"), None, "{line:?}");
    }
}

#[test]
fn what_stands_in_the_way_is_named_with_what_helps() {
    let world = World::with_commit();
    let one = save(&world, "one\n");
    world.done(&["reset"]);
    save(&world, "two\n");
    world.done(&["restore", "base"]);
    world.done(&["undo"]);
    let said = refused(&world, &["undo"]);
    assert!(said.contains("nothing is left to undo") && said.contains("'git checkpoint save --json'"), "{said}");
    let said = refused(&world, &["op", "undo", &id_in(&said)]);
    assert!(said.contains("has moved since") && said.contains("op restore"), "{said}");
    follow_hint(&world, &said);
    assert!(refs(&world).iter().any(|(name, id)| name.contains("/shadow/") && *id == one));
}

#[test]
fn where_a_reset_does_not_help_op_restore_is_named() {
    let world = World::with_commit();
    save(&world, "one\n");
    let dropped = save(&world, "two\n");
    let last = save(&world, "three\n");
    world.done(&["drop", "--force", &dropped]);
    save(&world, "four\n");
    let said = refused(&world, &["undo"]);
    assert!(said.contains("nothing is left to undo"), "{said}");
    let said = refused(&world, &["op", "undo", &id_in(&said)]);
    follow_hint(&world, &said);
    assert_eq!(text(&world, "f").as_deref(), Some("three\n"));
    assert!(refs(&world).iter().any(|(name, id)| name.contains("/shadow/") && *id == last));
}

#[test]
fn a_later_operation_that_stands_is_to_be_undone_first() {
    let world = World::with_commit();
    save(&world, "one\n");
    world.done(&["verify"]);
    let verify = world.json(&["op", "log", "--json"])["operations"][0]["id"].as_str().expect("an id").to_owned();
    save(&world, "two\n");
    world.done(&["verify"]);
    let said = refused(&world, &["op", "undo", &verify]);
    assert!(said.contains("'git checkpoint op undo"), "{said}");
    follow_hint(&world, &said);
    world.done(&["op", "undo", &verify]);
    assert!(!refs(&world).keys().any(|name| name.contains("/verified/")));
}

/// The checkpoint after the restore knows that the directory is no longer empty: otherwise the undo would find a change.
#[rstest::rstest]
#[case::at_once("true")]
#[case::after_another_one("git checkpoint verify -q --reset && git checkpoint undo -q")]
fn the_shadow_goes_back_if_a_directory_was_empty(#[case] between: &str) {
    let world = World::with_commit();
    world.write("d/x", "x\n");
    world.git(&["add", "-A"]);
    world.git(&["commit", "-q", "-m", "d"]);
    world.sh("rm d/x && git checkpoint save -q");
    let before = refs(&world);
    world.done(&["restore", "-q", "--all", "HEAD"]);
    assert!(text(&world, "d/x").is_some());
    world.sh(between);
    world.done(&["undo", "-q"]);
    assert_eq!((refs(&world), text(&world, "d/x")), (before, None));
}

#[test]
fn words() {
    let world = World::with_commit();
    let one = save(&world, "one\n");
    world.done(&["verify"]);
    let said = world.done(&["undo", "--dry-run"]);
    assert!(said.contains("would no longer be verified:"), "{said}");
    world.done(&["reset"]);
    let said = world.done(&["undo"]);
    assert!(said.contains("\nno longer in the archive: checkpoints up to ") && !said.contains("refs/"), "{said}");
    assert!(said.starts_with("live: checkpoints up to "), "{said}");
    world.done(&["reset"]);
    let planned = world.done(&["op", "restore", "--dry-run", "@{1}"]);
    assert!(planned.contains("would ") && !planned.contains("deleted"), "{planned}");
    let said = world.done(&["op", "restore", "@{1}"]);
    assert!(said.contains("no file had to change") && !said.contains("nothing to do"), "{said}");
    let said = world.done(&["undo"]);
    assert!(!said.contains("nothing to do"), "{said}");
    let said = world.done(&["list"]);
    assert!(!said.contains("before it"), "{said}");
    world.write("f", "unsaved\n");
    world.done(&["restore", "--all", &one]);
    let said = world.done(&["list"]);
    assert!(said.contains("[1 more before it]"), "{said}");
}

/// An undo deletes no file that saves skip: no checkpoint has it, so no redo could bring it back.
#[rstest::rstest]
#[case::too_large("save.max-file-size", "3", "too large")]
#[case::in_a_directory_of_too_many("save.max-untracked-files", "1", "too many new files")]
fn a_file_that_is_skipped_stays_where_a_restore_wrote_it(#[case] key: &str, #[case] value: &str, #[case] why: &str) {
    let world = World::with_commit();
    world.sh("mkdir d; echo big content >d/big; echo other >d/other; git checkpoint save -q; rm -r d; git checkpoint restore -q @{0}");
    world.done(&["config", "set", key, value]);
    let said = described(&world.checkpoint(&["undo"]));
    assert!(said.contains(&format!("kept     d/big (skipped: {why}")), "{said}");
    assert_eq!(fs::read(world.repo().join("d/big")).expect("it is there"), b"big content\n");
}

/// Empty directories are paths like others: an undo removes those that the restore made, and says so; a redo makes them again.
#[rstest::rstest]
#[case::alone("true")]
#[case::with_a_file("echo d >>f")]
#[case::in_place_of_a_file("echo d >g")]
fn empty_directories_are_undone_and_redone(#[case] script: &str) {
    let world = World::with_commit();
    world.sh("mkdir g; mkdir -p deep/inner; echo c >>f; git checkpoint save -q -m A; rmdir g deep/inner");
    world.sh(script);
    let there = || ["g", "deep/inner"].map(|path| world.repo().join(path).is_dir());
    world.done(&["restore", "@"]);
    assert_eq!(there(), [true, true]);
    for _ in 0..2 {
        let would = described(&world.checkpoint(&["undo", "-n"]));
        let said = described(&world.checkpoint(&["undo"]));
        assert_eq!(there(), [false, false], "{said}");
        assert!(said.contains("deleted  deep/inner/\n"), "{said}");
        assert!(would.contains("would delete deep/inner/\n"), "{would}");
        assert!(said.contains("undone: ") && !said.contains("no file had to change"), "{said}");
        let shown = world.done(&["op", "show", "@"]);
        assert!(shown.contains("    deep/inner\n"), "{shown}");
        let would = described(&world.checkpoint(&["redo", "-n"]));
        let said = described(&world.checkpoint(&["redo"]));
        assert_eq!(there(), [true, true], "{said}");
        assert!(
            said.contains("written  deep/inner/\n") && would.contains("would write deep/inner/\n"),
            "{would}{said}"
        );
    }
    // What is not empty by now stays.
    world.sh("echo mine >deep/inner/mine");
    let said = described(&world.checkpoint(&["undo"]));
    assert_eq!(there(), [false, true], "{said}");
    assert!(!said.contains("deep/inner"), "{said}");
    world.assert_sound("at the end");
}

/// An undo leaves the directories above as they were before the restore.
#[rstest::rstest]
#[case::not_there("rm -r deep", &[])]
#[case::empty("rmdir deep/a/b deep/a", &["deep"])]
#[case::with_an_empty_one("rmdir deep/a/b; mkdir deep/a/c", &["deep", "deep/a", "deep/a/c"])]
#[case::with_an_ignored_file("rmdir deep/a/b; echo x >deep/a/ignored", &["deep", "deep/a"])]
fn directories_above_an_empty_one_are_undone(#[case] script: &str, #[case] expected: &[&str]) {
    let world = World::with_commit();
    world.sh("echo ignored >.git/info/exclude; mkdir -p deep/a/b; echo c >>f; git checkpoint save -q");
    world.sh(script);
    let there = || -> Vec<&str> {
        let all = ["deep", "deep/a", "deep/a/b", "deep/a/c"];
        all.into_iter().filter(|path| world.repo().join(path).is_dir()).collect()
    };
    world.done(&["restore", "-q", "@"]);
    let restored = there();
    assert!(restored.contains(&"deep/a/b"), "{restored:?}");
    for _ in 0..2 {
        world.done(&["undo", "-q"]);
        assert_eq!(there(), expected);
        world.done(&["redo", "-q"]);
        assert_eq!(there(), restored);
    }
}

/// A directory that the undo has not removed is not made by the redo.
#[test]
fn a_redo_makes_no_directory_that_a_person_has_removed() {
    let world = World::with_commit();
    world.sh("echo c >>f; mkdir mine; git checkpoint save -q -m A; echo d >>f; git checkpoint restore -q @");
    world.done(&["undo"]);
    world.sh("rmdir mine");
    world.done(&["redo"]);
    assert!(!world.repo().join("mine").exists());
}

/// An undo that was interrupted after it removed a directory is finished, and redone.
#[rstest::rstest]
fn an_interrupted_undo_of_a_directory_is_finished_or_taken_back(
    #[values("restore:after-journal", "restore:after-steps", "restore:before-done", "restore:after-done")]
    failpoint: &str,
    #[values(true, false)] is_continued: bool,
) {
    let world = World::with_commit();
    world.sh("mkdir g; echo c >>f; git checkpoint save -q -m A; rmdir g; echo d >>f; git checkpoint restore -q @");
    let there = || world.repo().join("g").is_dir();
    assert!(there());
    let killed = world.start_with(&["undo"], failpoint).wait();
    assert!(!killed.expect("it ends").success());
    if failpoint == "restore:after-done" {
        world.done(&["redo"]);
        assert!(there());
        return;
    }
    if is_continued {
        world.done(&["restore", "--continue"]);
        assert!(!there());
        world.done(&["redo"]);
    } else {
        world.done(&["undo"]);
    }
    assert!(there());
    world.done(&["undo"]);
    assert!(!there());
}
