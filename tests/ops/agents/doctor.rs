//! What the doctor finds of agents, sessions, hooks and remotes, and what it mends; each is broken first.

use std::fs;

use super::{World, ends, home, put, read, world};
use crate::support::program;

/// Returns the problems that are left, by code, each once.
fn codes(world: &World, arguments: &[&str], is_sound: bool) -> Vec<String> {
    let output = world.checkpoint(&[&["doctor", "--json"], arguments].concat());
    assert_eq!(output.status.code(), Some(i32::from(!is_sound)), "{}", crate::support::processes::described(&output));
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let open = value["problems"].as_array().expect("a list").iter().filter(|problem| problem["fixed"] == false);
    let mut codes: Vec<String> = open.map(|problem| problem["code"].as_str().expect("a word").to_owned()).collect();
    codes.dedup();
    codes
}

fn settings(world: &World) -> std::path::PathBuf {
    world.repo().join(".claude/settings.local.json")
}

/// What is left of a sound agent that has not been started yet.
const SOUND: [&str; 1] = ["agent-silent"];

#[test]
fn an_agent_that_is_enabled_is_tried_and_shown() {
    let world = world();
    assert_eq!(codes(&world, &[], true), Vec::<String>::new());
    world.done(&["enable", "--agent", "claude-code", "--agent", "cline", "--agent", "gemini"]);
    assert_eq!(codes(&world, &[], true), SOUND);
    let said = ends(&world, 0, &["status"]);
    assert!(said.contains("Agents: cline (no event yet), gemini (no event yet), claude-code (no event yet)"), "{said}");
    let status = world.json(&["status", "--json"]);
    assert_eq!(status["agents"][2]["agent"], "claude-code");
    assert_eq!(status["agents"][2]["scope"], "local");
    assert_eq!(status["agents"][2]["last_event"], serde_json::Value::Null);
    // Being tried is no event.
    assert_eq!(status["sessions"], serde_json::json!([]));
    // What an agent runs, it runs.
    let line = "git checkpoint hook --agent claude-code";
    let payload = r#"{"hook_event_name":"SessionStart","session_id":"s1","cwd":"CWD","source":"startup"}"#;
    let payload = payload.replace("CWD", world.repo().to_str().expect("plain"));
    let script = format!("printf '%s' '{payload}' | {line}");
    assert!(world.command("sh").args(["-c", &script]).output().expect("it runs").status.success());
    assert_eq!(world.json(&["status", "--json"])["agents"][2]["last_event"]["event"], "session-start");
    let said = ends(&world, 0, &["doctor"]);
    assert!(said.contains("claude-code (last event 20") && said.contains("gemini (no event yet)"), "{said}");
}

#[test]
fn the_doctor_installs_missing_agent_hooks_again() {
    let world = world();
    world.done(&["enable", "--agent", "claude-code"]);
    let text = read(&settings(&world));
    let cases = [
        ("agent-hook-missing", None),
        ("agent-hook-missing", Some("{}\n".to_owned())),
        ("agent-program-missing", Some(text.replace(program(), "/gone/git-checkpoint"))),
        ("agent-hook-incomplete", Some(text.replace("\"Stop\"", "\"Notification\""))),
    ];
    for (code, broken) in cases {
        match &broken {
            None => fs::remove_dir_all(world.repo().join(".claude")).expect("it is ours"),
            Some(broken) => put(&settings(&world), broken, 0o644),
        }
        assert!(codes(&world, &[], false).contains(&code.to_owned()), "{code}");
        world.done(&["doctor", "--fix"]);
        assert_eq!(codes(&world, &[], true), SOUND, "{code}");
        assert!(read(&settings(&world)).contains("\"Stop\""));
        put(&settings(&world), &text, 0o644);
    }
}

#[test]
fn the_doctor_runs_no_foreign_command_from_agent_settings() {
    let world = world();
    world.done(&["enable", "--agent", "claude-code"]);
    let path = settings(&world);
    let ours = program();
    let text = read(&path);
    let trap = world.root().join("sprung");
    let other = world.root().join("bin/git-checkpoint");
    put(&other, format!("#!/bin/sh\ntouch {}\n", trap.display()), 0o755);
    let cases = [
        (other.to_str().expect("plain").to_owned(), "agent-program-other"),
        (format!("$(touch${{IFS}}{})/git-checkpoint", trap.display()), "agent-hook-foreign"),
        ("./bin/git-checkpoint".to_owned(), "agent-program-missing"),
    ];
    for (program, code) in cases {
        put(&path, text.replace(ours, &program), 0o644);
        let output = world.checkpoint(&["doctor", "--json"]);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.contains(code), "{program}: {said}");
        assert!(!trap.exists(), "{program}");
    }
}

#[test]
fn the_program_of_committed_hooks_is_the_one_in_path() {
    let world = world();
    world.done(&["enable", "--agent", "claude-code", "--project"]);
    assert_eq!(codes(&world, &[], true), SOUND);
    let trap = world.root().join("sprung");
    put(&world.root().join("bin/git-checkpoint"), format!("#!/bin/sh\ntouch {}\n", trap.display()), 0o755);
    let cases =
        [("/usr/bin:/bin", "'git-checkpoint', which is not in $PATH"), ("BIN:/usr/bin:/bin", "calls another program")];
    for (path, expected) in cases {
        let path = path.replace("BIN", world.root().join("bin").to_str().expect("plain"));
        let program = program();
        let output = world.command(program).args(["doctor"]).env("PATH", path).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.contains(expected), "{said}");
        assert!(!trap.exists());
    }
}

#[test]
fn codex_that_does_not_trust_us_is_named() {
    let world = world();
    world.done(&["enable", "--agent", "codex"]);
    assert!(codes(&world, &[], false).contains(&"agent-untrusted".to_owned()));
    let said = ends(&world, 1, &["doctor"]);
    assert!(said.contains("SessionStart, UserPromptSubmit") && said.contains("--trust'"), "{said}");
    put(&home(&world).join(".codex/config.toml"), "[hooks.state.x]\ntrusted_hash = \"sha256:0\"\n", 0o600);
    ends(&world, 1, &["doctor"]);
}

#[test]
fn the_doctor_stops_a_session_whose_process_is_gone_and_saves_its_work() {
    let world = world();
    world.done(&["session", "prompt", "s1", "-m", "go"]);
    world.write("f", "the agent's\n");
    assert_eq!(codes(&world, &[], true), Vec::<String>::new());
    // The agent's process is gone: another process has its number now.
    let path = world.repo().join(".git/checkpoint/sessions/s1.toml");
    let text = read(&path);
    let dead = text.lines().map(|line| if line.starts_with("start = ") { "start = 1" } else { line });
    let dead = dead.collect::<Vec<_>>().join("\n");
    assert_ne!(dead, text);
    fs::write(&path, dead).expect("it is ours");
    assert_eq!(codes(&world, &[], false), ["session-abandoned"]);
    let said = ends(&world, 0, &["doctor", "--fix"]);
    assert!(said.contains("fixed: s1: its turn was never stopped, and its agent's process is gone"), "{said}");
    assert_eq!(codes(&world, &[], true), Vec::<String>::new());
    let status = world.json(&["status", "--json"]);
    assert_eq!((&status["sessions"][0]["phase"], &status["unsaved"]), (&"idle".into(), &serde_json::json!([])));
    let listed = ends(&world, 0, &["session", "list"]);
    assert!(listed.starts_with("process gone ") && listed.contains("interrupted"), "{listed}");
    // A person may have made the change since.
    assert_eq!(world.json(&["blame", "--json", "f"])["lines"][0]["owner"], "unknown");
}

#[test]
fn hooks_of_git_are_installed_again() {
    let world = world();
    world.done(&["enable"]);
    let hook = world.repo().join(".git/hooks/post-commit");
    let text = read(&hook);
    fs::remove_file(&hook).expect("it is ours");
    assert_eq!(codes(&world, &[], false), ["hook-missing"]);
    assert_eq!(codes(&world, &["--fix"], true), Vec::<String>::new());
    assert_eq!(read(&hook), text);
}

#[test]
fn refspecs_that_carry_checkpoints_away_are_named() {
    let world = world();
    world.git(&["init", "-q", "--bare", "../bare"]);
    world.git(&["remote", "add", "origin", "../bare"]);
    assert_eq!(codes(&world, &[], true), Vec::<String>::new());
    world.done(&["save", "--allow-empty"]);
    let ours = || world.git(&["for-each-ref", "refs/checkpoints/"]);
    let before = ours();
    assert_ne!(before, "");
    for (key, value) in [("fetch", "+refs/*:refs/*"), ("push", "refs/*:refs/*"), ("mirror", "true")] {
        world.git(&["config", &format!("remote.origin.{key}"), value]);
        let said = ends(&world, 1, &["doctor"]);
        assert!(said.contains(&format!("problem: remote.origin.{key}: ")), "{said}");
        if key == "mirror" {
            break;
        }
        // What it says to do is enough.
        let said = said.lines().find_map(|line| line.trim().strip_prefix("'git ")).expect("a hint").to_owned();
        let hint: Vec<&str> = said.split_once('\'').expect("a command").0.split(' ').collect();
        let hint: Vec<String> = hint.iter().map(|word| word.trim_matches('"').to_owned()).collect();
        world.git(&hint.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(codes(&world, &[], true), Vec::<String>::new());
    }
    world.git(&["config", "--unset", "remote.origin.mirror"]);
    world.git(&["push", "-q", "origin"]);
    world.git(&["-C", "../bare", "update-ref", "refs/heads/other", "refs/heads/main"]);
    world.git(&["fetch", "-q", "--prune", "--update-head-ok", "origin"]);
    assert_eq!(ours(), before, "the advice holds");
    assert_eq!(world.git(&["-C", "../bare", "for-each-ref", "refs/checkpoints/"]), "");
}

#[test]
fn commits_of_others_are_counted_in_words() {
    let world = world();
    world.git(&["commit", "-q", "--allow-empty", "-m", "x\n\nCheckpoint: ffffffffffffffff"]);
    let said = ends(&world, 1, &["doctor"]);
    assert!(said.contains("a commit names a record, but there are none here") && said.contains("1 problem"), "{said}");
    world.git(&["commit", "-q", "--allow-empty", "-m", "x\n\nCheckpoint: ffffffffffffffff"]);
    assert!(ends(&world, 1, &["doctor"]).contains("2 commits name records, but there are none here"));
}

#[test]
fn other_advice_for_a_problem_of_the_same_kind_is_given_too() {
    let world = world();
    for (key, value) in [("a.fetch", "+refs/*:refs/*"), ("b.mirror", "true"), ("c.fetch", "+refs/*:refs/*")] {
        world.git(&["config", &format!("remote.{key}"), value]);
    }
    let said = ends(&world, 1, &["doctor"]);
    let is_given = |text: &str| said.lines().any(|line| line.starts_with("    ") && line.contains(text));
    let given = ["remote.a.fetch", "remote.b.mirror", "remote.c.fetch"].map(is_given);
    assert_eq!(given, [false, true, true], "the same hint is printed once: {said}");
}

#[test]
fn a_journal_that_cannot_be_read_is_named() {
    let world = world();
    world.done(&["save"]);
    fs::write(world.repo().join(".git/checkpoint/restore.json"), "").expect("it can be written");
    assert_eq!(codes(&world, &[], false), ["restore-damaged"]);
}

/// A command that fails there cannot note it.
#[rstest::rstest]
#[case::all(".git/checkpoint", false)]
#[case::read_only(".git/checkpoint", true)]
#[case::objects(".git/objects", true)]
fn directories_that_cannot_be_written_to_are_named(#[case] path: &str, #[case] is_read_only: bool) {
    use std::os::unix::fs::PermissionsExt as _;
    let world = world();
    world.done(&["save"]);
    let path = world.repo().join(path);
    let mode = |mode: u32| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("it is ours");
    if is_read_only {
        mode(0o555);
        if fs::write(path.join("probe"), "").is_ok() {
            // Nothing is read-only for root.
            return;
        }
    } else {
        drop(fs::remove_dir_all(&path));
        assert!(!path.exists());
        fs::write(&path, "in the way").expect("a file can be written");
    }
    let codes = codes(&world, &[], false);
    if is_read_only {
        mode(0o755);
    }
    assert_eq!(codes, ["directory-unwritable"]);
}
