//! The commands that the settings have for a new worktree: in which order, where and with what they run.

use std::{
    fs,
    path::Path,
    process::{Command, Output, Stdio},
};

use rstest::rstest;
use serde_json::{Value, json};

use super::{add, run_in, said};
use crate::support::{World, processes::described, program, terminal::Terminal};

/// A world whose user has these set-up commands, as TOML.
pub(super) fn with_setup(commands: &str) -> World {
    let world = World::with_commit();
    world.git(&["config", "checkpoint.worktree.setup", commands]);
    world
}

/// Returns the JSON that a command printed, whatever its exit status.
pub(super) fn printed(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("no JSON: {}", described(output)))
}

pub(super) fn lines(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Each command is the shell's, and finds the worktree, the main one, the branch and the port in its environment, and nothing that
/// leads git elsewhere. It has no input, and what it prints is not in the JSON.
#[test]
fn commands_run_in_order_in_the_new_worktree() {
    let world = with_setup(
        r#"['echo to stdout; pwd >log; test "$PWD" = "$(pwd)"', 'env | sed -n "s/^GIT_CHECKPOINT_//p" | sort >>log; cat',
            'git rev-parse --absolute-git-dir >>log; echo "$GIT_PREFIX|$GIT_INDEX_FILE|$GIT_NAMESPACE" >>log']"#,
    );
    let mut command = world.command(program());
    command.args(["worktree", "add", "--create", "it's/a", "--json"]).stdin(Stdio::piped());
    for name in ["GIT_INDEX_FILE", "GIT_PREFIX", "GIT_NAMESPACE"] {
        command.env(name, "elsewhere");
    }
    // Those of another worktree, in which this command runs.
    command.env("GIT_CHECKPOINT_BRANCH", "other").env("GIT_CHECKPOINT_SESSION", "s9");
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{}", described(&output));
    let added = printed(&output);
    let path = added["path"].as_str().expect("a path").to_owned();
    assert_eq!(added["setup"], json!({ "total": 3, "done": 3, "approved": true, "failed": null }));
    assert!(said(&output).contains("\nto stdout\n"), "{}", described(&output));
    let (repo, port) = (world.repo(), added["port"].to_string());
    let git_dir = repo.join(".git/worktrees").join(added["id"].as_str().expect("an id"));
    let expected = [
        path.clone(),
        "BRANCH=it's/a".to_owned(),
        format!("MAIN={}", repo.display()),
        format!("PORT={port}"),
        format!("WORKTREE={path}"),
        git_dir.display().to_string(),
        "||".to_owned(),
    ];
    assert_eq!(lines(&Path::new(&path).join("log")), expected);
    let shown = world.json(&["worktree", "show", "it's/a", "--json"]);
    assert_eq!(shown["worktree"]["port"].to_string(), port);
    // Nothing is left to do, and the other worktrees have nothing of it.
    let output = world.checkpoint(&["worktree", "setup", "it's/a"]);
    assert!(String::from_utf8_lossy(&output.stdout).contains("is set up already"), "{}", described(&output));
    assert_eq!(lines(&Path::new(&path).join("log")).len(), 7);
    assert!(!repo.join("log").exists());
}

/// The session that the worktree is made for, and none for other worktrees.
#[test]
fn commands_know_the_session_of_the_worktree() {
    let world = with_setup(r#"["echo \"[$GIT_CHECKPOINT_SESSION]\" >log"]"#);
    world.done(&["worktree", "add", "-c", "side", "--session", "s1"]);
    assert_eq!(lines(&world.root().join("repo-wt-side/log")), ["[s1]"]);
    let path = add(&world, "other");
    assert_eq!(lines(&path.join("log")), ["[]"]);
}

#[test]
fn a_program_has_the_same_variables() {
    let world = World::with_commit();
    let path = add(&world, "side");
    let script = "echo $GIT_CHECKPOINT_MAIN $GIT_CHECKPOINT_BRANCH $GIT_CHECKPOINT_PORT";
    let port = &world.json(&["worktree", "show", "side", "--json"])["worktree"]["port"];
    let expected = format!("{} side {port}\n", world.repo().display());
    assert_eq!(world.done(&["worktree", "exec", "side", "--", "sh", "-c", script]), expected);
    // Without a branch, there is no port.
    run_in_git(&world, &path, &["checkout", "-q", "--detach"]);
    let mut command = world.command(program());
    command.args([
        "worktree",
        "exec",
        "repo-wt-side",
        "--",
        "sh",
        "-c",
        "echo [$GIT_CHECKPOINT_BRANCH$GIT_CHECKPOINT_PORT]",
    ]);
    let output = command.env("GIT_CHECKPOINT_BRANCH", "x").env("GIT_CHECKPOINT_PORT", "1").output().expect("it runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "[]\n", "{}", described(&output));
}

fn run_in_git(world: &World, directory: &Path, arguments: &[&str]) {
    world.git(&[&["-C", directory.to_str().expect("plain")], arguments].concat());
}

/// The worktree stays, the command is named, and the set-up goes on from it, also if it is another one by then.
#[rstest]
#[case::exit("exit 7", 7)]
#[case::signal("kill -TERM $$", 143)]
#[case::no_program("no-such-program", 127)]
#[case::syntax("(", 2)]
#[case::an_option("-x", 127)]
fn a_set_up_goes_on_from_the_command_that_failed(#[case] fails: &str, #[case] status: i32) {
    let world = with_setup(&format!("['echo 1 >>log', 'test -e ok || {fails}', 'echo 3 >>log']"));
    if fails == "(" || fails == "-x" {
        world.git(&["config", "checkpoint.worktree.setup", &format!("['echo 1 >>log', '{fails}', 'echo 3 >>log']")]);
    }
    let output = world.checkpoint(&["worktree", "add", "-c", "side", "--json"]);
    assert_eq!(output.status.code(), Some(1), "{}", described(&output));
    let setup = &printed(&output)["setup"];
    assert_eq!((&setup["total"], &setup["done"], &setup["failed"]["status"]), (&json!(3), &json!(1), &json!(status)));
    let command = setup["failed"]["command"].as_str().expect("it is named");
    assert!(said(&output).contains(&format!("'{command}' has failed (exit status {status})")), "{}", said(&output));
    let path = world.root().join("repo-wt-side");
    let hint = format!("'git checkpoint worktree setup {}' goes on with that command", path.display());
    assert!(said(&output).contains(&hint), "{}", said(&output));
    // It fails once more, and nothing else runs.
    let output = world.checkpoint(&["worktree", "setup", "side"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{}", described(&output));
    assert_eq!(lines(&path.join("log")), ["1"]);
    world.git(&["config", "checkpoint.worktree.setup", "['echo 1 >>log', 'echo 2 >>log', 'echo 3 >>log']"]);
    let output = world.checkpoint(&["worktree", "setup", "side", "--json"]);
    assert_eq!(printed(&output)["setup"], json!({ "total": 3, "done": 3, "approved": true, "failed": null }));
    assert_eq!(lines(&path.join("log")), ["1", "2", "3"]);
    // All once more, from that worktree; and once one before the end is another one.
    assert!(run_in(&world, &path, &["worktree", "setup", "--again"]).status.success());
    assert_eq!(lines(&path.join("log")), ["1", "2", "3", "1", "2", "3"]);
    world.git(&["config", "checkpoint.worktree.setup", "['echo one >>log', 'echo 2 >>log', 'echo 3 >>log']"]);
    world.done(&["worktree", "setup", "side"]);
    assert_eq!(lines(&path.join("log")).split_off(6), ["one", "2", "3"]);
}

/// `--again` that fails begins anew the next time, too.
#[test]
fn a_set_up_that_was_begun_again_goes_on() {
    let world = with_setup("['echo 1 >>log; ! test -e bad', 'echo 2 >>log']");
    let path = add(&world, "side");
    fs::write(path.join("bad"), b"").expect("writable");
    assert_eq!(world.checkpoint(&["worktree", "setup", "--again", "side"]).status.code(), Some(1));
    fs::remove_file(path.join("bad")).expect("it is there");
    world.done(&["worktree", "setup", "side"]);
    assert_eq!(lines(&path.join("log")), ["1", "2", "1", "1", "2"]);
}

#[test]
fn a_worktree_is_made_without_its_set_up() {
    let world = with_setup("['echo 1 >>log']");
    let output = world.checkpoint(&["worktree", "add", "-c", "side", "--no-setup", "--json"]);
    assert!(output.status.success(), "{}", described(&output));
    assert_eq!(printed(&output)["setup"], json!(null));
    let path = world.root().join("repo-wt-side");
    assert!(!path.join("log").exists());
    world.done(&["worktree", "setup", "side"]);
    assert_eq!(lines(&path.join("log")), ["1"]);
    // The main worktree is none that was made.
    let output = world.checkpoint(&["worktree", "setup"]);
    assert_eq!(output.status.code(), Some(1), "{}", described(&output));
    assert!(!world.repo().join("log").exists());
    world.git(&["config", "--unset", "checkpoint.worktree.setup"]);
    let output = world.checkpoint(&["worktree", "setup", "side", "--json"]);
    assert_eq!((printed(&output)["setup"].clone(), output.status.code()), (json!(null), Some(0)));
}

/// Where the user's own commands are from makes no difference.
#[rstest]
#[case::user("mkdir -p ../home/.config/git-checkpoint; f=../home/.config/git-checkpoint/config.toml", "")]
#[case::local("mkdir -p .git/checkpoint; f=.git/checkpoint/config.toml", "")]
#[case::environment("f=/dev/null", "echo ok >log")]
fn the_users_own_commands_need_no_approval(#[case] place: &str, #[case] variable: &str) {
    let world = World::with_commit();
    world.sh(&format!("{place}; echo \"worktree.setup = ['echo ok >log']\" >$f"));
    let mut command = world.command(program());
    command.args(["worktree", "add", "-c", "side"]);
    let output = command.env("GIT_CHECKPOINT_WORKTREE_SETUP", variable).output().expect("it runs");
    assert!(output.status.success(), "{}", described(&output));
    assert_eq!(lines(&world.root().join("repo-wt-side/log")), ["ok"]);
}

pub(super) fn kill(signal: &str, pid: &str) {
    assert!(Command::new("kill").args(["-s", signal, pid]).status().expect("kill runs").success());
}

pub(super) fn wait_until(is_so: impl Fn() -> bool) {
    let begin = std::time::Instant::now();
    while !is_so() {
        assert!(begin.elapsed().as_secs() < 60, "it does not happen");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

/// A signal to this process alone ends the command, too; the next set-up goes on from it.
#[rstest]
#[case::term("TERM")]
#[case::hup("HUP")]
#[case::int("INT")]
fn a_signal_ends_a_set_up(#[case] signal: &str) {
    let world = with_setup("['echo 1 >>log', 'echo 2 >>log; test -e ok || exec sleep 600', 'echo 3 >>log']");
    let child = world.start(&["worktree", "add", "-c", "side", "--json"]);
    let log = world.root().join("repo-wt-side/log");
    wait_until(|| lines(&log).len() == 2);
    // Twice, as the terminal and git do that.
    kill(signal, &child.id().to_string());
    kill(signal, &child.id().to_string());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{}", described(&output));
    let setup = &printed(&output)["setup"];
    assert_eq!((&setup["done"], &setup["failed"]["status"]), (&json!(1), &json!(143)), "{}", described(&output));
    assert!(said(&output).contains("goes on with that command"), "{}", said(&output));
    fs::write(world.root().join("repo-wt-side/ok"), b"").expect("writable");
    world.done(&["worktree", "setup", "side"]);
    assert_eq!(lines(&log), ["1", "2", "2", "3"]);
}

/// What a command has started may go on when this process and the shell have ended: until then, nothing runs beside it.
#[rstest]
#[case::term("TERM")]
#[case::kill("KILL")]
fn what_is_left_of_a_set_up_is_waited_for(#[case] signal: &str) {
    let command = r#"cd /; echo 1 >>"$GIT_CHECKPOINT_WORKTREE/log"; test -e "$GIT_CHECKPOINT_MAIN/../pid" || { sleep 600 >/dev/null 2>&1 & echo $! >"$GIT_CHECKPOINT_MAIN/../pid"; wait; }"#;
    let world = with_setup(&format!("['{command}']"));
    world.git(&["config", "checkpoint.lock-timeout", "0"]);
    let mut child = world.start(&["worktree", "add", "-c", "side"]);
    let (path, pid) = (world.root().join("repo-wt-side"), world.root().join("pid"));
    wait_until(|| lines(&pid).len() == 1);
    kill(signal, &child.id().to_string());
    child.wait().expect("it ends");
    for arguments in [&["worktree", "setup", "side"][..], &["worktree", "remove", "--force", "side"]] {
        let output = world.checkpoint(arguments);
        assert_eq!(output.status.code(), Some(128), "{arguments:?}: {}", described(&output));
        assert!(said(&output).contains("another process sets up the worktree"), "{arguments:?}: {}", said(&output));
    }
    let doctor = world.checkpoint(&["doctor", "--fix"]);
    assert!(doctor.status.success() && !described(&doctor).contains("setup.lock"), "{}", described(&doctor));
    assert_eq!(lines(&path.join("log")), ["1"]);
    kill("KILL", &lines(&pid)[0]);
    wait_until(|| world.checkpoint(&["worktree", "setup", "side"]).status.success());
    assert_eq!(lines(&path.join("log")), ["1", "1"]);
    world.done(&["worktree", "remove", "--force", "side"]);
}

/// A service that a command leaves behind keeps nothing from the worktree once its set-up has ended.
#[test]
fn what_runs_after_a_set_up_holds_no_lock() {
    let world = with_setup(r#"['cd /; sleep 600 >/dev/null 2>&1 & echo $! >>"$GIT_CHECKPOINT_MAIN/../pid"']"#);
    add(&world, "side");
    let output = world.checkpoint(&["worktree", "setup", "--again", "side"]);
    let pids = world.sh("cat ../pid");
    world.done(&["worktree", "remove", "--force", "side"]);
    pids.lines().for_each(|pid| kill("KILL", pid));
    assert!(output.status.success(), "{}", described(&output));
}

/// After a signal that comes between two commands, none has failed, and the others are left.
#[test]
fn a_signal_between_two_commands_names_none() {
    let world = with_setup("['echo 1 >>log; kill -INT $PPID', 'echo 2 >>log']");
    let output = world.checkpoint(&["worktree", "add", "-c", "side"]);
    assert_eq!(output.status.code(), Some(130), "{}", described(&output));
    let words = ["the set-up was interrupted: 1 of 2 commands have run", " runs the others"];
    assert!(words.iter().all(|it| said(&output).contains(it)), "{}", said(&output));
    world.done(&["worktree", "setup", "side"]);
    assert_eq!(lines(&world.root().join("repo-wt-side/log")), ["1", "2"]);
}

/// Ctrl-C goes to the command and to git, which passes it on.
#[test]
fn ctrl_c_ends_a_set_up() {
    let world = with_setup("['echo 1 >>log; test -e ok || { echo waits; exec sleep 600; }', 'echo 2 >>log']");
    let line = "trap : INT; git checkpoint worktree add -c side; echo \"status $?.\"";
    let mut terminal = Terminal::start(&world, line, |_| {});
    terminal.wait_for("\nwaits");
    terminal.press("\u{3}");
    let said = terminal.wait_for("\nstatus ");
    assert_eq!(terminal.wait_for("."), "130.", "{said}");
    assert!(said.contains("has failed (exit status 130)") && said.contains("worktree setup"), "{said}");
    let path = world.root().join("repo-wt-side");
    fs::write(path.join("ok"), b"").expect("writable");
    world.done(&["worktree", "setup", "side"]);
    assert_eq!(lines(&path.join("log")), ["1", "1", "2"]);
}

/// While the commands run, the worktree is neither set up a second time, nor moved, nor removed.
#[test]
fn a_worktree_that_is_set_up_is_in_use() {
    let world = with_setup(
        "['cd /; touch \"$GIT_CHECKPOINT_WORKTREE/begun\"; until test -e \"$GIT_CHECKPOINT_MAIN/../go\" || ! test -e \"$GIT_CHECKPOINT_MAIN\"; do sleep 0.02; done']",
    );
    world.git(&["config", "checkpoint.lock-timeout", "0"]);
    let child = world.start(&["worktree", "add", "-c", "side"]);
    let path = world.root().join("repo-wt-side");
    wait_until(|| path.join("begun").exists());
    for arguments in [
        &["worktree", "setup", "side"][..],
        &["worktree", "remove", "--force", "side"],
        &["worktree", "move", "side", "../moved"],
    ] {
        let output = world.checkpoint(arguments);
        assert_eq!(output.status.code(), Some(128), "{arguments:?}: {}", described(&output));
        assert!(said(&output).contains("another process sets up the worktree"), "{arguments:?}: {}", said(&output));
    }
    // However long it takes, it is no lock that a crash has left.
    let lock = ".git/worktrees/repo-wt-side/checkpoint/setup.lock";
    world.sh(&format!("touch -d '20 minutes ago' {lock}"));
    for arguments in [&["doctor"][..], &["doctor", "--fix"]] {
        let output = world.checkpoint(arguments);
        assert!(output.status.success() && !described(&output).contains("setup.lock"), "{}", described(&output));
    }
    assert!(world.repo().join(lock).exists());
    // Another one does not wait for it.
    let output = world.checkpoint(&["worktree", "add", "-c", "other", "--no-setup"]);
    assert!(output.status.success(), "{}", described(&output));
    fs::write(world.root().join("go"), b"").expect("writable");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}", described(&output));
    assert!(!world.repo().join(lock).exists(), "the lock goes with the set-up");
    // As one that was killed leaves it.
    world.sh(&format!("touch -d '20 minutes ago' {lock}"));
    let output = world.checkpoint(&["doctor"]);
    assert!(
        described(&output).contains("a git-checkpoint that was killed has left this lock"),
        "{}",
        described(&output)
    );
    assert!(!described(&output).contains("remove the file"), "{}", described(&output));
    world.done(&["doctor", "--fix"]);
    assert!(!world.repo().join(lock).exists());
    world.done(&["worktree", "remove", "--force", "side"]);
    assert!(!path.exists());
}

#[test]
fn several_are_set_up_at_once() {
    let world = with_setup("['sleep 0.1; echo $GIT_CHECKPOINT_BRANCH >>log', 'echo $GIT_CHECKPOINT_WORKTREE >>log']");
    let children: Vec<_> =
        (0..4).map(|number| world.start(&["worktree", "add", "-c", &format!("b{number}"), "--json"])).collect();
    for (number, child) in children.into_iter().enumerate() {
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(printed(&output)["setup"]["done"], json!(2), "{}", described(&output));
        let path = world.root().join(format!("repo-wt-b{number}"));
        assert_eq!(lines(&path.join("log")), [format!("b{number}"), path.display().to_string()]);
    }
}

/// What a command does to the worktree itself is seen before the next one, and after the last one: none runs elsewhere.
#[rstest]
#[case::removed("git worktree remove --force .", 128, "was removed while")]
#[case::deleted("rm -r \"$PWD\"", 1, "is gone")]
#[case::moved("git worktree move . ../moved", 128, "has just been changed")]
#[case::replaced("mv \"$PWD\" ../x; mkdir \"$PWD\"; git init -q \"$PWD\"", 1, "is no longer the worktree")]
#[case::without_its_git_file("rm .git", 1, "the '.git' of the worktree")]
#[case::without_its_git_directory("rm -r \"$(git rev-parse --git-dir)\"", 128, "was removed while")]
fn a_command_that_takes_the_worktree_away_is_the_last(
    #[case] takes: &str,
    #[case] status: i32,
    #[case] words: &str,
    #[values(", 'echo 2 >>$GIT_CHECKPOINT_MAIN/../log'", "")] next: &str,
) {
    let world = with_setup(&format!("['{takes}'{next}]"));
    let output = world.checkpoint(&["worktree", "add", "-c", "side"]);
    assert_eq!(output.status.code(), Some(status), "{}", described(&output));
    assert!(said(&output).contains(words), "{}", said(&output));
    assert!(!said(&output).contains("the worktree is made"), "it is not there any more: {}", said(&output));
    assert!(!said(&output).contains("another process"), "it was the command: {}", said(&output));
    assert!(!world.root().join("log").exists(), "no other command has run");
    let left = world.root().join("repo/.git/worktrees/repo-wt-side");
    assert_eq!(left.exists(), words != "was removed while", "no directory of a removed worktree is made");
}

#[test]
fn a_command_that_changes_head_is_followed() {
    let world = with_setup(
        "['git checkout -q -b late', 'echo $GIT_CHECKPOINT_BRANCH >log', 'git checkout -q --detach', 'echo [$GIT_CHECKPOINT_BRANCH] >>log']",
    );
    let path = add(&world, "side");
    assert_eq!(lines(&path.join("log")), ["late", "[]"]);
}

/// A command with a NUL byte cannot be given to a shell; what is said of it is fit for a terminal. It has failed like others.
#[test]
fn a_command_that_cannot_be_started_is_named() {
    let world = with_setup(r#"["echo 1 >log", "a\u0000\u001b[31m"]"#);
    let output = world.checkpoint(&["worktree", "add", "-c", "side", "--json"]);
    assert_eq!(output.status.code(), Some(1), "{}", described(&output));
    let setup = &printed(&output)["setup"];
    assert_eq!((&setup["done"], &setup["failed"]["status"]), (&json!(1), &json!(126)), "{}", described(&output));
    assert!(said(&output).contains(r"'a\u{0}\u{1b}[31m' cannot be started: "), "{}", said(&output));
    assert!(said(&output).contains("goes on with that command"), "{}", said(&output));
    assert!(!output.stderr.contains(&0) && !output.stderr.contains(&0x1b));
}

/// What is said of a long command has its beginning.
#[test]
fn a_command_that_is_too_long_is_named_by_its_beginning() {
    let world = World::with_commit();
    world.sh("mkdir -p .git/checkpoint; { printf 'worktree.setup = [\"true '; head -c 200000 /dev/zero | tr '\\0' x; echo '\"]'; } >.git/checkpoint/config.toml");
    let output = world.checkpoint(&["worktree", "add", "-c", "side"]);
    assert_eq!(output.status.code(), Some(1), "{}", described(&output));
    assert!(said(&output).contains("exit status 126") && said(&output).len() < 4000, "{}", said(&output).len());
    assert!(said(&output).contains(r" more characters}"), "{}", said(&output));
}
