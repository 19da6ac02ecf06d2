//! Commits without hooks.

use super::{
    desk::{Desk, changed, parts, words},
    moved::{self, blamed, expected},
};
use crate::support::{START, World, template::Template};

/// Commits what is staged, without hooks.
const QUIET: [&str; 5] = ["-c", "core.hooksPath=/dev/null", "commit", "-qm", "quiet"];

/// A session `a` that has changed `f` and `g`, all of which is committed without hooks.
static COMMITTED: Template = Template::new(|world| {
    let desk = Desk::begin(world);
    desk.turn("a", &[("f", &changed(&[(3, "a")])), ("g", "a\n")]);
    desk.git(&["add", "-A"]);
    desk.git(&QUIET);
    assert_eq!(desk.records("HEAD").len(), 0);
});

fn committed() -> Desk {
    Desk::after(&COMMITTED)
}

/// The commit at HEAD has its one record, and no trailer.
fn assert_recorded(desk: &Desk, commit: &str, expected: &[(&str, &str)]) {
    assert_eq!((desk.recorded(commit), desk.trailers(commit)), (parts(expected), Vec::new()));
    assert!(desk.records(commit).iter().all(|record| record.counts.human == 0));
}

#[rstest::rstest]
#[case::start(&["session", "start", "b"])]
#[case::prompt(&["session", "prompt", "b"])]
#[case::stop(&["session", "stop", "a"])]
#[case::end(&["session", "end", "a"])]
#[case::save(&["save"])]
fn an_event_makes_the_record(#[case] event: &[&str]) {
    let desk = committed();
    desk.json(event);
    assert_recorded(&desk, "HEAD", &[("f", "a"), ("g", "a")]);
    assert_eq!(desk.chain(), Vec::<String>::new());
    desk.finish();
}

/// The message of the commit names the record of other lines.
#[rstest::rstest]
#[case::amend("git commit -qa --amend --no-edit")]
#[case::fixup("git commit -qam more; GIT_SEQUENCE_EDITOR='sed -i 2s/pick/fixup/' git rebase -q -i HEAD~2")]
#[case::squash(
    "git commit -qam more; GIT_EDITOR=true GIT_SEQUENCE_EDITOR='sed -i 2s/pick/squash/' git rebase -q -i HEAD~2"
)]
fn lines_that_a_rewritten_commit_adds_are_unknown_until_its_record_is_made(#[case] script: &str) {
    let desk = Desk::new();
    desk.turn("a", &[("g", "a\n")]);
    desk.commit_all();
    assert_eq!(desk.trailers("HEAD").len(), 1);
    desk.git(&["config", "core.hooksPath", "/dev/null"]);
    desk.turn("b", &[("h", "b\n")]);
    desk.sh(script);
    let blamed = |desk: &Desk, path| desk.json(&["blame", path])["lines"][0].clone();
    assert_eq!((&blamed(&desk, "g")["session"], &blamed(&desk, "h")["owner"]), (&"a".into(), &"unknown".into()));
    desk.json(&["save"]);
    assert_eq!((&blamed(&desk, "g")["session"], &blamed(&desk, "h")["session"]), (&"a".into(), &"b".into()));
    desk.finish();
}

/// One command has made them and committed them.
#[test]
fn lines_of_a_commit_of_a_command_stay_unknown_when_they_are_committed_again() {
    let desk = Desk::new();
    desk.git(&["config", "core.hooksPath", "/dev/null"]);
    moved::command(&desk, "a", "echo 'a line' >>g; git commit -qam a");
    let owner = |desk: &Desk| desk.json(&["blame", "g"])["lines"][1]["owner"].clone();
    assert_eq!(owner(&desk), "unknown");
    desk.sh("echo 'human line' >>h; git reset -q --soft HEAD~; git commit -qam again");
    desk.json(&["save"]);
    assert_eq!(owner(&desk), "unknown");
    desk.finish();
}

/// Git has copied an agent's commit to a new worktree, and a person has amended the copy.
#[test]
fn commits_in_a_worktree_that_no_command_has_seen_keep_their_authors() {
    let desk = Desk::new();
    desk.git(&["config", "core.hooksPath", "/dev/null"]);
    desk.turn("a", &[("f", &changed(&[(3, "a")]))]);
    desk.commit_all();
    desk.json(&["save"]);
    desk.git(&["worktree", "add", "-q", "../linked", "-b", "linked", "HEAD~"]);
    desk.go("linked");
    desk.sh("git cherry-pick main; echo human >>f; git commit -qa --amend --no-edit");
    desk.json(&["save"]);
    assert_eq!(moved::blamed(&desk, "f"), ["the 3th line is of a: a", "human: human"]);
    desk.finish();
}

/// Without a reflog, as with one.
#[test]
fn many_commits_that_no_reflog_has_are_followed() {
    let desk = Desk::new();
    desk.git(&["config", "core.logAllRefUpdates", "false"]);
    desk.sh("rm -r .git/logs");
    desk.turn("a", &[("g", "a\n")]);
    desk.git(&["add", "-A"]);
    desk.git(&QUIET);
    let tree = "tree=$(git rev-parse HEAD^{tree}) at=$(git rev-parse HEAD)";
    desk.sh(&format!(
        "{tree}; for n in $(seq 100); do at=$(git commit-tree -p $at -m $n $tree); done; git update-ref HEAD $at"
    ));
    desk.json(&["save"]);
    assert_recorded(&desk, "HEAD~100", &[("g", "a")]);
    desk.finish();
}

/// A command about checkpoints finds those of the work that a commit without hooks has left.
#[rstest::rstest]
#[case::reset(&["reset"], true)]
#[case::reset_session(&["reset", "--session", "a"], false)]
#[case::verify(&["verify", "@"], false)]
#[case::adopt(&["session", "adopt", "a"], false)]
fn every_command_that_writes_follows_head(#[case] command: &[&str], #[case] sets_aside: bool) {
    let desk = Desk::new();
    desk.prompt("a");
    desk.sh("echo of a >>f; echo of a >g");
    desk.stop("a");
    desk.sh("git add f; git -c core.hooksPath=/dev/null commit -qm f");
    let reset = desk.world.checkpoint(command);
    let record = desk.records("HEAD");
    assert_eq!(record.len(), 1, "{reset:?}");
    assert_eq!(desk.world.shadows().len(), usize::from(!sets_aside), "{reset:?}");
    assert!(reset.status.success() != (command == ["reset", "--session", "a"]), "{reset:?}");
    desk.commit_all();
    assert_eq!(desk.records("HEAD").len(), 1, "what is archived comes back with its author");
    desk.finish();
}

/// What a commit without hooks leaves is carried to it first; `verify` marks the checkpoint that `list` shows then.
#[test]
fn verify_marks_the_carried_checkpoint() {
    let desk = Desk::new();
    desk.turn("a", &[("g", "of a\n")]);
    desk.sh("echo mine >f; git add f; git -c core.hooksPath=/dev/null commit -qm f");
    let verified = desk.json(&["verify"]);
    let list = desk.world.done(&["list", "--json"]);
    let first: serde_json::Value = list.lines().next().and_then(|line| serde_json::from_str(line).ok()).expect("JSON");
    assert_eq!(first["id"], verified["id"], "{list}");
    desk.finish();
}

/// A dry run does not follow HEAD, and still says what `reset` sets aside.
#[rstest::rstest]
fn a_dry_run_of_reset_sees_work_that_is_not_carried_yet(
    #[values(&["reset"][..], &["reset", "--session", "a"])] reset: &[&str],
) {
    let desk = Desk::new();
    desk.git(&["config", "checkpoint.storage", "session"]);
    desk.turn("a", &[("g", "of a\n")]);
    desk.sh("echo mine >f; git add f; git -c core.hooksPath=/dev/null commit -qm f");
    let before = desk.world.shadows();
    let dry = desk.world.checkpoint(&[reset, &["--dry-run"]].concat());
    assert!(dry.status.success(), "{dry:?}");
    assert_eq!(desk.world.shadows(), before);
    assert!(desk.world.checkpoint(reset).status.success());
    desk.finish();
}

#[test]
fn work_that_an_unseen_commit_left_continues() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a")])), ("g", "a\n")]);
    desk.git(&["add", "f"]);
    desk.git(&QUIET);
    assert_eq!(desk.prompt("b"), "overlap");
    assert_recorded(&desk, "HEAD", &[("f", "a")]);
    assert_eq!(desk.chain(), ["a*"]);
    desk.stop("b");
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("g", "a")]));
    desk.finish();
}

#[rstest::rstest]
#[case::reset(&["reset", "-q"])]
#[case::branch(&["checkout", "-q", "-b", "x"])]
#[case::stash(&["stash", "-q"])]
fn two_unseen_commits_are_recorded_with_a_command_between_them(#[case] command: &[&str]) {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a")])), ("g", "a\n")]);
    desk.git(&["add", "f"]);
    desk.git(&QUIET);
    desk.git(command);
    if command[0] == "stash" {
        desk.git(&["stash", "pop", "-q"]);
    }
    desk.git(&["add", "g"]);
    desk.git(&QUIET);
    desk.json(&["save"]);
    assert_recorded(&desk, "HEAD~", &[("f", "a")]);
    assert_recorded(&desk, "HEAD", &[("g", "a")]);
    desk.finish();
}

#[test]
fn an_undone_commit_that_is_amended_in_without_hooks_keeps_its_authors() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a"), (15, "a")]))]);
    desk.commit_all();
    desk.git(&["reset", "-q", "--soft", "HEAD~"]);
    desk.git(&["-c", "core.hooksPath=/dev/null", "commit", "-q", "--amend", "--no-edit"]);
    desk.json(&["save"]);
    let told = &desk.json(&["attribution", "HEAD", "--", "f"])["summary"];
    assert_eq!(told["agent_lines"], 2, "{told}");
    desk.finish();
}

/// An agent makes the same elsewhere, later.
#[test]
fn a_persons_earlier_commit_stays_theirs_if_an_agent_makes_the_same() {
    let desk = Desk::new();
    desk.git(&["worktree", "add", "-q", "../linked", "-b", "linked"]);
    desk.json(&["save"]);
    desk.write("n", "one\ntwo\nthree\n");
    desk.commit_all();
    desk.go("linked");
    desk.turn_with_tool("a", "n", "one\ntwo\nthree\n");
    desk.commit_all();
    desk.go("repo");
    desk.json(&["save"]);
    assert_eq!(desk.records("HEAD").len(), 0);
    desk.go("linked");
    assert_eq!(desk.recorded("HEAD"), parts(&[("n", "a")]));
    desk.finish();
}

#[test]
fn several_commits_and_one_of_people_only() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a")])), ("g", "a\n")]);
    desk.write("mine", "human\n");
    for path in ["f", "mine", "g"] {
        desk.git(&["add", path]);
        desk.git(&QUIET);
    }
    desk.json(&["save"]);
    assert_recorded(&desk, "HEAD~2", &[("f", "a")]);
    assert_eq!(desk.records("HEAD~").len(), 0);
    assert_recorded(&desk, "HEAD", &[("g", "a")]);
    desk.finish();
}

#[test]
fn a_late_post_commit_changes_nothing() {
    let desk = committed();
    desk.json(&["save"]);
    desk.git(&["checkpoint", "hook", "post-commit"]);
    assert_recorded(&desk, "HEAD", &[("f", "a"), ("g", "a")]);
    desk.finish();
}

#[rstest::rstest]
#[case::by_the_user("", true)]
#[case::of_another_committer("GIT_COMMITTER_NAME=other GIT_COMMITTER_EMAIL=other@example.com", false)]
fn a_commit_made_by_plumbing(#[case] environment: &str, #[case] is_ours: bool) {
    let desk = Desk::new();
    desk.turn("a", &[("g", "a\n")]);
    desk.sh(&format!(
        "git add -A; id=$({environment} git commit-tree -p HEAD -m quiet $(git write-tree)); git update-ref HEAD $id"
    ));
    desk.json(&["save"]);
    assert_recorded(&desk, "HEAD", if is_ours { &[("g", "a")] } else { &[] });
    desk.finish();
}

#[test]
fn commits_pulled_from_others_have_no_record() {
    let desk = Desk::new();
    desk.sh("git clone -q . ../origin; cd ../origin; echo a >g; git commit -qam upstream");
    desk.turn("a", &[("g", "a\n")]);
    desk.git(&["stash", "-q"]);
    desk.git(&["-c", "core.hooksPath=/dev/null", "pull", "-q", "--ff-only", "../origin", "main"]);
    desk.json(&["save"]);
    assert_eq!(desk.records("HEAD").len(), 0);
    desk.finish();
}

#[rstest::rstest]
#[case::to_a_new_branch(&["switch", "-qc", "topic"])]
#[case::to_an_older_commit(&["checkout", "-q", "HEAD~2"])]
fn an_unseen_commit_is_recorded_after_git_moved_head_away(#[case] command: &[&str]) {
    let desk = Desk::new();
    desk.write("h", "human\n");
    desk.commit_all();
    desk.turn("a", &[("g", "a\n")]);
    desk.git(&["add", "g"]);
    desk.git(&QUIET);
    desk.git(command);
    assert_recorded(&desk, "main", &[("g", "a")]);
    desk.finish();
}

#[test]
fn a_commit_with_hooks_after_an_unseen_one_records_both() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a")])), ("g", "a\n")]);
    desk.git(&["add", "f"]);
    desk.git(&QUIET);
    desk.commit_all();
    assert_recorded(&desk, "HEAD^", &[("f", "a")]);
    assert_eq!((desk.recorded("HEAD"), desk.trailers("HEAD").len()), (parts(&[("g", "a")]), 1));
    desk.finish();
}

#[test]
fn the_commit_is_amended_with_hooks() {
    let desk = committed();
    desk.write("mine", "human\n");
    desk.git(&["add", "mine"]);
    desk.git(&["commit", "-q", "--amend", "--no-edit"]);
    let record = &desk.records("HEAD")[0];
    assert_eq!((record.sessions[0].id.as_str(), desk.trailers("HEAD").len()), ("a", 1));
    let attribution = desk.json(&["attribution", "HEAD"]);
    assert_eq!(attribution["summary"]["agent_lines"], 2, "{attribution:#}");
    desk.finish();
}

#[test]
fn a_pick_with_a_conflict_is_no_work_of_now() {
    let desk = Desk::new();
    desk.git(&["switch", "-q", "-c", "topic"]);
    desk.write("f", changed(&[(3, "topic")]));
    desk.commit_all();
    desk.git(&["switch", "-q", "main"]);
    desk.write("f", changed(&[(3, "main")]));
    desk.commit_all();
    desk.turn("a", &[("g", "a\n")]);
    assert!(!desk.try_git(&["-c", "core.hooksPath=/dev/null", "cherry-pick", "topic"]).status.success());
    desk.turn("b", &[("f", &changed(&[(3, "topic")]))]);
    desk.git(&["add", "f"]);
    desk.git(&["-c", "core.hooksPath=/dev/null", "commit", "-q", "--no-edit"]);
    desk.json(&["save"]);
    assert_eq!(desk.records("HEAD").len(), 0);
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("g", "a")]));
    desk.finish();
}

#[test]
fn a_commit_in_the_middle_of_a_rebase_waits_for_its_end() {
    let desk = Desk::new();
    desk.git(&["switch", "-q", "-c", "topic"]);
    desk.write("h", "topic\n");
    desk.commit_all();
    desk.turn("a", &[("g", "a\n")]);
    desk.git(&["stash", "-q"]);
    let edit =
        ["-c", "sequence.editor=sed -i s/^pick/edit/", "-c", "core.hooksPath=/dev/null", "rebase", "-i", "-q", "HEAD^"];
    desk.git(&edit);
    desk.git(&["stash", "pop", "-q"]);
    desk.git(&["add", "-A"]);
    desk.git(&QUIET);
    desk.json(&["save"]);
    assert_eq!(desk.records("HEAD").len(), 0);
    desk.git(&["-c", "core.hooksPath=/dev/null", "rebase", "--continue"]);
    desk.json(&["save"]);
    assert_recorded(&desk, "HEAD", &[("g", "a")]);
    desk.finish();
}

#[test]
fn work_that_was_stashed_before_people_committed_stays_where_it_was() {
    let desk = Desk::new();
    desk.turn("a", &[("g", "a\n")]);
    desk.git(&["stash", "-q"]);
    desk.write("h", "human\n");
    desk.git(&["add", "h"]);
    desk.git(&QUIET);
    assert_eq!(desk.prompt("b"), "no-shadow");
    desk.stop("b");
    desk.git(&["stash", "pop", "-q"]);
    desk.git(&["add", "g"]);
    desk.git(&QUIET);
    desk.json(&["save"]);
    assert_recorded(&desk, "HEAD", &[("g", "a")]);
    assert_eq!(desk.records("HEAD^").len(), 0);
    desk.finish();
}

#[test]
fn people_commit_without_hooks_before_an_agents_work_is_committed() {
    let desk = Desk::new();
    desk.turn("a", &[("g", "a\n")]);
    desk.write("h", "human\n");
    desk.git(&["add", "h"]);
    desk.git(&QUIET);
    desk.commit_all();
    assert_eq!((desk.recorded("HEAD"), desk.trailers("HEAD").len()), (parts(&[("g", "a")]), 1));
    desk.finish();
}

/// Post-commit does not start us for a human's commit; later work of a session must not count as a part of it.
#[test]
fn a_commit_of_people_that_was_left_again() {
    let desk = Desk::new();
    desk.json(&["save"]);
    desk.sh("echo human >mine; git add mine; git commit -qm mine; git reset -q --soft HEAD^; git reset -q");
    desk.turn("a", &[("g", "a\n")]);
    desk.git(&["add", "g"]);
    desk.git(&QUIET);
    desk.sh("git add mine; git commit -qm next");
    desk.json(&["save"]);
    assert_recorded(&desk, "HEAD~", &[("g", "a")]);
    assert_eq!(desk.records("HEAD").len(), 0);
    desk.finish();
}

#[test]
fn a_session_works_while_people_commit() {
    let desk = Desk::new();
    desk.json(&["save"]);
    desk.write("mine", "human\n");
    desk.git(&["add", "mine"]);
    let hook = desk.world.repo().join(".git/hooks/commit-msg.before-checkpoint");
    let work = "#!/bin/sh\nunset GIT_DIR GIT_INDEX_FILE GIT_EDITOR GIT_PREFIX\ngit checkpoint session prompt a\n\
        printf 'a\\nb\\n' >g\ngit checkpoint session stop a\n";
    std::fs::write(&hook, work).expect("it can be written");
    desk.sh("chmod +x .git/hooks/commit-msg.before-checkpoint; git commit -qm mine");
    std::fs::remove_file(hook).expect("it is ours");
    desk.sh("echo human >>g; git add g; git commit -qm next");
    assert_eq!(desk.recorded("HEAD"), parts(&[("g", "a")]));
    assert_eq!(desk.records("HEAD~").len(), 0);
    desk.finish();
}

#[rstest::rstest]
#[case::reftable("rm -r .git/logs; git refs migrate --ref-format=reftable; git commit -q --allow-empty -m more")]
#[case::long_reflog("for i in $(seq 300); do git update-ref -m x HEAD HEAD~; git update-ref -m x HEAD HEAD@{1}; done")]
fn wherever_the_reflog_is(#[case] before: &str) {
    let desk = Desk::new();
    desk.write("h", "human\n");
    desk.commit_all();
    desk.sh(before);
    desk.json(&["save"]);
    desk.turn("a", &[("g", "a\n")]);
    desk.git(&["add", "-A"]);
    desk.git(&QUIET);
    desk.json(&["save"]);
    assert_recorded(&desk, "HEAD", &[("g", "a")]);
    desk.finish();
}

/// HEAD leaves the session's commit before anything looks, and a pick brings the commit back.
#[rstest::rstest]
#[case::files("true")]
#[case::reftable("rm -r .git/logs; git refs migrate --ref-format=reftable; git commit -q --allow-empty -m more")]
fn a_commit_that_head_left_again_is_known_wherever_the_reflog_is(#[case] before: &str) {
    let desk = Desk::new();
    desk.sh(before);
    desk.json(&["save"]);
    desk.turn("a", &[("n", "a\n")]);
    desk.sh("git add n");
    desk.git(&QUIET);
    let quiet = "q() { git -c core.hooksPath=/dev/null \"$@\"; }";
    desk.sh(&format!("{quiet}; q tag one; q reset -q --hard HEAD~; echo human >h; git add h; q commit -qm h"));
    desk.json(&["save"]);
    desk.sh(&format!("{quiet}; q cherry-pick one"));
    desk.json(&["save"]);
    assert_recorded(&desk, "HEAD", &[("n", "a")]);
    desk.finish();
}

#[rstest::rstest]
#[case::at_once("git add -A; q commit -qm again")]
#[case::after_a_look("git checkpoint save; q commit -qm again")]
#[case::with_a_persons_own("echo human >mine; git add mine; q commit -qm again")]
#[case::in_parts(
    "git reset -q; git add f; q commit -qm again; git add g; q commit -qm rest; q tag last; q reset -q --soft HEAD~"
)]
#[case::before_another(
    "q commit -qm again; echo human >mine; git add mine; q commit -qm mine; q reset -q --soft HEAD~"
)]
fn work_is_committed_again(#[case] how: &str) {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a")])), ("g", "a\n")]);
    desk.commit_all();
    let quiet = "q() { git -c core.hooksPath=/dev/null \"$@\"; }";
    desk.sh(&format!("{quiet}; q reset -q --soft HEAD~; {how}"));
    desk.json(&["save"]);
    let record = desk.records("HEAD").pop().expect("it is linked");
    assert_eq!((record.sessions[0].id.as_str(), desk.records("HEAD").len()), ("a", 1));
    let agent_lines = if how.contains("last") { 1 } else { 2 };
    let attribution = desk.json(&["attribution", "HEAD"]);
    assert_eq!(attribution["summary"]["agent_lines"], agent_lines, "{attribution:#}");
    desk.finish();
}

#[test]
fn a_persons_commit_in_place_of_a_sessions_has_no_record() {
    let desk = Desk::new();
    desk.turn("a", &[("g", "a\n")]);
    desk.commit_all();
    desk.sh("git reset -q --hard HEAD~; echo human >h; git add h; git -c core.hooksPath=/dev/null commit -qm mine");
    desk.json(&["save"]);
    assert_eq!(desk.records("HEAD").len(), 0);
    desk.finish();
}

/// Commands that only read cannot make the record, and do not say that the lines are a person's.
#[rstest::rstest]
#[case::commit("git commit -qam by-hand")]
#[case::two("git commit -qam by-hand; git commit -q --allow-empty -m more")]
#[case::many(
    "git commit -qam by-hand; i=0; while test $((i += 1)) -le 70; do git commit -q --allow-empty -m more; done"
)]
#[case::amend("git commit -qa --amend -m by-hand")]
fn an_unseen_commit_of_a_sessions_work_is_unknown_until_a_command_writes(#[case] script: &str) {
    // Commits that are older than the hooks are unknown anyway.
    let desk = Desk::on(&World::with_lines().with_clock());
    desk.turn("a", &[("f", &changed(&[(3, "a")]))]);
    desk.sh(&format!("git config core.hooksPath /dev/null; {script}"));
    let owner = || desk.json(&["blame", "f", "-L3,3"])["lines"][0]["owner"].clone();
    assert_eq!(owner(), "unknown");
    desk.json(&["save"]);
    assert_eq!(owner(), "agent");
    desk.finish();
}

/// A commit that HEAD has left behind was made before the work, even in the same second.
#[test]
fn commits_before_the_work_are_no_unseen_ones() {
    let desk = Desk::new();
    desk.write("f", changed(&[(5, "human")]));
    let date = "export GIT_COMMITTER_DATE='2030-01-01T00:00:00 +0000' GIT_AUTHOR_DATE='2030-01-01T00:00:00 +0000';";
    desk.sh(&format!("{date} git commit -qam one; git commit -q --allow-empty -m two"));
    desk.turn("a", &[("g", "of a\n")]);
    desk.sh("git -c core.hooksPath=/dev/null reset -q --soft HEAD~");
    assert_eq!(desk.json(&["blame", "f", "-L5,5"])["lines"][0]["owner"], "human");
    desk.finish();
}

/// The same commits of a person are theirs.
#[test]
fn an_unseen_commit_without_a_sessions_work_is_a_persons() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a")]))]);
    desk.commit_all();
    desk.write("f", changed(&[(3, "a"), (5, "human")]));
    desk.sh("git config core.hooksPath /dev/null; git commit -qam by-hand");
    assert_eq!(desk.json(&["blame", "f", "-L5,5"])["lines"][0]["owner"], "human");
    desk.finish();
}

/// Everything is saved, and then git makes a commit from recorded ones without our hooks: readers do not call the session's lines
/// a person's until the next command that writes finds out whose they are.
#[rstest::rstest]
#[case::amend("", "echo 'human line' >>n; git commit -qa --amend --no-edit")]
#[case::fixup("", "echo 'human line' >>n; git commit -qam 'fixup! a commit'; git rebase -qi --autosquash HEAD~2")]
#[case::a_part_after_a_reset(
    "",
    "git reset -q HEAD~; sed -i 3,4d n; echo 'human line' >>n; git add n; git commit -qm part"
)]
#[case::squash(
    "git checkout -q main",
    "git merge -q --squash side; echo 'human line' >>n; git add n; git commit -qm squashed"
)]
#[case::pick(
    "git checkout -q main",
    "git cherry-pick -n side; echo 'human line' >>n; git add n; git commit -qm picked"
)]
fn readers_leave_open_whose_the_lines_of_a_rewritten_commit_are(#[case] before: &str, #[case] script: &str) {
    let desk = Desk::new();
    desk.sh("echo more >>g; git commit -qam 'of a person'; git checkout -q -b side");
    desk.git(&["config", "core.hooksPath", "/dev/null"]);
    desk.git(&["config", "sequence.editor", "true"]);
    desk.turn("a", &[("n", &words("a", 1..=5))]);
    desk.commit_all();
    desk.json(&["save"]);
    desk.sh(before);
    desk.json(&["save"]);
    desk.sh(script);
    let at_once = blamed(&desk, "n");
    assert!(!at_once.iter().any(|line| line.starts_with("a ") && line.ends_with("human")), "{at_once:?}");
    desk.json(&["save"]);
    assert_eq!(blamed(&desk, "n"), expected(&desk, "n"));
    desk.finish();
}

/// A session commits on a branch in another worktree. A person takes its work here, beside a line of their own, and nothing of
/// git's says so once it is committed.
#[rstest::rstest]
#[case::pick("git cherry-pick -n topic", 1)]
#[case::squash("git merge -q --squash topic", 1)]
#[case::squash_of_two("git merge -q --squash topic", 2)]
#[case::checkout("git checkout -q topic -- f", 2)]
fn work_of_another_worktree_in_a_quiet_commit(#[case] script: &str, #[case] commits: u32) {
    let desk = Desk::new();
    desk.json(&["save"]);
    desk.git(&["worktree", "add", "-q", "../linked", "-b", "topic"]);
    desk.go("linked");
    let work = [(3, "a one"), (4, "a two"), (12, "a more")];
    for count in [2, 3].into_iter().take(commits as usize) {
        desk.turn("a", &[("f", &changed(&work[..count]))]);
        desk.commit_all();
    }
    desk.go("repo");
    desk.write("h", "human\n");
    desk.sh(script);
    desk.sh("git add -A");
    // A record of the same second in another worktree may be a later one.
    let date = START + 1_000_000;
    desk.sh(&format!("GIT_COMMITTER_DATE='@{date} +0000' git -c core.hooksPath=/dev/null commit -qm quiet"));
    desk.json(&["save"]);
    let lines = blamed(&desk, "f");
    assert!(lines.len() > 1 && lines.iter().all(|line| line.ends_with(": a")), "{lines:?}");
    assert_eq!(blamed(&desk, "h"), ["human: human"]);
    desk.finish();
}
