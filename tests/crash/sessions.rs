//! Sessions and git's hooks, killed at each step and at random moments: any next command finishes their work.
//!
//! `GIT_CHECKPOINT_TEST_KILLS` says how often at random; if it is set, each step meets each next command.

use std::{
    fs,
    os::unix::process::CommandExt as _,
    path::PathBuf,
    process::{Output, Stdio},
    time::{Duration, Instant},
};

use crate::support::{
    World,
    dice::Dice,
    files,
    processes::{described, mean},
    program,
    template::Template,
};

fn kills() -> Option<u64> {
    std::env::var("GIT_CHECKPOINT_TEST_KILLS").ok().and_then(|text| text.parse().ok())
}

/// What is done after the crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Save,
    Prompt,
    Stop,
    StatusAndSave,
    Commit,
}

const ALL: [Next; 5] = [Next::Save, Next::Prompt, Next::Stop, Next::StatusAndSave, Next::Commit];

/// Returns what is to come after the crash at the step number `at`.
fn nexts(at: usize) -> Vec<Next> {
    if kills().is_some() { ALL.to_vec() } else { vec![ALL[at % 5]] }
}

fn lines(what: &str) -> String {
    (1..=6).map(|at| format!("{what} has line {at}\n")).collect()
}

/// A repository with our hooks and packed refs, so that deleting one takes their lock.
static SITE: Template = Template::new(|world| {
    world.commit_base();
    world.done(&["enable"]);
    world.write("old", "of a human\n");
    world.done(&["save", "-q"]);
    world.git(&["pack-refs", "--all"]);
});

fn site() -> World {
    SITE.world()
}

fn transcript(world: &World, text: &str) -> String {
    let path = world.root().join("transcript.jsonl");
    let before = fs::read_to_string(&path).unwrap_or_default();
    fs::write(&path, before + text).expect("written");
    path.to_str().expect("a plain path").to_owned()
}

/// The same where the session `one` works on `a` and `b`; only `a` is staged.
static WORK: Template = Template::new(|world| {
    SITE.make(world);
    work(world);
});

fn work(world: &World) {
    let path = transcript(world, "{\"said\": \"first\"}\n");
    world.done(&["session", "prompt", "one", "-m", "do it", "--agent", "claude-code", "--transcript", &path]);
    world.write("a", lines("a"));
    world.done(&["save", "-q", "--session", "one"]);
    world.write("b", lines("b"));
    world.done(&["save", "-q", "--session", "one"]);
    world.git(&["add", "a"]);
}

fn run(world: &World, program: &str, arguments: &[&str], step: &str) -> Output {
    world.command(program).args(arguments).env("CHECKPOINT_FAILPOINT", step).output().expect("it runs")
}

fn go_on(world: &World, next: Next, when: &str) {
    match next {
        Next::Save => drop(world.done(&["save", "-q"])),
        Next::Prompt => drop(world.done(&["session", "prompt", "one", "-m", "go on"])),
        Next::Stop => drop(world.done(&["session", "stop", "one"])),
        Next::StatusAndSave => {
            world.done(&["status"]);
            world.done(&["save", "-q"]);
        }
        Next::Commit => {
            world.git(&["add", "-A"]);
            world.git(&["commit", "-qm", &format!("the rest after {when}")]);
        }
    }
}

/// Checks what must hold after the work of `one` on `a` was committed, a process crashed, and `next` was done.
fn assert_recorded(world: &World, next: Next, when: &str) {
    let by_commit = world.assert_accounted(when);
    world.assert_tidy(when, &[world.repo().join(".git")]);
    let is_all_in = next == Next::Commit;
    assert_eq!(by_commit.len(), if is_all_in { 2 } else { 1 }, "{when}: {by_commit:?}");
    let held = world.held();
    for name in ["a", "b"] {
        assert!(held.contains(lines(name).as_bytes()), "{when}: {name}");
    }
    if !is_all_in {
        assert_eq!(world.shadows().len(), 1, "{when}: the rest is carried forward: {:?}", world.git(&["for-each-ref"]));
        world.git(&["add", "-A"]);
        world.git(&["commit", "-qm", "the rest"]);
        let by_commit = world.assert_accounted(when);
        assert_eq!(by_commit.len(), 2, "{when}: the rest has a record, too");
    }
    let context = World::context_at(&world.repo());
    for ids in by_commit.values() {
        let record = git_checkpoint::testing::ops::records::find(git_checkpoint::testing::repo(&context), &ids[0])
            .expect("sound")
            .expect("it is there");
        assert_eq!(record.sessions.len(), 1, "{when}: {record:?}");
        assert_eq!(record.sessions[0].id, "one", "{when}");
    }
    world.done(&["session", "stop", "one"]);
    let said = world.git(&["log", "-p", "--glob=refs/checkpoints/transcripts/*", "--format="]);
    assert!(said.contains("first"), "{when}: the transcript is kept");
    world.assert_tidy(when, &[world.repo().join(".git")]);
}

const COMMIT_STEPS: [&str; 13] = [
    "condense:before-prepare",
    "condense:after-note",
    "condense:before-record",
    "records:before-objects",
    "records:after-objects",
    "records:after-refs",
    "condense:after-record",
    "condense:after-sessions",
    "condense:before-carry",
    "condense:before-refs",
    "condense:after-refs",
    "condense:before-base",
    "condense:before-note",
];

#[test]
#[cfg_attr(not(feature = "failpoints"), ignore = "needs the feature 'failpoints'")]
fn a_commit_whose_hooks_die_is_finished_by_the_next_command() {
    // The last ones: each file of ours that is replaced on the way.
    let replaced = ["state:before-rename", "state:before-rename:2"];
    for (at, step) in COMMIT_STEPS.iter().chain(&replaced).enumerate() {
        for next in nexts(at) {
            let when = format!("{step}, then {next:?}");
            let world = WORK.world();
            let died = run(&world, "git", &["commit", "-qm", "a"], step);
            assert!(died.status.success(), "{when}: git succeeds: {}", described(&died));
            assert!(String::from_utf8_lossy(&died.stderr).contains("Abort"), "{when}: met: {}", described(&died));
            world.assert_sound(&when);
            go_on(&world, next, &when);
            assert_recorded(&world, next, &when);
        }
    }
}

#[test]
#[cfg_attr(not(feature = "failpoints"), ignore = "needs the feature 'failpoints'")]
fn a_commit_that_was_left_behind_gets_its_record() {
    for step in ["condense:before-record", "condense:after-record", "condense:before-refs"] {
        // Another branch is checked out, or another commit made, by something that calls no hook.
        for moves in [&["switch", "-q", "-c", "side", "HEAD~1"][..], &["commit", "-q", "--allow-empty", "-m", "x"]] {
            let when = format!("{step}, {moves:?}");
            let world = WORK.world();
            world.git(&["add", "b"]);
            run(&world, "git", &["commit", "-qm", "both"], step);
            world.git(&[&["-c", "core.hooksPath=/dev/null"], moves].concat());
            world.done(&["save", "-q"]);
            assert_eq!(world.assert_accounted(&when).len(), 1, "{when}");
            world.assert_tidy(&when, &[world.repo().join(".git")]);
        }
    }
}

/// The work of `one` was stashed and comes back after work of `two`.
static STASHED: Template = Template::new(|world| {
    WORK.make(world);
    world.done(&["session", "stop", "one"]);
    world.git(&["stash", "push", "-qu"]);
    world.done(&["session", "prompt", "two", "-m", "other work"]);
    world.write("c", lines("c"));
    world.done(&["save", "-q", "--session", "two"]);
    world.done(&["session", "stop", "two"]);
    world.git(&["stash", "pop", "-q"]);
});

#[test]
#[cfg_attr(not(feature = "failpoints"), ignore = "needs the feature 'failpoints'")]
fn a_prompt_that_dies_while_it_takes_work_up() {
    let steps = [
        "recall:before-refs",
        "recall:after-refs",
        "prompt:before-session",
        "prompt:after-prompt",
        "prompt:after-session",
        "turns:before-write",
        "state:before-rename",
        "state:before-rename:2",
    ];
    for (at, step) in steps.iter().enumerate() {
        for next in nexts(at) {
            let when = format!("{step}, then {next:?}");
            let world = STASHED.world();
            let died = run(&world, program(), &["session", "prompt", "two"], step);
            assert!(!died.status.success(), "{when}: met: {}", described(&died));
            world.assert_sound(&when);
            go_on(&world, next, &when);
            world.assert_tidy(&when, &[world.repo().join(".git")]);
            if next != Next::Commit {
                world.git(&["add", "-A"]);
                world.git(&["commit", "-qm", "all"]);
            }
            let by_commit = world.assert_accounted(&when);
            assert_eq!(by_commit.len(), 1, "{when}");
            let context = World::context_at(&world.repo());
            let id = by_commit.values().next().expect("one")[0];
            let record = git_checkpoint::testing::ops::records::find(git_checkpoint::testing::repo(&context), &id)
                .expect("sound")
                .expect("there");
            let mut sessions: Vec<_> = record.sessions.iter().map(|part| part.id.as_str()).collect();
            sessions.sort_unstable();
            assert_eq!(sessions, ["one", "two"], "{when}: {}", world.git(&["for-each-ref", "refs/checkpoints"]));
        }
    }
}

/// In the middle of the turn, some of the work was committed.
static AMID: Template = Template::new(|world| {
    WORK.make(world);
    world.git(&["commit", "-qm", "a"]);
    world.write("b", lines("b") + "more\n");
    transcript(world, "{\"said\": \"last\"}\n");
});

#[test]
#[cfg_attr(not(feature = "failpoints"), ignore = "needs the feature 'failpoints'")]
fn a_stop_that_dies_leaves_a_turn_that_can_be_stopped() {
    let steps = [
        "save:after-commit",
        "save:after-refs",
        "turn:before-session",
        "stop:before-session",
        "stop:after-session",
        "turns:before-write",
        "records:after-objects",
        "records:after-refs",
        "complete:after-record",
    ];
    for (at, step) in steps.iter().enumerate() {
        for next in nexts(at) {
            let when = format!("{step}, then {next:?}");
            let world = AMID.world();
            let died = run(&world, program(), &["session", "stop", "one"], step);
            assert!(!died.status.success(), "{when}: met: {}", described(&died));
            world.assert_sound(&when);
            go_on(&world, next, &when);
            world.assert_tidy(&when, &[world.repo().join(".git")]);
            world.done(&["session", "stop", "one"]);
            world.git(&["add", "-A"]);
            if next != Next::Commit {
                world.git(&["commit", "-qm", "the rest"]);
            }
            assert_eq!(world.assert_accounted(&when).len(), 2, "{when}");
            let said = world.git(&["log", "-p", "--glob=refs/checkpoints/transcripts/*", "--format="]);
            assert!(said.contains("first") && said.contains("last"), "{when}: {said}");
        }
    }
}

#[test]
#[cfg_attr(not(feature = "failpoints"), ignore = "needs the feature 'failpoints'")]
fn following_head_that_dies_is_done_again() {
    for (at, step) in ["follow:before-refs", "follow:after-refs", "follow:before-base"].iter().enumerate() {
        // So few steps do not meet each next command otherwise.
        for next in [nexts(at), nexts(at + 3)].concat() {
            let when = format!("{step}, then {next:?}");
            let world = WORK.world();
            // A commit without hooks.
            world.git(&["-c", "core.hooksPath=/dev/null", "commit", "-q", "--allow-empty", "-m", "x", "--only"]);
            let died = run(&world, program(), &["save"], step);
            assert!(!died.status.success(), "{when}: met: {}", described(&died));
            world.assert_sound(&when);
            go_on(&world, next, &when);
            world.assert_tidy(&when, &[world.repo().join(".git")]);
            if next != Next::Commit {
                world.git(&["add", "-A"]);
                world.git(&["commit", "-qm", "all"]);
            }
            assert_eq!(world.assert_accounted(&when).len(), 1, "{when}");
            let held = world.held();
            assert!(["a", "b"].iter().all(|name| held.contains(lines(name).as_bytes())), "{when}");
        }
    }
}

#[test]
#[cfg_attr(not(feature = "failpoints"), ignore = "needs the feature 'failpoints'")]
fn enabling_and_disabling_hooks_that_die_can_be_done_again() {
    let enabling = ["hooks:before-aside", "hooks:before-install:2", "hooks:after-install", "state:before-rename:2"];
    let disabling = ["hooks:after-removal", "hooks:after-removal:3", "hooks:before-end", "state:before-rename"];
    for (at, step) in enabling.iter().chain(&disabling).enumerate() {
        let world = World::with_commit();
        let hook = world.repo().join(".git/hooks/post-commit");
        fs::create_dir_all(hook.parent().expect("it has one")).expect("made");
        let text = "#!/bin/sh\necho ran >>\"$(git rev-parse --git-dir)/ran\"\n";
        files::write_script(&hook, text);
        let program = program();
        let command = if at < enabling.len() { "enable" } else { "disable" };
        if command == "disable" {
            world.done(&["enable"]);
        }
        let died = run(&world, program, &[command], step);
        assert!(!died.status.success(), "{step}: met: {}", described(&died));
        world.write("g", "g\n");
        world.git(&["add", "g"]);
        world.git(&["commit", "-qm", "g"]);
        let ran = fs::read_to_string(world.repo().join(".git/ran")).unwrap_or_default();
        assert_eq!(ran, "ran\n", "{step}: the hook that was there runs, once");
        world.done(&[command]);
        world.assert_tidy(step, &[]);
        world.done(&["enable"]);
        world.write("g", "more\n");
        world.git(&["commit", "-qam", "more"]);
        let ran = fs::read_to_string(world.repo().join(".git/ran")).unwrap_or_default();
        assert_eq!(ran, "ran\nran\n", "{step}");
        world.done(&["disable"]);
        assert_eq!(fs::read_to_string(&hook).expect("it is there"), text, "{step}");
        let files = fs::read_dir(hook.parent().expect("it has one")).expect("readable").flatten();
        let ours: Vec<PathBuf> = files
            .map(|file| file.path())
            .filter(|path| path.extension().is_none_or(|end| end != "sample") && *path != hook)
            .collect();
        assert_eq!(ours, Vec::<PathBuf>::new(), "{step}");
    }
}

/// Runs git, and kills it and all its hooks after `delay`.
fn kill_git(world: &World, arguments: &[&str], delay: Duration) {
    let mut command = world.command("git");
    let child = command.args(arguments).process_group(0).stdin(Stdio::null()).stderr(Stdio::null());
    let mut child = child.stdout(Stdio::null()).spawn().expect("git starts");
    std::thread::sleep(delay);
    let group = format!("-{}", child.id());
    let _ = std::process::Command::new("kill").args(["-s", "KILL", "--", &group]).stderr(Stdio::null()).status();
    child.wait().expect("it ends");
    world.unlock_git();
}

#[test]
fn commits_and_turns_killed_at_any_moment() {
    let mut dice = Dice(7);
    let world = site();
    let mut usual = Duration::from_millis(150);
    let mut written = Vec::new();
    for trial in 0..kills().unwrap_or(12) {
        let when = format!("trial {trial}");
        let session = format!("s{}", dice.below(3));
        world.done(&["session", "prompt", &session, "-m", &when]);
        for name in 0..=dice.below(3) {
            let (path, text) = (format!("f{name}"), lines(&format!("{when} {session} f{name}")));
            world.write(&path, &text);
            written.push(text);
        }
        world.done(&["save", "-q", "--session", &session]);
        world.git(&["add", if dice.below(2) == 0 { "f0" } else { "." }]);
        let moment = usual.mul_f64(f64::from(u32::try_from(dice.below(1200)).expect("small")) / 1000.0);
        kill_git(&world, &["commit", "-qm", &when], moment);
        let start = Instant::now();
        match dice.below(4) {
            0 => drop(world.done(&["save", "-q"])),
            1 => drop(world.done(&["session", "prompt", "s1"])),
            2 => drop(world.done(&["session", "stop", &session])),
            _ => {
                world.git(&["add", "-A"]);
                world.git(&["commit", "-q", "--allow-empty", "-m", &format!("{when}, again")]);
                usual = mean(usual, start.elapsed());
            }
        }
        world.assert_accounted(&when);
        let git_dir = world.repo().join(".git");
        // A commit that was killed before it was made has a note that the next one takes over.
        let note = fs::read_to_string(git_dir.join("checkpoint/commit.toml")).unwrap_or_default();
        let is_waiting = note.contains(world.git(&["rev-parse", "HEAD"]).trim());
        world.assert_tidy(&when, if is_waiting { &[] } else { std::slice::from_ref(&git_dir) });
    }
    let held = world.held();
    for text in &written {
        assert!(held.contains(text.as_bytes()), "lost: {text}");
    }
}
