//! Files that `enable` writes into the worktree stay out of commits and checkpoints, and a restore leaves them alone.

use std::{fs, path::PathBuf};

use super::{World, done_in, ends, picture, put, read, world};

const LOCAL: &str = ".claude/settings.local.json";
const PROJECT: &str = ".claude/settings.json";
const ENABLE: [&str; 3] = ["enable", "--agent", "claude-code"];

fn exclude(world: &World) -> PathBuf {
    world.repo().join(".git/info/exclude")
}

fn has_line(world: &World) -> bool {
    fs::read(exclude(world))
        .is_ok_and(|text| String::from_utf8_lossy(&text).lines().any(|line| line == format!("/{LOCAL}")))
}

/// Lets a checkpoint have the file, as earlier versions did: they listed nothing.
fn save_as_an_earlier_version(world: &World) -> String {
    let with = fs::read(exclude(world)).expect("there");
    fs::write(exclude(world), "").expect("it is ours");
    let saved = world.json(&["save", "--json"]);
    fs::write(exclude(world), with).expect("it is ours");
    let id = saved["id"].as_str().expect("an id").to_owned();
    assert!(world.git(&["ls-tree", "-r", "--name-only", &id]).contains(LOCAL));
    id
}

#[test]
fn the_file_of_excluded_paths_comes_back_as_it_was() {
    let cases: [Option<&[u8]>; 7] = [
        Some(b"# git ls-files --others\n"),
        Some(b""),
        Some(b"*.o\n*.a"),
        Some(b"*.o\r\n*.a\r\n"),
        Some(b"*.o\r\n*.a"),
        Some(b"\xff\n"),
        None,
    ];
    for (at, old) in cases.into_iter().enumerate() {
        let world = world();
        let info = world.repo().join(".git/info");
        match old {
            Some(old) => put(&exclude(&world), old, 0o640),
            None => drop(fs::remove_dir_all(&info)),
        }
        world.done(&[&ENABLE[..], &["-n"]].concat());
        assert_eq!(fs::read(exclude(&world)).ok().as_deref(), old, "nothing is done yet");
        let said = ends(&world, 0, &ENABLE);
        assert!(said.contains("a line in 'info/exclude' keeps it out of commits and checkpoints"), "{said}");
        assert!(has_line(&world), "{at}");
        assert!(read_lossy(&world).contains("git-checkpoint"), "the comment names us");
        assert_eq!(world.git(&["status", "--short"]), "", "{at}");
        let with = fs::read(exclude(&world)).expect("there");
        assert!(!ends(&world, 0, &ENABLE).contains("info/exclude"), "it is said once");
        assert_eq!(fs::read(exclude(&world)).expect("there"), with, "twice is once");
        world.done(&["disable"]);
        assert_eq!(fs::read(exclude(&world)).ok().as_deref(), old, "{at}");
        assert_eq!(info.exists(), old.is_some());
    }
}

fn read_lossy(world: &World) -> String {
    String::from_utf8_lossy(&fs::read(exclude(world)).expect("there")).into_owned()
}

#[test]
fn what_git_tracks_or_ignores_already_is_not_listed() {
    let world = world();
    world.write(".gitignore", "*.local.json\n");
    world.done(&ENABLE);
    assert!(!has_line(&world), "the project ignores it");
    world.done(&["disable"]);
    world.write(".gitignore", "!*.local.json\n");
    let said = ends(&world, 0, &ENABLE);
    assert!(said.contains("a rule in '.gitignore' shows it to git"), "{said}");
    world.done(&["disable"]);
    fs::remove_file(world.repo().join(".gitignore")).expect("it is ours");
    world.write(LOCAL, "{\"model\": \"x\"}\n");
    world.commit_all("settings");
    let said = ends(&world, 0, &ENABLE);
    assert!(said.contains("git tracks it, so that it may get committed"), "{said}");
    assert!(!has_line(&world));
    world.done(&["disable"]);
    world.done(&["enable", "--agent", "gemini", "--project"]);
    assert_eq!(world.git(&["status", "--short"]), "?? .gemini/\n", "the project's files are to be committed");
}

#[test]
fn checkpoints_and_restores_leave_installed_files_alone() {
    let world = world();
    world.done(&ENABLE);
    let installed = read(&world.repo().join(LOCAL));
    let status = world.json(&["status", "--json"]);
    assert_eq!((&status["dirty"], &status["unsaved"]), (&serde_json::json!([]), &serde_json::json!([])));
    world.done(&["session", "prompt", "s1", "-m", "go"]);
    world.write("f", "the agent's\n");
    world.done(&["session", "stop", "s1"]);
    for said in [
        ends(&world, 0, &["list", "--json"]),
        ends(&world, 0, &["diff", "base"]),
        ends(&world, 0, &["attribution", "--worktree", "--json"]),
        ends(&world, 0, &["status"]),
    ] {
        assert!(!said.contains(".claude"), "{said}");
    }
    let tree = world.git(&["ls-tree", "-r", "--name-only", status_tip(&world).as_str()]);
    assert_eq!(tree, "f\n");
    for restore in [&["restore", "base"][..], &["undo"], &["restore", "--all", "base"], &["restore", "base", "."]] {
        let said = ends(&world, 0, restore);
        assert!(!said.contains(".claude"), "{said}");
        assert_eq!(read(&world.repo().join(LOCAL)), installed, "{restore:?}");
    }
    assert_eq!(world.read("f"), "base\n");
}

fn status_tip(world: &World) -> String {
    world.json(&["status", "--json"])["shadow"]["tip"].as_str().expect("an id").to_owned()
}

#[test]
fn an_older_checkpoint_with_the_file_takes_nothing_away() {
    let world = world();
    world.done(&ENABLE);
    let path = world.repo().join(LOCAL);
    let before = save_as_an_earlier_version(&world);
    world.write("f", "new\n");
    let installed = read(&path).replacen('{', "{\n  \"model\": \"mine\",", 1);
    put(&path, &installed, 0o644);
    for target in [before.as_str(), "base"] {
        for all in [&["--all"][..], &[]] {
            world.write("f", "new\n");
            let said = ends(&world, 0, &[&["restore", target], all].concat());
            assert!(said.contains("written  f"), "{said}");
            assert_eq!(read(&path), installed, "{target}: {said}");
            let is_kept = said.contains(&format!("kept     {LOCAL} (has the hooks of claude-code)"));
            assert_eq!(is_kept, target != "base", "{said}");
        }
    }
    world.done(&["undo"]);
    assert_eq!(read(&path), installed);
    // Once the hooks are disabled, the file is one like any other.
    world.done(&["disable"]);
    fs::remove_file(&path).expect("it is ours");
    world.done(&["restore", "--all", &before]);
    assert!(path.exists());
}

#[test]
fn a_restore_keeps_the_hooks_in_the_files_of_the_project() {
    let world = world();
    let path = world.repo().join(PROJECT);
    world.write(PROJECT, "{\"model\": \"x\"}\n");
    world.commit_all("settings");
    world.done(&["save", "--allow-empty", "-m", "before"]);
    let before = status_tip(&world);
    world.done(&["enable", "--agent", "claude-code", "--project", "--agent", "gemini"]);
    let installed = read(&path);
    for target in ["base", &before] {
        let said = ends(&world, 0, &["restore", "--all", target]);
        assert!(said.contains(&format!("kept     {PROJECT} (has the hooks of claude-code)")), "{said}");
        assert!(said.contains("kept     .gemini/settings.json (has the hooks of gemini)"), "{said}");
        assert_eq!(read(&path), installed);
        assert!(world.repo().join(".gemini/settings.json").exists());
    }
    let kept = world.json(&["restore", "--all", "base", "-n", "--json"])["kept"].clone();
    assert_eq!(kept[1]["why"], "has the hooks of gemini", "{kept}");
    // A change beside the hooks comes and goes like any other.
    world.done(&["save"]);
    let with = status_tip(&world);
    put(&path, installed.replacen("\"x\"", "\"y\"", 1), 0o644);
    world.done(&["restore", "--all", &with]);
    assert_eq!(read(&path), installed);
    // The file that the user names is restored.
    world.done(&["restore", "base", PROJECT]);
    assert_eq!(read(&path), "{\"model\": \"x\"}\n");
    world.done(&["undo"]);
    assert_eq!(read(&path), installed);
    // What the user has taken out by hand is no hook any more.
    put(&path, "{\"model\": \"z\"}\n", 0o644);
    world.done(&["restore", "--all", "base"]);
    assert_eq!(read(&path), "{\"model\": \"x\"}\n");
}

#[test]
fn the_line_stays_while_another_worktree_needs_it() {
    let world = world();
    let old = fs::read(exclude(&world)).expect("git has made it");
    world.git(&["worktree", "add", "-q", "../side"]);
    let side = world.root().join("side");
    let in_side = |arguments: &[&str]| done_in(&world, &side, arguments);
    in_side(&ENABLE);
    assert!(has_line(&world) && !side.join(".git/info").exists());
    assert_eq!(world.git(&["-C", side.to_str().expect("plain"), "status", "--short"]), "");
    let with = fs::read(exclude(&world)).expect("there");
    world.done(&ENABLE);
    assert_eq!(fs::read(exclude(&world)).expect("there"), with);
    in_side(&["disable", "--agent", "claude-code"]);
    fs::remove_dir_all(&side).expect("it is ours");
    world.done(&["disable"]);
    assert_eq!(fs::read(exclude(&world)).expect("there"), old);
}

#[test]
fn a_kill_at_any_point_can_be_repaired() {
    for (command, point) in [
        (&ENABLE[..], "agent-hooks:after-note"),
        (&ENABLE, "agent-hooks:before-rename"),
        (&ENABLE, "agent-hooks:after-exclude"),
        (&["disable"], "agent-hooks:before-exclude"),
    ] {
        for repair in [&ENABLE[..], &["disable"]] {
            let world = world();
            let (before, old) = (picture(&world), fs::read(exclude(&world)).expect("git has made it"));
            if command == ["disable"] {
                world.done(&ENABLE);
            }
            let child = world.start_with(command, point);
            assert!(!child.wait_with_output().expect("it ends").status.success(), "{point}");
            world.done(repair);
            if repair == ENABLE {
                assert!(has_line(&world) && world.repo().join(LOCAL).exists());
                world.done(&["disable"]);
            }
            assert_eq!(picture(&world), before, "{point}, then {repair:?}");
            assert_eq!(fs::read(exclude(&world)).expect("there"), old, "{point}, then {repair:?}");
            let info = fs::read_dir(world.repo().join(".git/info")).expect("readable").count();
            assert_eq!(info, 1, "{point}: nothing is left in the making");
        }
    }
}
