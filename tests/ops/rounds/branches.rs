//! `round branches` and `round context`: what agents read.

use rstest::rstest;
use serde_json::json;

use super::{end, field, folder, path, start, text};
use crate::support::World;

#[test]
fn an_agent_reads_of_its_branch_and_those_of_others() {
    let world = World::with_commit();
    let one = start(&world, &["--agent", "agent1"]);
    let two = start(&world, &["--agent", "agent2"]);
    let id = |round: &serde_json::Value| round["round"].as_str().expect("it has an id").to_owned();
    let (first, second) = (field(&one, "branch"), field(&two, "branch"));
    let text = format!(
        "Your work is on branch `{second}`. All changes are auto-committed when your turn ends.\n\
         Other agents' branches:\n\
         - agent1: `{first}`\n\
         Look at them with `git diff <branch>`; take one over with `git merge <branch>`.\n"
    );
    assert_eq!(world.done(&["round", "context", &id(&two)]), text);
    assert!(!text.contains("agent2"), "it does not say who the reader is");
    std::fs::write(path(&one).join(".checkpoint_scratch/note"), "an idea\n").expect("writable");
    end(&world, &one);
    let with_archive = format!("{text}Check `.scratch_archive/` for experiments from prior rounds.\n");
    assert_eq!(world.json(&["round", "context", &id(&two), "--json"]), json!({ "version": 1, "text": with_archive }));
    let restart = world.done(&["round", "context", "--restart", &id(&two)]);
    assert!(
        restart.starts_with(&format!(
            "Your earlier work is on branch `{second}`. Take it over with `git merge {second}`.\n"
        ))
    );
    let branches =
        |arguments: &[&str]| world.json(&[&["round", "branches", "--json"], arguments].concat())["branches"].clone();
    assert_eq!(branches(&[]), json!({ "agent1": first, "agent2": second }));
    assert_eq!(branches(&["--exclude", "agent2"]), json!({ "agent1": first }));
    // The next round of an agent is the one that counts; a branch that is no more does not.
    let next = start(&world, &["--agent", "agent1"]);
    assert_eq!(branches(&["--exclude", "agent2"]), json!({ "agent1": field(&next, "branch") }));
    end(&world, &next);
    world.git(&["branch", "-D", "-q", field(&next, "branch")]);
    assert_eq!(branches(&["--exclude", "agent2"]), json!({ "agent1": first }));
    assert_eq!(world.done(&["round", "branches"]), format!("agent1: {first}\nagent2: {second}\n"));
}

#[test]
fn without_branches_there_is_nothing_to_read() {
    let world = World::with_commit();
    let workspace = folder(&world, "ws");
    let arguments = ["round", "start", "--context", ".", "--workspace", text(&workspace), "--mode", "legacy", "--json"];
    let round = world.json(&arguments);
    let id = round["round"].as_str().expect("it has an id");
    assert_eq!(world.done(&["round", "context", id]) + &world.done(&["round", "context", "--restart", id]), "");
}

#[test]
fn a_summary_says_how_much_a_branch_has_changed() {
    let world = World::with_commit();
    world.sh("printf 'a\\nb\\nc\\n' >t; echo 1 >gone; git add .; git commit -qm t");
    let round = start(&world, &["--agent", "agent1"]);
    let none = start(&world, &["--agent", "agent2"]);
    world.sh(&format!(
        "cd '{}'; printf 'a\\nB\\nc\\nd\\n' >t; rm gone; printf 'x\\0y' >binary; echo n >'a b'",
        path(&round).display()
    ));
    end(&world, &round);
    // What others commit meanwhile does not count.
    world.sh("echo theirs >theirs; git add theirs; git commit -qm theirs");
    let text = format!(
        "agent1: {}  4 files (+3 -2)\nagent2: {}  0 files (+0 -0)\n",
        field(&round, "branch"),
        field(&none, "branch")
    );
    assert_eq!(world.done(&["round", "branches", "--summary"]), text);
    let json = world.json(&["round", "branches", "--summary", "--exclude", "agent2", "--json"]);
    assert_eq!(json["summary"], json!({ "agent1": { "files": 4, "added": 3, "removed": 2 } }));
    assert_eq!(json["branches"], json!({ "agent1": field(&round, "branch") }));
}

/// What a live round has not committed counts, in a worktree, a copy and a workspace.
#[rstest]
#[case::worktree(&["--context", "."])]
#[case::copy(&["--context", ".", "--mode", "isolated"])]
#[case::workspace(&["--workspace", "."])]
fn a_summary_has_what_is_not_committed_yet(#[case] how: &[&str]) {
    let world = World::with_commit();
    world.sh("printf 'a\nb\nc\n' >t; git add t; git commit -qm t");
    let round = world.json(&[&["round", "start", "--agent", "agent1", "--json"], how].concat());
    world.sh(&format!(
        "cd '{}'; echo committed >one; git add one; git commit -qm one; echo not >two; sed -i 1s/a/A/ t",
        path(&round).display()
    ));
    let json = world.json(&["round", "branches", "--summary", "--json"]);
    assert_eq!(json["summary"], json!({ "agent1": { "files": 3, "added": 3, "removed": 1 } }));
    world.sh(&format!("rm -r '{}'/.git* '{}'/t", path(&round).display(), path(&round).display()));
    if how.len() == 2 && how[0] == "--context" {
        // Without the worktree, what is committed is known.
        let json = world.json(&["round", "branches", "--summary", "--json"]);
        assert_eq!(json["summary"], json!({ "agent1": { "files": 1, "added": 1, "removed": 0 } }));
    }
}
