//! The commands that run before a worktree is removed: nothing that they leave is lost.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rstest::rstest;
use serde_json::json;

use super::{
    add, json_of, run_in, said,
    setup::{kill, lines, printed, wait_until},
};
use crate::support::{World, processes::described, terminal::Terminal};

/// A world whose user has these teardown commands, as TOML, with a clean worktree of the branch `side`.
fn with_teardown(commands: &str) -> (World, PathBuf) {
    let world = World::with_commit();
    world.git(&["config", "checkpoint.worktree.teardown", commands]);
    let path = add(&world, "side");
    world.settle();
    (world, path)
}

/// Returns true if the worktree at `path` is there, and git knows it.
fn stays(world: &World, path: &Path) -> bool {
    path.join(".git").is_file() && world.git(&["worktree", "list"]).lines().count() == 2
}

/// Returns true if a checkpoint has a file with this path.
fn is_saved(world: &World, path: &str) -> bool {
    let listed = world.git(&["rev-list", "--objects", "--all"]);
    listed.lines().any(|line| line.split_once(' ').is_some_and(|(_, it)| it == path))
}

#[test]
fn commands_run_before_the_removal() {
    let (world, path) = with_teardown(
        r#"['echo to stdout; pwd >log', 'env | sed -n "s/^GIT_CHECKPOINT_//p" | sort >>log; cat; git diff --quiet']"#,
    );
    let port = world.json(&["worktree", "show", "side", "--json"])["worktree"]["port"].to_string();
    let output = world.checkpoint(&["worktree", "remove", "--force", "side", "--json"]);
    assert!(output.status.success(), "{}", described(&output));
    let removed = printed(&output);
    assert_eq!(removed["teardown"], json!({ "total": 2, "done": 2, "approved": true, "failed": null }));
    assert_eq!((&removed["dirty"], path.exists()), (&json!(1), false), "what they wrote counts");
    assert!(said(&output).contains("\nto stdout\n"), "{}", described(&output));
    // The checkpoint has what they wrote, and so has the worktree that comes back.
    let checkpoint = removed["checkpoint"].as_str().expect("an id");
    let root = path.display().to_string();
    let expected = format!("{root}\nBRANCH=side\nMAIN={}\nPORT={port}\nWORKTREE={root}\n", world.repo().display());
    assert_eq!(world.git(&["show", &format!("{checkpoint}:log")]), expected);
    world.done(&["worktree", "restore", "side"]);
    assert_eq!(fs::read_to_string(path.join("log")).expect("it is there"), expected);
    let output = world.checkpoint(&["worktree", "remove", "--force", "--no-teardown", "side", "--json"]);
    assert_eq!((&printed(&output)["teardown"], path.exists()), (&json!(null), false), "{}", described(&output));
}

/// What they delete is in the checkpoint that was taken before them.
#[test]
fn what_a_command_deletes_is_saved() {
    let (world, path) = with_teardown("['rm precious f', 'rm -r built']");
    world.sh(&format!("cd '{}'; echo once >precious; echo changed >f; mkdir built; echo x >built/x", path.display()));
    let removed = json_of(&world, &["worktree", "remove", "--force", "side", "--json"]);
    let checkpoint = removed["checkpoint"].as_str().expect("an id");
    assert!(!world.git(&["ls-tree", "--name-only", checkpoint]).contains("precious"));
    assert!(is_saved(&world, "precious") && is_saved(&world, "built/x"));
    world.done(&["worktree", "restore", "side"]);
    assert!(run_in(&world, &path, &["restore", "-q", "@{1}"]).status.success());
    assert_eq!(lines(&path.join("precious")), ["once"]);
    assert_eq!(lines(&path.join("f")), ["changed"]);
}

/// What was there before the commands is named if they have changed it.
#[test]
fn what_a_command_cleans_is_named() {
    let (world, path) = with_teardown("['git checkout -q -- .; git clean -fdxq']");
    let dirty = || world.sh(&format!("cd '{}'; echo once >precious; echo changed >f", path.display()));
    dirty();
    let removed = json_of(&world, &["worktree", "remove", "--force", "side", "--json"]);
    let ids = ["before_teardown", "checkpoint"].map(|name| removed[name].as_str().expect("an id").to_owned());
    let [before, after] = &ids;
    assert_eq!(world.git(&["show", &format!("{before}:precious")]), "once\n");
    assert_eq!(world.git(&["show", &format!("{before}:f")]), "changed\n");
    assert_eq!((world.git(&["ls-tree", "--name-only", after]).as_str(), &removed["dirty"]), ("f\n", &json!(0)));
    let [before_says, after_says] = ids.each_ref().map(|id| world.git(&["log", "-1", "--format=%s", id]));
    assert_eq!(before_says, "Before the teardown of the worktree\n");
    assert_eq!(after_says, "Before the worktree was removed\n");
    world.done(&["worktree", "restore", "side"]);
    dirty();
    let said = world.done(&["worktree", "remove", "--force", "side"]);
    let id = said.split("what it had before its teardown commands is in the checkpoint ").nth(1).expect(&said);
    let id = id.split_whitespace().next().expect("an id");
    assert_eq!(world.git(&["show", &format!("{id}:precious")]), "once\n");
    world.done(&["worktree", "restore", "side"]);
    assert!(run_in(&world, &path, &["restore", "-q", id]).status.success());
    assert_eq!((lines(&path.join("precious")), lines(&path.join("f"))), (vec!["once".into()], vec!["changed".into()]));
}

/// What the commands leave as it was has one checkpoint.
#[test]
fn what_no_command_changes_is_named_once() {
    let (world, path) = with_teardown("['true']");
    fs::write(path.join("precious"), "once\n").expect("writable");
    let removed = json_of(&world, &["worktree", "remove", "--force", "side", "--json"]);
    assert_eq!((&removed["before_teardown"], &removed["dirty"]), (&json!(null), &json!(1)));
}

/// Without a terminal, a worktree that only the commands have changed stays as well.
#[test]
fn what_a_command_leaves_is_asked_for() {
    let (world, path) = with_teardown("['echo left >left']");
    let output = world.checkpoint(&["worktree", "remove", "side"]);
    assert_eq!(output.status.code(), Some(1), "{}", described(&output));
    assert!(
        said(&output).contains("has 1 path that differs from HEAD after its teardown commands"),
        "{}",
        said(&output)
    );
    assert!(stays(&world, &path) && is_saved(&world, "left"));
    // The next time, it differs before them; they leave it as it is, and it is asked for once.
    let mut terminal = Terminal::start(&world, "git checkpoint worktree remove side; echo \"status $?.\"", |_| {});
    terminal.wait_for("[y/N] ");
    terminal.press("y\n");
    let shown = terminal.wait_for("\nstatus ");
    assert_eq!((terminal.wait_for("."), shown.contains("Remove it?")), ("0.".to_owned(), false), "{shown}");
    assert!(!path.exists());
}

#[test]
fn an_answer_is_for_what_was_there() {
    let (world, path) = with_teardown("['echo more >>left']");
    fs::write(path.join("left"), "one\n").expect("writable");
    let mut terminal = Terminal::start(&world, "git checkpoint worktree remove side; echo \"status $?.\"", |_| {});
    terminal.wait_for("[y/N] ");
    terminal.press("y\n");
    terminal.wait_for("[y/N] ");
    terminal.press("n\n");
    terminal.wait_for("\nstatus ");
    assert_eq!((terminal.wait_for("."), stays(&world, &path)), ("1.".to_owned(), true));
}

/// Nothing is removed, and the commands after it do not run.
#[rstest]
#[case::exit("exit 7", "7")]
#[case::signal("kill -KILL $$", "137")]
#[case::not_there("no-such-program", "127")]
fn a_command_that_fails_stops_the_removal(#[case] fails: &str, #[case] status: &str) {
    let (world, path) = with_teardown(&format!(
        "['echo 1 >>$GIT_CHECKPOINT_MAIN/../log', '{fails}', 'echo 3 >>$GIT_CHECKPOINT_MAIN/../log']"
    ));
    for _ in 0..2 {
        let output = world.checkpoint(&["worktree", "remove", "--force", "side"]);
        assert_eq!(output.status.code(), Some(1), "{}", described(&output));
        let expected = format!("the teardown command '{fails}' has failed (exit status {status})");
        assert!(said(&output).contains(&expected) && said(&output).contains("the worktree stays"), "{}", said(&output));
        assert!(!said(&output).contains("--no-teardown"), "they may be needed: {}", said(&output));
        assert!(stays(&world, &path));
    }
    assert_eq!(lines(&world.root().join("log")), ["1", "1"]);
    assert_eq!(world.sh("ls -A .git/checkpoint/removed 2>/dev/null || true"), "");
    world.done(&["worktree", "remove", "--no-teardown", "side"]);
    assert!(!path.exists());
}

#[rstest]
#[case::term("TERM")]
#[case::int("INT")]
fn a_signal_stops_the_removal(#[case] signal: &str) {
    let (world, path) = with_teardown("['touch ../begun; exec sleep 600', 'touch ../late']");
    let child = world.start(&["worktree", "remove", "side"]);
    wait_until(|| world.root().join("begun").exists());
    kill(signal, &child.id().to_string());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{}", described(&output));
    assert!(said(&output).contains("the worktree stays"), "{}", said(&output));
    assert!(!said(&output).contains("--no-teardown"), "{}", said(&output));
    assert!(stays(&world, &path) && !world.root().join("late").exists());
}

/// A command that succeeds in spite of the signal is not enough: the user wanted nothing removed.
#[rstest]
#[case::the_last("['kill -INT $PPID']")]
#[case::one_before("['kill -INT $PPID', 'touch ../late']")]
fn a_signal_that_a_command_outlives_stops_the_removal(#[case] commands: &str) {
    let (world, path) = with_teardown(commands);
    let output = world.checkpoint(&["worktree", "remove", "side"]);
    assert_eq!(output.status.code(), Some(130), "{}", described(&output));
    let words = ["the teardown was interrupted", "the worktree stays"];
    assert!(words.iter().all(|it| said(&output).contains(it)), "{}", said(&output));
    assert!(stays(&world, &path) && !world.root().join("late").exists());
}

#[test]
fn commands_of_the_project_are_approved_first() {
    let (world, path) = with_teardown("[]");
    world.git(&["config", "--unset-all", "checkpoint.worktree.teardown"]);
    world.write(".checkpoint.toml", "worktree.teardown = ['touch ../ran']\nworktree.setup = ['true']\n");
    let refused = |arguments: &[&str]| {
        let output = world.checkpoint(arguments);
        assert_eq!(output.status.code(), Some(1), "{}", described(&output));
        let words = "the teardown commands of '.checkpoint.toml' are not approved";
        assert!(said(&output).contains(words) && said(&output).contains("worktree approve"), "{}", said(&output));
        assert!(!said(&output).contains("--no-teardown"), "they may be needed: {}", said(&output));
        assert!(stays(&world, &path) && !world.root().join("ran").exists());
    };
    refused(&["worktree", "remove", "side"]);
    refused(&["worktree", "remove", "--force", "side"]);
    world.done(&["worktree", "approve", "--yes"]);
    world.write(".checkpoint.toml", "worktree.teardown = ['touch ../ran ']\nworktree.setup = ['true']\n");
    refused(&["worktree", "remove", "side"]);
    // What the worktree itself has does not count.
    fs::write(path.join(".checkpoint.toml"), "worktree.teardown = ['touch ../theirs']\n").expect("writable");
    world.done(&["worktree", "approve", "--yes"]);
    world.done(&["worktree", "remove", "--force", "side"]);
    assert!(world.root().join("ran").exists() && !world.root().join("theirs").exists() && !path.exists());
    world.done(&["worktree", "approve", "--revoke"]);
    world.done(&["worktree", "restore", "side"]);
    world.done(&["worktree", "remove", "--force", "--no-teardown", "side"]);
}

/// The project has no commands: those of the user run. It has some: they run in place of the user's, which is said.
#[test]
fn the_projects_list_does_not_silence_the_users() {
    let (world, _) = with_teardown("[]");
    world.git(&["config", "--unset-all", "checkpoint.worktree.teardown"]);
    world.sh("mkdir -p ../home/.config/git-checkpoint");
    world.sh("echo \"worktree.teardown = ['touch ../mine']\" >../home/.config/git-checkpoint/config.toml");
    world.write(".checkpoint.toml", "worktree.teardown = []\n");
    let output = world.checkpoint(&["worktree", "remove", "side"]);
    assert!(output.status.success() && world.root().join("mine").exists(), "{}", described(&output));
    assert!(said(&output).contains("'worktree.teardown' in '"), "it is ignored with a warning: {}", said(&output));
    fs::remove_file(world.root().join("mine")).expect("it is there");
    world.done(&["worktree", "restore", "side"]);
    world.write(".checkpoint.toml", "worktree.teardown = ['touch ../theirs', 'true']\n");
    let shown = world.done(&["worktree", "approve", "--yes"]);
    assert!(shown.starts_with("worktree.teardown, in place of your own commands\n"), "{shown}");
    assert_eq!(world.json(&["worktree", "approve", "--json"])["lists"][0]["replaces_own"], json!(true));
    let output = world.checkpoint(&["worktree", "remove", "side"]);
    let words = "the commands of 'worktree.teardown' in '.checkpoint.toml' run in place of your own";
    assert_eq!(said(&output).matches(words).count(), 1, "{}", described(&output));
    let ran = ["mine", "theirs"].map(|name| world.root().join(name).exists());
    assert_eq!((output.status.success(), ran), (true, [false, true]));
}

/// What is refused without commands is refused before they run.
#[rstest]
#[case::locked("git worktree lock ../repo-wt-side")]
#[case::changed("echo x >../repo-wt-side/x")]
#[case::a_repository("git init -q ../repo-wt-side/inner && git -C ../repo-wt-side/inner commit -q --allow-empty -m x")]
#[case::a_turn("cd ../repo-wt-side && git checkpoint session prompt s1 -m go")]
#[case::a_rebase(
    "cd ../repo-wt-side && git commit -q --allow-empty -m x && ! git rebase -q -x false HEAD~1 2>/dev/null"
)]
fn nothing_runs_before_a_refusal(#[case] script: &str) {
    let (world, path) = with_teardown("['touch ../ran']");
    world.sh(script);
    let output = world.checkpoint(&["worktree", "remove", "side"]);
    assert!(!output.status.success() && stays(&world, &path), "{}", described(&output));
    assert!(!world.root().join("ran").exists(), "{}", described(&output));
}

/// What is refused is refused as well if it came with the commands.
#[rstest]
#[case::locked("git worktree lock .", "is locked")]
#[case::a_repository("git init -q inner; git -C inner commit -q --allow-empty -m x", "is a repository of its own")]
#[case::a_process("sleep 600 >/dev/null 2>&1 & echo $! >../pid", "works in")]
#[case::a_turn("git checkpoint session prompt s1 -m go", "has a turn under way")]
#[case::moved("git worktree move . ../moved", "has just been changed")]
#[case::removed("git worktree remove --force .", "was removed while")]
#[case::index_lock("touch \"$(git rev-parse --git-dir)/index.lock\"", "another git command is at work")]
fn what_a_command_brings_is_refused(#[case] command: &str, #[case] words: &str) {
    let (world, path) = with_teardown(&format!("['''{command}''']"));
    let output = world.checkpoint(&["worktree", "remove", "--force", "side"]);
    drop(world.command("sh").args(["-c", "test ! -e ../pid || kill $(cat ../pid)"]).status());
    assert!(!output.status.success() && said(&output).contains(words), "{}", described(&output));
    let is_elsewhere = ["has just been changed", "was removed while"].contains(&words);
    assert_eq!(stays(&world, &path), !is_elsewhere, "{}", described(&output));
    assert_eq!(world.root().join("moved/.git").exists(), words == "has just been changed");
    assert_eq!(world.sh("ls -A .git/checkpoint/removed 2>/dev/null || true"), "", "nothing is removed");
}

/// A commit that a command makes is what comes back.
#[test]
fn a_command_that_moves_head_is_followed() {
    let (world, path) = with_teardown("['git commit -q --allow-empty -m last; git checkout -q -b late']");
    let removed = json_of(&world, &["worktree", "remove", "side", "--json"]);
    let head = world.git(&["rev-parse", "late"]);
    assert_eq!((&removed["branch"], removed["head"].as_str()), (&json!("late"), Some(head.trim_end())));
    assert_ne!(head, world.git(&["rev-parse", "HEAD"]));
    let back = json_of(&world, &["worktree", "restore", removed["id"].as_str().expect("an id"), "--json"]);
    assert_eq!((&back["branch"], path.join(".git").exists()), (&json!("late"), true));
}
