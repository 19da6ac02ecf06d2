//! A signal ends long work in order: exit code 130, and nothing that the next command does not mend or name.

use std::{
    path::Path,
    process::{Child, Command, Output, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use crate::support::World;

const FILES: usize = 40;

/// A world whose files pass a slow filter in the direction `way` once the file `slow` of the world exists.
fn world(way: &str) -> World {
    let world = World::new();
    world.repository();
    let root = world.root();
    let root = root.to_str().expect("temporary paths are plain");
    // What a filter leaves as it is, a restore writes without it.
    let turn = "tr a-z n-za-m";
    let filter = format!("if test -e {root}/slow; then echo >{root}/started; sleep 0.3; fi; {turn}");
    world.git(&["config", "filter.slow.clean", turn]);
    world.git(&["config", "filter.slow.smudge", turn]);
    world.git(&["config", &format!("filter.slow.{way}"), &filter]);
    world.write(".gitattributes", "*.slow filter=slow\n");
    write(&world, "one\n");
    world
}

fn write(world: &World, text: &str) {
    for n in 0..FILES {
        world.write(&format!("{n}.slow"), text);
    }
}

/// Starts a command, and sends it SIGINT as soon as the filter has begun.
fn interrupted(world: &World, arguments: &[&str]) -> Output {
    std::fs::write(world.root().join("slow"), "").expect("files can be written");
    let child = world
        .command(env!("CARGO_BIN_EXE_git-checkpoint"))
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    wait_for(&world.root().join("started"));
    signal(&child);
    let output = child.wait_with_output().expect("it ends");
    std::fs::remove_file(world.root().join("slow")).expect("it is there");
    output
}

fn wait_for(path: &Path) {
    let start = Instant::now();
    while !path.exists() {
        assert!(start.elapsed() < Duration::from_secs(60), "the filter never ran");
        sleep(Duration::from_millis(5));
    }
}

fn signal(child: &Child) {
    let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(status.expect("kill runs").success());
}

#[test]
fn a_save_ends_without_a_trace() {
    let world = world("clean");
    let output = interrupted(&world, &["save"]);
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(world.git(&["for-each-ref", "refs/checkpoints/"]), "");
    assert_eq!(world.git(&["fsck", "--strict", "--no-dangling"]), "");
    assert!(world.checkpoint(&["save"]).status.success(), "nothing stays locked");
}

#[test]
fn a_wait_for_the_lock_ends_at_once() {
    let world = World::new();
    world.repository();
    world.write("new", "content\n");
    assert!(world.checkpoint(&["save"]).status.success());
    world.write("new", "other\n");
    let path = world.repo().join(".git/checkpoint/lock");
    let held = git_checkpoint::state::lock::Lock::try_acquire(&path).expect("the file is there").expect("it is free");
    for command in [&["save"][..], &["restore", "@{0}"], &["reset"]] {
        let mut child = world
            .command(env!("CARGO_BIN_EXE_git-checkpoint"))
            .args(command)
            .env("GIT_CHECKPOINT_LOCK_TIMEOUT", "1h")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program runs");
        sleep(Duration::from_millis(400));
        assert!(child.try_wait().expect("it is ours").is_none(), "{command:?} waits");
        signal(&child);
        let start = Instant::now();
        let output = child.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(130), "{command:?}: {said}");
        assert!(start.elapsed() < Duration::from_secs(10), "{command:?} ends at once");
    }
    drop(held);
    assert!(world.checkpoint(&["save"]).status.success());
}

#[test]
fn a_restore_stops_and_says_how_to_go_on_or_back() {
    let world = world("smudge");
    assert!(world.checkpoint(&["save"]).status.success());
    write(&world, "two\n");
    for _ in 0..2 {
        // The second one reads again what was too young to be told apart, so that only what is put back takes long.
        assert!(world.checkpoint(&["save"]).status.success());
        sleep(Duration::from_millis(60));
    }
    let output = interrupted(&world, &["restore", "@{1}"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("restore --continue") && said.contains("undo"), "{said}");
    let status = world.checkpoint(&["status", "--json"]);
    let status: serde_json::Value = serde_json::from_slice(&status.stdout).expect("JSON");
    assert!(status["interrupted_restore"].is_string(), "{status}");
    assert_eq!(status["last_error"], serde_json::Value::Null, "who interrupts knows");
    assert!(world.checkpoint(&["undo"]).status.success());
    let text = |n: usize| std::fs::read_to_string(world.repo().join(format!("{n}.slow"))).expect("it is there");
    assert!((0..FILES).all(|n| text(n) == "two\n"));
}
