//! A person replaces or deletes what an agent wrote, and commits that: the work is finished, and no command shows it as open.

use super::desk::{Desk, changed, numbered, parts};

/// Checks that nothing is uncommitted, neither for git nor for us.
fn check_nothing_open(desk: &Desk, session: &str) {
    assert_eq!(desk.git(&["status", "--porcelain"]), "");
    let status = desk.json(&["status"]);
    assert!(status["shadow"].is_null(), "{status:#}");
    for field in ["unsaved", "dirty", "overlap"] {
        assert!(status[field].as_array().is_none_or(Vec::is_empty), "{field}: {status:#}");
    }
    assert_eq!(desk.sessions()[session]["checkpoints"], 0, "{:#?}", desk.sessions());
}

#[rstest::rstest]
#[case::a_line_that_was_added(numbered(1..=20) + "of an agent\n", numbered(1..=20) + "of a person\n", &[])]
// The agent has deleted the third line: that is committed.
#[case::a_line_that_was_changed(changed(&[(3, "a")]), changed(&[(3, "of a person")]), &[("f", "a")])]
fn a_line_replaced_before_the_commit_is_not_open_after_it(
    #[case] agents: String,
    #[case] persons: String,
    #[case] recorded: &[(&str, &str)],
) {
    let desk = Desk::new();
    desk.turn("a", &[("f", &agents)]);
    desk.write("f", persons);
    desk.git(&["commit", "-qam", "by a person"]);
    check_nothing_open(&desk, "a");
    assert_eq!((desk.recorded("HEAD"), desk.trailers("HEAD").len()), (parts(recorded), recorded.len()));
    // The next checkpoint stands on the commit alone.
    desk.turn("b", &[("g", "b\n")]);
    assert_eq!(desk.chain(), ["b"]);
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("g", "b")]));
    desk.finish();
}

#[test]
fn a_new_file_deleted_before_the_commit_is_not_open_after_it() {
    let desk = Desk::new();
    desk.turn("a", &[("g", "a\n"), ("new", "a\n")]);
    desk.remove("new");
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("g", "a")]));
    check_nothing_open(&desk, "a");
    desk.finish();
}

#[test]
fn replaced_lines_are_the_agents_when_they_come_back() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a")]))]);
    desk.write("f", changed(&[(3, "of a person")]));
    desk.git(&["commit", "-qam", "by a person"]);
    check_nothing_open(&desk, "a");
    // The person undoes the change in the editor.
    desk.write("f", changed(&[(3, "a")]));
    desk.question("b");
    desk.git(&["commit", "-qam", "it was right"]);
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a")]));
    desk.finish();
}

#[test]
fn uncommitted_work_of_a_session_stays_open() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a")])), ("g", "a\n"), ("new", "a\n")]);
    desk.git(&["commit", "-qm", "g only", "g"]);
    assert_eq!(desk.recorded("HEAD"), parts(&[("g", "a")]));
    assert_eq!(desk.chain(), ["a*"]);
    assert_eq!((desk.saved("f"), desk.saved("new")), (Some(changed(&[(3, "a")])), Some("a\n".into())));
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a"), ("new", "a")]));
    desk.finish();
}

#[test]
fn a_file_renamed_before_it_is_committed_is_blamed_as_it_is() {
    let desk = Desk::new();
    desk.turn("a", &[("old", &numbered(100..=110))]);
    desk.git(&["add", "old"]);
    desk.git(&["mv", "old", "new"]);
    desk.write("new", numbered(100..=110) + "of a person\n");
    let blame = desk.json(&["blame", "new"]);
    let owners: Vec<_> = blame["lines"].as_array().expect("lines").iter().map(|it| it["owner"].as_str()).collect();
    assert_eq!(owners, [Some("agent"), Some("human")], "{blame:#}");
    let found = desk.json(&["attribution", "--worktree"]);
    assert_eq!((&found["summary"]["agent_lines"], &found["summary"]["human_added"]), (&11.into(), &1.into()));
    desk.finish();
}
