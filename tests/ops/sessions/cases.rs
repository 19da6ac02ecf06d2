//! The cases that must hold: continuing, dismissing, several sessions, branches, worktrees.

use super::desk::{Desk, changed, numbered, parts};

#[test]
fn work_on_the_same_files_continues_the_shadow() {
    let desk = Desk::new();
    assert_eq!(desk.turn("a", &[("f", &changed(&[(3, "a")]))]), "no-shadow");
    assert_eq!(desk.turn("b", &[("f", &changed(&[(3, "a"), (9, "b")]))]), "overlap");
    assert_eq!(desk.chain(), ["a", "b"]);
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a+b")]));
    assert_eq!(desk.trailers("HEAD").len(), 1);
    assert_eq!(desk.shadow(), None);
    desk.finish();
}

#[test]
fn all_dismissed_and_other_work_begun() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a")])), ("new", "a\n")]);
    desk.git(&["restore", "."]);
    desk.remove("new");
    let tip = desk.git(&["rev-parse", &desk.shadow().expect("live")]);
    assert_eq!(desk.turn("b", &[("g", "b\n")]), "clean");
    assert_eq!((desk.chain(), desk.saved("f")), (vec!["b".into()], Some(numbered(1..=20))));
    assert_eq!(desk.saved("new"), None);
    // Set aside, not lost.
    let archived = desk.refs("archive");
    assert_eq!((archived.len(), desk.git(&["rev-parse", &archived[0]])), (1, tip));
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("g", "b")]));
    desk.finish();
}

#[test]
fn a_part_dismissed_is_in_no_later_tree() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a")])), ("g", "a\n"), ("new", "a\n")]);
    desk.git(&["restore", "f"]);
    desk.remove("new");
    assert_eq!(desk.turn("b", &[("g", "a\nb\n"), ("h", "b\n")]), "overlap");
    assert_eq!((desk.saved("f"), desk.saved("new")), (Some(numbered(1..=20)), None));
    // What people took back is theirs; `git restore` takes a checkpoint.
    assert_eq!(desk.chain(), ["a", "human", "human", "b"]);
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("g", "a+b"), ("h", "b")]));
    desk.finish();
}

#[test]
fn other_files_dirty_by_people_reset_the_shadow() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a")]))]);
    desk.git(&["restore", "."]);
    desk.write("h", "by hand\n");
    assert_eq!(desk.turn("b", &[("g", "b\n")]), "no-overlap");
    assert_eq!(desk.chain(), ["human", "b"]);
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("g", "b"), ("h", "")]));
    desk.finish();
}

#[test]
fn the_flag_is_used_once() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a")]))]);
    desk.git(&["restore", "."]);
    assert_eq!(desk.prompt("b"), "clean");
    assert_eq!(desk.sessions()["b"]["should_reset_shadow"], true);
    desk.work("b", &[("g", "1\n")]);
    assert_eq!(desk.sessions()["b"]["should_reset_shadow"], false);
    desk.work("b", &[("g", "1\n2\n")]);
    desk.work("b", &[("g", "1\n2\n3\n")]);
    assert_eq!((desk.chain().len(), desk.refs("archive").len()), (3, 1));
    desk.stop("b");
    desk.finish();
}

#[test]
fn the_flag_is_dropped_at_stop_and_at_end() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a")]))]);
    desk.git(&["stash", "-q"]);
    for how in ["stop", "end"] {
        assert_eq!(desk.prompt("b"), "clean");
        desk.json(&["session", how, "b"]);
        assert_eq!(desk.sessions()["b"]["should_reset_shadow"], false);
        assert_eq!(desk.refs("pending"), Vec::<String>::new());
    }
    assert_eq!((desk.chain(), desk.refs("archive").len()), (vec!["a".into()], 0));
    desk.finish();
}

#[test]
fn edits_by_hand_before_a_prompt_are_a_humans() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a")]))]);
    desk.write("f", changed(&[(3, "a"), (12, "by hand")]));
    desk.write("untracked", "by hand\n");
    assert_eq!(desk.prompt("a"), "overlap");
    assert_eq!(desk.refs("pending").len(), 1);
    desk.work("a", &[("f", &changed(&[(3, "a"), (12, "by hand"), (18, "a again")]))]);
    assert_eq!(desk.chain(), ["a", "human", "a"]);
    assert_eq!(desk.refs("pending"), Vec::<String>::new());
    desk.stop("a");
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a"), ("untracked", "")]));
    let record = &desk.records("HEAD")[0];
    // A line changed and a file made by hand.
    assert_eq!((record.counts.agent, record.counts.human), (2, 2), "{:?}", record.counts);
    desk.finish();
}

#[test]
fn edits_by_hand_before_the_first_prompt_are_a_humans() {
    let desk = Desk::new();
    desk.write("g", "by hand\n");
    assert_eq!(desk.turn("a", &[("h", "a\n")]), "no-shadow");
    assert_eq!(desk.chain(), ["human", "a"]);
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("g", ""), ("h", "a")]));
    desk.finish();
}

#[test]
fn two_live_sessions_interleave() {
    let desk = Desk::new();
    assert_eq!(desk.prompt("a"), "no-shadow");
    assert_eq!(desk.prompt("b"), "no-shadow");
    desk.work("a", &[("f", &changed(&[(3, "a")]))]);
    desk.work("b", &[("g", "b\n")]);
    desk.work("a", &[("h", "a\n")]);
    desk.work("b", &[("f", &changed(&[(3, "a"), (15, "b")]))]);
    assert_eq!(desk.chain(), ["a", "b", "a", "b"]);
    desk.stop("a");
    desk.stop("b");
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a+b"), ("g", "b"), ("h", "a")]));
    desk.finish();
}

#[test]
fn a_second_live_session_does_not_set_the_first_ones_new_work_aside() {
    let desk = Desk::new();
    desk.turn("old", &[("f", &changed(&[(3, "old")]))]);
    desk.git(&["restore", "."]);
    // Both turns begin on a clean worktree, and both would set the old shadow aside.
    assert_eq!((desk.prompt("a"), desk.prompt("b")), ("clean".into(), "clean".into()));
    desk.work("a", &[("g", "a\n")]);
    desk.work("b", &[("h", "b\n")]);
    assert_eq!((desk.chain(), desk.refs("archive").len()), (vec!["a".into(), "b".into()], 1));
    desk.stop("a");
    desk.stop("b");
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("g", "a"), ("h", "b")]));
    desk.finish();
}

#[test]
fn another_branch_and_back() {
    let desk = Desk::new();
    desk.git(&["branch", "other"]);
    desk.git(&["switch", "-q", "other"]);
    desk.write("other", "other\n");
    desk.commit_all();
    desk.git(&["switch", "-q", "main"]);
    desk.turn("a", &[("f", &changed(&[(3, "a")]))]);
    let shadow = desk.shadow();
    desk.git(&["stash", "-q"]);
    desk.git(&["switch", "-q", "other"]);
    assert_eq!(desk.turn("b", &[("g", "b\n")]), "no-shadow");
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("g", "b")]));
    desk.git(&["switch", "-q", "main"]);
    desk.git(&["stash", "pop", "-q"]);
    assert_eq!(desk.shadow(), shadow);
    assert_eq!(desk.turn("c", &[("f", &changed(&[(3, "a"), (9, "c")]))]), "overlap");
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a+c")]));
    desk.finish();
}

#[test]
fn a_detached_head() {
    let desk = Desk::new();
    desk.git(&["switch", "-q", "--detach"]);
    desk.turn("a", &[("f", &changed(&[(3, "a")]))]);
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a")]));
    assert_eq!(desk.turn("a", &[("g", "a\n")]), "no-shadow");
    desk.git(&["switch", "-q", "-c", "kept"]);
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("g", "a")]));
    desk.finish();
}

#[test]
fn the_first_commit_of_an_unborn_branch() {
    let desk = Desk::unborn();
    assert_eq!(desk.prompt("a"), "no-shadow");
    desk.work("a", &[("one", "1\n")]);
    desk.write("two", "by hand\n");
    desk.stop("a");
    // Changes that are unsaved at the stop are the turn's.
    desk.git(&["add", "one"]);
    desk.commit();
    assert_eq!(desk.recorded("HEAD"), parts(&[("one", "a")]));
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("two", "a")]));
    assert_eq!(desk.shadow(), None);
    desk.finish();
}

#[test]
fn linked_worktrees_on_the_same_base_have_shadows_of_their_own() {
    let desk = Desk::new();
    desk.git(&["worktree", "add", "-q", "../linked", "-b", "linked"]);
    desk.turn("a", &[("f", &changed(&[(3, "a")]))]);
    desk.go("linked");
    assert_eq!(desk.turn("b", &[("f", &changed(&[(9, "b")]))]), "no-shadow");
    assert_eq!(desk.chain(), ["b"]);
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "b")]));
    desk.go("repo");
    assert_eq!(desk.chain(), ["a"]);
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a")]));
    desk.finish();
}

#[test]
fn an_unreadable_shadow_is_set_aside() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a")]))]);
    let shadow = desk.shadow().expect("live");
    let path = desk.world.repo().join(".git").join(&shadow);
    std::fs::write(path, format!("{}\n", desk.git(&["hash-object", "-w", "f"]))).expect("ours");
    // What can be read of it is set aside, and known again: the worktree holds that very work.
    assert_eq!(desk.prompt("b"), "overlap");
    desk.work("b", &[("g", "b\n")]);
    assert_eq!(desk.chain(), ["a*", "b"]);
}
