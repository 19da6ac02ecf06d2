//! `--previous`: an agent has one branch, and no agent loses a name that it was told.

use serde_json::{Value, json};

use super::{end, everything, field, said, start};
use crate::support::World;

fn is_there(world: &World, branch: &str) -> bool {
    world.try_git(&["rev-parse", "--verify", "-q", &format!("refs/heads/{branch}")]).status.success()
}

/// Begins a round of agent `a`, and ends it.
fn before(world: &World) -> Value {
    let round = start(world, &["--agent", "a"]);
    std::fs::write(super::path(&round).join("new"), "work\n").expect("writable");
    end(world, &round);
    round
}

#[test]
fn the_branch_before_is_retired_when_the_new_round_is_there() {
    let world = World::with_commit();
    let old = before(&world);
    let branch = field(&old, "branch");
    let tip = world.git(&["rev-parse", branch]);
    let new = start(&world, &["--agent", "a", "--base", branch, "--previous", branch]);
    assert!(!is_there(&world, branch) && is_there(&world, field(&new, "branch")));
    assert!(world.git(&["for-each-ref", "--format=%(objectname)", "refs/checkpoints/archive"]).contains(tip.trim()));
    assert_eq!(world.json(&["round", "branches", "--json"])["branches"], json!({ "a": field(&new, "branch") }));
    // The same again is the same.
    let again = start(&world, &["--agent", "a", "--base", branch, "--previous", branch]);
    assert_eq!(again["contexts"], new["contexts"]);
    assert_eq!((new["retired"][0]["branch"].as_str(), &again["retired"]), (Some(branch), &json!([])));
}

#[test]
fn it_waits_for_agents_that_may_have_been_told_of_it() {
    let world = World::with_commit();
    let old = before(&world);
    let branch = field(&old, "branch");
    let other = start(&world, &["--agent", "b"]);
    let new = start(&world, &["--agent", "a", "--previous", branch]);
    assert_eq!((&new["left"][0]["branch"], &new["left"][0]["later"]), (&json!(branch), &json!(true)));
    assert!(is_there(&world, branch));
    assert_eq!(
        world.json(&["round", "list", "--all", "--json"])["rounds"][0]["contexts"][0]["superseded"],
        json!(true)
    );
    let late = start(&world, &["--agent", "c"]);
    assert!(!world.done(&["round", "context", field(&late, "branch")]).contains(branch));
    end(&world, &other);
    assert!(!is_there(&world, branch), "'c' never knew it");
}

/// A user goes on with a branch that waits, or has made another one of that name.
#[rstest::rstest]
#[case::more("git switch -q $B; git commit -q --allow-empty -m more")]
#[case::another("git branch -qD $B; git switch -qc $B; git commit -q --allow-empty -m mine")]
fn a_branch_that_a_user_goes_on_with_stays(#[case] script: &str) {
    let world = World::with_commit();
    let old = before(&world);
    let branch = field(&old, "branch");
    let other = start(&world, &["--agent", "b"]);
    start(&world, &["--agent", "a", "--previous", branch]);
    world.sh(&format!("B={branch}; {script}; git switch -q main"));
    let tip = world.git(&["rev-parse", branch]);
    end(&world, &other);
    assert_eq!(world.git(&["rev-parse", branch]), tip);
}

#[test]
fn a_live_round_is_not_taken_for_retired_while_its_branch_has_another_name() {
    let world = World::with_commit();
    let live = start(&world, &["--agent", "a"]);
    let (branch, id) = (field(&live, "branch"), live["round"].as_str().expect("an id"));
    std::fs::write(super::path(&live).join("new"), "work\n").expect("writable");
    let killed = world.start_with(&["round", "end", id], "round:before-removal").wait_with_output().expect("it ends");
    assert!(!killed.status.success(), "{}", said(&killed));
    world.git(&["branch", "-m", branch, "away"]);
    start(&world, &["--agent", "a", "--previous", branch, "--now"]);
    world.git(&["branch", "-m", "away", branch]);
    let place = super::path(&live).display().to_string();
    world.sh(&format!("cd '{place}' && echo more >>new && git commit -qam more"));
    end(&world, &live);
    // It goes now, with the commit that it had at the end.
    assert!(!is_there(&world, branch));
    assert!(world.done(&["round", "diff", id]).contains("+more"));
}

#[test]
fn the_branch_of_another_agent_is_refused() {
    let world = World::with_commit();
    let one = start(&world, &["--agent", "a"]);
    let words = ["round", "start", "--context", ".", "--agent", "b", "--previous", field(&one, "branch")];
    let output = world.checkpoint(&words);
    assert!(!output.status.success() && said(&output).contains("that of the agent 'a'"), "{}", said(&output));
    world.done(&[&words[..], &["--previous-policy", "keep"]].concat());
}

#[test]
fn now_does_not_wait() {
    let world = World::with_commit();
    let old = before(&world);
    start(&world, &["--agent", "b"]);
    start(&world, &["--agent", "a", "--previous", field(&old, "branch"), "--now"]);
    assert!(!is_there(&world, field(&old, "branch")));
}

#[test]
fn it_stays_if_that_is_asked_for() {
    let world = World::with_commit();
    let old = before(&world);
    start(&world, &["--agent", "a", "--previous", field(&old, "branch"), "--previous-policy", "keep"]);
    assert!(is_there(&world, field(&old, "branch")));
    world.done(&["round", "end", "--all"]);
    assert!(is_there(&world, field(&old, "branch")));
}

#[rstest::rstest]
#[case::of_no_round(&["--previous", "main"], "no round has made the branch 'main'")]
#[case::checked_out(&["--previous", "OLD", "--now"], "is checked out in")]
#[case::checked_out_elsewhere(&["--previous", "OLD"], "is checked out in")]
#[case::both(&["--previous", "OLD", "--now", "--previous-policy", "keep"], "--now")]
#[case::failed(&["--previous", "OLD", "--base", "nothing"], "nothing")]
fn a_round_that_cannot_begin_leaves_the_branch_before(#[case] words: &[&str], #[case] why: &str) {
    let world = World::with_commit();
    let old = before(&world);
    let branch = field(&old, "branch");
    if why.contains("checked out") {
        world.sh(&format!("git worktree add -q ../used {branch}"));
    }
    let words: Vec<&str> = words.iter().map(|word| if *word == "OLD" { branch } else { word }).collect();
    let state = everything(&world);
    let output = world.checkpoint(&[&["round", "start", "--context", ".", "--agent", "a"], &words[..]].concat());
    assert!(!output.status.success() && said(&output).contains(why), "{}", said(&output));
    assert_eq!(everything(&world), state);
}

/// The branch of a round that goes on stays until that has ended.
#[test]
fn the_branch_of_a_live_round_goes_when_that_ends() {
    let world = World::with_commit();
    let old = start(&world, &["--agent", "a"]);
    start(&world, &["--agent", "a", "--previous", field(&old, "branch")]);
    assert!(is_there(&world, field(&old, "branch")));
    end(&world, &old);
    assert!(!is_there(&world, field(&old, "branch")));
}
