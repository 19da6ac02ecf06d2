//! Checkpoints of one second, which is all the time that a checkpoint has: what led to them says which is the later one.

use super::{desk::Desk, moved::tell};

/// What the program shows of `f` in `checkpoint`.
fn f_of(desk: &Desk, checkpoint: &str) -> String {
    let id = desk.json(&["show", checkpoint])["id"].as_str().expect("an id").to_owned();
    desk.git(&["show", &format!("{id}:f")])
}

/// In one command of session `a`, which a turn is about.
fn turn_with_command(desk: &Desk, script: &str) {
    let bash = r#","tool_name":"Bash","tool_input":{"command":"sh"},"tool_response":{},"tool_use_id":"t""#;
    tell(desk, "a", "UserPromptSubmit", r#","prompt":"do it""#);
    tell(desk, "a", "PreToolUse", bash);
    desk.sh(script);
    tell(desk, "a", "PostToolUse", bash);
    tell(desk, "a", "Stop", "");
}

/// A commit, or another branch, in the middle of the turn: its last checkpoint has all that it did, also in the archive.
#[rstest::rstest]
#[case::commit("echo one >f; git commit -qam one; echo two >>f", "one\ntwo")]
#[case::two_commits(
    "echo one >f; git commit -qam one; echo two >>f; git commit -qam two; echo three >>f",
    "one\ntwo\nthree"
)]
#[case::another_branch(
    "echo one >f; git checkpoint save -q --session a; git checkout -q other; echo two >>f; git checkpoint save -q --session a;
     git checkout -q -; echo three >>f",
    "one\ntwo\nthree"
)]
fn the_last_checkpoint_of_a_turn_has_all_of_it(#[case] script: &str, #[case] expected: &str) {
    let desk = Desk::new();
    desk.sh("git checkout -qb other; git commit -q --allow-empty -m other; git checkout -q -");
    turn_with_command(&desk, script);
    assert_eq!(f_of(&desk, "a@1"), expected);
    desk.git(&["commit", "-qam", "rest"]);
    assert_eq!(f_of(&desk, "a@1"), expected);
    let before = f_of(&desk, "a@1^");
    assert!(before.starts_with("line 1\n"), "{before}");
}

#[test]
fn the_latest_checkpoint_is_that_of_the_last_turn() {
    let desk = Desk::new();
    for at in ["one", "two", "three"] {
        desk.turn("a", &[("f", at)]);
        desk.commit_all();
        assert_eq!(f_of(&desk, "@{0}"), at);
    }
    assert_eq!(["@{1}", "@{2}"].map(|name| f_of(&desk, name)), ["two", "one"]);
    assert_eq!(["a@3", "a@2", "a@1"].map(|name| f_of(&desk, name)), ["three", "two", "one"]);
    desk.finish();
}
