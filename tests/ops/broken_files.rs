//! Damage that only reading finds, that is behind HEAD, or that is none: nothing is half done, and words name the next step.

use std::{fs, process::Output};

use git_checkpoint::testing::ops::doctor::{self, Options};

use super::broken::{Loss, assert_goes_on, hide, lose, refs, shadow, text, world};
use crate::support::{World, processes::described};

fn read(world: &World, path: &str) -> String {
    fs::read_to_string(world.repo().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn assert_nothing_is_wrong(world: &World) {
    let found = doctor::doctor(&world.context(), Options::default()).expect("it can look");
    assert_eq!(found.problems, []);
}

#[rstest::rstest]
#[case::gone("f", Loss::Gone)]
#[case::empty("f", Loss::Empty)]
#[case::torn("d/e/two", Loss::Torn)]
#[case::flipped("q/r/three", Loss::Flipped)]
#[case::the_last_is_gone("q/r/three", Loss::Gone)]
#[case::one_between_is_gone("d/e/two", Loss::Gone)]
fn a_restore_that_cannot_read_all_changes_nothing(#[case] damaged: &str, #[case] loss: Loss) {
    let world = world();
    let target = world.git(&["rev-parse", &shadow(&world)]).trim().to_owned();
    let paths = ["d/e/one", "d/e/two", "f", "q/r/three", "staged"];
    for path in paths {
        world.write(path, "later\n");
    }
    lose(&world, &format!("live:{damaged}"), loss);
    for command in [&["restore", "--all", "-n", &*target][..], &["restore", "--all", &target]] {
        let refused = world.checkpoint(command);
        // A dry run looks whether contents are there, and reads none.
        if command.contains(&"-n") && !matches!(loss, Loss::Gone) {
            assert!(refused.status.success(), "{}", described(&refused));
            continue;
        }
        let said = text(&refused);
        assert_eq!(refused.status.code(), Some(128), "{}", described(&refused));
        assert!(said.contains(damaged) && said.contains("'git checkpoint doctor'"), "{said}");
        assert!(said.contains("nothing was changed"), "{said}");
    }
    for path in paths {
        assert_eq!(read(&world, path), "later\n", "{path}");
    }
    assert!(!world.repo().join(".git/checkpoint/restore.json").exists());
}

#[test]
fn a_save_after_the_doctor_stores_again_what_a_damaged_pack_lost() {
    let world = world();
    world.git(&["repack", "-adq"]);
    let live = shadow(&world);
    let id = world.git(&["rev-parse", &format!("{live}:q/r/three")]).trim().to_owned();
    let directory = world.repo().join(".git/objects/pack");
    let packs = fs::read_dir(&directory).expect("there are packs").flatten().map(|file| file.path());
    let pack = packs.into_iter().find(|path| path.extension().is_some_and(|end| end == "pack")).expect("there is one");
    let listed = world.git(&["verify-pack", "-v", &pack.with_extension("idx").display().to_string()]);
    let line = listed.lines().find(|line| line.starts_with(&id)).expect("it is packed");
    let offset: usize = line.split_whitespace().nth(4).and_then(|at| at.parse().ok()).expect("a number");
    let mut bytes = fs::read(&pack).expect("it can be read");
    bytes[offset + 5] ^= 0x55;
    fs::remove_file(&pack).expect("it is there");
    fs::write(&pack, bytes).expect("its place is free");
    assert_eq!(world.checkpoint(&["doctor"]).status.code(), Some(1));
    world.done(&["doctor", "--fix"]);
    world.done(&["save"]);
    assert_nothing_is_wrong(&world);
    assert_eq!(world.git(&["cat-file", "blob", &id]), "three\n");
    let saved = world.git(&["rev-parse", &shadow(&world)]).trim().to_owned();
    world.write("q/r/three", "later\n");
    world.done(&["restore", "--all", &saved]);
    assert_eq!(read(&world, "q/r/three"), "three\n");
}

#[rstest::rstest]
#[case::a_directory("HEAD:d", false, Loss::Torn)]
#[case::a_directory_below("HEAD:d/e", true, Loss::Gone)]
#[case::all("HEAD^{tree}", false, Loss::Torn)]
#[case::all_with_a_staged_file("HEAD^{tree}", true, Loss::Gone)]
fn trees_that_head_has_lost_stop_no_save(#[case] object: &str, #[case] is_staged: bool, #[case] loss: Loss) {
    let world = world();
    world.write("d/e/c", "changed\n");
    if is_staged {
        // The index cannot bring the tree of HEAD back any more.
        world.git(&["add", "d/e/c"]);
    }
    lose(&world, object, loss);
    world.write("new", "new\n");
    let status = world.json(&["status", "--json"]);
    assert!(
        status["broken"].is_null() && status["notes"][0].as_str().is_some_and(|it| it.contains("HEAD")),
        "{status}"
    );
    let unsaved: Vec<_> = status["unsaved"].as_array().expect("a list").iter().filter_map(|it| it.as_str()).collect();
    assert!(unsaved.contains(&"d/e/c") && unsaved.contains(&"new") && !unsaved.contains(&"f"), "{status}");
    let found = world.checkpoint(&["doctor"]);
    assert_eq!(found.status.code(), Some(1), "{}", described(&found));
    assert!(
        printed(&found).contains("HEAD") && printed(&found).contains("git checkpoint save"),
        "{}",
        described(&found)
    );
    world.done(&["save"]);
    let live = shadow(&world);
    for (path, content) in [("d/e/c", "changed\n"), ("new", "new\n"), ("d/e/one", "one\n"), ("f", "1\n")] {
        assert_eq!(world.git(&["cat-file", "blob", &format!("{live}:{path}")]), content, "{path}");
    }
    world.write("new", "newer\n");
    world.done(&["save", "--paths", "new"]);
    world.done(&["session", "prompt", "s", "-m", "p"]);
    world.write("new", "its\n");
    world.done(&["session", "stop", "s"]);
    assert_eq!(world.git(&["cat-file", "blob", &format!("{}:new", shadow(&world))]), "its\n");
}

#[test]
fn the_doctor_stores_again_what_the_index_has_of_head() {
    let world = world();
    lose(&world, "HEAD:d", Loss::Gone);
    let fixed = world.done(&["doctor", "--fix"]);
    assert!(fixed.contains("fixed: HEAD"), "{fixed}");
    assert_nothing_is_wrong(&world);
    world.assert_sound("after the doctor");
}

#[rstest::rstest]
#[case::the_commit("live", true)]
#[case::the_tree("live^{tree}", true)]
#[case::the_side("live^2", true)]
#[case::a_file("live:q/r/three", false)]
fn objects_that_cannot_be_opened_are_not_called_lost(#[case] object: &str, #[case] is_at_tip: bool) {
    let world = world();
    let before = world.git(&["for-each-ref", "refs/checkpoints/"]);
    let show = hide(&world, object);
    let (status, json) = (world.checkpoint(&["status"]), world.checkpoint(&["status", "--json"]));
    let (found, fixed) = (world.checkpoint(&["doctor"]), world.checkpoint(&["doctor", "--fix"]));
    show();
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
    assert_eq!(json["hidden"], is_at_tip, "{json}");
    assert_eq!(printed(&status).contains("permissions"), is_at_tip, "{}", described(&status));
    assert!(!printed(&status).contains("--fix"), "{}", described(&status));
    assert_eq!(found.status.code(), Some(1), "{}", described(&found));
    assert!(printed(&found).contains("permissions"), "{}", described(&found));
    assert!(!printed(&found).contains("--fix"), "{}", described(&found));
    assert_eq!(fixed.status.code(), Some(128), "{}", described(&fixed));
    assert!(text(&fixed).contains("permissions"), "{}", described(&fixed));
    assert_eq!(world.git(&["for-each-ref", "refs/checkpoints/"]), before);
    assert_goes_on(&world);
}

#[rstest::rstest]
#[case::the_commit("live", Loss::Unended)]
#[case::the_tree("live^{tree}", Loss::WrongSum)]
#[case::the_side("live^2", Loss::Unended)]
#[case::a_file("live:q/r/three", Loss::WrongSum)]
#[case::a_commit_before("live~1", Loss::Unended)]
#[case::a_tree_before("live~1^{tree}", Loss::WrongSum)]
fn the_doctor_writes_files_anew_that_end_wrongly(#[case] object: &str, #[case] loss: Loss) {
    let world = world();
    let before = world.git(&["for-each-ref", "refs/checkpoints/"]);
    lose(&world, object, loss);
    let status = world.checkpoint(&["status"]);
    assert!(status.status.success(), "{}", described(&status));
    assert_eq!(world.checkpoint(&["doctor"]).status.code(), Some(1));
    let fixed = world.done(&["doctor", "--fix"]);
    assert!(fixed.contains("written again"), "{fixed}");
    assert_nothing_is_wrong(&world);
    assert_eq!(world.git(&["for-each-ref", "refs/checkpoints/"]), before);
    world.assert_sound("after the doctor");
}

#[rstest::rstest]
#[case::the_commit("live", Loss::WrongSum)]
#[case::the_tree("live^{tree}", Loss::Unended)]
#[case::a_directory("live:d", Loss::WrongSum)]
#[case::the_side("live^2", Loss::Unended)]
#[case::a_file("live:q/r/three", Loss::WrongSum)]
fn a_save_continues_a_shadow_whose_objects_end_wrongly(#[case] object: &str, #[case] loss: Loss) {
    let world = world();
    let before = world.git(&["rev-parse", &shadow(&world)]).trim().to_owned();
    lose(&world, object, loss);
    world.write("d/new", "new\n");
    world.done(&["save"]);
    assert_eq!(refs(&world, "archive"), Vec::<String>::new());
    world.checkpoint(&["doctor", "--fix"]);
    assert_eq!(world.git(&["rev-parse", &format!("{}~1", shadow(&world))]).trim(), before);
    assert_nothing_is_wrong(&world);
    world.assert_sound("after a save");
}

#[rstest::rstest]
#[case::the_stash("refs/stash", "1234567890123456789012345678901234567890\n")]
#[case::a_branch("refs/heads/other", "1234567890123456789012345678901234567890\n")]
#[case::nonsense("refs/heads/other", "nonsense\n")]
fn a_ref_of_gits_that_names_nothing_does_not_stop_the_doctor(#[case] name: &str, #[case] content: &str) {
    let world = world();
    fs::write(world.repo().join(".git").join(name), content).expect("its place is free");
    for command in [&["doctor", "--json"][..], &["doctor", "--json", "--fix"], &["doctor", "--json", "--relink"]] {
        let found = world.checkpoint(command);
        assert_eq!(found.status.code(), Some(1), "{}", described(&found));
        let found: serde_json::Value = serde_json::from_slice(&found.stdout).expect("JSON");
        let subjects: Vec<_> = found["problems"].as_array().expect("a list").iter().map(|it| &it["subject"]).collect();
        assert_eq!(subjects, [name], "{found}");
    }
    lose(&world, "live:q/r/three", Loss::Gone);
    let fixed = world.checkpoint(&["doctor", "--fix"]);
    assert!(printed(&fixed).contains("fixed: "), "{}", described(&fixed));
}

#[test]
fn archived_chains_that_share_checkpoints_show_each_once() {
    let world = world();
    world.done(&["reset"]);
    let [archive] = refs(&world, "archive").try_into().expect("one is set aside");
    for back in 1..3 {
        let id = world.git(&["rev-parse", &format!("{archive}~{back}")]).trim().to_owned();
        world.git(&["update-ref", &format!("refs/checkpoints/archive/17000000{back}0-{}", &id[..12]), &id]);
    }
    assert_eq!(refs(&world, "archive").len(), 3);
    assert_eq!(world.done(&["list", "--archived", "--json"]).lines().count(), 3);
}

#[rstest::rstest]
#[case::nonsense(Some("version = "))]
#[case::empty(Some(""))]
#[case::gone(None)]
fn a_turn_whose_session_file_is_damaged_is_stopped_all_the_same(
    #[case] content: Option<&str>,
    #[values(true, false)] has_saved: bool,
) {
    let world = world();
    world.done(&["session", "prompt", "s", "-m", "p"]);
    if has_saved {
        world.write("f", "first\n");
        world.done(&["save", "--session", "s"]);
    }
    world.write("f", "its\n");
    let file = world.repo().join(".git/checkpoint/sessions/s.toml");
    match content {
        Some(content) => fs::write(file, content).expect("it is there"),
        None => fs::remove_file(file).expect("it is there"),
    }
    // The first command that looks sets the file aside.
    world.done(&["status"]);
    world.done(&["session", "stop", "s"]);
    let listed = world.done(&["list", "--json", "-n", "1"]);
    assert!(listed.contains(r#""session":"s""#) && listed.contains(r#""turn":1"#), "{listed}");
    assert_eq!(world.git(&["cat-file", "blob", &format!("{}:f", shadow(&world))]), "its\n");
    let refused = world.checkpoint(&["session", "stop", "other"]);
    assert!(text(&refused).contains("no session 'other'"), "{}", described(&refused));
}

#[test]
fn words_on_a_damaged_note_of_a_restore_say_what_to_type() {
    let world = world();
    world.done(&["restore", "verified", "f"]);
    let note = world.repo().join(".git/checkpoint/restore.json");
    fs::write(&note, "{").expect("it is there");
    for command in [&["undo"][..], &["restore", "--all", "verified"]] {
        let refused = world.checkpoint(command);
        let said = text(&refused);
        assert_eq!(refused.status.code(), Some(128), "{said}");
        assert!(
            said.contains("what the last restore did") && said.contains(&format!("mv {}", note.display())),
            "{said}"
        );
    }
}

#[test]
fn a_directory_of_ours_that_cannot_be_looked_into_is_named() {
    let world = world();
    let directory = world.repo().join(".git/checkpoint");
    fs::rename(&directory, world.repo().join(".git/aside")).expect("it is there");
    // Not even root can look into it.
    std::os::unix::fs::symlink(&directory, &directory).expect("its place is free");
    for command in ["status", "save", "doctor"] {
        let failed = world.checkpoint(&[command]);
        let said = text(&failed);
        assert_eq!(failed.status.code(), Some(128), "{said}");
        assert!(said.contains(".git/checkpoint'") && !said.contains("config.toml"), "{said}");
        assert!(said.contains("permissions"), "{said}");
    }
}

#[rstest::rstest]
#[case::the_commit("live", Loss::Unended)]
#[case::the_tree("live^{tree}", Loss::WrongSum)]
#[case::the_side("live^2", Loss::Unended)]
fn a_save_mends_the_last_checkpoint_whose_files_lack_only_their_end(#[case] object: &str, #[case] loss: Loss) {
    let world = world();
    let tip = world.git(&["rev-parse", &shadow(&world)]).trim().to_owned();
    lose(&world, object, loss);
    world.write("f", "after\n");
    world.done(&["save"]);
    world.assert_sound("after a save");
    assert_eq!(refs(&world, "archive"), Vec::<String>::new());
    assert_eq!(world.git(&["rev-parse", &format!("{}^", shadow(&world))]).trim(), tip);
}
