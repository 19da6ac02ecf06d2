//! A signal ends long work in order: exit code 130, and nothing that the next command does not mend or name.

use std::{
    path::Path,
    process::{Child, Command, Output, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use crate::support::{World, program};

const FILES: usize = 40;

/// A world whose files pass a slow filter in the direction `way` once the file `slow` of the world exists.
fn world(way: &str) -> World {
    let world = World::with_commit();
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
        .command(program())
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    wait_for(&world.root().join("started"));
    signal(&child, "-INT");
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

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args([name, &child.id().to_string()]).status();
    assert!(status.expect("kill runs").success());
}

#[test]
fn a_save_ends_without_a_trace() {
    let world = world("clean");
    let output = interrupted(&world, &["save"]);
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(world.git(&["for-each-ref", "refs/checkpoints/"]), "");
    world.assert_sound("afterwards");
    assert!(world.checkpoint(&["save"]).status.success(), "nothing stays locked");
}

#[test]
fn a_wait_for_the_lock_ends_at_once() {
    let world = World::with_commit();
    world.write("new", "content\n");
    assert!(world.checkpoint(&["save"]).status.success());
    world.write("new", "other\n");
    let held = world.lock();
    for command in [&["save"][..], &["restore", "@{0}"], &["reset"]] {
        let mut child = world
            .command(program())
            .args(command)
            .env("GIT_CHECKPOINT_LOCK_TIMEOUT", "1h")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program runs");
        sleep(Duration::from_millis(400));
        assert!(child.try_wait().expect("it is ours").is_none(), "{command:?} waits");
        signal(&child, "-INT");
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
fn an_interrupted_restore_names_the_commands_that_continue_or_reverse_it() {
    let world = world("smudge");
    assert!(world.checkpoint(&["save"]).status.success());
    write(&world, "two\n");
    for _ in 0..2 {
        // The second save reads recently changed files again, so that only the restored ones take long afterwards.
        assert!(world.checkpoint(&["save"]).status.success());
        sleep(Duration::from_millis(60));
    }
    let output = interrupted(&world, &["restore", "@{1}"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("restore --continue") && said.contains("undo"), "{said}");
    assert_eq!(said.matches("interrupted").count(), 1, "{said}");
    let status = world.checkpoint(&["status", "--json"]);
    let status: serde_json::Value = serde_json::from_slice(&status.stdout).expect("JSON");
    assert!(status["interrupted_restore"].is_string(), "{status}");
    assert_eq!(status["last_error"], serde_json::Value::Null, "who interrupts knows");
    assert!(world.checkpoint(&["undo"]).status.success());
    let text = |n: usize| std::fs::read_to_string(world.repo().join(format!("{n}.slow"))).expect("it is there");
    assert!((0..FILES).all(|n| text(n) == "two\n"));
}

/// What a filter does that never ends; `$1` is the file where it says its number, or that of its own child.
const HANGS: &str = "echo $$ >$1.new; mv $1.new $1; exec sleep 1000";
const READS_AND_HANGS: &str = "cat >/dev/null; echo $$ >$1.new; mv $1.new $1; exec sleep 1000";
const CLOSES_AND_HANGS: &str = "cat; exec >&-; echo $$ >$1.new; mv $1.new $1; exec sleep 1000";
const CHILD_HANGS: &str = "sleep 1000 & echo $! >$1.new; mv $1.new $1; wait; true";
/// A server that agrees on the protocol, takes a file, and is silent.
const AGREES_AND_HANGS: &str = "printf '0016git-filter-server\n000eversion=2\n00000015capability=clean\n0016capability=smudge\n0000'; echo $$ >$1.new; mv $1.new $1; exec sleep 1000";

/// A world with a file that waits for the filter `stuck`, whose command `command` runs `script`.
fn stuck_world(command: &str, script: &str) -> World {
    let world = World::with_commit();
    let root = world.root();
    let (program, started) = (root.join("stuck"), root.join("started"));
    std::fs::write(&program, script).expect("files can be written");
    world.git(&["config", "filter.stuck.clean", "tr a-z n-za-m"]);
    world.git(&["config", "filter.stuck.smudge", "tr a-z n-za-m"]);
    let line = format!("sh {} {}", program.display(), started.display());
    world.git(&["config", &format!("filter.stuck.{command}"), &line]);
    world.write(".gitattributes", "*.stuck filter=stuck\n");
    world.write("a file.stuck", "content\n");
    world
}

/// Starts a command in a session without a terminal, and ends it by `signal` once the filter hangs.
fn ended(world: &World, arguments: &[&str], name: &str) -> Output {
    let child = world
        .command("setsid")
        .arg(program())
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("setsid runs");
    wait_for(&world.root().join("started"));
    // It waits by then.
    sleep(Duration::from_millis(100));
    let start = Instant::now();
    signal(&child, name);
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(start.elapsed() < Duration::from_secs(10), "at once: {said}");
    assert_eq!(output.status.code(), Some(130), "{said}");
    let number = std::fs::read_to_string(world.root().join("started")).expect("it is there");
    let stat = || std::fs::read_to_string(format!("/proc/{}/stat", number.trim())).unwrap_or_default();
    // What nothing waits for stays as a zombie.
    let lives = || !stat().is_empty() && !stat().contains(") Z ");
    while lives() {
        assert!(start.elapsed() < Duration::from_secs(10), "the filter runs on: {}", stat());
        sleep(Duration::from_millis(5));
    }
    output
}

#[cfg(target_os = "linux")]
#[rstest::rstest]
#[case::clean("clean", HANGS)]
#[case::clean_reads("clean", READS_AND_HANGS)]
#[case::clean_has_answered("clean", CLOSES_AND_HANGS)]
#[case::a_child_of_clean("clean", CHILD_HANGS)]
#[case::smudge("smudge", READS_AND_HANGS)]
#[case::server("process", HANGS)]
#[case::server_has_greeted("process", AGREES_AND_HANGS)]
fn a_filter_that_hangs_is_ended_and_named(
    #[case] command: &str,
    #[case] script: &str,
    #[values(("-INT", &["save"][..]), ("-TERM", &["save", "--paths", "a file.stuck", ".gitattributes"][..]))]
    (name, arguments): (&str, &[&str]),
) {
    let world = stuck_world(command, script);
    let output = ended(&world, arguments, name);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("interrupted while the filter 'stuck' converted 'a file.stuck'"), "{said}");
    assert_eq!(world.git(&["for-each-ref", "refs/checkpoints/"]), "");
    world.assert_sound("afterwards");
    world.git(&["config", &format!("filter.stuck.{command}"), ""]);
    assert!(world.checkpoint(&["save"]).status.success(), "nothing stays locked");
}

#[cfg(target_os = "linux")]
#[test]
fn a_restore_that_waits_for_a_filter_ends_and_names_it() {
    let world = stuck_world("clean", "exec tr a-z n-za-m");
    assert!(world.checkpoint(&["save"]).status.success());
    world.write("a file.stuck", "other\n");
    for _ in 0..2 {
        assert!(world.checkpoint(&["save"]).status.success());
        sleep(Duration::from_millis(60));
    }
    std::fs::write(world.root().join("stuck"), READS_AND_HANGS).expect("files can be written");
    let line = world.git(&["config", "filter.stuck.clean"]);
    world.git(&["config", "filter.stuck.smudge", line.trim()]);
    world.git(&["config", "filter.stuck.clean", "tr a-z n-za-m"]);
    let output = ended(&world, &["restore", "@{1}"], "-TERM");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("while the filter 'stuck' converted 'a file.stuck'"), "{said}");
    world.git(&["config", "filter.stuck.smudge", "tr a-z n-za-m"]);
    let text = || std::fs::read_to_string(world.repo().join("a file.stuck")).expect("it is there");
    assert_eq!(text(), "other\n");
    let status = world.checkpoint(&["status", "--json"]);
    let status: serde_json::Value = serde_json::from_slice(&status.stdout).expect("JSON");
    if status["interrupted_restore"].is_string() {
        assert!(world.checkpoint(&["restore", "--continue"]).status.success());
    } else {
        assert!(world.checkpoint(&["restore", "@{1}"]).status.success());
    }
    assert_eq!(text(), "content\n");
}
