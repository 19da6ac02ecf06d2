//! HEAD moves without us: pull, switch, reset, rebase, merge; and what a restore brings back afterwards.

use super::desk::{Desk, changed, parts};
use crate::support::template::Template;

/// A desk whose `origin` has a commit more than `main`, which changes line 18 of `f` and `upstream`.
static BEHIND: Template = Template::new(|world| {
    let desk = Desk::begin(world);
    desk.write("upstream", "1\n");
    desk.commit_all();
    desk.git(&["clone", "-q", ".", "../origin"]);
    desk.git(&["remote", "add", "origin", "../origin"]);
    desk.go("origin");
    desk.write("f", changed(&[(18, "upstream")]));
    desk.write("upstream", "1\n2\n");
    desk.git(&["commit", "-qam", "upstream"]);
    desk.go("repo");
    desk.git(&["fetch", "-q", "origin"]);
    desk.git(&["branch", "-q", "--set-upstream-to", "origin/main"]);
});

fn behind() -> Desk {
    Desk::after(&BEHIND)
}

#[test]
fn a_pull_of_other_files() {
    let desk = behind();
    desk.turn("a", &[("g", "a\n")]);
    desk.git(&["pull", "-q", "--ff-only"]);
    assert_eq!(desk.chain(), ["a*"]);
    assert_eq!(desk.saved("upstream"), Some("1\n2\n".into()));
    assert_eq!(desk.turn("b", &[("h", "b\n")]), "overlap");
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("g", "a"), ("h", "b")]));
    assert_eq!(desk.records("HEAD")[0].counts.human, 0);
    desk.finish();
}

#[test]
fn a_pull_of_the_same_file_changed_upstream() {
    let desk = behind();
    desk.turn("a", &[("f", &changed(&[(3, "a")]))]);
    desk.git(&["stash", "-q"]);
    desk.git(&["pull", "-q", "--ff-only"]);
    desk.git(&["stash", "pop", "-q"]);
    assert_eq!(desk.turn("b", &[("f", &changed(&[(3, "a"), (9, "b"), (18, "upstream")]))]), "overlap");
    assert_eq!(desk.chain(), ["a*", "b"]);
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a+b")]));
    let counts = desk.records("HEAD")[0].counts;
    assert_eq!((counts.agent, counts.human, counts.mixed), (2, 0, 0));
    desk.finish();
}

#[test]
fn a_pull_with_autostash() {
    let desk = behind();
    desk.turn("a", &[("f", &changed(&[(3, "a")])), ("new", "a\n")]);
    desk.git(&["pull", "-q", "--rebase", "--autostash"]);
    assert_eq!(desk.read("f"), changed(&[(3, "a"), (18, "upstream")]));
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a"), ("new", "a")]));
    assert_eq!(desk.records("HEAD")[0].counts.human, 0);
    desk.finish();
}

#[test]
fn a_pull_in_the_middle_of_a_turn() {
    let desk = behind();
    desk.prompt("a");
    desk.work("a", &[("g", "a\n")]);
    desk.git(&["pull", "-q", "--ff-only"]);
    desk.work("a", &[("h", "a\n")]);
    desk.stop("a");
    assert_eq!(desk.chain(), ["a*", "a"]);
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("g", "a"), ("h", "a")]));
    desk.finish();
}

#[test]
fn a_pull_without_our_hooks_is_noticed_at_the_next_event() {
    let desk = behind();
    desk.turn("a", &[("g", "a\n")]);
    desk.git(&["-c", "core.hooksPath=/dev/null", "pull", "-q", "--ff-only"]);
    assert_eq!(desk.chain(), Vec::<String>::new());
    assert_eq!(desk.prompt("b"), "overlap");
    assert_eq!(desk.chain(), ["a*"]);
    desk.work("b", &[("h", "b\n")]);
    desk.stop("b");
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("g", "a"), ("h", "b")]));
    desk.finish();
}

#[test]
fn a_pull_when_nothing_is_dirty_any_more() {
    let desk = behind();
    desk.turn("a", &[("g", "a\n")]);
    let old = desk.shadow();
    desk.git(&["stash", "-q"]);
    desk.git(&["pull", "-q", "--ff-only"]);
    assert_eq!(desk.chain(), Vec::<String>::new());
    // It stays where it was, and is found again there.
    desk.git(&["reset", "-q", "--hard", "HEAD^"]);
    desk.git(&["stash", "pop", "-q"]);
    assert_eq!((desk.shadow(), desk.turn("b", &[("h", "b\n")])), (old, "overlap".into()));
    desk.finish();
}

#[test]
fn a_new_branch_at_the_same_commit() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a")]))]);
    let shadow = desk.shadow();
    desk.git(&["switch", "-q", "-c", "topic"]);
    assert_eq!((desk.shadow(), desk.turn("b", &[("g", "b\n")])), (shadow, "overlap".into()));
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a"), ("g", "b")]));
    desk.finish();
}

#[test]
fn a_switch_that_keeps_the_changes() {
    let desk = Desk::new();
    desk.git(&["switch", "-q", "-c", "other"]);
    desk.write("other", "other\n");
    desk.commit_all();
    desk.git(&["switch", "-q", "main"]);
    desk.turn("a", &[("g", "a\n"), ("new", "a\n")]);
    desk.git(&["switch", "-q", "other"]);
    assert_eq!(desk.chain(), ["a*"]);
    desk.git(&["switch", "-q", "main"]);
    assert_eq!(desk.chain().last().map(String::as_str), Some("a*"));
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("g", "a"), ("new", "a")]));
    desk.finish();
}

#[test]
fn a_hard_reset_keeps_what_was_saved() {
    let desk = Desk::new();
    desk.write("g", "second\n");
    desk.commit_all();
    desk.turn("a", &[("f", &changed(&[(3, "a")]))]);
    let tip = desk.git(&["rev-parse", &desk.shadow().expect("live")]);
    desk.git(&["reset", "-q", "--hard", "HEAD^"]);
    assert_eq!(desk.turn("b", &[("h", "b\n")]), "no-shadow");
    assert_eq!(desk.chain(), ["b"]);
    let held = desk.git(&["for-each-ref", "--points-at", &tip, "refs/checkpoints/"]);
    assert!(!held.is_empty());
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("h", "b")]));
    desk.finish();
}

#[test]
fn a_soft_reset_and_another_commit_find_the_record_again() {
    for how in ["--soft", "--mixed"] {
        let desk = Desk::new();
        desk.turn("a", &[("f", &changed(&[(3, "a")])), ("g", "a\n")]);
        desk.commit_all();
        let before = desk.trailers("HEAD");
        desk.git(&["reset", "-q", how, "HEAD^"]);
        desk.commit_all();
        assert_eq!(desk.trailers("HEAD"), before, "{how}");
        desk.finish();
    }
}

#[test]
fn a_soft_reset_with_more_work_on_top() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a")]))]);
    desk.commit_all();
    desk.git(&["reset", "-q", "--soft", "HEAD^"]);
    desk.turn("b", &[("g", "b\n")]);
    desk.commit_all();
    let mut sessions: Vec<String> =
        desk.records("HEAD").iter().flat_map(|record| record.sessions.iter().map(|it| it.id.clone())).collect();
    sessions.sort();
    sessions.dedup();
    assert_eq!(sessions, ["a", "b"]);
    desk.finish();
}

#[test]
fn a_rebase_with_autostash() {
    let desk = Desk::new();
    desk.git(&["switch", "-q", "-c", "topic"]);
    desk.turn("a", &[("g", "a\n")]);
    desk.commit_all();
    let record = desk.trailers("HEAD");
    desk.git(&["switch", "-q", "main"]);
    desk.write("f", changed(&[(18, "upstream")]));
    desk.commit_all();
    desk.git(&["switch", "-q", "topic"]);
    desk.turn("b", &[("f", &changed(&[(3, "b")]))]);
    desk.git(&["rebase", "-q", "--autostash", "main"]);
    assert_eq!(desk.read("f"), changed(&[(3, "b"), (18, "upstream")]));
    assert_eq!((desk.trailers("HEAD"), desk.records("HEAD").len()), (record, 1));
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "b")]));
    assert_eq!(desk.records("HEAD")[0].counts.human, 0);
    desk.finish();
}

#[test]
fn a_merge_with_work_in_the_worktree() {
    let desk = Desk::new();
    desk.git(&["switch", "-q", "-c", "topic"]);
    desk.write("f", changed(&[(18, "topic")]));
    desk.commit_all();
    desk.git(&["switch", "-q", "main"]);
    desk.write("h", "main\n");
    desk.commit_all();
    desk.turn("a", &[("g", "a\n")]);
    desk.git(&["merge", "-q", "--no-edit", "topic"]);
    assert_eq!((desk.trailers("HEAD"), desk.records("HEAD").len()), (Vec::new(), 0));
    assert_eq!(desk.chain(), ["a*"]);
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("g", "a")]));
    desk.finish();
}

#[test]
fn a_cherry_pick_with_work_in_the_worktree() {
    let desk = Desk::new();
    desk.git(&["switch", "-q", "-c", "topic"]);
    desk.write("f", changed(&[(18, "topic")]));
    desk.commit_all();
    desk.git(&["switch", "-q", "main"]);
    desk.turn("a", &[("g", "a\n")]);
    desk.git(&["cherry-pick", "topic"]);
    assert_eq!(desk.recorded("HEAD"), parts(&[]));
    assert_eq!(desk.turn("b", &[("h", "b\n")]), "overlap");
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("g", "a"), ("h", "b")]));
    desk.finish();
}

/// The checkpoint of session `a` from before the pull: it has its own work, and old versions of upstream's files.
fn pulled(file: &str, content: &str) -> (Desk, String) {
    let desk = behind();
    desk.turn("a", &[(file, content), ("new", "a\n")]);
    let target = desk.git(&["rev-parse", &desk.shadow().expect("live")]);
    desk.git(&["stash", "-q", "-u"]);
    desk.git(&["pull", "-q", "--ff-only"]);
    (desk, target)
}

/// The checkpoint of a human, whose restore takes everything.
fn pulled_by_hand(file: &str, content: &str) -> (Desk, String) {
    let desk = behind();
    desk.write(file, content);
    desk.write("new", "a\n");
    desk.json(&["save"]);
    let target = desk.git(&["rev-parse", &desk.shadow().expect("live")]);
    desk.git(&["stash", "-q", "-u"]);
    desk.git(&["pull", "-q", "--ff-only"]);
    (desk, target)
}

fn restore(desk: &Desk, arguments: &[&str]) -> serde_json::Value {
    let arguments = [&["checkpoint", "restore", "--json"], arguments].concat();
    serde_json::from_str(&desk.git(&arguments)).expect("JSON")
}

#[test]
fn a_restore_after_a_pull_leaves_upstreams_files() {
    for (desk, target) in [pulled("g", "a\n"), pulled_by_hand("g", "a\n")] {
        let restored = restore(&desk, &[&target]);
        assert_eq!((desk.read("g"), desk.read("new")), ("a\n".into(), "a\n".into()));
        assert_eq!(desk.read("f"), changed(&[(18, "upstream")]), "{restored}");
        assert_eq!(desk.read("upstream"), "1\n2\n");
        assert_eq!(restored["kept"], serde_json::json!([]), "{restored}");
        desk.finish();
    }
}

#[test]
fn a_restore_after_a_pull_keeps_a_file_changed_on_both_sides() {
    for (desk, target) in [pulled("f", &changed(&[(3, "a")])), pulled_by_hand("f", &changed(&[(3, "a")]))] {
        let restored = restore(&desk, &[&target]);
        assert_eq!((desk.read("f"), desk.read("new")), (changed(&[(18, "upstream")]), "a\n".into()));
        assert_eq!(restored["kept"][0]["path"], "f", "{restored}");
        assert_eq!(desk.read("upstream"), "1\n2\n");
        // Who names it gets it.
        let restored = restore(&desk, &[&target, "--", "f"]);
        assert_eq!(desk.read("f"), changed(&[(3, "a")]), "{restored}");
        desk.finish();
    }
}

#[test]
fn a_restore_of_everything_after_a_pull_brings_all_back() {
    let (desk, target) = pulled("f", &changed(&[(3, "a")]));
    restore(&desk, &["--all", &target]);
    assert_eq!((desk.read("f"), desk.read("upstream")), (changed(&[(3, "a")]), "1\n".into()));
    restore(&desk, &["--all", "base"]);
    assert_eq!((desk.read("f"), desk.read("upstream")), (changed(&[(18, "upstream")]), "1\n2\n".into()));
    desk.finish();
}

#[test]
fn a_restore_on_a_branch_that_removed_the_files() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a")]))]);
    let target = desk.git(&["rev-parse", &desk.shadow().expect("live")]);
    desk.git(&["stash", "-q"]);
    desk.git(&["rm", "-q", "g"]);
    desk.write("later", "later\n");
    desk.git(&["add", "later"]);
    desk.git(&["-c", "core.hooksPath=/dev/null", "commit", "-qm", "by another tool"]);
    restore(&desk, &[&target]);
    assert!(!desk.world.repo().join("g").exists());
    assert_eq!((desk.read("f"), desk.read("later")), (changed(&[(3, "a")]), "later\n".into()));
    desk.finish();
}

/// The switch carries forward what the turn began with, and before that what the session had done.
#[test]
fn a_turn_that_only_switches_branches_changes_no_authors() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a")]))]);
    desk.write("g", "human\n");
    desk.git(&["commit", "-qm", "people", "--", "g"]);
    desk.git(&["checkout", "-q", "-b", "side", "HEAD~"]);
    desk.write("f", changed(&[(3, "a"), (15, "human")]));
    desk.prompt("a");
    desk.git(&["checkout", "-q", "main"]);
    desk.stop("a");
    let told = |told: &serde_json::Value| (told["agent_lines"].clone(), told["human_added"].clone());
    assert_eq!(told(&desk.json(&["attribution", "--worktree"])["summary"]), (1.into(), 1.into()));
    desk.commit_all();
    assert_eq!(told(&desk.json(&["attribution", "HEAD"])["summary"]), (1.into(), 1.into()));
    desk.finish();
}

/// What a turn begins with is in a checkpoint of the person's own.
#[test]
fn a_commit_of_one_file_in_a_turn_leaves_the_others_whose_they_are() {
    let desk = Desk::new();
    desk.write("f", changed(&[(3, "human")]));
    desk.write("g", "human\n");
    desk.json(&["save"]);
    desk.prompt("a");
    desk.git(&["commit", "-qm", "a path", "--", "g"]);
    desk.stop("a");
    let told = &desk.json(&["attribution", "--worktree"])["summary"];
    assert_eq!((&told["agent_lines"], &told["human_added"]), (&0.into(), &1.into()), "{told}");
    desk.finish();
}

/// Git's hooks carry the work of a session over a commit that takes none of it, so that readers need not wait for a command.
#[rstest::rstest]
#[case::revert("git revert --no-edit HEAD")]
#[case::several("git revert --no-edit HEAD HEAD~")]
#[case::pick("git cherry-pick side")]
#[case::of_other_files("echo mine >mine; git add mine; git commit -qm mine")]
fn hooks_carry_work_over_a_commit_that_takes_none(#[case] script: &str) {
    let desk = Desk::new();
    desk.sh("git checkout -qb side; echo side >side; git add side; git commit -qm side; git checkout -q main");
    desk.sh("echo two >two; git add two; git commit -qm two; git mv two three; git commit -qm three");
    desk.turn("a", &[("new", "of a\n")]);
    desk.sh(script);
    let head = desk.git(&["rev-parse", "HEAD"]);
    assert!(desk.shadow().is_some_and(|shadow| shadow.contains(head.trim())), "{:?}", desk.shadow());
    let archived = desk.git(&["for-each-ref", "refs/checkpoints/archive"]);
    assert_eq!(archived.lines().count(), 1, "of several commits, only the last is followed: {archived}");
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("new", "a")]));
    desk.finish();
}
