//! A turn that ends while a tool call is open, in each way that it can end: what comes after is the user's.

use super::desk::Desk;

#[rstest::rstest]
#[case::stopped(&["session", "stop", "s"])]
#[case::ended(&["session", "end", "s"])]
#[case::reset(&["reset", "--session", "s"])]
#[case::forgotten(&["session", "forget", "--force", "s"])]
fn changes_after_the_end_of_a_turn_are_the_users(#[case] ends: &[&str]) {
    let desk = Desk::new();
    desk.prompt("s");
    desk.before("s", "1", &[]);
    assert_ne!(desk.open(), Vec::<String>::new());
    desk.done(ends);
    assert_eq!(desk.open(), Vec::<String>::new());
    desk.add("g", "after the turn");
    desk.done(&["save", "-q"]);
    assert_eq!(desk.chain(), ["human g"]);
    desk.commit();
    let message = desk.git(&["log", "-1", "--format=%B"]);
    assert!(!message.contains("Checkpoint:"), "{message}");
    desk.finish();
}

#[test]
fn a_session_ends_with_a_tool_call_that_came_after_its_turn() {
    let desk = Desk::new();
    desk.prompt("s");
    desk.stop("s");
    desk.before("s", "late", &[]);
    desk.done(&["session", "stop", "s"]);
    desk.before("s", "later", &[]);
    desk.done(&["session", "end", "s"]);
    desk.add("g", "after the session");
    desk.done(&["save", "-q"]);
    assert_eq!(desk.chain(), ["human g"]);
    desk.finish();
}

#[test]
fn a_session_that_another_worktree_takes_over_leaves_no_tool_call_here() {
    let desk = Desk::new();
    desk.git(&["worktree", "add", "-q", "../linked"]);
    desk.prompt("s");
    desk.before("s", "1", &[]);
    let linked = desk.root().join("linked");
    let mut adopt = desk.command(env!("CARGO_BIN_EXE_git-checkpoint"));
    let output = adopt.args(["session", "adopt", "--force", "s"]).current_dir(linked).output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(desk.open(), Vec::<String>::new());
    desk.add("g", "after it left");
    desk.done(&["save", "-q"]);
    assert_eq!(desk.chain(), ["human g"]);
    desk.finish();
}
