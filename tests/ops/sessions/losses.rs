//! What a user could lose, or find in the wrong name, and does not.

use super::{
    desk::{Desk, changed, parts},
    moved::blamed,
};
use crate::support::program;

#[test]
fn the_state_before_a_turn_is_archived_if_nothing_else_holds_it() {
    let desk = Desk::new();
    desk.sh("git commit -q --allow-empty -m second");
    desk.write("f", "precious\n");
    desk.prompt("a");
    desk.sh("git reset -q --hard HEAD~1");
    desk.json(&["save", "--session", "a"]);
    desk.json(&["session", "end", "a"]);
    let archived = desk.refs("archive");
    let held = archived.iter().any(|name| desk.git(&["cat-file", "blob", &format!("{name}:f")]) == "precious");
    assert!(held, "{archived:?}");
    desk.finish();
}

#[test]
fn a_question_on_a_dirty_worktree_archives_nothing() {
    let desk = Desk::new();
    desk.write("f", "mine\n");
    for _ in 0..3 {
        desk.prompt("a");
        desk.stop("a");
    }
    assert_eq!(desk.refs("archive"), Vec::<String>::new());
    assert_eq!(desk.refs("pending"), Vec::<String>::new());
    desk.finish();
}

#[test]
fn secrets_of_a_prompt_reach_no_object_and_no_file() {
    let desk = Desk::new();
    let secret = format!("ghp_{}", "abcdefghijklmnopqrstuvwxyz0123456789");
    desk.json(&["session", "prompt", "a", "-m", &format!("use {secret} please")]);
    desk.write("f", changed(&[(3, "a")]));
    desk.stop("a");
    desk.commit_all();
    desk.sh(&format!("! git log --all --format=%B | grep {secret}"));
    desk.sh(&format!("! grep -r {secret} \"$(git rev-parse --git-common-dir)/checkpoint\""));
    desk.finish();
}

#[test]
fn the_same_work_is_that_of_the_session_that_did_it_last() {
    let desk = Desk::new();
    let work = changed(&[(3, "the very same")]);
    desk.turn("a", &[("f", &work)]);
    desk.sh("git checkout -q .");
    desk.turn_with_tool("b", "f", &work);
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "b")]));
    desk.finish();
}

/// A person formats lines of the commit that a session's work is amended into.
#[test]
fn formatted_lines_of_an_amended_commit_stay_a_persons() {
    let desk = Desk::new();
    desk.write("n", "human one\nhuman two\n");
    desk.commit_all();
    desk.write("n", "    human one\n    human two\n");
    desk.turn("a", &[("n", "    human one\n    human two\na three\n")]);
    desk.git(&["commit", "-qa", "--amend", "--no-edit"]);
    assert_eq!(blamed(&desk, "n"), ["    human one: human", "    human two: human", "a three: a"]);
    desk.finish();
}

#[test]
fn short_lines_are_known_again() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "A")]))]);
    desk.sh("git stash -q");
    desk.turn("b", &[("other", "o\n")]);
    desk.sh("git stash pop -q; echo H >>f");
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a"), ("other", "b")]));
    desk.finish();
}

#[test]
fn a_turn_ends_where_it_began() {
    let desk = Desk::new();
    desk.sh("git worktree add -q ../elsewhere");
    desk.prompt("a");
    desk.write("f", changed(&[(3, "a")]));
    let output = desk.ours(&["-C", "../elsewhere", "session", "stop", "a"]);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    desk.stop("a");
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a")]));
    desk.finish();
}

#[test]
fn commands_that_ask_git_work_in_subdirectories() {
    let desk = Desk::new();
    desk.write("d/c", "q\n");
    desk.commit_all();
    for line in [&["explain"] as &[&str], &["attribution"], &["blame", "c"], &["why", "c:1"], &["doctor"]] {
        let output = desk.ours(&[&["-C", "d"], line].concat());
        assert_ne!(output.status.code(), Some(128), "{line:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    desk.finish();
}

#[test]
fn files_that_an_undo_brings_back_keep_their_authors() {
    let desk = Desk::new();
    desk.write("mine", "mine\n");
    desk.turn("a", &[("f", &changed(&[(3, "a")]))]);
    desk.sh(&format!("{} restore base", program()));
    desk.sh("echo fresh >fresh; git add fresh; git commit -qm fresh");
    desk.sh(&format!("{} undo", program()));
    desk.commit_all();
    assert_eq!(
        desk.recorded("HEAD").iter().filter(|(path, who)| path == "mine" && !who.is_empty()).count(),
        0,
        "{:?}",
        desk.recorded("HEAD")
    );
    desk.finish();
}

#[test]
fn a_pipe_as_transcript_blocks_no_command() {
    let desk = Desk::new();
    desk.sh("mkfifo ../pipe");
    let pipe = desk.world.root().join("pipe");
    desk.json(&["session", "start", "a", "--transcript", pipe.to_str().expect("plain")]);
    desk.turn("a", &[("f", &changed(&[(3, "a")]))]);
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a")]));
    desk.finish();
}

#[test]
fn many_restores_cost_no_more_than_they_are() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a")]))]);
    let ours = program();
    desk.sh(&format!(
        "for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do {ours} restore -q base && {ours} undo -q; done"
    ));
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a")]));
    desk.finish();
}
