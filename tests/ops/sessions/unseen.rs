//! Commits that git told us nothing of: no hook ran.

use super::desk::{Desk, changed, parts};

/// Commits what is staged, without hooks.
const QUIET: [&str; 5] = ["-c", "core.hooksPath=/dev/null", "commit", "-qm", "quiet"];

/// A session `a` that has changed `f` and `g`, all of which is committed without hooks.
fn committed() -> Desk {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a")])), ("g", "a\n")]);
    desk.git(&["add", "-A"]);
    desk.git(&QUIET);
    assert_eq!(desk.records("HEAD").len(), 0);
    desk
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

#[test]
fn what_the_commit_left_goes_on() {
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
fn git_tells_of_it_later() {
    let desk = committed();
    desk.json(&["save"]);
    desk.git(&["checkpoint", "hook", "post-commit"]);
    assert_recorded(&desk, "HEAD", &[("f", "a"), ("g", "a")]);
    desk.finish();
}

#[rstest::rstest]
#[case::by_the_user("", true)]
#[case::of_somebody_else("GIT_COMMITTER_NAME=other GIT_COMMITTER_EMAIL=other@example.com", false)]
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
fn what_others_made_is_theirs() {
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
fn git_moves_on_before_anybody_looks(#[case] command: &[&str]) {
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
fn a_commit_with_hooks_comes_next() {
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
