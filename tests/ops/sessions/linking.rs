//! A commit is linked only if it holds an agent's work.

use super::desk::{Desk, changed, parts};

#[test]
fn an_unrelated_commit_carries_the_shadow_forward_untouched() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a")])), ("new", "a\n")]);
    let tree = desk.git(&["rev-parse", &format!("{}^{{tree}}", desk.shadow().expect("live"))]);
    desk.write("h", "by hand\n");
    desk.git(&["add", "h"]);
    desk.commit();
    assert_eq!((desk.trailers("HEAD"), desk.recorded("HEAD")), (Vec::new(), Vec::new()));
    assert_eq!((desk.chain(), desk.saved("f")), (vec!["a*".into()], Some(changed(&[(3, "a")]))));
    assert_ne!(desk.git(&["rev-parse", &format!("{}^{{tree}}", desk.shadow().expect("live"))]), tree);
    assert_eq!(desk.saved("h"), Some("by hand\n".into()));
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a"), ("new", "a")]));
    desk.finish();
}

#[test]
fn an_empty_commit_carries_the_shadow_forward() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a")]))]);
    desk.git(&["commit", "-q", "--allow-empty", "-m", "empty"]);
    assert_eq!((desk.trailers("HEAD"), desk.recorded("HEAD"), desk.chain()), (vec![], vec![], vec!["a*".into()]));
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a")]));
    desk.finish();
}

#[test]
fn no_session_no_trailer() {
    let desk = Desk::new();
    desk.write("f", changed(&[(3, "by hand")]));
    desk.json(&["save"]);
    desk.commit_all();
    assert_eq!((desk.trailers("HEAD"), desk.recorded("HEAD")), (Vec::new(), Vec::new()));
    desk.finish();
}

#[test]
fn a_hunk_by_hand_in_the_same_file() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a")]))]);
    desk.write("f", changed(&[(3, "a"), (17, "by hand")]));
    // Only the second hunk: the human's.
    desk.sh("printf 'n\\ny\\n' | git add -p f");
    desk.commit();
    assert_eq!((desk.trailers("HEAD"), desk.recorded("HEAD")), (Vec::new(), Vec::new()));
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a")]));
    let counts = desk.records("HEAD")[0].counts;
    assert_eq!((counts.agent, counts.human), (1, 0));
    desk.finish();
}

#[test]
fn a_hunk_by_hand_committed_with_the_agents() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a")]))]);
    desk.write("f", changed(&[(3, "a"), (17, "by hand")]));
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a")]));
    let counts = desk.records("HEAD")[0].counts;
    assert_eq!((counts.agent, counts.human), (1, 1));
    desk.finish();
}

#[test]
fn an_agents_work_replaced_by_hand() {
    let desk = Desk::new();
    desk.turn("a", &[("new", "one\ntwo\nthree\n")]);
    desk.write("new", "quite\nother\nwords\nby hand\n");
    desk.commit_all();
    assert_eq!((desk.trailers("HEAD"), desk.recorded("HEAD")), (Vec::new(), Vec::new()));
    // The session's work there was not committed and can still be restored; later changes by the user are not the
    // session's.
    desk.write("new", "quite\nother\nwords\nby hand\nand more\n");
    desk.commit_all();
    assert_eq!((desk.trailers("HEAD"), desk.recorded("HEAD")), (Vec::new(), Vec::new()));
    desk.finish();
}

#[test]
fn an_agents_work_all_committed_and_then_edited_by_hand() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a")]))]);
    desk.commit_all();
    desk.write("f", changed(&[(3, "a"), (4, "by hand")]));
    desk.commit_all();
    assert_eq!((desk.trailers("HEAD"), desk.recorded("HEAD")), (Vec::new(), Vec::new()));
    desk.finish();
}

#[test]
fn work_taken_back_is_in_no_record() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a")])), ("g", "a\n")]);
    desk.turn("a", &[("f", &changed(&[]))]);
    desk.write("f", changed(&[(9, "by hand")]));
    desk.git(&["add", "f"]);
    desk.commit();
    assert_eq!((desk.trailers("HEAD"), desk.recorded("HEAD")), (Vec::new(), Vec::new()));
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("g", "a")]));
    desk.finish();
}

#[test]
fn deletions_moves_and_mode_changes_are_an_agents_work() {
    let desk = Desk::new();
    desk.prompt("a");
    desk.remove("g");
    desk.sh("mv f moved; chmod +x h");
    desk.json(&["save", "--session", "a"]);
    desk.stop("a");
    desk.commit_all();
    let recorded = desk.recorded("HEAD");
    assert!(recorded.iter().all(|(_, sessions)| sessions == "a"), "{recorded:?}");
    assert_eq!(desk.shadow(), None);
    desk.finish();
}

#[test]
fn a_trailer_that_is_taken_out_makes_no_difference_to_the_record() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a")]))]);
    desk.git(&["add", "-A"]);
    desk.git(&["-c", "core.editor=sed -i /^Checkpoint:/d", "commit", "-q", "-e", "-m", "a commit"]);
    assert_eq!(desk.trailers("HEAD"), Vec::<String>::new());
    assert_eq!(desk.records("HEAD").len(), 1);
    desk.finish();
}

#[test]
fn an_aborted_commit_leaves_all_as_it_was() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a")]))]);
    desk.git(&["add", "-A"]);
    let before = (desk.shadow(), desk.chain());
    assert!(!desk.try_git(&["-c", "core.editor=false", "commit", "-q"]).status.success());
    assert!(!desk.try_git(&["-c", "core.editor=true", "commit", "-q"]).status.success());
    assert_eq!((desk.shadow(), desk.chain()), before);
    // The promise was not kept; a later commit of people's own is none of ours.
    desk.git(&["restore", "--staged", "."]);
    desk.git(&["stash", "-q"]);
    desk.write("h", "by hand\n");
    desk.commit_all();
    assert_eq!((desk.trailers("HEAD"), desk.recorded("HEAD")), (Vec::new(), Vec::new()));
    desk.finish();
}

#[test]
fn commits_that_skip_the_checks_are_linked_all_the_same() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a")]))]);
    desk.git(&["add", "-A"]);
    desk.git(&["commit", "-q", "--no-verify", "-m", "a commit"]);
    assert_eq!((desk.trailers("HEAD").len(), desk.recorded("HEAD")), (1, parts(&[("f", "a")])));
    desk.finish();
}

#[test]
fn an_amend_keeps_the_record_and_adds_what_is_new() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a")]))]);
    desk.commit_all();
    let first = desk.trailers("HEAD");
    desk.git(&["commit", "-q", "--amend", "-m", "other words"]);
    assert_eq!(desk.trailers("HEAD"), first);
    assert_eq!(desk.turn("b", &[("g", "b\n")]), "no-shadow");
    desk.git(&["add", "-A"]);
    desk.git(&["commit", "-q", "--amend", "--no-edit"]);
    let second = desk.trailers("HEAD");
    assert_eq!((second.len(), &second[0]), (2, &first[0]));
    let sessions: Vec<_> = desk.records("HEAD").iter().map(|record| record.sessions[0].id.clone()).collect();
    assert_eq!((sessions.len(), desk.shadow()), (2, None));
    desk.finish();
}

#[test]
fn a_commit_by_plumbing_is_noticed_at_the_next_event() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a")])), ("g", "a\n")]);
    desk.git(&["add", "f"]);
    desk.sh("git update-ref HEAD $(git commit-tree -p HEAD -m plumbing $(git write-tree))");
    assert_eq!(desk.prompt("b"), "overlap");
    assert_eq!(desk.chain(), ["a*"]);
    desk.work("b", &[("h", "b\n")]);
    desk.stop("b");
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("g", "a"), ("h", "b")]));
    desk.finish();
}

#[test]
fn lines_of_unknown_authors_have_a_record() {
    let desk = Desk::new();
    desk.prompt("a");
    desk.prompt("b");
    desk.write("x", "of a or b\n");
    desk.write("y", "of a or b\n");
    desk.stop("a");
    desk.stop("b");
    let unknown = |found: serde_json::Value| found["summary"]["unknown"].as_u64();
    assert_eq!(unknown(desk.json(&["attribution", "--worktree"])), Some(2));
    for path in ["x", "y"] {
        desk.git(&["add", path]);
        desk.commit();
        assert_eq!(unknown(desk.json(&["attribution", "HEAD"])), Some(1), "{path}");
        assert_eq!((desk.trailers("HEAD").len(), desk.recorded("HEAD")), (1, parts(&[(path, "")])));
    }
    assert_eq!(desk.json(&["explain", "HEAD"])["records"][0]["sessions"], serde_json::json!([]));
    desk.git(&["commit", "-q", "--amend", "-m", "another message"]);
    assert_eq!(unknown(desk.json(&["attribution", "HEAD"])), Some(1));
    desk.finish();
}
