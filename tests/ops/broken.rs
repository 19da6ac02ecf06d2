//! Objects that are gone or damaged behind a live shadow: no command stops for it, and what can be read stays reachable.

use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf, process::Output};

use git_checkpoint::{
    SaveOptions,
    testing::ops::doctor::{self, Options},
};

use crate::support::{World, processes::described, template::Template};

/// A repository with two commits and two checkpoints, of which none holds a large file, and the first is verified.
static TWO_CHECKPOINTS: Template = Template::new(|world| {
    world.commit_base();
    world.write("d/e/c", "c\n");
    world.commit_all("more");
    world.git(&["config", "checkpoint.save.maxFileSize", "30"]);
    for (number, path) in ["one", "two"].iter().enumerate() {
        world.write("f", format!("{number}\n"));
        world.write(&format!("d/e/{path}"), format!("{path}\n"));
        world.done(if number == 0 { &["save", "--verify"] } else { &["save"] });
    }
});

/// Three checkpoints; the last one adds a directory, stages what is in no file, and skips something.
pub(super) fn world() -> World {
    let world = TWO_CHECKPOINTS.world();
    world.write("q/r/three", "three\n");
    world.write("staged", "staged\n");
    world.git(&["add", "staged"]);
    world.write("staged", "in the file\n");
    fs::write(world.repo().join("big"), vec![b'x'; 40]).expect("files can be written");
    world.done(&["save"]);
    world
}

pub(super) fn refs(world: &World, prefix: &str) -> Vec<String> {
    let names = world.git(&["for-each-ref", "--format=%(refname)", &format!("refs/checkpoints/{prefix}/")]);
    names.lines().map(Into::into).collect()
}

pub(super) fn shadow(world: &World) -> String {
    refs(world, "shadow").pop().expect("there is one")
}

/// How an object is lost. One place decides what is found then, for all kinds of objects: the table of `git::loose` has all of
/// these for each kind of object, and the cases below have each once or twice.
#[derive(Clone, Copy, Debug)]
pub(super) enum Loss {
    Gone,
    Empty,
    Torn,
    /// One bit in the middle is another.
    Flipped,
    /// All of it is there, and the checksum at the end is not.
    Unended,
    /// All of it is there, and the checksum at the end is another.
    WrongSum,
}

/// Loses the object that git knows as `name`, where `live` is the shadow.
pub(super) fn lose(world: &World, name: &str, loss: Loss) {
    let name = if name.contains("live") { name.replace("live", &shadow(world)) } else { name.to_owned() };
    let id = world.git(&["rev-parse", &name]).trim().to_owned();
    let path: PathBuf = world.repo().join(".git/objects").join(&id[..2]).join(&id[2..]);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("it is loose");
    match loss {
        Loss::Gone => fs::remove_file(&path).expect("it is loose"),
        Loss::Empty => fs::write(&path, "").expect("it is loose"),
        Loss::Torn | Loss::Flipped | Loss::Unended | Loss::WrongSum => {
            let mut bytes = fs::read(&path).expect("it is loose");
            let length = bytes.len();
            match loss {
                Loss::Torn => bytes.truncate(length - 6),
                Loss::Flipped => bytes[length / 2] ^= 0x55,
                Loss::Unended => bytes.truncate(length - 4),
                _ => bytes[length - 1] ^= 0x55,
            }
            fs::write(&path, bytes).expect("it is loose");
        }
    }
}

pub(super) fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Checks that `save` takes everything, that git finds nothing missing, and that no message repeats.
pub(super) fn assert_goes_on(world: &World) {
    world.write("f", "after\n");
    world.done(&["save"]);
    let live = shadow(world);
    for (path, content) in [("f", "after\n"), ("d/e/one", "one\n"), ("q/r/three", "three\n")] {
        assert_eq!(world.git(&["cat-file", "blob", &format!("{live}:{path}")]), content);
    }
    world.assert_sound("after a save");
    assert_eq!(world.git(&["rev-list", "--objects", "--missing=print", "--quiet", "--all"]), "");
    world.write("f", "later\n");
    let again = world.checkpoint(&["save"]);
    assert!(again.status.success() && !text(&again).contains("broken"), "{}", described(&again));
}

#[rstest::rstest]
#[case::the_commit("live", "two", Loss::Gone)]
#[case::the_torn_tree("live^{tree}", "three", Loss::Torn)]
#[case::the_side_commit("live^2", "three", Loss::Empty)]
#[case::the_side_tree("live^2^{tree}", "three", Loss::Torn)]
#[case::the_manifest("live^2:manifest.toml", "three", Loss::Gone)]
fn the_next_save_sets_a_broken_chain_aside(#[case] object: &str, #[case] newest: &str, #[case] loss: Loss) {
    let world = world();
    let (facts, before) = (world.facts(), shadow(&world));
    lose(&world, object, loss);
    world.write("new", "new\n");
    let saved = world.checkpoint(&["save", "--json"]);
    assert!(saved.status.success(), "{}", described(&saved));
    let [archive] = refs(&world, "archive").try_into().expect("one is set aside");
    assert!(text(&saved).contains("warning: ") && text(&saved).contains(&archive), "{}", described(&saved));
    let json: serde_json::Value = serde_json::from_slice(&saved.stdout).expect("JSON");
    assert_eq!(
        (json["broken"][0]["shadow"].as_str(), json["broken"][0]["archive"].as_str()),
        (Some(&*before), Some(&*archive))
    );
    assert_eq!(world.facts(), facts);
    // All that can be read is there: whole checkpoints as they were.
    let log = world.git(&["log", "--first-parent", "--format=%s", &archive]);
    assert!(log.contains("d/e/one") && log.contains("d/e/two"), "{log}");
    assert_eq!(world.git(&["cat-file", "blob", &format!("{archive}:d/e/two")]), "two\n");
    if newest == "three" && !object.ends_with("{tree}") {
        assert_eq!(world.git(&["cat-file", "blob", &format!("{archive}:q/r/three")]), "three\n");
    }
    let events = world.done(&["events", "--json"]);
    assert_eq!(events.matches(r#""event":"broken""#).count(), 1, "{events}");
    assert_goes_on(&world);
}

#[rstest::rstest]
#[case::paths(&["save", "--paths", "new"], "live")]
#[case::paths_without_the_tree(&["save", "--paths", "new"], "live^{tree}")]
#[case::paths_without_the_side(&["save", "--paths", "new"], "live^2")]
#[case::prompt(&["session", "prompt", "s", "-m", "p"], "live")]
#[case::prompt_without_the_side(&["session", "prompt", "s", "-m", "p"], "live^2")]
#[case::start(&["session", "start", "s"], "live^{tree}")]
#[case::verify(&["save", "--verify"], "live^2")]
#[case::restore(&["restore", "--all", "verified"], "live")]
#[case::restore_without_the_tree(&["restore", "--all", "verified"], "live^{tree}")]
#[case::reset(&["reset"], "live^2")]
#[case::reset_without_the_commit(&["reset"], "live")]
#[case::forced_reset(&["reset", "--force"], "live^{tree}")]
#[case::doctor(&["doctor", "--fix"], "live")]
#[case::doctor_without_the_tree(&["doctor", "--fix"], "live^{tree}")]
fn every_command_that_writes_works_with_a_broken_shadow(#[case] command: &[&str], #[case] object: &str) {
    let world = world();
    world.write("new", "new\n");
    lose(&world, object, Loss::Empty);
    let output = world.checkpoint(command);
    assert!(output.status.success(), "{}", described(&output));
    assert!(text(&output).contains("is broken"), "{}", described(&output));
    let held = world.held();
    for content in ["one\n", "two\n"] {
        assert!(held.contains(content.as_bytes()), "{content}");
    }
    let is_save = command[0] == "save";
    assert!(!is_save || held.contains(b"in the file\n".as_slice()), "the whole worktree is taken");
    world.write("f", "later\n");
    world.done(&["save"]);
    world.assert_sound("at the end");
}

/// Nothing has changed since the last checkpoint, which is whole.
#[rstest::rstest]
#[case::the_tree("live^^{tree}")]
#[case::a_directory("live^:d")]
fn a_save_of_nothing_needs_only_the_last_checkpoint(#[case] lost: &str) {
    let world = world();
    world.remove("d/e/c");
    world.done(&["save"]);
    world.write("d/e/c", "again\n");
    let last = world.json(&["save", "--json"]);
    lose(&world, lost, Loss::Gone);
    let saved = world.json(&["save", "--json"]);
    assert_eq!((&saved["created"], &saved["id"]), (&false.into(), &last["id"]), "{saved}");
}

#[rstest::rstest]
#[case::the_commit("live", Loss::Gone)]
#[case::its_tree("live^{tree}", Loss::Empty)]
#[case::a_directory("live:q", Loss::Gone)]
#[case::a_commit_before("live^", Loss::Empty)]
#[case::a_tree_before("live^^{tree}", Loss::Gone)]
fn commands_that_read_show_what_they_can(#[case] object: &str, #[case] loss: Loss) {
    let world = world();
    lose(&world, object, loss);
    for command in [&["status"][..], &["status", "--json"], &["list"], &["list", "--json"]] {
        let output = world.checkpoint(command);
        assert!(output.status.success(), "{command:?}: {}", described(&output));
    }
    assert!(world.json(&["status", "--json"])["broken"].is_string());
    let doctor = world.checkpoint(&["doctor"]);
    let said = String::from_utf8_lossy(&doctor.stdout).into_owned() + &text(&doctor);
    assert_eq!(doctor.status.code(), Some(1), "{said}");
    assert!(said.contains("doctor --fix") && !said.contains("update-ref"), "{said}");
}

#[rstest::rstest]
#[case::a_torn_directory("live:q", Loss::Torn)]
#[case::a_file("live:q/r/three", Loss::Gone)]
#[case::what_was_staged("live^2:index/staged", Loss::Empty)]
#[case::a_commit_before("live^", Loss::Torn)]
#[case::a_tree_before("live^^{tree}", Loss::Gone)]
#[case::a_file_before("live^:d/e/two", Loss::Empty)]
fn the_doctor_sets_aside_what_no_save_looks_at(#[case] object: &str, #[case] loss: Loss) {
    let world = world();
    lose(&world, object, loss);
    let fixed = world.done(&["doctor", "--fix"]);
    assert!(fixed.contains("fixed: "), "{fixed}");
    let found = doctor::doctor(&world.context(), Options::default()).expect("it can look");
    assert_eq!(found.problems, []);
    let [archive] = refs(&world, "archive").try_into().expect("one is set aside");
    let log = world.git(&["log", "--first-parent", "--format=%s", &archive]);
    assert!(log.contains("d/e/one") && log.contains("q/r/three"), "{log}");
    assert_eq!(world.git(&["cat-file", "blob", &format!("{archive}:staged")]), "in the file\n");
    // Git's own index may have lost it as well.
    world.git(&["reset", "-q"]);
    assert_goes_on(&world);
    world.git(&["gc", "-q", "--prune=now"]);
    world.assert_sound("after gc");
}

#[test]
fn where_commits_are_gone_the_log_of_events_says_what_came_before() {
    let world = world();
    let before = world.git(&["rev-parse", &format!("{}~2", shadow(&world))]);
    world.git(&["update-ref", "-d", "refs/checkpoints/verified/main"]);
    let (tip, second) = ("live", "live~1");
    let ids: Vec<String> = [tip, second]
        .iter()
        .map(|name| world.git(&["rev-parse", &name.replace("live", &shadow(&world))]).trim().to_owned())
        .collect();
    for id in ids {
        lose(&world, &id, Loss::Gone);
    }
    world.done(&["save"]);
    let [archive] = refs(&world, "archive").try_into().expect("one is set aside");
    assert_eq!(world.git(&["rev-parse", &archive]), before);
    assert_goes_on(&world);
}

#[test]
fn a_save_refuses_to_give_up_objects_of_a_missing_alternate() {
    let world = world();
    let before = shadow(&world);
    let id = world.git(&["rev-parse", &before]);
    lose(&world, "live", Loss::Gone);
    let alternates = world.repo().join(".git/objects/info/alternates");
    fs::write(&alternates, "/a/disk/that/is/not/mounted\n").expect("files can be written");
    let refused = world.checkpoint(&["save"]);
    assert_eq!(refused.status.code(), Some(128), "{}", described(&refused));
    assert!(text(&refused).contains("not/mounted"), "{}", described(&refused));
    assert_eq!(fs::read_to_string(world.repo().join(".git").join(&before)).expect("it is loose"), id);
    fs::remove_file(alternates).expect("it is there");
    assert_goes_on(&world);
}

#[rstest::rstest]
#[case::gone(Loss::Gone)]
#[case::flipped(Loss::Flipped)]
fn a_restore_deletes_nothing_that_is_stored_nowhere(#[case] loss: Loss) {
    let world = world();
    // The file is as it was saved, so that no save reads it; its content has gone from the store.
    lose(&world, "live:q/r/three", loss);
    world.done(&["restore", "--all", "verified"]);
    assert!(!world.repo().join("q/r/three").exists());
    world.done(&["undo"]);
    assert_eq!(fs::read_to_string(world.repo().join("q/r/three")).expect("it is back"), "three\n");
}

#[test]
fn a_lost_checkpoint_of_the_state_before_a_turn_stops_nothing() {
    let world = world();
    world.write("f", "mine\n");
    world.done(&["session", "prompt", "s", "-m", "p"]);
    let [pending] = refs(&world, "pending").try_into().expect("what was before is kept");
    lose(&world, &pending, Loss::Empty);
    world.write("f", "its\n");
    world.done(&["session", "stop", "s"]);
    assert_eq!(world.git(&["cat-file", "blob", &format!("{}:f", shadow(&world))]), "its\n");
}

/// The author of the save is unknown, so it comes after what both turns began with.
#[test]
fn a_lost_state_before_a_turn_stops_no_save_of_a_person() {
    let world = world();
    world.write("f", "mine\n");
    for session in ["s", "t"] {
        world.done(&["session", "prompt", session]);
    }
    // Both have the same tree.
    lose(&world, &format!("{}^{{tree}}", refs(&world, "pending")[0]), Loss::Gone);
    world.write("f", "of a person, or of either\n");
    world.done(&["save"]);
    assert_eq!(world.git(&["cat-file", "blob", &format!("{}:f", shadow(&world))]), "of a person, or of either\n");
}

/// Lets nothing in the directory of the object that git knows as `name` be looked at, not even by root; returns what undoes that.
pub(super) fn hide(world: &World, name: &str) -> impl FnOnce() + use<> {
    let id = world.git(&["rev-parse", &name.replace("live", &shadow(world))]).trim().to_owned();
    let directory = world.repo().join(".git/objects").join(&id[..2]);
    let aside = directory.with_extension("aside");
    fs::rename(&directory, &aside).expect("it is loose");
    std::os::unix::fs::symlink(&directory, &directory).expect("its place is free");
    move || {
        fs::remove_file(&directory).expect("it is a link");
        fs::rename(&aside, &directory).expect("its place is free");
    }
}

#[rstest::rstest]
#[case::the_commit("live", &["save"])]
#[case::the_tree("live^{tree}", &["save"])]
#[case::the_side("live^2", &["save"])]
#[case::a_directory("live:q", &["reset"])]
#[case::a_file("live:q/r/three", &["reset"])]
fn objects_that_cannot_be_opened_are_not_given_up(#[case] object: &str, #[case] command: &[&str]) {
    let world = world();
    let before = world.git(&["for-each-ref", "refs/checkpoints/"]);
    let show = hide(&world, object);
    let refused = world.checkpoint(command);
    show();
    assert_eq!(refused.status.code(), Some(128), "{}", described(&refused));
    assert_eq!(world.git(&["for-each-ref", "refs/checkpoints/"]), before);
    assert_goes_on(&world);
}

#[test]
fn a_copy_does_not_give_up_a_file_that_cannot_be_opened() {
    let world = world();
    let before = world.git(&["for-each-ref", "refs/checkpoints/"]);
    lose(&world, "live^{tree}", Loss::Gone);
    let show = hide(&world, "live^:d/e/two");
    let refused = world.checkpoint(&["save"]);
    show();
    assert_eq!(refused.status.code(), Some(128), "{}", described(&refused));
    assert_eq!(world.git(&["for-each-ref", "refs/checkpoints/"]), before);
    world.done(&["save"]);
    let [archive] = refs(&world, "archive").try_into().expect("one is set aside");
    assert_eq!(world.git(&["cat-file", "blob", &format!("{archive}:d/e/two")]), "two\n");
}

#[test]
fn where_the_list_of_alternates_cannot_be_read_nothing_is_given_up() {
    let world = world();
    let tips = || world.git(&["for-each-ref", "--format=%(refname) %(objectname)", "refs/checkpoints/"]);
    let before = tips();
    lose(&world, "live", Loss::Gone);
    let alternates = world.repo().join(".git/objects/info/alternates");
    fs::create_dir_all(&alternates).expect("its place is free");
    let refused = world.checkpoint(&["save"]);
    fs::remove_dir(alternates).expect("it is empty");
    assert_eq!(refused.status.code(), Some(128), "{}", described(&refused));
    assert_eq!(tips(), before);
}

#[rstest::rstest]
#[case::reset(&["reset", "--dry-run"])]
#[case::restore(&["restore", "--all", "--dry-run", "verified"])]
#[case::undo(&["undo", "--dry-run"])]
fn a_dry_run_sets_nothing_aside(#[case] command: &[&str], #[values("live", "live^{tree}")] object: &str) {
    let world = world();
    world.done(&["restore", "verified", "f"]);
    let name = shadow(&world);
    lose(&world, object, Loss::Gone);
    let tip = fs::read_to_string(world.repo().join(".git").join(&name)).expect("it is loose");
    let output = world.checkpoint(command);
    assert!(!text(&output).contains("was set aside"), "{}", described(&output));
    assert_eq!(fs::read_to_string(world.repo().join(".git").join(&name)).expect("it is loose"), tip);
    assert_eq!(refs(&world, "archive"), Vec::<String>::new());
}

#[test]
fn a_broken_shadow_is_reported_once() {
    let world = world();
    lose(&world, "live", Loss::Gone);
    let context = world.context();
    world.write("f", "after\n");
    assert_eq!(git_checkpoint::save(&context, &SaveOptions::default()).expect("it is taken").broken.len(), 1);
    world.write("f", "later\n");
    assert_eq!(git_checkpoint::save(&context, &SaveOptions::default()).expect("it is taken").broken, []);
}

#[test]
fn undo_finds_what_was_copied_even_when_the_first_is_gone() {
    let world = world();
    world.write("new", "new\n");
    world.done(&["restore", "--all", "verified"]);
    assert!(!world.repo().join("new").exists());
    lose(&world, "live~2", Loss::Gone);
    world.done(&["doctor", "--fix"]);
    world.git(&["reset", "-q"]);
    world.git(&["reflog", "expire", "--expire=now", "--all"]);
    world.git(&["gc", "-q", "--prune=now"]);
    world.done(&["undo"]);
    assert_eq!(fs::read_to_string(world.repo().join("new")).expect("it is back"), "new\n");
}
