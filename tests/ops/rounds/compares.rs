//! `round compare`: what rounds have changed, side by side, and their tests, which leave nothing behind.

use std::{fs, process::Stdio, time::Duration};

use serde_json::{Value, json};

use super::{end, everything, field, folder, path, said, start, text};
use crate::support::{World, program};

/// Begins a round of `agent` in the group `run`, which writes `files`.
fn round(world: &World, agent: &str, files: &[(&str, &str)]) -> Value {
    let round = start(world, &["--group", "run", "--agent", agent]);
    for (name, content) in files {
        fs::write(path(&round).join(name), content).expect("writable");
    }
    round
}

fn lines(changed: &[(usize, &str)]) -> String {
    (1..=9).map(|n| changed.iter().find(|it| it.0 == n).map_or(format!("{n}\n"), |it| format!("{}\n", it.1))).collect()
}

/// A world with two rounds of a group that have changed the same files and other ones.
fn two_rounds() -> (World, Value, Value) {
    let world = World::with_commit();
    world.write("far", lines(&[]));
    world.write("near", lines(&[]));
    world.write("gone", "text\n");
    world.sh("git add .; git commit -qm numbers");
    let (far, near) = (lines(&[(2, "two")]), lines(&[(5, "five")]));
    let one =
        round(&world, "a", &[("far", &far), ("near", &near), ("gone", "changed\n"), ("both", "same\n"), ("one", "")]);
    let (far, near) = (lines(&[(8, "eight")]), lines(&[(5, "FIVE")]));
    let two = round(&world, "b", &[("far", &far), ("near", &near), ("both", "same\n"), ("a \"b\"\n", "odd\n")]);
    fs::remove_file(path(&two).join("gone")).expect("it is there");
    (world, one, two)
}

fn state_of<'v>(compared: &'v Value, path: &str) -> &'v Value {
    let paths = compared["paths"].as_array().expect("a list");
    &paths.iter().find(|it| it["path"] == path).unwrap_or_else(|| panic!("{path}: {compared}"))["state"]
}

#[test]
fn changes_are_side_by_side_live_and_ended() {
    let (world, one, two) = two_rounds();
    let compare = || world.json(&["round", "compare", "--group", "run", "--json"]);
    let live = compare();
    for (name, state) in [("far", "clean"), ("near", "conflict"), ("gone", "conflict"), ("both", "equal")] {
        assert_eq!(*state_of(&live, name), state, "{name}");
    }
    assert_eq!(*state_of(&live, "one"), json!(null));
    let names: Vec<_> = live["paths"].as_array().expect("a list").iter().map(|it| it["path"].clone()).collect();
    assert_eq!(names, ["a \"b\"\n", "both", "far", "gone", "near", "one"]);
    let gone = &live["paths"][3]["changes"];
    assert_eq!(*gone, json!(["M", "D"]));
    // A merge by git stops at the same files.
    end(&world, &one);
    end(&world, &two);
    let ended = compare();
    assert_eq!(ended["paths"], live["paths"]);
    let branches = [field(&one, "branch"), field(&two, "branch")];
    let output =
        world.try_git(&["merge-tree", "--write-tree", "--name-only", "--no-messages", branches[0], branches[1]]);
    let merged = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(merged.lines().skip(1).collect::<Vec<_>>(), ["gone", "near"]);
    for (at, branch) in branches.iter().enumerate() {
        let (live, ended) = (&live["rounds"][at], &ended["rounds"][at]);
        assert_eq!(
            (&live["phase"], &ended["phase"], &ended["branch"]),
            (&json!("live"), &json!("ended"), &json!(branch))
        );
        let stat = world.git(&["diff", "--numstat", "--no-renames", &format!("{branch}^"), branch]);
        let sum = |column| stat.lines().filter_map(|it| it.split('\t').nth(column)?.parse::<u64>().ok()).sum::<u64>();
        for it in [live, ended] {
            assert_eq!((&it["files"], &it["added"]), (&json!(stat.lines().count()), &json!(sum(0))));
            assert_eq!((&it["deleted"], &it["ran"], &it["test"]), (&json!(sum(1)), &json!(null), &json!(null)));
        }
    }
    // One that is retired, too, and what is named twice once.
    world.done(&["round", "end", "--group", "run", "--branches", "delete"]);
    let named = world.json(&["round", "compare", branches[1], branches[0], branches[1], "--json"]);
    assert_eq!(
        (&named["rounds"][0]["branch"], &named["rounds"][1]["branch"]),
        (&json!(branches[1]), &json!(branches[0]))
    );
    assert_eq!(named["rounds"].as_array().map(Vec::len), Some(2));
    let shown = world.done(&["round", "compare", branches[0], branches[1]]);
    for line in ["   1   2", "   A   A  both  (equal)", "   M   M  far", "   M   D  gone  (conflict)", "   A   -  one"]
    {
        assert!(shown.lines().any(|it| it == line), "{line}: {shown}");
    }
    for (words, what) in [(&["--group", "no"][..], "no round is of the group 'no'"), (&["no"], "no round matches 'no'")]
    {
        let output = world.checkpoint(&[&["round", "compare"], words].concat());
        assert!(!output.status.success() && said(&output).contains(what), "{}", said(&output));
    }
}

/// A file that one has renamed and the other one has changed.
#[test]
fn renames_meet() {
    let world = World::with_commit();
    world.write("old", lines(&[]));
    world.sh("git add .; git commit -qm numbers");
    let (one, two) = (round(&world, "a", &[]), round(&world, "b", &[("old", &lines(&[(5, "FIVE")]))]));
    world.sh(&format!("cd {}; mv old new; sed -i 's/5/five/' new", text(&path(&one))));
    let compared = world.json(&["round", "compare", "--group", "run", "--json"]);
    assert_eq!(*state_of(&compared, "old"), "conflict", "{compared}");
    end(&world, &two);
}

fn id(round: &Value) -> &str {
    round["round"].as_str().expect("it has an id")
}

/// All that a test must not change.
fn facts(world: &World) -> String {
    format!("{}{}", everything(world), world.git(&["for-each-ref", "refs/heads", "refs/tags"]))
}

#[test]
fn a_test_runs_in_a_worktree_of_each_round_that_goes_afterwards() {
    let (world, one, two) = two_rounds();
    end(&world, &one);
    let root = path(&two);
    fs::write(root.join("live"), "").expect("writable");
    fs::write(world.repo().join("mine"), "not committed\n").expect("writable");
    let before = facts(&world);
    let script = "echo $GIT_CHECKPOINT_ROUND >>\"$GIT_CHECKPOINT_MAIN/../seen\"; pwd >>\"$GIT_CHECKPOINT_MAIN/../seen\"
        rm near; echo junk >far; test ! -e live";
    let compared = world.json(&["round", "compare", "--group", "run", "--test", script, "--json"]);
    let status = |at: usize| compared["rounds"][at]["test"]["status"].clone();
    assert_eq!((status(0), status(1)), (json!(0), json!(1)), "{compared}");
    let seen = world.sh("cat ../seen; rm ../seen");
    let seen: Vec<&str> = seen.lines().collect();
    assert_eq!((seen[0], seen[2], seen[3]), (id(&one), id(&two), text(&root)));
    assert!(seen[1].contains("/repo-wt-agents-") && !seen[1].ends_with('/'), "{seen:?}");
    // What a test does in the worktree of a live round, a checkpoint can take back; elsewhere, nothing has changed.
    let junk = fs::read_to_string(root.join("far")).expect("it is there");
    assert_eq!(junk, "junk\n");
    world.done(&["-C", text(&root), "restore", "@{0}", "near", "far"]);
    assert_eq!(fs::read_to_string(root.join("near")).expect("it is back"), lines(&[(5, "FIVE")]));
    assert_eq!(facts(&world), before);
    assert_eq!(world.git(&["show", &format!("{}:far", field(&one, "branch"))]), lines(&[(2, "two")]));
    assert_eq!(world.read("mine"), "not committed\n");
    world.assert_sound("after a test");
}

#[test]
fn a_test_runs_where_the_agent_worked() {
    let world = World::with_commit();
    folder(&world, "repo/sub");
    world.sh("echo >sub/file; git add .; git commit -qm sub");
    let words = ["round", "race", "--count", "1", "--context", "sub", "--group", "run", "--", "sh", "-c", "echo >new"];
    world.done(&words);
    let compared = world.json(&["round", "compare", "--group", "run", "--test", "ls", "--json"]);
    assert_eq!(compared["rounds"][0]["test"]["status"], json!(0));
    let output = world.checkpoint(&["round", "compare", "--group", "run", "--test", "test -e new && test -e file"]);
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(shown.contains("  1 file (+1 -0)  in ") && shown.contains("  test passed in "), "{shown}");
    assert!(said(&output).contains("hint: 'git checkpoint round apply agents/"), "{}", said(&output));
}

#[test]
fn what_a_test_leaves_is_named() {
    let (world, one, two) = two_rounds();
    end(&world, &one);
    end(&world, &two);
    let branch = field(&one, "branch");
    let message = |script: &str| {
        let output = world.checkpoint(&["round", "compare", branch, "--test", script, "--json"]);
        let printed: Value = serde_json::from_slice(&output.stdout).expect("it prints JSON");
        printed["rounds"][0]["test"]["message"].as_str().unwrap_or_else(|| panic!("{printed}")).to_owned()
    };
    let before = world.git(&["rev-parse", branch]);
    let said = message("echo new >new; git add new; git commit -qm new");
    let made = said.split('\'').find(|word| word.starts_with("agents/")).expect("it is named").to_owned();
    assert_eq!(world.git(&["show", &format!("{made}:new")]), "new\n");
    assert_eq!(world.git(&["rev-parse", branch]), before, "that of the round is as it was");
    let said = message("sleep 60 >/dev/null 2>&1 & echo $! >../pid; echo precious >new");
    assert!(said.contains("which was made for it, is left: "), "{said}");
    let root = said.split('\'').nth(1).expect("it is named").to_owned();
    assert_eq!(fs::read_to_string(format!("{root}/new")).expect("it is there"), "precious\n");
    world.sh("kill $(cat ../pid)");
}

#[test]
fn no_test_runs_in_the_callers_worktree() {
    let world = World::with_commit();
    let round = world.json(&["round", "start", "--workspace", ".", "--group", "run", "--json"]);
    let output = world.checkpoint(&["round", "compare", field(&round, "branch"), "--test", "touch ../ran"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains(", this worktree") && !world.root().join("ran").exists(), "{}", said(&output));
}

/// What the test changes there would be the agent's.
#[test]
fn no_test_runs_beside_an_agent() {
    let (world, one, _) = two_rounds();
    let root = path(&one);
    world.done(&["-C", text(&root), "session", "prompt", "s1", "-m", "go on"]);
    let test = |branch: &str| {
        let output = world.checkpoint(&["round", "compare", branch, "--test", "touch \"$GIT_CHECKPOINT_MAIN/../ran\""]);
        (output.status.code(), said(&output))
    };
    let (code, said) = test(field(&one, "branch"));
    assert_eq!((code, world.root().join("ran").exists()), (Some(1), false), "{said}");
    assert!(said.contains("the session 's1'"), "{said}");
    world.done(&["-C", text(&root), "session", "stop", "s1"]);
    assert_eq!(test(field(&one, "branch")).0, Some(0));
    assert!(world.root().join("ran").exists());
}

#[test]
fn an_interrupted_test_leaves_no_worktree() {
    let (world, one, two) = two_rounds();
    end(&world, &one);
    end(&world, &two);
    let before = facts(&world);
    let mut command = world.command(program());
    command.args(["round", "compare", "--group", "run", "--test", "echo >../began; exec sleep 60"]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program runs");
    while !world.root().join("began").exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    world.sh(&format!("kill -TERM {}; rm ../began", child.id()));
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{}", said(&output));
    assert_eq!(facts(&world), before);
}
