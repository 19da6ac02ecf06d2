//! Sessions in `status`, `reset` and the archive.

use super::desk::{Desk, changed, parts};
use crate::support::processes::described;

#[test]
fn sessions_are_joined_from_their_files_and_the_shadow() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a")])), ("g", "a\n")]);
    desk.json(&["session", "start", "idle"]);
    desk.json(&["session", "start", "over"]);
    desk.json(&["session", "end", "over"]);
    desk.git(&["stash", "-q"]);
    desk.prompt("b");
    let status = desk.json(&["status"]);
    let sessions = status["sessions"].as_array().expect("a list");
    let of = |id: &str| sessions.iter().find(|it| it["id"] == id).unwrap_or_else(|| panic!("{id}: {status}"));
    assert_eq!(sessions.len(), 3, "{status}");
    let a = of("a");
    assert_eq!((&a["phase"], &a["turn"], &a["checkpoints"]), (&"idle".into(), &1.into(), &1.into()));
    assert_eq!(a["touched"], serde_json::json!(["f", "g"]));
    let b = of("b");
    assert_eq!((&b["phase"], &b["should_reset_shadow"]), (&"active".into(), &true.into()));
    assert_eq!((&b["checkpoints"], &b["touched"]), (&0.into(), &serde_json::json!([])));
    for session in sessions {
        for field in
            ["id", "agent", "model", "phase", "turn", "should_reset_shadow", "checkpoints", "touched", "last_seen"]
        {
            assert!(session.get(field).is_some(), "{field}: {session}");
        }
    }
    let text = described(&desk.ours(&["status"]));
    assert!(text.contains("waiting for you  a, tester, turn 1, 1 checkpoint, 2 files"), "{text}");
    assert!(
        text.contains("working          b, tester, turn 1, 0 checkpoints, sets the checkpoints aside first"),
        "{text}"
    );
    desk.stop("b");
    desk.finish();
}

#[test]
fn a_session_whose_file_is_lost_is_shown_by_its_checkpoints() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a")]))]);
    std::fs::remove_dir_all(desk.world.repo().join(".git/checkpoint/sessions")).expect("ours");
    let status = desk.json(&["status"]);
    let a = &status["sessions"][0];
    assert_eq!((&a["id"], &a["phase"], &a["agent"]), (&"a".into(), &"idle".into(), &"tester".into()));
    desk.finish();
}

#[test]
fn sessions_of_other_worktrees_are_not_shown() {
    let desk = Desk::new();
    desk.git(&["worktree", "add", "-q", "../linked", "-b", "linked"]);
    desk.go("linked");
    desk.turn("a", &[("f", &changed(&[(3, "a")]))]);
    desk.go("repo");
    assert_eq!(desk.json(&["status"])["sessions"], serde_json::json!([]));
    assert_eq!(desk.sessions().len(), 1);
    desk.finish();
}

#[test]
fn a_reset_is_refused_while_a_session_is_active() {
    let desk = Desk::new();
    desk.prompt("a");
    desk.work("a", &[("f", &changed(&[(3, "a")]))]);
    let shadow = desk.shadow();
    let output = desk.ours(&["reset"]);
    assert_eq!(output.status.code(), Some(1), "{}", described(&output));
    assert!(described(&output).contains("session 'a'"), "{}", described(&output));
    assert_eq!(desk.shadow(), shadow);
    desk.json(&["reset", "--dry-run", "--force"]);
    desk.json(&["reset", "--force"]);
    assert_eq!((desk.shadow(), desk.refs("archive").len()), (None, 1));
    desk.work("a", &[("g", "a\n")]);
    desk.stop("a");
    desk.json(&["reset"]);
    desk.finish();
}

#[test]
fn a_session_active_elsewhere_is_no_matter_to_a_reset() {
    let desk = Desk::new();
    desk.git(&["worktree", "add", "-q", "../linked", "-b", "linked"]);
    desk.turn("b", &[("g", "b\n")]);
    desk.go("linked");
    desk.prompt("a");
    desk.go("repo");
    desk.json(&["reset"]);
    desk.finish();
}

#[test]
fn a_reset_of_a_session_gives_up_its_claim_only() {
    let desk = Desk::new();
    desk.turn("old", &[("f", &changed(&[(3, "old")]))]);
    desk.git(&["stash", "-q"]);
    desk.write("h", "by hand\n");
    assert_eq!(desk.prompt("a"), "no-overlap");
    assert_eq!(desk.refs("pending").len(), 1);
    let shadow = desk.git(&["for-each-ref", "refs/checkpoints/shadow"]);
    desk.json(&["reset", "--session", "a", "--dry-run"]);
    assert_eq!((desk.refs("pending").len(), &desk.sessions()["a"]["phase"]), (1, &"active".into()));
    desk.json(&["reset", "--session", "a"]);
    let a = &desk.sessions()["a"];
    assert_eq!((&a["phase"], &a["should_reset_shadow"]), (&"idle".into(), &false.into()));
    assert_eq!(desk.refs("pending"), Vec::<String>::new());
    assert_eq!(desk.git(&["for-each-ref", "refs/checkpoints/shadow"]), shadow);
    let output = desk.ours(&["reset", "--session", "a"]);
    assert_eq!(output.status.code(), Some(1), "{}", described(&output));
    assert_eq!(desk.ours(&["reset", "--session", "nobody"]).status.code(), Some(1));
    assert_eq!(desk.ours(&["reset", "--session", "a\nb"]).status.code(), Some(128));
    desk.finish();
}

#[test]
fn an_archived_shadow_whose_work_is_all_committed_says_so() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a"), (4, "a 2"), (5, "a 3")]))]);
    desk.git(&["stash", "-q"]);
    desk.turn("b", &[("g", "b\n")]);
    desk.git(&["stash", "pop", "-q"]);
    // Alike, and not the same.
    desk.write("f", changed(&[(3, "a"), (4, "a 2"), (5, "a 3"), (17, "by hand")]));
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a"), ("g", "b")]));
    let archive = desk.refs("archive");
    assert!(archive.len() == 2 && archive.iter().all(|name| name.ends_with("-condensed")), "{archive:?}");
    desk.finish();
}

#[test]
fn an_archived_shadow_with_some_work_left_still_waits() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a")])), ("h", "a\n")]);
    desk.git(&["stash", "-q"]);
    desk.turn("b", &[("g", "b\n")]);
    desk.git(&["checkout", "-q", "stash", "--", "f"]);
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a"), ("g", "b")]));
    let waiting = desk.refs("archive").into_iter().filter(|name| !name.ends_with("ed")).count();
    assert_eq!(waiting, 1);
    desk.git(&["checkout", "-q", "stash", "--", "h"]);
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("h", "a")]));
    assert!(desk.refs("archive").iter().all(|name| name.ends_with("-condensed")), "{:?}", desk.refs("archive"));
    desk.finish();
}
