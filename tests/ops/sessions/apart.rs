//! What is apart stays so when a process dies in the middle, and when one session works in two worktrees.

use std::os::unix::process::ExitStatusExt as _;

use super::{
    desk::{Desk, parts},
    storage::{shadows, two},
};
use crate::support::{processes::described, program};

/// Runs `program` with a failpoint, which must be met.
fn dies(desk: &Desk, program: &str, arguments: &[&str], step: &str) {
    let mut command = desk.world.command(program);
    let output = command.args(arguments).env("CHECKPOINT_FAILPOINT", step).output().expect("it runs");
    // Git ignores how its hook ends; the shell that runs the hook reports it.
    let is_aborted = if program == "git" {
        output.status.success() && String::from_utf8_lossy(&output.stderr).contains("Aborted")
    } else {
        output.status.signal() == Some(6)
    };
    assert!(is_aborted, "{step}: {}", described(&output));
}

#[test]
#[cfg_attr(not(feature = "failpoints"), ignore = "needs the feature 'failpoints'")]
fn a_commit_whose_hook_dies_is_finished_for_both() {
    for step in ["condense:before-record", "condense:before-carry", "condense:before-refs", "condense:after-refs"] {
        let desk = two();
        desk.git(&["add", "f"]);
        dies(&desk, "git", &["commit", "-qm", "f"], step);
        desk.json(&["save"]);
        assert_eq!((desk.recorded("HEAD"), shadows(&desk)), (parts(&[("f", "a")]), vec!["main@/b".into()]), "{step}");
        desk.commit_all();
        assert_eq!(desk.recorded("HEAD"), parts(&[("g", "b")]), "{step}");
        assert_eq!((desk.records("HEAD")[0].counts.human, desk.refs("shadow")), (0, Vec::new()), "{step}");
        desk.finish();
    }
}

#[test]
#[cfg_attr(not(feature = "failpoints"), ignore = "needs the feature 'failpoints'")]
fn following_head_that_dies_is_done_again_for_both() {
    for step in ["follow:before-refs", "follow:after-refs", "follow:before-base"] {
        let desk = two();
        let upstream = ["-c", "core.hooksPath=/dev/null", "commit", "-q", "--allow-empty", "-m", "x", "--only"];
        desk.git(&upstream);
        dies(&desk, program(), &["save"], step);
        desk.json(&["save"]);
        assert_eq!(shadows(&desk), ["main@/a", "main@/b"], "{step}");
        desk.commit_all();
        assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a"), ("g", "b")]), "{step}");
        assert_eq!((desk.records("HEAD")[0].counts.human, desk.refs("shadow")), (0, Vec::new()), "{step}");
        desk.finish();
    }
}

/// Session `a` has begun a turn in both worktrees, each with something done by hand before it; as earlier versions left it,
/// which did not end the first.
fn in_two_worktrees() -> Desk {
    let desk = Desk::new();
    desk.git(&["worktree", "add", "-q", "../linked", "-b", "linked"]);
    desk.write("h", "by hand\n");
    desk.prompt("a");
    let pending = "refs/checkpoints/pending/main@/a";
    let id = desk.git(&["rev-parse", pending]);
    desk.go("linked");
    desk.write("g", "by hand, too\n");
    desk.prompt("a");
    desk.git(&["update-ref", pending, &id]);
    desk
}

#[test]
fn the_state_before_a_turn_is_kept_for_each_worktree() {
    let desk = in_two_worktrees();
    let prefix = "refs/checkpoints/pending/";
    assert_eq!(desk.refs("pending"), [format!("{prefix}linked@/a"), format!("{prefix}main@/a")]);
    desk.work("a", &[("new", "a\n")]);
    desk.stop("a");
    assert_eq!((desk.chain(), desk.refs("pending").len()), (vec!["human".into(), "a".into()], 1));
    desk.go("repo");
    desk.prompt("a");
    desk.work("a", &[("new", "a\n")]);
    desk.stop("a");
    assert_eq!((desk.chain(), desk.refs("pending").len()), (vec!["human".into(), "a".into()], 0));
    desk.finish();
}

#[test]
fn a_session_that_ends_lets_go_of_all_and_loses_nothing() {
    let desk = in_two_worktrees();
    desk.json(&["session", "end", "a"]);
    assert_eq!(desk.refs("pending"), Vec::<String>::new());
    let held = desk.git(&["log", "-p", "--format=", "--glob=refs/checkpoints/*"]);
    // This worktree still has it; the other one was not looked at.
    assert!(held.contains("+by hand\n"), "{held}");
    desk.finish();
}

#[test]
fn a_pending_ref_of_an_earlier_version_is_found() {
    let desk = Desk::new();
    desk.write("h", "by hand\n");
    desk.prompt("a");
    let (new, old) = ("refs/checkpoints/pending/main@/a", "refs/checkpoints/pending/a");
    desk.git(&["update-ref", old, new]);
    desk.git(&["update-ref", "-d", new]);
    desk.work("a", &[("g", "a\n")]);
    assert_eq!((desk.chain(), desk.refs("pending")), (vec!["human".into(), "a".into()], Vec::new()));
    desk.write("h", "by hand again\n");
    desk.json(&["verify", "@{1}"]);
    desk.git(&["update-ref", old, "refs/checkpoints/verified/main"]);
    desk.stop("a");
    assert_eq!(desk.refs("pending"), Vec::<String>::new());
    desk.finish();
}
