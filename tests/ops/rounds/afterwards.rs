//! What other commands do with a round, or say of it, once it has ended, or its set-up has failed.

use std::fs;

use rstest::rstest;
use serde_json::{Value, json};

use super::{end, field, folder, path, said, start, text};
use crate::support::World;

const SECRET: &str = "swordfish-4711";

/// Purges the text, and returns the files that are named because they have it still.
fn left_by_purge(world: &World) -> Vec<String> {
    let purged = world.checkpoint(&["purge", "--force", "--json", SECRET]);
    let report: Value = serde_json::from_slice(&purged.stdout).unwrap_or_else(|_| panic!("{}", said(&purged)));
    let left = report["left"].as_array().unwrap_or_else(|| panic!("{report}"));
    left.iter().map(|it| it.as_str().unwrap_or_default().to_owned()).collect()
}

/// The user deletes the branch and the removed worktree: the checkpoints of that worktree can be dropped elsewhere.
#[test]
fn a_secret_that_a_round_has_committed_can_be_purged_after_its_end() {
    let world = World::with_commit();
    let round = start(&world, &[]);
    fs::write(path(&round).join("key"), SECRET).expect("writable");
    let ended = end(&world, &round);
    let commit = field(&ended, "commit").to_owned();
    world.checkpoint(&["purge", "--force", SECRET]);
    world.git(&["branch", "-qD", field(&round, "branch")]);
    // As long as the worktree can be restored, it has its checkpoints.
    let listed = world.done(&["list", "--all-worktrees", "--json"]);
    let ids: Vec<Value> = listed.lines().map(|line| serde_json::from_str(line).expect("it prints JSON")).collect();
    let ids: Vec<&str> = ids.iter().map(|it| it["id"].as_str().expect("an id")).collect();
    assert!(ids.len() > 1, "{ids:?}");
    let dropped = world.checkpoint(&["purge", "--force", "--checkpoint", ids[0]]);
    assert!(!dropped.status.success() && said(&dropped).contains("worktree prune --removed"), "{}", said(&dropped));
    world.done(&["worktree", "prune", "--removed"]);
    let again = world.checkpoint(&["purge", "--force", SECRET]);
    assert!(said(&again).contains("--all-worktrees"), "{}", said(&again));
    let words = [&["purge", "--force", "--checkpoint"][..], &ids].concat();
    let dropped = world.checkpoint(&words);
    assert!(dropped.status.success(), "{}", said(&dropped));
    world.git(&["reflog", "expire", "--expire=now", "--all"]);
    world.git(&["gc", "-q", "--prune=now"]);
    assert!(!world.try_git(&["cat-file", "-e", &commit]).status.success());
    world.assert_sound("after the purge");
}

/// They are the user's, wherever they are kept.
#[test]
fn a_purge_names_experiments_and_leaves_them_alone() {
    let world = World::with_commit();
    let round = world.json(&["round", "start", "--context", ".", "--agent", "a", "--json"]);
    fs::write(format!("{}/note", field(&round, "scratch")), SECRET).expect("writable");
    let kept = format!("{}/note", field(&end(&world, &round), "archive"));
    assert!(left_by_purge(&world).iter().any(|it| it.ends_with("scratch/a/note")));
    assert_eq!(fs::read_to_string(kept).expect("it is there"), SECRET);
}

/// The log of a race is ours; as long as its round goes on, a program may write there.
#[test]
fn a_purge_replaces_the_text_in_the_log_of_a_race_that_has_ended() {
    let world = World::with_commit();
    world.checkpoint(&["round", "race", "--count", "1", "--", "echo", SECRET]);
    assert_eq!(left_by_purge(&world), Vec::<String>::new());
    assert_eq!(world.sh("cat .git/checkpoint/rounds/*.log"), "[purged]\n");
    let script = format!("echo {SECRET}; sleep 60 >/dev/null 2>&1 & echo $! >../pid");
    world.checkpoint(&["round", "race", "--count", "1", "--group", "run", "--", "sh", "-c", &script]);
    let left = left_by_purge(&world);
    assert!(left.len() == 1 && left[0].contains(".log"), "{left:?}");
    world.sh("pid=$(cat ../pid); kill $pid; while kill -0 $pid 2>/dev/null; do sleep 0.01; done");
    world.done(&["round", "end", "--group", "run"]);
    assert_eq!(left_by_purge(&world), Vec::<String>::new());
}

#[rstest]
#[case::work("echo work >new", "; its work was ")]
#[case::none("true", " is no more\n")]
fn a_branch_that_was_deleted_has_no_work(#[case] script: &str, #[case] words: &str) {
    let world = World::with_commit();
    let round = start(&world, &[]);
    world.sh(&format!("cd '{}'; {script}", path(&round).display()));
    end(&world, &round);
    let id = round["round"].as_str().expect("it has an id");
    assert!(!world.done(&["round", "end", id]).contains("is no more"));
    world.git(&["branch", "-qD", field(&round, "branch")]);
    let printed = world.done(&["round", "end", id]);
    assert!(printed.contains(&format!("the branch {} is no more", field(&round, "branch"))), "{printed}");
    assert!(printed.contains(words) && !printed.contains("the work is on"), "{printed}");
}

/// Its commits are here, and their changes are not: as for a merge by git, there is nothing to apply.
#[test]
fn an_application_after_a_merge_that_was_reverted_says_why_nothing_comes() {
    let world = World::with_commit();
    let round = start(&world, &[]);
    fs::write(path(&round).join("new"), "work\n").expect("writable");
    end(&world, &round);
    let branch = field(&round, "branch");
    world.git(&["merge", "-q", "--no-ff", "-m", "take it", branch]);
    world.git(&["revert", "--no-edit", "-m", "1", "HEAD"]);
    let output = world.checkpoint(&["round", "apply", branch]);
    assert!(said(&output).contains(&format!("HEAD has all commits of {branch} already")), "{}", said(&output));
    assert!(said(&output).contains("git revert"), "{}", said(&output));
    // A round that has changed nothing has no commits that could be here.
    let idle = start(&world, &["--agent", "idle"]);
    end(&world, &idle);
    let output = world.checkpoint(&["round", "apply", field(&idle, "branch")]);
    assert!(!said(&output).contains("already"), "{}", said(&output));
}

/// What the agent has merged of this branch is not its work, as long as it works and afterwards.
#[test]
fn a_diff_has_no_changes_of_commits_that_were_merged_here() {
    let world = World::with_commit();
    let round = start(&world, &[]);
    world.sh(&format!(
        "echo theirs >theirs; git add theirs; git commit -qm theirs
         cd '{}'; echo work >new; git add new; git commit -qm work; git merge -q --no-edit main; echo more >more",
        path(&round).display()
    ));
    let names = || world.done(&["round", "diff", "--name-only", field(&round, "branch")]);
    assert_eq!(names(), "more\nnew\n");
    end(&world, &round);
    assert_eq!(names(), "more\nnew\n");
    // What was merged here is to be seen all the same.
    world.git(&["merge", "-q", "--no-edit", field(&round, "branch")]);
    assert!(names().contains("new"), "{}", names());
}

/// A command of the set-up fails in a copy: it goes on as in a worktree.
#[test]
fn a_set_up_that_has_failed_in_a_copy_goes_on() {
    let world = World::with_commit();
    let list = r#"["echo 1 >>../one", "test -e ../may && echo 2 >>../two"]"#;
    world.done(&["config", "set", "worktree.setup", list]);
    let workspace = folder(&world, "ws");
    let words = ["round", "start", "--mode", "isolated", "--context", ".", "--workspace", text(&workspace), "--json"];
    let output = world.checkpoint(&words);
    let round: Value = serde_json::from_slice(&output.stdout).expect("it prints JSON");
    let copy = path(&round);
    let hint = format!("'git checkpoint worktree setup {}' goes on with that command", copy.display());
    assert!(output.status.code() == Some(1) && said(&output).contains(&hint), "{}", said(&output));
    let inside = world.checkpoint(&["-C", text(&copy), "worktree", "setup"]);
    let hint = format!("'git -C {} checkpoint worktree setup {}'", world.repo().display(), copy.display());
    assert!(!inside.status.success() && said(&inside).contains(&hint), "{}", said(&inside));
    world.sh("touch ../ws/.worktree/may");
    let ran = world.json(&["worktree", "setup", text(&copy), "--json"]);
    assert_eq!((&ran["setup"]["done"], &ran["path"]), (&json!(2), &json!(text(&copy))), "{ran}");
    assert_eq!(world.sh("cd ../ws/.worktree; cat one two"), "1\n2\n");
    end(&world, &round);
    let output = world.checkpoint(&["worktree", "setup", text(&copy)]);
    assert!(said(&output).contains("names no worktree"), "{}", said(&output));
}

/// The user approves the commands of the project after the start.
#[test]
fn commands_that_are_approved_later_run_in_a_copy() {
    let world = World::with_commit();
    world.write(".checkpoint.toml", "[worktree]\nsetup = [\"echo 1 >../one\"]\n");
    let workspace = folder(&world, "ws");
    let words = ["round", "start", "--mode", "isolated", "--context", ".", "--workspace", text(&workspace), "--json"];
    let output = world.checkpoint(&words);
    let round: Value = serde_json::from_slice(&output.stdout).expect("it prints JSON");
    assert!(said(&output).contains("worktree approve"), "{}", said(&output));
    let copy = path(&round);
    assert_eq!(world.checkpoint(&["worktree", "setup", text(&copy)]).status.code(), Some(1));
    world.done(&["worktree", "approve", "--yes"]);
    world.done(&["worktree", "setup", text(&copy)]);
    assert_eq!(world.sh("cat ../ws/.worktree/one"), "1\n");
}
