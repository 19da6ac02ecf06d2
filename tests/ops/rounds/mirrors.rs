//! `round start --mirror`: what is not committed comes along, as a commit with which the round begins.

use std::fs;

use rstest::rstest;
use serde_json::{Value, json};

use super::{dies, end, everything, field, folder, path, said, text};
use crate::support::World;

/// A repository with changes of all kinds, staged and not.
fn dirty() -> World {
    let world = World::with_commit();
    world.sh(
        "echo '*.log' >.gitignore; seq 5 >changed; echo 1 >deleted; echo 1 >staged; echo 1 >removed; git add .; git commit -qm files
         sed -i 2s/2/two/ changed; rm deleted; echo 2 >staged; git add staged; git rm -q removed; echo 1 >added; git add added
         echo 1 >new; echo 1 >noise.log",
    );
    world
}

fn start(world: &World, mode: &str, mirror: &[&str]) -> Value {
    let workspace = folder(world, "ws");
    let words = [
        "round",
        "start",
        "--context",
        ".",
        "--mode",
        mode,
        "--workspace",
        text(&workspace),
        "--agent",
        mode,
        "--json",
    ];
    world.json(&[&words[..], mirror].concat())
}

#[rstest]
fn changes_come_along(
    #[values("worktree", "isolated")] mode: &str,
    #[values("none", "tracked", "all")] mirror: &str,
    #[values(false, true)] by_setting: bool,
) {
    let world = dirty();
    let state =
        || (world.git(&["status", "--porcelain"]), world.git(&["diff", "HEAD"]), world.git(&["rev-parse", "HEAD"]));
    let before = state();
    let round = if by_setting {
        world.done(&["config", "set", "round.mirror", mirror]);
        start(&world, mode, &[])
    } else {
        start(&world, mode, &["--mirror", mirror])
    };
    assert_eq!(state(), before, "the source is as it was");
    let root = path(&round);
    let expected = match mirror {
        "none" => "",
        "tracked" => "A\tadded\nM\tchanged\nD\tdeleted\nD\tremoved\nM\tstaged\n",
        _ => "A\tadded\nM\tchanged\nD\tdeleted\nA\tnew\nD\tremoved\nM\tstaged\n",
    };
    let there = |arguments: &[&str]| world.git(&[&["-C", text(&root)], arguments].concat());
    let base = world.git(&["rev-parse", "main"]);
    assert_eq!(there(&["diff", "--no-renames", "--name-status", base.trim(), "HEAD"]), expected);
    assert_eq!(there(&["status", "--porcelain"]), "");
    let subjects = if mirror == "none" { "files\n" } else { "[ROUND] Baseline\nfiles\n" };
    assert!(there(&["log", "--format=%s"]).starts_with(subjects));
    assert_eq!(field(&round, "base"), there(&["rev-parse", "HEAD"]).trim());
    // What counts is what the round does.
    assert_eq!(world.done(&["round", "diff", "--name-only", round["round"].as_str().expect("an id")]), "");
    fs::write(root.join("changed"), "1\n2\n3\n4\n5\n6\n").expect("writable");
    fs::write(root.join("work"), "work\n").expect("writable");
    let ended = end(&world, &round);
    let commit = field(&ended, "commit");
    assert_eq!(world.git(&["show", "--name-only", "--format=", commit]), "changed\nwork\n");
    if mirror != "none" {
        // The files are here as the round began with them.
        world.done(&["round", "apply", round["round"].as_str().expect("an id")]);
        assert_eq!(world.sh("cat work changed"), "work\n1\n2\n3\n4\n5\n6\n");
    }
}

/// Lines of an agent that are not committed yet are the agent's in the round, too.
#[rstest]
fn whose_lines_they_are_is_known(#[values("worktree", "isolated")] mode: &str) {
    let world = World::with_commit();
    world.done(&["enable"]);
    world.done(&["session", "start", "s1"]);
    world.done(&["session", "prompt", "s1", "-m", "write it"]);
    world.sh("echo 'let agents = write();' >agent.rs");
    world.done(&["session", "stop", "s1"]);
    world.sh("echo 'fn person() { typed(); }' >person.rs");
    let round = start(&world, mode, &["--mirror", "all"]);
    let root = path(&round);
    assert!(world.done(&["-C", text(&root), "blame", "agent.rs"]).contains("s1"));
    assert!(!world.done(&["-C", text(&root), "blame", "person.rs"]).contains("s1"));
    end(&world, &round);
    assert!(world.done(&["blame", "--rev", field(&round, "branch"), "agent.rs"]).contains("s1"));
}

#[test]
fn nothing_to_take_along_is_no_commit() {
    let world = World::with_commit();
    for mode in ["worktree", "isolated"] {
        let round = start(&world, mode, &["--mirror", "all"]);
        assert_eq!(field(&round, "base"), world.git(&["rev-parse", "main"]).trim());
        end(&world, &round);
    }
}

#[test]
fn changes_do_not_come_along_to_another_commit() {
    let world = dirty();
    folder(&world, "ws/.worktree");
    let before = everything(&world);
    let output = world.checkpoint(&["round", "start", "--context", ".", "--mirror", "all", "--base", "HEAD"]);
    assert!(said(&output).contains("'--base'"), "{}", said(&output));
    assert_eq!(everything(&world), before);
    world.done(&["config", "set", "round.mirror", "all"]);
    let round = start(&world, "worktree", &["--base", "HEAD"]);
    assert_eq!(field(&round, "base"), world.git(&["rev-parse", "main"]).trim());
    assert_eq!(world.json(&["round", "list", "--json"])["rounds"][0]["contexts"][0]["aside"], json!(null));
}

#[test]
fn what_no_checkpoint_has_is_named_and_nothing_is_made() {
    let world = dirty();
    world.done(&["config", "set", "save.max-file-size", "1 KiB"]);
    world.sh("head -c 5000 /dev/zero >huge");
    let refused = |mirror: &str| {
        let output = world.checkpoint(&["round", "start", "--context", ".", "--mirror", mirror]);
        assert!(said(&output).contains("'huge'"), "{}", said(&output));
        assert_eq!(world.json(&["round", "list", "--all", "--json"])["rounds"], json!([]));
        assert_eq!(world.git(&["worktree", "list"]).lines().count(), 1);
    };
    refused("all");
    // An untracked file stays here anyway.
    let round = start(&world, "worktree", &["--mirror", "tracked"]);
    end(&world, &round);
}

#[rstest]
fn a_start_that_was_killed_loses_nothing(
    #[values("worktree", "isolated")] mode: &str,
    #[values("restore:after-journal", "round:before-commit", "round:after-commit")] failpoint: &str,
) {
    let world = dirty();
    let state = || (world.git(&["status", "--porcelain"]), world.git(&["diff", "HEAD"]));
    let (before, workspace) = (state(), folder(&world, "ws"));
    let words =
        ["round", "start", "--context", ".", "--mode", mode, "--workspace", text(&workspace), "--mirror", "all"];
    dies(&world, failpoint, &words);
    assert_eq!(state(), before);
    let again = world.checkpoint(&[&words[..], &["--json"]].concat());
    if mode == "isolated" {
        assert!(again.status.success(), "{}", said(&again));
    } else {
        // A worktree in which there is something is left to the user.
        let said = said(&again);
        if said.contains("restore --continue") {
            world.done(&["-C", text(&workspace.join(".worktree/ctx_1")), "restore", "--continue"]);
        } else {
            assert!(said.contains("round end"), "{said}");
        }
    }
    let listed = world.json(&["round", "list", "--json"]);
    let ended = end(&world, &listed["rounds"][0]);
    let branch = field(&ended, "branch");
    assert_eq!(world.git(&["show", &format!("{branch}:new")]), "1\n");
    assert_eq!(state(), before);
}
