//! What variables of the user's, and programs beside us, must not disturb.

use std::{
    fs,
    io::Write as _,
    process::Stdio,
    time::{Duration, Instant},
};

use rstest::rstest;

use crate::support::{World, files, processes::ended, program};

/// A turn of the session `s`, in which `write` changes the worktree.
fn turn(world: &World, write: impl FnOnce()) {
    world.done(&["session", "prompt", "s", "-m", "go"]);
    write();
    world.done(&["session", "stop", "s"]);
}

/// Git asks the C library, which reads `TZ` in many forms.
#[rstest]
#[case::of_the_machine(None)]
#[case::a_name(Some("America/St_Johns"))]
#[case::a_name_after_a_colon(Some(":Asia/Kathmandu"))]
#[case::a_file(Some("/usr/share/zoneinfo/Asia/Tokyo"))]
#[case::rules(Some("EST5EDT,M3.2.0,M11.1.0"))]
#[case::an_offset(Some("<+0545>-5:45"))]
#[case::no_zone(Some("Middle/Earth"))]
#[case::a_device(Some("/dev/zero"))]
fn a_checkpoint_has_the_time_zone_that_git_would_give_it(#[case] zone: Option<&str>) {
    let world = World::new().with_clock();
    world.git(&["init", "-q", "-b", "main", "."]);
    world.write("f", "f\n");
    let run = |program: &str, arguments: &[&str]| {
        let mut command = world.command(program);
        match zone {
            Some(zone) => command.env("TZ", zone),
            None => command.env_remove("TZ"),
        };
        let output = command.args(arguments).output().expect("it runs");
        assert!(output.status.success(), "{output:?}");
        output.stdout
    };
    let offset = |revision: &str| world.git(&["log", "-1", "--format=%cd", "--date=format:%z", revision]);
    run("git", &["commit", "-q", "--allow-empty", "-m", "c"]);
    let saved: serde_json::Value = serde_json::from_slice(&run(program(), &["save", "--json"])).expect("JSON");
    assert_eq!(offset(saved["id"].as_str().expect("it was saved")), offset("HEAD"));
}

#[test]
fn context_in_hunks_is_no_edit() {
    let world = World::new();
    world.git(&["init", "-q", "-b", "main", "."]);
    world.done(&["enable"]);
    world.git(&["config", "diff.algorithm", "histogram"]);
    let lines = |third: &str| format!("1\n2\n{third}\n4\n5\n6\n7\n8\n");
    let file = world.repo().join("f");
    fs::write(&file, lines("3")).expect("it can be written");
    world.git(&["add", "f"]);
    world.git(&["commit", "-qm", "base"]);
    turn(&world, || fs::write(&file, lines("three")).expect("it can be written"));
    world.git(&["commit", "-qam", "work"]);
    let mut command = world.command(program());
    let output = command.env("GIT_DIFF_OPTS", "-u3").args(["attribution", "--json"]).output().expect("it runs");
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&found["files"][0]["added"], &found["files"][0]["deleted"]), (&1.into(), &1.into()), "{found}");
}

#[test]
fn a_commit_ends_however_much_git_says() {
    let world = World::new();
    world.git(&["init", "-q", "-b", "main", "."]);
    world.done(&["enable"]);
    let write = |text: &str| {
        for file in 0..1000 {
            fs::write(world.repo().join(format!("f{file}")), format!("{text} {file}\n")).expect("it can be written");
        }
    };
    write("base");
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "base"]);
    world.git(&["gc", "-q"]);
    turn(&world, || write("work"));
    let mut command = world.command("git");
    let command = command.env("GIT_TRACE_PACK_ACCESS", "1").args(["commit", "-qam", "work"]);
    let mut child = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().expect("git runs");
    assert!(ended(&mut child, Duration::from_secs(60)).success());
    let record = world.json(&["explain", "HEAD", "--json"]);
    assert_eq!(record["records"].as_array().map(Vec::len), Some(1), "{record}");
}

#[test]
fn a_hanging_jj_wrapper_holds_no_agent_up() {
    let world = World::new();
    world.git(&["init", "-q", "-b", "main", "."]);
    world.git(&["commit", "-q", "--allow-empty", "-m", "base"]);
    world.done(&["enable"]);
    fs::create_dir(world.repo().join(".jj")).expect("it can be made");
    // A wrapper, as version managers have it, and jj waits for whatever.
    let wrapper = world.root().join("home/jj");
    files::write_script(&wrapper, "#!/bin/sh\nsleep 60\nexit 1\n");
    let event = serde_json::json!({"hook_event_name": "PreToolUse", "session_id": "s", "cwd": world.repo(),
        "tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "1"});
    let mut command = world.command(program());
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", world.root().join("home").display()));
    let command = command.args(["hook", "--agent", "claude-code"]).stdin(Stdio::piped()).stdout(Stdio::null());
    let start = Instant::now();
    let mut child = command.spawn().expect("it runs");
    child.stdin.take().expect("piped").write_all(event.to_string().as_bytes()).expect("it listens");
    assert!(ended(&mut child, Duration::from_secs(40)).success());
    assert!(start.elapsed() >= Duration::from_secs(4), "it was asked");
}

/// Commands that read work where they may not write, and make no directory of ours.
#[test]
fn commands_that_read_make_no_directory() {
    let world = World::new();
    world.sh("git init -q; echo f >f; git add f; git commit -qm f; echo changed >f");
    for command in [&["status"][..], &["diff"], &["attribution", "--worktree"], &["blame", "f"], &["list"]] {
        drop(world.checkpoint(command));
        assert!(!world.repo().join(".git/checkpoint").exists(), "{command:?}");
    }
}

/// Git takes the current directory for the worktree then, unless it is in the git directory.
#[test]
fn with_git_dir_alone_the_worktree_is_the_current_directory() {
    let world = World::with_commit();
    let git_dir = world.repo().join(".git").display().to_string();
    let script = format!(
        "mkdir -p ../elsewhere/sub && cd ../elsewhere && echo here >sub/n && export GIT_DIR='{git_dir}' && \
         git rev-parse --show-toplevel && git checkpoint save -q && git ls-tree -r --name-only $(git for-each-ref \
         --format='%(objectname)' refs/checkpoints/shadow) && cd \"$GIT_DIR\" && git checkpoint status >/dev/null"
    );
    let said = world.sh(&script);
    let top = world.root().join("elsewhere").display().to_string();
    assert_eq!(said.lines().collect::<Vec<_>>(), [top.as_str(), "sub/n"]);
    let named = world.sh(
        "git config core.worktree .. && cd ../elsewhere && export GIT_DIR=../repo/.git && git checkpoint save -q && \
         git ls-tree -r --name-only $(git for-each-ref --format='%(objectname)' refs/checkpoints/shadow)",
    );
    assert!(!named.contains("sub/n") && named.contains('f'), "{named}");
}
