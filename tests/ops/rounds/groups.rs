//! `--group`: the rounds of one run, which end together.

use serde_json::{Value, json};

use super::{end, field, path, said, start, text};
use crate::support::World;

/// Begins a round of `agent` in `group`, with a file that only it has.
fn begin(world: &World, group: &str, agent: &str) -> Value {
    let round = start(world, &["--group", group, "--agent", agent]);
    std::fs::write(path(&round).join(agent), "work\n").expect("writable");
    round
}

fn archived(world: &World) -> String {
    world.git(&["for-each-ref", "--format=%(objectname)", "refs/checkpoints/archive"])
}

#[test]
fn the_rounds_of_a_group_end_together() {
    let world = World::with_commit();
    let (one, two, other) = (begin(&world, "run1", "a"), begin(&world, "run1", "b"), begin(&world, "run2", "a"));
    let listed = |more: &[&str]| {
        let all = world.json(&[&["round", "list", "--json"], more].concat());
        all["rounds"].as_array().expect("a list").iter().map(|it| it["round"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(listed(&["--group", "run1"]), [one["round"].clone(), two["round"].clone()]);
    assert_eq!(world.json(&["round", "list", "--json"])["rounds"][0]["group"], json!("run1"));
    let branches = world.json(&["round", "branches", "--group", "run1", "--json"])["branches"].clone();
    assert_eq!(branches, json!({ "a": field(&one, "branch"), "b": field(&two, "branch") }));
    let ended = world.json(&["round", "end", "--group", "run1", "--json"]);
    assert_eq!((ended["rounds"].as_array().map(Vec::len), &ended["failed"]), (Some(2), &json!([])));
    assert_eq!((&ended["retired"], &ended["left"]), (&json!([]), &json!([])));
    assert_eq!(listed(&[]), [other["round"].clone()]);
    assert_eq!(world.git(&["show", &format!("{}:b", field(&two, "branch"))]), "work\n");
    assert!(path(&other).exists() && !path(&one).exists());
    // Nothing is left to do.
    assert_eq!(world.json(&["round", "end", "--group", "run1", "--json"])["rounds"], json!([]));
    world.done(&["round", "end", "--all"]);
    assert_eq!(listed(&[]), [json!(null); 0]);
}

/// An agent of one run does not read of those of another one.
#[test]
fn the_context_of_a_round_is_its_group() {
    let world = World::with_commit();
    let (one, two) = (begin(&world, "run1", "a"), begin(&world, "run1", "b"));
    begin(&world, "run2", "c");
    let read = world.done(&["round", "context", field(&two, "branch")]);
    assert!(read.contains(&format!("- a: `{}`", field(&one, "branch"))) && !read.contains("- c:"), "{read}");
}

#[test]
fn a_round_that_cannot_end_is_named_and_the_others_end() {
    let world = World::with_commit();
    let (one, two) = (begin(&world, "run", "a"), begin(&world, "run", "b"));
    world.git(&["-C", text(&path(&one)), "checkout", "-q", "--detach"]);
    let output = world.checkpoint(&["round", "end", "--group", "run", "--branches", "delete"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let id = one["round"].as_str().expect("it has an id");
    assert!(said(&output).contains(&format!("the round {id} goes on: HEAD of '")), "{}", said(&output));
    assert_eq!(std::fs::read_to_string(path(&one).join("a")).expect("it stays"), "work\n");
    assert!(!path(&two).exists());
    // The branch of the one that goes on stays.
    let branches = world.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads/agents"]);
    assert_eq!(branches.trim(), field(&one, "branch"));
    let output = world.checkpoint(&["round", "end", "--group", "run", "--json"]);
    let printed: Value = serde_json::from_slice(&output.stdout).expect("it prints JSON");
    assert_eq!((output.status.code(), &printed["failed"][0]["round"]), (Some(1), &one["round"]));
}

#[test]
fn deleted_branches_are_in_the_archive() {
    let world = World::with_commit();
    let before = begin(&world, "run", "a");
    end(&world, &before);
    let now = begin(&world, "run", "a");
    let mine = begin(&world, "other", "a");
    world.git(&["branch", "agents/deadbeef"]);
    let ended = world.json(&["round", "end", "--group", "run", "--branches", "delete", "--json"]);
    assert_eq!(ended["retired"].as_array().map(Vec::len), Some(2), "{ended}");
    let branches = world.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads/agents"]);
    let mut expected = [field(&mine, "branch"), "agents/deadbeef"];
    expected.sort_unstable();
    assert_eq!(branches.lines().collect::<Vec<_>>(), expected);
    for (round, it) in [before, now].iter().zip(ended["retired"].as_array().expect("a list")) {
        assert_eq!(it["branch"], round["contexts"][0]["branch"]);
        let commit = it["commit"].as_str().expect("it has a commit");
        assert!(archived(&world).contains(commit));
        world.git(&["gc", "-q", "--prune=now"]);
        assert_eq!(world.git(&["show", &format!("{commit}:a")]), "work\n");
        let shown = world.json(&["round", "show", round["round"].as_str().expect("it has an id"), "--json"]);
        assert_eq!(shown["round"]["contexts"][0]["retired"], it["commit"]);
        assert!(world.done(&["round", "diff", "--name-only", round["round"].as_str().expect("an id")]).contains('a'));
    }
    world.done(&["doctor"]);
    // What has the name by now is not the round's.
    world.git(&["branch", ended["retired"][0]["branch"].as_str().expect("a name"), "main"]);
    let again = world.json(&["round", "end", "--group", "run", "--branches", "delete", "--json"]);
    assert_eq!((&again["retired"], &again["left"]), (&json!([]), &json!([])));
}

#[test]
fn a_branch_in_use_is_not_deleted() {
    let world = World::with_commit();
    let (one, two) = (begin(&world, "run", "a"), begin(&world, "run", "b"));
    end(&world, &one);
    end(&world, &two);
    world.sh(&format!(
        "git switch -q {}; git worktree add -q ../rebased {}",
        field(&one, "branch"),
        field(&two, "branch")
    ));
    // In the middle of a rebase, HEAD is on no branch.
    world.sh("cd ../rebased; echo 1 >x; git add x; git commit -qm x; GIT_SEQUENCE_EDITOR='sed -i s/pick/edit/' git rebase -qi HEAD~1");
    let refs = world.git(&["for-each-ref", "refs/heads"]);
    // Rounds that have ended before are of no run without a name.
    world.done(&["round", "end", "--all", "--branches", "delete"]);
    let output = world.checkpoint(&["round", "end", "--group", "run", "--branches", "delete"]);
    assert!(said(&output).matches("is checked out in").count() == 2, "{}", said(&output));
    assert_eq!((output.status.code(), world.git(&["for-each-ref", "refs/heads"])), (Some(1), refs));
}

/// Another round goes back to that branch.
#[test]
fn a_branch_to_which_a_round_goes_back_is_not_deleted() {
    let world = World::with_commit();
    let one = begin(&world, "run", "a");
    end(&world, &one);
    world.git(&["switch", "-q", field(&one, "branch")]);
    let inner = world.json(&["round", "start", "--workspace", ".", "--json"]);
    let output = world.checkpoint(&["round", "end", "--group", "run", "--branches", "delete"]);
    assert!(said(&output).contains("goes back to the branch"), "{}", said(&output));
    end(&world, &inner);
    assert_eq!(world.git(&["branch", "--show-current"]).trim(), field(&one, "branch"));
}

/// The name is in the prompts of agents that work.
#[test]
fn a_retired_branch_stays_as_long_as_an_agent_may_have_been_told_of_it() {
    let world = World::with_commit();
    let one = begin(&world, "run", "a");
    let free = start(&world, &["--agent", "free"]);
    let other = begin(&world, "other", "a");
    let ended = world.json(&["round", "end", "--group", "run", "--branches", "retire", "--json"]);
    assert_eq!(ended["left"][0]["branch"], one["contexts"][0]["branch"], "{ended}");
    world.git(&["rev-parse", "--verify", field(&one, "branch")]);
    assert_eq!(world.json(&["round", "branches", "--group", "run", "--json"])["branches"], json!({}), "it is to go");
    // A round that begins now is not told.
    let late = start(&world, &["--agent", "late"]);
    end(&world, &free);
    let gone = world.try_git(&["rev-parse", "--verify", "-q", field(&one, "branch")]);
    assert!(!gone.status.success());
    end(&world, &late);
    end(&world, &other);
}

#[test]
fn the_setting_says_what_becomes_of_branches() {
    let world = World::with_commit();
    let one = begin(&world, "run", "a");
    world.git(&["config", "checkpoint.round.branches", "delete"]);
    // A round alone keeps its branch.
    let two = begin(&world, "run", "b");
    end(&world, &two);
    world.git(&["rev-parse", "--verify", field(&two, "branch")]);
    let ended = world.json(&["round", "end", "--group", "run", "--branches", "keep", "--json"]);
    assert_eq!(ended["retired"], json!([]));
    let ended = world.json(&["round", "end", "--group", "run", "--json"]);
    assert_eq!(ended["retired"].as_array().map(Vec::len), Some(2));
    assert!(archived(&world).contains(ended["retired"][0]["commit"].as_str().expect("a commit")));
    drop(one);
}

#[rstest::rstest]
#[case::unknown(&["--group", "nothing"], 128)]
#[case::malformed(&["--group", "../x"], 128)]
#[case::both(&["--group", "run", "--all"], 129)]
#[case::name_too(&["--all", "agents/x"], 129)]
#[case::branches_of_one(&["agents/x", "--branches", "delete"], 129)]
#[case::nothing(&[], 129)]
fn what_makes_no_sense_is_refused(#[case] words: &[&str], #[case] code: i32) {
    let world = World::with_commit();
    begin(&world, "run", "a");
    let output = world.checkpoint(&[&["round", "end"], words].concat());
    assert_eq!(output.status.code(), Some(code), "{}", said(&output));
    assert_eq!(world.checkpoint(&["round", "start", "--context", ".", "--group", "../x"]).status.code(), Some(128));
}

/// The process is killed after the archive has the commit, and before the branch is gone.
#[cfg(feature = "failpoints")]
#[test]
fn a_retirement_that_is_killed_goes_on() {
    let world = World::with_commit();
    let one = begin(&world, "run", "a");
    end(&world, &one);
    let mut command = world.command(crate::support::program());
    command.args(["round", "end", "--group", "run", "--branches", "delete"]);
    let output = command.env("CHECKPOINT_FAILPOINT", "round:after-hold").output().expect("it runs");
    assert!(!output.status.success());
    world.git(&["rev-parse", "--verify", field(&one, "branch")]);
    let ended = world.json(&["round", "end", "--group", "run", "--branches", "delete", "--json"]);
    assert_eq!(ended["retired"].as_array().map(Vec::len), Some(1), "{ended}");
}
