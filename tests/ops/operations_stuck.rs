//! Undo and redo are never stuck: they pass over what nothing takes back any more, and each hint at another way works.

use std::{fs, process::Stdio};

use crate::support::{World, processes::described};

fn text(world: &World, name: &str) -> Option<String> {
    fs::read_to_string(world.repo().join(name)).ok()
}

/// Returns what the command prints; the error output is the second part.
fn run(world: &World, line: &[&str]) -> (String, String) {
    let output = world.checkpoint(line);
    assert!(output.status.success(), "{line:?}: {}", described(&output));
    (String::from_utf8_lossy(&output.stdout).into_owned(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn refused(world: &World, line: &[&str]) -> String {
    let output = world.checkpoint(line);
    assert_eq!(output.status.code(), Some(1), "{line:?}: {}", described(&output));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs each command that the hint in `said` names, in a copy of the repository: each of them must work.
fn assert_hints_work(world: &World, said: &str) {
    let hint = said.lines().find_map(|line| line.strip_prefix("hint: ")).unwrap_or_else(|| panic!("no hint: {said}"));
    assert!(!hint.contains('<'), "{said}");
    let commands: Vec<&str> = hint.split('\'').filter(|part| part.starts_with("git checkpoint ")).collect();
    assert!(!commands.is_empty(), "{said}");
    for command in commands {
        let script = format!("rm -rf ../copy && cp -a . ../copy && cd ../copy && {command}");
        world.sh(&script);
    }
}

/// Returns a world with hooks, two checkpoints of a person after a turn, and a restore before them.
fn with_history(has_hooks: bool) -> World {
    let world = World::with_commit();
    if has_hooks {
        world.done(&["enable"]);
    }
    world.write("kept", "kept\n");
    world.done(&["save", "-q"]);
    world.done(&["restore", "-q", "base"]);
    world.done(&["session", "prompt", "-q", "s1", "-m", "go"]);
    world.write("g", "of the agent\n");
    world.done(&["session", "stop", "-q", "s1"]);
    for content in ["base\nx\n", "base\nx\nx\n"] {
        world.write("f", content);
        world.done(&["save", "-q"]);
    }
    world
}

/// A commit takes work out of the shadow: nothing brings the shadow back to what it was.
#[rstest::rstest]
#[case::op_restore(&["op", "restore", "@{1}"], true)]
#[case::drop(&["drop", "-f", "@{0}"], true)]
#[case::op_restore_without_hooks(&["op", "restore", "@{1}"], false)]
#[case::drop_without_hooks(&["drop", "-f", "@{0}"], false)]
fn an_operation_from_before_a_commit_is_passed_over(#[case] line: &[&str], #[case] has_hooks: bool) {
    let world = with_history(has_hooks);
    world.done(line);
    world.write("g", "of the agent\ny\n");
    world.git(&["add", "-A"]);
    world.git(&["commit", "-q", "-m", "p"]);
    let id = world.json(&["undo", "--list", "--json"])["operations"][0]["id"].as_str().expect("an id").to_owned();
    if has_hooks {
        let planned = world.json(&["undo", "-n", "--json"]);
        assert_eq!(planned["command"], "git checkpoint restore -q base", "{planned}");
        assert_eq!(planned["passed_over"][0]["operation"].as_str(), Some(id.as_str()), "{planned}");
        assert!(planned["passed_over"][0]["why"].as_str().is_some_and(|why| !why.is_empty()), "{planned}");
    }
    let (_, said) = run(&world, &["undo"]);
    let passed = format!("warning: passed over {} 'git checkpoint {}", &id[..8], line[0]);
    assert!(said.contains(&passed), "{said}");
    assert!(said.contains("has moved since") || said.contains("another commit"), "{said}");
    let long = said.split(|c: char| !c.is_ascii_hexdigit()).any(|word| word.len() == 10);
    assert!(!long, "ids are as short as everywhere: {said}");
    assert_eq!(text(&world, "kept").as_deref(), Some("kept\n"));
    let said = refused(&world, &["undo"]);
    assert_hints_work(&world, &said);
    let named = refused(&world, &["op", "undo", &id]);
    assert_hints_work(&world, &named);
    let redone = world.json(&["redo", "--json"]);
    assert_eq!((text(&world, "kept"), redone["passed_over"].as_array().map(Vec::len)), (None, Some(0)), "{redone}");
    world.assert_sound("at the end");
}

/// An undo of an operation before it has moved the same shadow.
#[test]
fn an_undo_in_the_way_of_an_earlier_operation_is_named_with_what_takes_it_back() {
    let world = World::with_commit();
    world.done(&["save", "-q", "--allow-empty"]);
    world.done(&["session", "prompt", "-q", "s1", "-m", "x"]);
    world.remove("f");
    world.done(&["session", "stop", "-q", "s1"]);
    world.done(&["restore", "-q", "verified"]);
    world.done(&["op", "restore", "-q", "@{2}"]);
    world.done(&["op", "undo", "-q", "@{1}"]);
    world.done(&["reset", "-q"]);
    world.done(&["undo", "-q"]);
    let said = refused(&world, &["undo"]);
    assert!(said.contains("has moved since") && said.contains("takes that one back first"), "{said}");
    assert_hints_work(&world, &said);
    let id = said.split("hint: 'git checkpoint op undo ").nth(1).and_then(|rest| rest.split('\'').next());
    let id = id.expect("an id").to_owned();
    world.done(&["op", "undo", "-q", &id]);
    world.done(&["undo", "-q"]);
    world.assert_sound("at the end");
}

#[test]
fn a_session_that_went_on_does_not_keep_what_is_before_from_being_taken_back() {
    let world = World::with_commit();
    world.write("f", "base\nW\n");
    world.done(&["restore", "-q", "base"]);
    for step in ["prompt", "stop", "forget", "prompt", "stop"] {
        let line: &[&str] =
            if step == "prompt" { &["session", step, "-q", "S", "-m", "x"] } else { &["session", step, "-q", "S"] };
        world.done(line);
    }
    let named = refused(&world, &["op", "undo", "@{0}"]);
    assert!(named.contains("the session 'S' went on since"), "{named}");
    assert_hints_work(&world, &named);
    let (_, said) = run(&world, &["undo"]);
    assert!(said.contains("passed over") && said.contains("the session 'S' went on since"), "{said}");
    assert_eq!(text(&world, "f").as_deref(), Some("base\nW\n"));
}

/// With `op undo` of an undo, the operation is in force again, whatever was done since the undo.
#[rstest::rstest]
#[case::at_once(&[])]
#[case::after_another_operation(&["verify"])]
fn what_is_redone_by_op_undo_can_be_undone_again(#[case] between: &[&str]) {
    let world = World::with_commit();
    world.write("f", "base\nW\n");
    world.done(&["save", "-q"]);
    world.done(&["restore", "-q", "base"]);
    world.done(&["undo", "-q"]);
    let undo = world.json(&["op", "log", "--json"])["operations"][0]["id"].as_str().expect("an id").to_owned();
    if !between.is_empty() {
        world.done(between);
    }
    world.done(&["op", "undo", "-q", &undo]);
    assert_eq!(text(&world, "f").as_deref(), Some("base\n"));
    world.done(&["reset", "-q"]);
    for _ in 0..2 {
        world.done(&["undo", "-q"]);
    }
    assert_eq!(text(&world, "f").as_deref(), Some("base\nW\n"));
    world.done(&["redo", "-q"]);
    assert_eq!(text(&world, "f").as_deref(), Some("base\n"));
}

/// A stop for which something can be typed says, too, how to leave the operation.
#[test]
fn what_stops_an_undo_can_be_left() {
    let world = World::with_commit();
    world.write("f", "base\none\n");
    world.done(&["save", "-q"]);
    world.done(&["restore", "-q", "base"]);
    world.done(&["verify", "-q"]);
    world.done(&["reset", "-q"]);
    world.write("f", "two\n");
    world.done(&["save", "-q"]);
    let said = refused(&world, &["undo"]);
    assert!(said.contains("reset --restore-archived") && said.contains("leaves it"), "{said}");
    let hint = said.lines().find(|line| line.starts_with("hint: ")).expect("a hint");
    let commands: Vec<&str> = hint.split('\'').filter(|part| part.starts_with("git checkpoint ")).collect();
    world.sh(&format!("cp -a . ../copy && cd ../copy && {} && {}", commands[0], commands[1]));
    world.sh(commands[2]);
}

/// The operation that is passed over can be taken back where HEAD was then.
#[test]
fn what_is_passed_over_is_not_given_up() {
    let world = World::with_commit();
    world.write("n", "n\n");
    world.done(&["save", "-q"]);
    world.done(&["restore", "-q", "base"]);
    world.write("f", "base\none\n");
    world.done(&["save", "-q"]);
    let before = world.git(&["rev-parse", "HEAD"]);
    world.done(&["op", "restore", "-q", "@{1}"]);
    world.git(&["stash", "-q"]);
    world.git(&["switch", "-q", "-c", "other"]);
    world.git(&["commit", "-q", "--allow-empty", "-m", "other"]);
    let (_, said) = run(&world, &["undo"]);
    assert!(said.contains("passed over"), "{said}");
    world.done(&["redo", "-q"]);
    world.git(&["checkout", "-q", "main"]);
    assert_eq!(world.git(&["rev-parse", "HEAD"]), before);
    world.assert_sound("at the end");
}

/// Another process records an operation between the look at the log and the lock.
#[test]
fn two_commands_at_once_are_done_one_after_the_other() {
    let world = World::with_commit();
    for number in 0..3 {
        world.write("f", format!("{number}\n"));
        world.done(&["save", "-q"]);
    }
    let script = "for i in 1 2 3 4; do echo $0$i >>f; git checkpoint save -q; git checkpoint restore -q base; \
                  git checkpoint undo -q; git checkpoint redo -q; git checkpoint reset -q; git checkpoint undo -q; \
                  git checkpoint op restore -q @{1}; git checkpoint undo -q; done";
    let loops: Vec<_> = ["a", "b", "c", "d"]
        .map(|name| {
            let mut command = world.command("bash");
            command.args(["-c", script, name]).stderr(Stdio::piped()).stdout(Stdio::null());
            command.spawn().expect("it runs")
        })
        .into_iter()
        .collect();
    for running in loops {
        let output = running.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!said.contains("recorded meanwhile"), "{said}");
    }
    world.assert_sound("at the end");
}

/// Whoever reads the JSON needs no second command to find what was unsaved.
#[test]
fn the_json_says_what_was_archived() {
    let world = World::with_commit();
    world.write("f", "saved\n");
    world.done(&["save", "-q"]);
    world.write("f", "unsaved\n");
    world.done(&["restore", "-q", "@{0}"]);
    world.write("g", "edited since\n");
    let undone = world.json(&["undo", "--json"]);
    let archived = undone["archived"].as_array().expect("a list").clone();
    let refs = world.git(&["for-each-ref", "--format=%(objectname)", "refs/checkpoints/archive"]);
    let expected: Vec<&str> = refs.lines().collect();
    assert_eq!(archived.iter().filter_map(|id| id.as_str()).collect::<Vec<_>>(), expected, "{undone}");
    world.done(&["reset", "-q"]);
    let undone = world.json(&["undo", "--json"]);
    assert_eq!(undone["archived"].as_array().map(Vec::len), Some(0), "{undone}");
}
