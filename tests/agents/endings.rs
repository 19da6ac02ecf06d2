//! A turn that ends while a tool call is open, in each way that it can end: what comes after is the user's.

use crate::support::{World, program};

#[rstest::rstest]
#[case::stopped(&["session", "stop", "s"])]
#[case::ended(&["session", "end", "s"])]
#[case::reset(&["reset", "--session", "s"])]
#[case::forgotten(&["session", "forget", "--force", "s"])]
fn changes_after_the_end_of_a_turn_are_the_users(#[case] ends: &[&str]) {
    let world = World::with_lines();
    world.prompt("s");
    world.before("s", "1", &[]);
    assert_ne!(world.open(), Vec::<String>::new());
    world.done(ends);
    assert_eq!(world.open(), Vec::<String>::new());
    world.add("g", "after the turn");
    world.done(&["save", "-q"]);
    assert_eq!(world.chain(), ["human g"]);
    world.commit();
    let message = world.git(&["log", "-1", "--format=%B"]);
    assert!(!message.contains("Checkpoint:"), "{message}");
    world.finish();
}

#[test]
fn a_session_ends_with_a_tool_call_that_came_after_its_turn() {
    let world = World::with_lines();
    world.prompt("s");
    world.stop("s");
    world.before("s", "late", &[]);
    world.done(&["session", "stop", "s"]);
    world.before("s", "later", &[]);
    world.done(&["session", "end", "s"]);
    world.add("g", "after the session");
    world.done(&["save", "-q"]);
    assert_eq!(world.chain(), ["human g"]);
    world.finish();
}

#[test]
fn a_session_that_another_worktree_takes_over_leaves_no_tool_call_here() {
    let world = World::with_lines();
    world.git(&["worktree", "add", "-q", "../linked"]);
    world.prompt("s");
    world.before("s", "1", &[]);
    let linked = world.root().join("linked");
    let mut adopt = world.command(program());
    let output = adopt.args(["session", "adopt", "--force", "s"]).current_dir(linked).output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(world.open(), Vec::<String>::new());
    world.add("g", "after it left");
    world.done(&["save", "-q"]);
    assert_eq!(world.chain(), ["human g"]);
    world.finish();
}

#[rstest::rstest]
#[case::any_file(&[])]
#[case::its_file(&["f"])]
fn what_is_there_when_a_session_is_forgotten_in_a_tool_is_not_a_persons_for_sure(#[case] paths: &[&str]) {
    let world = World::with_lines();
    world.prompt("s");
    world.before("s", "1", paths);
    world.add("f", "of the tool, or of a person");
    world.done(&["session", "forget", "--force", "s"]);
    world.add("g", "of a person");
    world.commit();
    let owners = world.git(&["checkpoint", "blame", "f"]);
    assert!(!owners.lines().any(|line| line.contains("human") && line.contains("of the tool")), "{owners}");
    let owners = world.git(&["checkpoint", "blame", "g"]);
    assert!(!owners.lines().any(|line| line.contains(" agent ") && line.contains("of a person")), "{owners}");
    world.finish();
}
