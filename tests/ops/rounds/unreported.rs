//! The work of an agent that reports nothing of itself, in a round that was begun for it.

use rstest::rstest;
use serde_json::{Value, json};

use super::{end, field, path, start};
use crate::support::World;

/// Returns the owner and the session of each line of `file` at `revision`.
fn authors(world: &World, revision: &str, file: &str) -> Vec<(String, String)> {
    let blamed = world.json(&["blame", "--rev", revision, "--json", file]);
    let each = |lines: &Value| {
        let word = |name: &str| lines[name].as_str().unwrap_or_default().to_owned();
        let count = lines["end"].as_u64().zip(lines["start"].as_u64()).map_or(0, |(end, start)| end - start + 1);
        (0..count).map(|_| (word("owner"), word("session"))).collect::<Vec<_>>()
    };
    blamed["lines"].as_array().expect("a list").iter().flat_map(each).collect()
}

fn in_round(world: &World, round: &Value, script: &str) {
    world.sh(&format!("cd '{}'; {script}", path(round).display()));
}

fn stand_in(round: &Value) -> String {
    format!("round-{}", round["round"].as_str().expect("it has an id"))
}

/// What the agent writes and commits is its own, on its branch, after `apply` and in the commit to come.
#[rstest]
#[case::worktree("worktree")]
#[case::copy("isolated")]
fn the_lines_of_the_agent_are_its_own(#[case] mode: &str) {
    let world = World::with_hooks();
    world.sh("printf 'hu one\nhu two\n' >n; git add n; git commit -qm n");
    let round = start(&world, &["--agent", "writer", "--mode", mode]);
    in_round(
        &world,
        &round,
        "echo ag committed by the agent >new; git add new; git commit -qm inside
         echo ag not committed by the agent >>new; sed -i '2s/.*/ag replaced by the agent/' n",
    );
    end(&world, &round);
    let (branch, session) = (field(&round, "branch"), stand_in(&round));
    let agent = ("agent".to_owned(), session.clone());
    assert_eq!(authors(&world, branch, "new"), vec![agent.clone(); 2]);
    world.done(&["round", "apply", branch]);
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "taken over"]);
    assert_eq!(authors(&world, "HEAD", "new"), vec![agent.clone(); 2]);
    let of_n = authors(&world, "HEAD", "n");
    assert_eq!((of_n[0].0.as_str(), &of_n[1]), ("human", &agent));
    let why = world.json(&["explain", branch, "--json"]);
    assert_eq!(why["records"][0]["sessions"][0]["agent"], json!("writer"), "{why:#}");
    world.assert_sound("after a round of an agent that reports nothing");
}

/// What was there when the agent began is not its own: neither what comes along, nor what the set-up makes.
#[test]
fn what_the_worktree_begins_with_is_not_the_agents() {
    let world = World::with_hooks();
    world.git(&["config", "checkpoint.worktree.setup", "echo made by the set-up >made"]);
    world.done(&["worktree", "approve"]);
    world.sh("echo typed before the round >typed");
    let round = start(&world, &["--agent", "writer", "--mirror", "all"]);
    in_round(&world, &round, "echo written by the agent >>typed; echo written by the agent >>made");
    end(&world, &round);
    let branch = field(&round, "branch");
    for file in ["typed", "made"] {
        let found = authors(&world, branch, file);
        assert_eq!((found.len(), found[1].0.as_str()), (2, "agent"), "{file}: {found:?}");
        assert_ne!(found[0].0, "agent", "{file}: {found:?}");
    }
}

/// An agent that reports its own session has its lines and turns, as anywhere else.
#[test]
fn a_session_that_is_reported_takes_the_place_of_the_other_one() {
    let world = World::with_hooks();
    let round = start(&world, &["--agent", "writer"]);
    in_round(
        &world,
        &round,
        r#"report() { printf '{"session_id":"real","cwd":"%s","hook_event_name":"%s"%s}' "$PWD" "$1" "$2" |
             git checkpoint hook --agent claude-code; }
         tool='"tool_name":"Bash","tool_input":{"command":"x"},"tool_use_id":"1"'
         report SessionStart; report UserPromptSubmit ',"prompt":"do it"'; report PreToolUse ",$tool"
         echo line of the session >new; report PostToolUse ",$tool"; report Stop; report SessionEnd"#,
    );
    end(&world, &round);
    assert_eq!(authors(&world, field(&round, "branch"), "new"), [("agent".to_owned(), "real".to_owned())]);
    let sessions = world.json(&["session", "list", "--all", "--json"]);
    let sessions = sessions["sessions"].as_array().expect("a list");
    assert!(sessions.iter().all(|it| it["phase"] == json!("ended")), "{sessions:#?}");
}

/// Without the name of an agent nothing is known of who works there; with a session, that one reports.
#[rstest]
#[case::no_agent(&[])]
#[case::session(&["--agent", "writer", "--session", "s1"])]
fn no_session_stands_in_where_another_one_may_report(#[case] more: &[&str]) {
    let world = World::with_hooks();
    let round = start(&world, more);
    let sessions = world.json(&["session", "list", "--all", "--json"]);
    let ids: Vec<&Value> = sessions["sessions"].as_array().expect("a list").iter().map(|it| &it["id"]).collect();
    assert!(!ids.contains(&&json!(stand_in(&round))), "{sessions:#}");
}

/// The session says nothing of work that goes on: the worktree can be removed, and comes back, as before.
#[test]
fn the_worktree_can_be_removed_and_restored() {
    let world = World::with_hooks();
    let round = start(&world, &["--agent", "writer"]);
    in_round(&world, &round, "echo work of the agent >new");
    world.done(&["worktree", "remove", "--force", path(&round).to_str().expect("it is text")]);
    world.done(&["worktree", "restore", path(&round).to_str().expect("it is text")]);
    end(&world, &round);
    let found = authors(&world, field(&round, "branch"), "new");
    assert_ne!(found[0].0, "human", "{found:?}");
}

/// The same call again is the same round, and the session that stands in goes on.
#[test]
fn the_same_call_again_begins_no_other_session() {
    let world = World::with_hooks();
    let round = start(&world, &["--agent", "writer"]);
    in_round(&world, &round, "echo work of the agent >new");
    assert_eq!(start(&world, &["--agent", "writer"])["round"], round["round"]);
    end(&world, &round);
    assert_eq!(authors(&world, field(&round, "branch"), "new"), [("agent".to_owned(), stand_in(&round))]);
}

/// In the workspace itself, too, what was there before stays the person's, and so is what is changed after the end.
#[test]
fn the_lines_of_the_agent_in_a_workspace_are_its_own() {
    let world = World::with_hooks();
    world.sh("printf 'hu one\nhu two\n' >n; git add n; git commit -qm n; echo hu not committed >mine");
    let round = world.json(&["round", "start", "--workspace", ".", "--with-changes", "--agent", "writer", "--json"]);
    let branch = field(&round, "branch");
    world.sh("echo ag committed >new; git add new; git commit -qm inside; echo ag more >>new; echo ag >>mine");
    end(&world, &round);
    let agent = ("agent".to_owned(), stand_in(&round));
    assert_eq!(authors(&world, branch, "new"), vec![agent.clone(); 2]);
    let of_mine = authors(&world, branch, "mine");
    assert_eq!((of_mine[0].0.as_str(), &of_mine[1]), ("human", &agent));
    world.sh("echo hu after the round >after; git add after; git commit -qm after");
    assert_eq!(authors(&world, "HEAD", "after")[0].0, "human");
    let again = world.json(&["round", "start", "--workspace", ".", "--agent", "other", "--json"]);
    world.sh("echo ag of the second one >second");
    end(&world, &again);
    assert_eq!(authors(&world, field(&again, "branch"), "second"), [("agent".to_owned(), stand_in(&again))]);
}

/// Nothing is known to work there: a person takes things back as elsewhere, and the agent goes on.
#[test]
fn things_can_be_taken_back_while_the_session_stands_in() {
    let world = World::with_hooks();
    let round = start(&world, &["--agent", "writer"]);
    in_round(
        &world,
        &round,
        "echo one >f; git checkpoint save -qm one; echo two >>f; git checkpoint save -qm two
         echo three >>f; git checkpoint save -qm three
         git checkpoint op restore '@{1}'; test $(wc -l <f) = 2
         git checkpoint undo; test $(wc -l <f) = 3
         git checkpoint drop '@{1}'; git checkpoint undo",
    );
    for refused in [&["drop", "--force", "@"][..], &["reset"]] {
        let root = path(&round);
        let arguments = [&["-C", root.to_str().expect("it is text")], refused].concat();
        let output = world.checkpoint(&arguments);
        assert_eq!(output.status.code(), Some(1), "{refused:?}: {output:?}");
    }
    in_round(&world, &round, "echo four >>f");
    end(&world, &round);
    assert_eq!(authors(&world, field(&round, "branch"), "f"), vec![("agent".to_owned(), stand_in(&round)); 4]);
}
