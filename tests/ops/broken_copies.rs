//! Copies of damaged checkpoints: a restore of one leaves alone what it lacks, and refs lead to nothing that is damaged.

use std::fs;

use git_checkpoint::testing::ops::doctor::{self, Options};

use super::broken::{Loss, lose, refs, shadow, text, world};
use crate::support::{World, processes::described};

fn read(world: &World, path: &str) -> String {
    fs::read_to_string(world.repo().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Loses `object` of the live shadow, lets the doctor set it aside, and returns the copy of its newest checkpoint.
fn copy_without(world: &World, object: &str, loss: Loss) -> String {
    lose(world, object, loss);
    world.done(&["doctor", "--fix"]);
    let [archive] = refs(world, "archive").try_into().expect("one is set aside");
    // Git's own index may name what is lost.
    world.git(&["reset", "-q"]);
    world.git(&["rev-parse", &archive]).trim().to_owned()
}

fn assert_nothing_is_left(world: &World) {
    let found = doctor::doctor(&world.context(), Options::default()).expect("it can look");
    assert_eq!(found.problems, []);
    world.git(&["reset", "-q"]);
    world.git(&["gc", "-q", "--prune=now"]);
    world.assert_sound("after gc");
}

#[rstest::rstest]
#[case::an_empty_file("live:q/r/three", "q/r/three", Loss::Empty)]
#[case::a_directory("live:q", "q", Loss::Gone)]
#[case::a_directory_that_earlier_ones_share("live:d/e", "d/e", Loss::Torn)]
fn a_restore_leaves_alone_what_the_copy_lacks(#[case] object: &str, #[case] skipped: &str, #[case] loss: Loss) {
    let world = world();
    let copy = copy_without(&world, object, loss);
    world.write("f", "later\n");
    world.write("new", "new\n");
    world.done(&["restore", "--all", &copy]);
    for (path, content) in [("f", "1\n"), ("q/r/three", "three\n"), ("d/e/one", "one\n"), ("d/e/two", "two\n")] {
        assert_eq!(read(&world, path), content, "{path}");
    }
    assert!(!world.repo().join("new").exists(), "what the copy is known not to have goes");
    let shown = world.json(&["show", "--json", &copy]);
    let names: Vec<_> = shown["skipped"].as_array().expect("a list").iter().map(|it| it["path"].clone()).collect();
    assert!(names.contains(&skipped.into()), "{shown}");
    assert_nothing_is_left(&world);
}

#[test]
fn a_path_that_a_copy_lacks_keeps_its_earlier_content() {
    let world = world();
    world.write("f", "2\n");
    world.done(&["save"]);
    let copy = copy_without(&world, "live:f", Loss::Gone);
    assert_eq!(world.git(&["cat-file", "blob", &format!("{copy}:f")]), "1\n");
    assert_eq!(world.json(&["show", "--json", &copy])["paths"], serde_json::json!([]));
    world.write("f", "later\n");
    let output = world.checkpoint(&["restore", "--json", "--all", &copy]);
    assert_eq!(output.status.code(), Some(1), "nothing was written: {}", described(&output));
    let restored: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((read(&world, "f").as_str(), restored["kept"][0]["path"].as_str()), ("later\n", Some("f")));
}

#[test]
fn a_copy_without_any_file_is_not_restored() {
    let world = world();
    let copy = copy_without(&world, "live^{tree}", Loss::Torn);
    assert!(world.done(&["show", &copy]).contains("without the files"));
    world.write("f", "later\n");
    for arguments in [&["restore", "--all", &*copy][..], &["restore", &copy, "f"], &["restore", "-n", &copy]] {
        let refused = world.checkpoint(arguments);
        assert_eq!(refused.status.code(), Some(128), "{}", described(&refused));
        assert!(text(&refused).contains("list --archived"), "{}", described(&refused));
    }
    assert_eq!((read(&world, "f").as_str(), read(&world, "q/r/three").as_str()), ("later\n", "three\n"));
    assert_nothing_is_left(&world);
}

#[rstest::rstest]
#[case::the_side_commit("live^2")]
#[case::the_side_tree("live^2^{tree}")]
#[case::the_manifest("live^2:manifest.toml")]
fn where_the_manifest_is_lost_a_restore_deletes_nothing(#[case] object: &str) {
    let world = world();
    let copy = copy_without(&world, object, Loss::Gone);
    // It was too large, and is not any more.
    world.git(&["config", "--unset", "checkpoint.save.maxFileSize"]);
    world.write("f", "later\n");
    world.done(&["restore", "--all", &copy]);
    assert_eq!((read(&world, "f").as_str(), read(&world, "big").len()), ("1\n", 40));
    let refused = world.checkpoint(&["restore", "--all", "--staged", &copy]);
    assert_eq!(refused.status.code(), Some(128), "{}", described(&refused));
    assert_nothing_is_left(&world);
}

#[test]
fn a_lost_staged_tree_is_not_taken_for_an_unchanged_index() {
    let world = world();
    let copy = copy_without(&world, "live^2:index/staged", Loss::Gone);
    world.write("f", "later\n");
    world.write("staged", "by now\n");
    world.git(&["add", "staged"]);
    let refused = world.checkpoint(&["restore", "--all", "--staged", &copy]);
    assert_eq!(refused.status.code(), Some(128), "{}", described(&refused));
    assert!(text(&refused).contains("without '--staged'"), "{}", described(&refused));
    world.done(&["restore", "--all", &copy]);
    assert_eq!((read(&world, "f").as_str(), read(&world, "staged").as_str()), ("1\n", "in the file\n"));
    assert_eq!(world.git(&["cat-file", "blob", ":staged"]), "by now\n");
}

#[rstest::rstest]
#[case::of_one_file("live^2:raw/x.txt")]
#[case::of_all("live^2:raw")]
fn exact_bytes_that_are_lost_are_not_replaced_by_others(#[case] object: &str) {
    let world = world();
    world.write(".gitattributes", "*.txt text\n");
    world.write("x.txt", "a\r\nb\r\n");
    world.done(&["save"]);
    let copy = copy_without(&world, object, Loss::Gone);
    world.write("f", "later\n");
    world.done(&["restore", "--all", &copy]);
    assert_eq!((read(&world, "f").as_str(), read(&world, "x.txt").as_str()), ("1\n", "a\r\nb\r\n"));
}

#[rstest::rstest]
#[case::a_file("live:q/r/three", Loss::Gone)]
#[case::a_directory("live:q", Loss::Torn)]
#[case::the_tree("live^{tree}", Loss::Gone)]
#[case::a_tree_before("live~1^{tree}", Loss::Torn)]
#[case::the_side("live^2", Loss::Gone)]
fn the_doctor_moves_every_ref_off_what_is_damaged(#[case] object: &str, #[case] loss: Loss) {
    let world = world();
    let (name, tag) = (shadow(&world), "refs/checkpoints/tags/good");
    let tip = world.git(&["rev-parse", &name]).trim().to_owned();
    world.done(&["verify", &tip]);
    world.git(&["update-ref", tag, &tip]);
    world.write("new", "new\n");
    world.done(&["session", "prompt", "s", "-m", "p"]);
    world.done(&["reset", "--force"]);
    let [archive] = refs(&world, "archive").try_into().expect("it is set aside");
    lose(&world, &object.replace("live", &archive), loss);
    let said = world.checkpoint(&["doctor", "--fix"]);
    assert!(said.status.success(), "{}", described(&said));
    let [renamed] = refs(&world, "archive").try_into().expect("it is still one");
    let copy = world.git(&["rev-parse", &renamed]).trim().to_owned();
    assert!(copy != tip && renamed.ends_with(&copy[..12]), "{renamed}: {copy}");
    for name in [tag, "refs/checkpoints/verified/main"] {
        assert_eq!(world.git(&["rev-parse", name]).trim(), copy, "{name}");
    }
    assert_eq!(refs(&world, "pending").len(), 1);
    assert_nothing_is_left(&world);
    // The user's mark is still the user's: the first of a shadow does not take it.
    world.write("f", "later\n");
    world.done(&["save"]);
    assert_eq!(world.git(&["rev-parse", "refs/checkpoints/verified/main"]).trim(), copy);
}

#[test]
fn of_a_mark_of_which_nothing_can_be_read_the_doctor_says_what_to_do() {
    let world = world();
    lose(&world, "refs/checkpoints/verified/main", Loss::Empty);
    let said = world.checkpoint(&["doctor", "--fix"]);
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(said.contains("nothing of it can be read") && said.contains("git checkpoint verify"), "{said}");
    world.done(&["save", "--allow-empty"]);
    world.done(&["verify"]);
    // What the mark led to is kept, in case its objects come back.
    let found = doctor::doctor(&world.context(), Options::default()).expect("it can look");
    assert!(found.is_sound() && found.problems.iter().all(|it| it.code == "checkpoints-kept"), "{:?}", found.problems);
    world.git(&["gc", "-q", "--prune=now"]);
    world.assert_sound("after gc");
}

#[rstest::rstest]
#[case::a_tree("mine^{tree}", Loss::Gone)]
#[case::a_file("mine:m", Loss::Torn)]
#[case::a_commit("mine^{commit}", Loss::Gone)]
fn a_copy_keeps_the_order_of_several_sessions(#[case] object: &str, #[case] loss: Loss) {
    let world = World::with_commit();
    world.git(&["config", "checkpoint.storage", "session"]);
    for (session, path) in [("mine", "m"), ("other", "o"), ("mine", "n")] {
        world.write(path, format!("{path}\n"));
        world.done(&["save", "--session", session, "--agent", "a"]);
    }
    world.git(&["update-ref", "-d", "refs/checkpoints/verified/main"]);
    let mine = refs(&world, "shadow").into_iter().find(|name| name.ends_with("/mine")).expect("it has its own");
    lose(&world, &object.replace("mine", &format!("{mine}~1")), loss);
    world.done(&["doctor", "--fix"]);
    world.git(&["reset", "-q"]);
    let archives = refs(&world, "archive");
    let logs: Vec<String> =
        archives.iter().map(|name| world.git(&["log", "--format=%s", "--first-parent", name])).collect();
    assert!(logs.iter().any(|log| log.contains("n\n")) && logs.iter().any(|log| log.contains("o\n")), "{logs:?}");
    assert_nothing_is_left(&world);
}

#[rstest::rstest]
fn work_that_was_carried_on_is_still_known(#[values("^{tree}", ":f")] object: &str) {
    let world = World::with_commit();
    world.done(&["session", "prompt", "s", "-m", "p"]);
    for content in ["one\n", "one\ntwo\n"] {
        world.write("f", content);
        world.done(&["save", "--session", "s", "--agent", "a"]);
    }
    world.git(&["commit", "-q", "--allow-empty", "-m", "other"]);
    world.write("g", "g\n");
    world.done(&["save", "--session", "s", "--agent", "a"]);
    let [archive] = refs(&world, "archive").try_into().expect("what was carried on is set aside");
    lose(&world, &format!("{archive}~1{object}"), Loss::Torn);
    world.done(&["doctor", "--fix"]);
    assert_nothing_is_left(&world);
    let listed = world.done(&["list", "--archived", "--json"]);
    assert!(listed.contains(r#""session":"s""#), "{listed}");
}

#[rstest::rstest]
fn a_restored_checkpoint_that_is_damaged_later_stops_nothing(#[values("^{tree}", ":f")] object: &str) {
    let world = World::with_commit();
    for content in ["zero\n", "one\n"] {
        world.write("f", content);
        world.done(&["save", "--session", "s", "--agent", "a"]);
    }
    let target = world.git(&["rev-parse", &shadow(&world)]).trim().to_owned();
    world.write("f", "two\n");
    world.done(&["save", "--session", "s", "--agent", "a"]);
    world.done(&["reset"]);
    let [archive] = refs(&world, "archive").try_into().expect("one is set aside");
    let tip = world.git(&["rev-parse", &archive]).trim().to_owned();
    world.done(&["restore", "--all", &target]);
    lose(&world, &format!("{tip}~2{object}"), Loss::Gone);
    world.done(&["restore", &tip]);
    assert_eq!(read(&world, "f"), "two\n");
    world.write("f", "two\nmine\n");
    world.done(&["save"]);
    // The archive is mended; what the live chain says it has put back is still the old one.
    world.done(&["doctor", "--fix"]);
    world.done(&["attribution", "--worktree"]);
}

#[test]
fn in_a_partial_clone_what_may_be_fetched_is_not_given_up() {
    let world = world();
    let tag = "refs/checkpoints/tags/good";
    let tip = world.git(&["rev-parse", &shadow(&world)]).trim().to_owned();
    world.git(&["update-ref", tag, &tip]);
    world.done(&["reset"]);
    lose(&world, &format!("{tip}:q/r/three"), Loss::Gone);
    lose(&world, "refs/checkpoints/verified/main:d/e/one", Loss::Torn);
    let before = world.git(&["for-each-ref", "refs/checkpoints/"]);
    world.git(&["config", "remote.origin.promisor", "true"]);
    assert_eq!(world.checkpoint(&["doctor", "--fix"]).status.code(), Some(1));
    assert_eq!(world.git(&["for-each-ref", "refs/checkpoints/"]), before);
}

#[test]
fn a_copy_without_any_file_is_neither_compared_nor_verified() {
    let world = world();
    world.done(&["verify"]);
    lose(&world, "live^{tree}", Loss::Gone);
    let fixed = world.done(&["doctor", "--fix"]);
    assert!(fixed.contains("none of the files: mark another checkpoint"), "{fixed}");
    let copy = world.git(&["rev-parse", "refs/checkpoints/verified/main"]).trim().to_owned();
    for command in [&["diff"][..], &["diff", &copy], &["diff", "verified"], &["verify", "--show"], &["verify", &copy]] {
        let refused = world.checkpoint(command);
        assert_eq!(refused.status.code(), Some(128), "{}", described(&refused));
        assert!(text(&refused).contains("list --archived"), "{}", described(&refused));
    }
    world.done(&["save", "--verify"]);
    world.done(&["diff"]);
    assert_nothing_is_left(&world);
}

#[test]
fn of_a_mark_that_was_moved_the_doctor_says_where_it_leads() {
    let world = world();
    world.done(&["verify"]);
    lose(&world, "live:q/r/three", Loss::Torn);
    let fixed = world.done(&["doctor", "--fix"]);
    let line = fixed.lines().find(|line| line.contains("verified/main")).expect("it is mended");
    assert!(line.contains("it leads to a copy of what can be read now"), "{line}");
}

#[test]
fn a_restore_without_the_exact_bytes_warns() {
    let world = world();
    world.write(".gitattributes", "*.txt text\n");
    world.write("x.txt", "a\r\nb\r\n");
    world.done(&["save"]);
    let copy = copy_without(&world, "live^2:raw", Loss::Gone);
    world.write("x.txt", "other\n");
    let restored = world.json(&["restore", "--all", "--json", "-n", &copy]);
    assert_eq!((restored["inexact"].as_bool(), restored["written"][0].as_str()), (Some(true), Some("x.txt")));
    let restored = world.checkpoint(&["restore", "--all", &copy]);
    assert!(text(&restored).contains("exact bytes"), "{}", described(&restored));
    assert_eq!(read(&world, "x.txt"), "a\nb\n");
    world.write("f", "later\n");
    let whole = world.json(&["restore", "--all", "--json", "@{1}"]);
    assert_eq!(whole["inexact"], false, "{whole}");
}
