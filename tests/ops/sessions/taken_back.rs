//! Work of commits that a reset has taken back: committed again, in parts, amended in, in a turn or before one.

use super::{
    desk::{Desk, changed, numbered, parts, words},
    moved::{self, blamed, expected},
};
use crate::support::World;

#[rstest::rstest]
#[case::soft("--soft")]
#[case::mixed("--mixed")]
fn commits_of_people_that_a_mid_turn_reset_removes_are_not_the_turns(#[case] kind: &str) {
    let desk = Desk::new();
    desk.write("f", changed(&[(3, "human")]));
    desk.write("n", "human\n");
    desk.commit_all();
    desk.prompt("a");
    desk.git(&["reset", "-q", kind, "HEAD~"]);
    desk.stop("a");
    desk.commit_all();
    assert_eq!((desk.recorded("HEAD"), desk.trailers("HEAD")), (parts(&[]), Vec::new()));
    // What the turn makes of it is.
    desk.prompt("a");
    desk.git(&["reset", "-q", kind, "HEAD~"]);
    desk.write("f", changed(&[(3, "human"), (9, "a")]));
    desk.stop("a");
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a"), ("n", "")]));
    let counts = &desk.records("HEAD")[0].counts;
    assert_eq!((counts.agent, counts.human), (1, 2));
    desk.finish();
}

/// The turn began with uncommitted work, on a commit that HEAD has left before the reset.
#[rstest::rstest]
#[case::an_amend("git commit -q --amend -m other; git reset -q --soft HEAD~")]
#[case::an_amend_and_a_mixed_reset("git commit -q --amend -m other; git reset -q HEAD~")]
#[case::an_empty_commit("git commit -q --allow-empty -m other; git reset -q --soft HEAD~2")]
fn what_a_turn_began_with_is_not_its_work_after_a_commit_of_nothing_and_a_reset(#[case] script: &str) {
    let desk = Desk::new();
    desk.write("f", changed(&[(3, "human")]));
    desk.commit_all();
    desk.write("n", "human\n");
    desk.prompt("a");
    desk.sh(script);
    desk.write("g", "a\n");
    desk.stop("a");
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", ""), ("g", "a"), ("n", "")]));
    desk.finish();
}

/// No command looks before the reset has moved HEAD away from a commit that took the place of the last known one.
#[rstest::rstest]
#[case::an_amend("git commit -q --amend -m other; git reset -q --soft HEAD~")]
#[case::an_amend_with_more("echo human >>f; git commit -qa --amend -m other; git reset -q HEAD~")]
#[case::a_commit_with_more("echo human >>f; git commit -qam other; git reset -q HEAD~2")]
#[case::two_resets("git reset -q HEAD~; echo human >>f; git commit -qam other; git reset -q HEAD~")]
fn a_persons_commit_that_a_mid_turn_reset_removes_unseen_is_not_the_turns(#[case] script: &str) {
    let desk = Desk::new();
    desk.write("f", changed(&[(3, "human")]));
    desk.commit_all();
    desk.prompt("a");
    desk.sh(&format!("git config core.hooksPath /dev/null; {script}; git config --unset core.hooksPath"));
    desk.write("g", "a\n");
    desk.stop("a");
    desk.commit_all();
    // What the agent may have committed has a record that names no session.
    let files = desk.records("HEAD").into_iter().flat_map(|record| record.files);
    let of_sessions = files.filter(|file| !file.sessions.is_empty()).map(|file| file.path.to_string());
    assert_eq!(of_sessions.collect::<Vec<_>>(), ["g"]);
    desk.finish();
}

/// No tool is reported: the agent may have made the commit, or a person.
#[rstest::rstest]
#[case::no_reset("git commit -qam own", false)]
#[case::no_reset_of_a_dirty_worktree("git commit -qam own", true)]
#[case::a_commit("git commit -qam own; git reset -q HEAD~2", false)]
#[case::a_commit_of_a_dirty_worktree("git commit -qam own; git reset -q HEAD~2", true)]
#[case::an_amend_of_a_dirty_worktree("git commit -qa --amend --no-edit; git reset -q HEAD~", true)]
#[case::back_to_where_it_was("git commit -qam own; git reset -q HEAD~", false)]
#[case::and_then_elsewhere("git commit -qam own; git reset -q HEAD~; git commit -q --allow-empty -m other", true)]
fn lines_that_a_silent_turn_may_have_committed_have_an_unknown_author(
    #[case] script: &str,
    #[case] begins_dirty: bool,
) {
    // Commits that are older than the hooks are unknown anyway.
    let desk = Desk::on(&World::with_lines().with_clock());
    desk.write("f", changed(&[(3, "human")]));
    desk.commit_all();
    desk.git(&["config", "core.hooksPath", "/dev/null"]);
    let mut lines = vec![(3, "human")];
    if begins_dirty {
        lines.push((6, "human, too"));
        desk.write("f", changed(&lines));
    }
    desk.prompt("a");
    lines.push((9, "whose?"));
    desk.write("f", changed(&lines));
    desk.sh(script);
    desk.write("g", "of the turn\n");
    desk.stop("a");
    let owner = |path: &str, line: u64| {
        let blame = desk.json(&["blame", path]);
        let is_it = |part: &&serde_json::Value| (part["start"].as_u64()..=part["end"].as_u64()).contains(&Some(line));
        let part = blame["lines"].as_array().into_iter().flatten().find(is_it).expect("the line is there").clone();
        part["owner"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!([owner("f", 3), owner("f", 9), owner("g", 1)], ["human", "unknown", "agent"]);
    assert_ne!(owner("f", 6), "agent");
    desk.finish();
}

/// The reset leads to a commit on which a session had work that it does not have any more.
#[rstest::rstest]
#[case::soft("--soft", "b")]
#[case::mixed("--mixed", "b")]
#[case::of_the_same_session("--soft", "a")]
fn a_persons_commits_that_a_reset_to_older_work_removes_are_not_a_silent_turns(
    #[case] kind: &str,
    #[case] session: &str,
) {
    let desk = Desk::on(&World::with_lines().with_clock());
    desk.git(&["config", "core.hooksPath", "/dev/null"]);
    desk.turn(session, &[("w", "of a session\n")]);
    desk.sh("git stash -qu; echo human >n; git add n; git commit -qm one");
    desk.prompt("a");
    desk.write("new", "of the turn\n");
    desk.sh(&format!("echo whose >>n; git commit -qam two; git reset -q {kind} HEAD~2"));
    desk.stop("a");
    let owners = |path: &str| {
        let blame = desk.json(&["blame", path]);
        let parts = blame["lines"].as_array().expect("lines").iter();
        parts.map(|part| part["owner"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    let check = || {
        assert_eq!((owners("n")[0].as_str(), owners("new")), ("human", vec!["agent".to_owned()]));
        assert_ne!(owners("n").last().expect("a line"), "agent");
    };
    check();
    desk.commit_all();
    desk.json(&["save"]);
    check();
    desk.finish();
}

/// The reset also meets uncommitted work in the same file.
#[rstest::rstest]
fn a_sessions_commit_that_a_mid_turn_reset_removes_keeps_its_session(
    #[values("--soft", "--mixed")] kind: &str,
    #[values("f", "other")] path: &str,
) {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a")]))]);
    desk.commit_all();
    let more = changed(&[(3, "a"), (9, "b")]);
    desk.turn("b", &[(path, if path == "f" { &more } else { "b\n" })]);
    desk.prompt("c");
    desk.git(&["reset", "-q", kind, "HEAD~"]);
    desk.stop("c");
    let sessions = |rev: &[&str]| {
        let blame = desk.json(&[&["blame"], rev, &["f"]].concat());
        let lines = blame["lines"].as_array().expect("lines").clone();
        lines.iter().filter_map(|line| line["session"].as_str().map(ToOwned::to_owned)).collect::<Vec<_>>()
    };
    let expected = if path == "f" { vec!["a", "b"] } else { vec!["a"] };
    assert_eq!(sessions(&[]), expected);
    desk.commit_all();
    assert_eq!(sessions(&["--rev", "HEAD"]), expected);
    desk.finish();
}

/// A person has replaced most of what a session had written, in commits of their own.
#[rstest::rstest]
#[case::at_once("sed -i '/^a[123]$/d' f; seq -f p%g 4 >>f; git commit -qam people", [1, 4])]
#[case::one_by_one(
    "sed -i '/^a[123]$/d' f; git commit -qam people; seq -f p%g 4 >>f; git commit -qam more; echo o >o; git add o; git commit -qm o",
    [1, 5]
)]
#[case::all_of_it("sed -i '/^a/d' f; seq -f p%g 4 >>f; git commit -qam people", [0, 4])]
fn lines_that_people_committed_after_a_session_stay_theirs(#[case] script: &str, #[case] expected: [u64; 2]) {
    let desk = Desk::new();
    let before = desk.read("f");
    desk.turn("a", &[("f", &format!("{before}a1\na2\na3\na4\n"))]);
    desk.commit_all();
    let taken = desk.git(&["rev-parse", "HEAD~"]);
    desk.sh(script);
    desk.prompt("b");
    desk.git(&["reset", "-q", "--soft", taken.trim()]);
    desk.stop("b");
    desk.commit_all();
    let summary = &desk.json(&["attribution", "HEAD"])["summary"];
    let counts = ["agent_lines", "unknown", "human_added"].map(|kind| summary[kind].as_u64().expect("a number"));
    assert_eq!((counts[0], &counts[1..]), (0, &expected[..]), "{summary}");
    desk.finish();
}

#[test]
fn an_undone_commit_that_is_repeated_unchanged_has_its_one_record() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a")])), ("n", "a\n")]);
    desk.commit_all();
    let before = desk.trailers("HEAD");
    desk.git(&["reset", "-q", "--soft", "HEAD~"]);
    desk.turn("b", &[]);
    desk.commit_all();
    assert_eq!((desk.records("HEAD").len(), desk.trailers("HEAD")), (1, before));
    desk.finish();
}

/// A line of `a`'s is committed, taken back with `taken_back`, and committed in two parts.
#[rstest::rstest]
#[case::reset(&["reset", "-q", "HEAD~"], "")]
#[case::soft(&["reset", "-q", "--soft", "HEAD~"], "git reset -q")]
#[case::with_a_line_of_a_persons(&["reset", "-q", "HEAD~"], "echo human >>f")]
fn both_parts_of_an_undone_commit_keep_its_record(#[case] taken_back: &[&str], #[case] before: &str) {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "agent one"), (15, "agent two")]))]);
    desk.commit_all();
    let trailer = desk.trailers("HEAD");
    desk.git(taken_back);
    desk.sh(before);
    desk.sh("printf 'y\\nn\\nn\\n' | git add -p f >/dev/null; git commit -qm part; git commit -qam rest");
    for (commit, human) in [("HEAD~", 0), ("HEAD", u32::from(before.starts_with("echo")))] {
        assert_eq!(desk.trailers(commit), trailer, "{commit}");
        let told = &desk.json(&["attribution", commit])["summary"];
        assert_eq!((&told["agent_lines"], &told["human_added"]), (&1.into(), &human.into()), "{commit}: {told}");
    }
    // All of it is there: what people do now is theirs.
    desk.sh("sed -i '7s/.*/agent one/' f; git commit -qam people");
    assert_eq!(desk.trailers("HEAD"), Vec::<String>::new());
    desk.finish();
}

/// The new commit has no line of the session whose commit was undone.
#[rstest::rstest]
#[case::one_common_line(&["import sys", "one", "two", "three"], "echo 'import sys' >n; git add n")]
#[case::the_part_of_a_person(&["one", "two"], "printf 'n\\ny\\n' | git add -p f >/dev/null")]
fn commits_of_people_after_a_reset_have_no_record(#[case] lines: &[&str], #[case] script: &str) {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "agent")])), ("n", &format!("{}\n", lines.join("\n")))]);
    desk.write("f", changed(&[(3, "agent"), (15, "human")]));
    desk.commit_all();
    desk.sh("git reset -q HEAD~; rm n");
    desk.sh(&format!("{script}; git commit -qm people"));
    assert_eq!(desk.trailers("HEAD"), Vec::<String>::new());
    desk.finish();
}

#[test]
fn a_short_line_that_was_taken_back_is_known_again() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "i += 1")]))]);
    desk.commit_all();
    let trailer = desk.trailers("HEAD");
    desk.sh("git reset -q HEAD~; echo human >>f; git commit -qam again");
    assert_eq!(desk.trailers("HEAD"), trailer);
    desk.finish();
}

/// A common line is little evidence, but git says that the reset has removed the work from HEAD.
#[rstest::rstest]
fn a_short_line_of_many_is_no_persons_after_a_reset(
    #[values("reset -q HEAD~", "reset -q --soft HEAD~")] reset: &str,
    #[values(false, true)] has_hooks: bool,
) {
    let desk = Desk::new();
    let short: String = (1..=8).map(|at| format!("a {at}\n")).collect();
    desk.turn("a", &[("f", &(numbered(1..=20) + &short))]);
    desk.commit_all();
    if !has_hooks {
        desk.git(&["config", "core.hooksPath", "/dev/null"]);
    }
    desk.git(&reset.split(' ').collect::<Vec<_>>());
    desk.write("f", numbered(1..=20) + "a 1\nhuman line\n");
    desk.sh("git commit -qam again");
    let at_once = blamed(&desk, "f");
    assert!(!at_once.contains(&"a 1: human".to_owned()), "{at_once:?}");
    desk.json(&["save"]);
    assert_eq!(blamed(&desk, "f"), ["a 1: unknown", "human line: human"]);
    desk.finish();
}

/// Another session does the same after it was given up.
#[test]
fn work_that_is_done_anew_is_whose_it_is_now() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a better line than before")]))]);
    desk.commit_all();
    desk.git(&["reset", "-q", "--hard", "HEAD~"]);
    desk.turn_with_tool("b", "f", &changed(&[(3, "a better line than before")]));
    desk.commit_all();
    let sessions: Vec<String> =
        desk.records("HEAD").iter().flat_map(|record| record.sessions.iter().map(|part| part.id.clone())).collect();
    assert!(sessions.contains(&"b".to_owned()), "{sessions:?}");
    desk.finish();
}

/// A person types a line that the session's commit on another branch has, after a reset of a commit of the person's own.
#[test]
fn a_reset_of_another_commit_takes_no_work_back() {
    let desk = Desk::new();
    desk.git(&["checkout", "-q", "-b", "other"]);
    let line = "a line that is long enough to tell";
    desk.turn("a", &[("f", &changed(&[(3, line), (4, "a four"), (5, "a five"), (6, "a six")]))]);
    desk.commit_all();
    desk.git(&["checkout", "-q", "main"]);
    desk.write("g", "human\n");
    desk.commit_all();
    desk.git(&["reset", "-q", "--hard", "HEAD~1"]);
    desk.write("f", changed(&[(3, line), (11, "human"), (12, "human"), (13, "human")]));
    desk.commit_all();
    let told = &desk.json(&["attribution", "HEAD"])["summary"];
    assert_eq!((told["agent_lines"].as_u64(), told["mixed"].as_u64()), (Some(0), Some(0)), "{told}");
    assert_eq!(desk.records("HEAD").len(), 0);
    desk.finish();
}

/// A person's line beside an agent's, and a file of a person's own, in a commit that a later turn takes back.
#[test]
fn lines_of_people_that_a_mid_turn_reset_removes_stay_theirs() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "agent one"), (4, "agent two")])), ("n", &numbered(1..=10))]);
    desk.write("f", changed(&[(3, "agent one"), (4, "agent two"), (15, "human")]));
    desk.write("p", "human\n");
    desk.commit_all();
    desk.prompt("b");
    desk.git(&["reset", "-q", "--soft", "HEAD~"]);
    desk.write("n", "something else\n");
    desk.json(&["save", "--session", "b"]);
    desk.stop("b");
    desk.commit_all();
    let told = &desk.json(&["attribution", "HEAD", "--", "f", "p"])["summary"];
    let figures = ["agent_lines", "human_added", "unknown"].map(|name| told[name].as_u64());
    let human = told["human_added"].as_u64().unwrap_or_default() + told["human_modified"].as_u64().unwrap_or_default();
    assert_eq!((figures[0], human, figures[2]), (Some(2), 2, Some(0)), "{told}");
    desk.finish();
}

#[rstest::rstest]
#[case::reset("git reset -q --soft HEAD~")]
#[case::squash("git reset -q --hard HEAD~; git merge -q --squash side >/dev/null")]
#[case::pick("git reset -q --hard HEAD~; git cherry-pick -n side")]
fn an_undone_commit_that_is_amended_in_keeps_its_record(#[case] script: &str) {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "agent one"), (15, "agent two")]))]);
    desk.commit_all();
    let trailer = desk.trailers("HEAD");
    desk.git(&["branch", "side"]);
    desk.sh(&format!("{script}; git commit -q --amend --no-edit"));
    assert_eq!(desk.trailers("HEAD"), trailer);
    let told = &desk.json(&["attribution", "HEAD", "--", "f"])["summary"];
    assert_eq!((&told["agent_lines"], &told["unknown"]), (&2.into(), &0.into()), "{told}");
    desk.finish();
}

/// A commit that is picked again has its trailer once, wherever git puts its comment about conflicts.
#[test]
fn a_pick_with_a_conflict_has_one_trailer() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "agent one"), (15, "agent two")]))]);
    desk.commit_all();
    let trailer = desk.trailers("HEAD");
    desk.sh(
        "git checkout -q -b o HEAD~; sed -i '3s/.*/human/' f; git commit -qam h; git cherry-pick main >/dev/null 2>&1 || true",
    );
    desk.sh("sed -i '/^<<<<<<<\\|^=======\\|^>>>>>>>/d' f; git add f; GIT_EDITOR=true git cherry-pick --continue >/dev/null");
    let message = desk.git(&["log", "-1", "--format=%B"]);
    assert_eq!(message.matches("Checkpoint: ").count(), 1, "{message}");
    assert_eq!(desk.trailers("HEAD"), trailer);
    desk.finish();
}

/// Most of the work has changed when it is committed again, so that the record does not match it.
#[rstest::rstest]
#[case::in_the_same_turn("a", true)]
#[case::by_another_session("b", true)]
#[case::with_what_was_made_of_it("b", false)]
fn changed_work_of_an_undone_commit_is_no_persons(#[case] next: &str, #[case] is_seen: bool) {
    let desk = Desk::new();
    desk.prompt("a");
    desk.write("n", numbered(1..=10));
    desk.json(&["save", "--session", "a"]);
    desk.commit_all();
    if next != "a" {
        desk.stop("a");
    }
    desk.prompt(next);
    desk.git(&["reset", "-q", "--soft", "HEAD~"]);
    if is_seen {
        desk.json(&["save", "--session", next]);
    }
    desk.write(
        "n",
        (1..=10).map(|n| if n < 7 { format!("something else {n}\n") } else { numbered(n..=n) }).collect::<String>(),
    );
    desk.stop(next);
    desk.commit_all();
    let told = &desk.json(&["attribution", "HEAD"])["summary"];
    let expected = if is_seen { (10, 0) } else { (6, 4) };
    assert_eq!((&told["agent_lines"], &told["unknown"]), (&expected.0.into(), &expected.1.into()), "{told}");
    desk.finish();
}

#[test]
fn a_commit_that_a_later_turn_undoes_keeps_its_authors() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "a")]))]);
    desk.write("h", "human\n");
    desk.commit_all();
    let before = (desk.recorded("HEAD"), desk.records("HEAD")[0].id);
    desk.prompt("b");
    desk.git(&["reset", "-q", "--soft", "HEAD~"]);
    desk.json(&["save", "--session", "b"]);
    desk.stop("b");
    desk.commit_all();
    assert_eq!((desk.recorded("HEAD"), desk.records("HEAD")[0].id), before);
    desk.finish();
}

/// All in one second, in which they were archived, too: the commits tell which work came first.
#[test]
fn the_work_of_several_commits_that_were_taken_back_is_replayed_in_their_order() {
    let desk = Desk::new();
    let mut lines: Vec<(u32, &str)> = (1..=12).map(|line| (line, "agent")).collect();
    for at in 0..6 {
        desk.turn("a", &[("f", &changed(&lines))]);
        desk.commit_all();
        lines[at].1 = "agent, again";
    }
    desk.git(&["reset", "-q", "--soft", "HEAD~6"]);
    desk.sh("git for-each-ref --format='%(refname) %(objectname)' refs/checkpoints/archive | while read -r name id; do
            git update-ref -d $name; git update-ref refs/checkpoints/archive/1000000000-${name#*archive/*-} $id
        done");
    let told = &desk.json(&["attribution", "--worktree"])["summary"];
    assert_eq!((&told["agent_lines"], &told["human_added"]), (&12.into(), &0.into()), "{told}");
    desk.finish();
}

#[test]
fn uncommitted_work_of_an_undone_commit_is_known_after_another_commit() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "agent")]))]);
    desk.write("g", "human\n");
    desk.commit_all();
    desk.sh("git reset -q HEAD~; git commit -qm people g");
    let told = &desk.json(&["attribution", "--worktree"])["summary"];
    assert_eq!((&told["agent_lines"], &told["human_added"]), (&1.into(), &0.into()), "{told}");
    desk.finish();
}

/// Its record is of a commit that stood on another one.
#[test]
fn the_work_of_a_commit_that_was_squashed_and_taken_back_is_known() {
    let desk = Desk::new();
    desk.write("f", changed(&[(3, "human")]));
    desk.commit_all();
    desk.turn("a", &[("f", &changed(&[(3, "human"), (9, "agent")]))]);
    desk.commit_all();
    desk.sh("GIT_SEQUENCE_EDITOR=\"sed -i '2s/pick/fixup/'\" git rebase -q -i HEAD~2; git reset -q --soft HEAD~");
    let told = &desk.json(&["attribution", "--worktree"])["summary"];
    assert_eq!((&told["agent_lines"], &told["human_added"]), (&1.into(), &1.into()), "{told}");
    desk.finish();
}

/// The reflog shows that the commit was undone: one line that is left of three is evidence enough.
#[test]
fn one_remaining_line_of_an_undone_commit_keeps_its_author() {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "agent a"), (9, "agent a"), (15, "agent a")]))]);
    desk.commit_all();
    desk.write("f", changed(&[(15, "agent a"), (18, "a human")]));
    desk.git(&["reset", "-q", "HEAD~"]);
    let told = &desk.json(&["attribution", "--worktree"])["summary"];
    assert_eq!((&told["agent_lines"], &told["human_added"]), (&1.into(), &1.into()), "{told}");
    desk.finish();
}

/// A person brings back a version from before the last commits, and commits it with other changes.
#[rstest::rstest]
#[case::checkout("git checkout -q HEAD~1 -- f")]
#[case::restore("git restore -s HEAD~1 -- f")]
#[case::older("git commit -q --allow-empty -m empty; git checkout -q HEAD~2 -- f")]
fn lines_of_an_earlier_version_keep_their_author(#[case] script: &str, #[values(true, false)] has_hooks: bool) {
    let desk = Desk::new();
    desk.turn("a", &[("f", &changed(&[(3, "agent a"), (9, "agent a")]))]);
    desk.commit_all();
    desk.write("f", numbered(1..=20));
    desk.commit_all();
    if !has_hooks {
        desk.git(&["config", "core.hooksPath", "/dev/null"]);
    }
    desk.sh(script);
    desk.write("g", "a human\n");
    desk.commit_all();
    desk.git(&["checkpoint", "save", "-q"]);
    let told = &desk.json(&["attribution", "HEAD"])["summary"];
    assert_eq!((&told["agent_lines"], &told["human_added"]), (&2.into(), &1.into()), "{told}");
    desk.finish();
}

/// A person brings lines back that a session wrote, and that a commit has deleted since.
#[rstest::rstest]
#[case::checkout("git checkout -q HEAD~ -- f", false, false)]
#[case::checkout_add_and_save("git checkout -q HEAD~ -- f", true, true)]
#[case::restore_and_save("git restore -s HEAD~ f", false, true)]
#[case::restore_and_add("git restore -s HEAD~ f", true, false)]
#[case::show_and_save("git show HEAD~:f >f", false, true)]
#[case::show_and_add("git show HEAD~:f >f", true, false)]
fn lines_of_an_earlier_version_are_whose_they_were(#[case] script: &str, #[case] adds: bool, #[case] saves: bool) {
    let desk = Desk::new();
    moved::command(&desk, "a", "printf 'a one\na two\na three\n' >>f");
    desk.commit_all();
    desk.sh("sed -i '/^a /d' f; git commit -qam deleted");
    desk.sh(script);
    if adds {
        desk.sh("sed -i '1i human first' f; echo 'human last' >>f");
    }
    if saves {
        desk.json(&["save"]);
    }
    assert_eq!(moved::blamed(&desk, "f"), moved::expected(&desk, "f"));
    desk.commit_all();
    assert_eq!(moved::blamed(&desk, "f"), moved::expected(&desk, "f"));
    desk.finish();
}

const TWO: &str = "git commit -q --allow-empty -m more; git reset -q --soft HEAD~2";
const IN_PARTS: &str = "git reset -q HEAD~; git checkpoint status; git reset -q --soft HEAD@{1}; git reset -q HEAD~";

/// The commit to which a reset in a turn moves HEAD has a shadow: what a person saved before the commit that the reset removes.
#[rstest::rstest]
#[case::soft("git reset -q --soft HEAD~", "all", true)]
#[case::soft_with_a_part_and_no_work("git reset -q --soft HEAD~", "not what was saved", false)]
#[case::mixed("git reset -q HEAD~", "not what was saved", true)]
#[case::mixed_and_no_work("git reset -q HEAD~", "all", false)]
#[case::two_commits(TWO, "all", true)]
#[case::two_commits_with_a_part_and_no_work(TWO, "not what was saved", false)]
#[case::in_parts(IN_PARTS, "not what was saved", true)]
#[case::in_parts_and_no_work(IN_PARTS, "all", false)]
fn a_persons_commit_that_a_mid_turn_reset_removes_is_not_the_turns_beside_an_older_save(
    #[case] reset: &str,
    #[case] committed: &str,
    #[case] agent_works: bool,
) {
    let desk = Desk::new();
    desk.write("f", changed(&[(3, "saved")]));
    desk.git(&["checkpoint", "save", "-q"]);
    desk.write("f", changed(if committed == "all" { &[(3, "saved"), (9, "committed")] } else { &[(9, "committed")] }));
    desk.commit_all();
    // With a part of the file staged, the rest stays in the worktree.
    desk.write("f", changed(&[(3, "saved"), (9, "committed")]));
    desk.prompt("a");
    desk.sh(reset);
    if agent_works {
        desk.write("f", changed(&[(3, "saved"), (6, "a"), (9, "committed")]));
    }
    desk.stop("a");
    desk.commit_all();
    let lines = desk.git(&["checkpoint", "blame", "f"]);
    let agents: Vec<&str> = lines.lines().filter(|line| line.contains(" agent ")).collect();
    assert_eq!(agents.len(), usize::from(agent_works), "{lines}");
    assert!(agents.iter().all(|line| line.contains(" 6)")), "{lines}");
    desk.finish();
}

/// The work that a reset has set aside is in the worktree again, but an object of its chain or the history is damaged.
#[rstest::rstest]
#[case::the_file("rev-parse $tip:n", "rm -f $object")]
#[case::an_empty_file("rev-parse $tip:n", "chmod +w $object; : >$object")]
#[case::the_parent("rev-parse $tip^", "rm -f $object")]
#[case::the_parents_tree("rev-parse $tip^^{tree}", "rm -f $object")]
#[case::the_records("rev-parse refs/checkpoints/history", "rm -f $object")]
#[case::the_tree_of_the_records("rev-parse refs/checkpoints/history^{tree}", "rm -f $object")]
fn a_save_goes_on_where_work_that_was_set_aside_is_damaged(#[case] object: &str, #[case] damage: &str) {
    let desk = Desk::new();
    desk.turn("a", &[("m", "a\n")]);
    desk.commit_all();
    desk.prompt("a");
    desk.work("a", &[("n", &words("a", 1..=6))]);
    desk.work("a", &[("n", &words("a", 1..=7))]);
    desk.stop("a");
    let tip = desk.git(&["rev-parse", &desk.shadow().expect("a checkpoint")]);
    assert!(desk.ours(&["reset"]).status.success());
    desk.sh(&format!(
        "tip={tip}; id=$(git {object}); object=.git/objects/$(echo $id | cut -c1-2)/$(echo $id | cut -c3-); test -f $object; {damage}"
    ));
    let content = format!("{}human line\n", words("a", 1..=7));
    desk.write("n", &content);
    let saved = desk.json(&["save"]);
    assert_eq!(saved["created"], true);
    assert_eq!(desk.saved("n"), Some(content));
}

#[test]
fn a_save_names_the_sessions_whose_work_it_takes_up() {
    let desk = Desk::new();
    desk.turn("a", &[("n", &words("a", 1..=6))]);
    assert!(desk.ours(&["reset"]).status.success());
    let again = desk.json(&["save"]);
    assert_eq!(again["taken_up"], serde_json::json!(["a"]));
    assert!(desk.ours(&["reset"]).status.success());
    desk.write("n", format!("{}human\n", words("a", 1..=6)));
    let output = desk.ours(&["save"]);
    let printed = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(printed.contains("uncommitted work has come back, of a"), "{printed}");
    desk.write("n", "human\n");
    assert_eq!(desk.json(&["save"])["taken_up"], serde_json::Value::Null);
    desk.finish();
}

/// Both lines have most words in common, so that going back looks like an edit.
#[rstest::rstest]
#[case::restore("restore HEAD^", 0)]
#[case::restore_and_a_line("restore HEAD^; echo 'human wrote this' >>f", 1)]
#[case::checkout("git checkout -q HEAD^ -- f", 0)]
fn a_line_as_an_earlier_commit_has_it_is_as_a_whole_its_authors(#[case] script: &str, #[case] human: usize) {
    let desk = Desk::new();
    desk.turn("a", &[("f", &(changed(&[]) + "a says that the value of x is 13\n"))]);
    desk.commit_all();
    desk.turn("a", &[("f", &(changed(&[]) + "a says that the value of x is 33\n"))]);
    desk.commit_all();
    desk.sh(&script.replace("restore", "git checkpoint restore"));
    let all = ["a says that the value of x is 13: a", "human wrote this: human"];
    assert_eq!(blamed(&desk, "f"), all[..=human]);
    desk.commit_all();
    assert_eq!(blamed(&desk, "f"), all[..=human]);
    desk.finish();
}

/// The lines were committed in between without their neighbour, and go back to where a session had written beside them.
#[rstest::rstest]
#[case::nothing_unsaved("")]
#[case::a_line_unsaved("echo human wrote this too >>f")]
#[case::all_unsaved("sed -i /human/d f; echo human wrote this too >>f")]
fn a_committed_line_that_an_undo_brings_back_with_a_sessions_is_a_persons(#[case] unsaved: &str) {
    let desk = Desk::new();
    let human = "human wrote this first\nhuman wrote this second\n";
    desk.write("f", changed(&[]) + human);
    desk.commit_all();
    desk.turn("b", &[("f", &(changed(&[]) + "b wrote this\n" + human))]);
    desk.sh("git checkpoint restore --all base");
    desk.write("f", changed(&[]) + "human wrote something else\n");
    desk.git(&["commit", "-qam", "else"]);
    desk.sh(unsaved);
    desk.sh("git checkpoint undo --all");
    assert_eq!(desk.read("f"), changed(&[]) + "b wrote this\n" + human);
    assert_eq!(blamed(&desk, "f"), expected(&desk, "f"));
    desk.commit_all();
    assert_eq!(blamed(&desk, "f"), expected(&desk, "f"));
    desk.finish();
}

/// The checkpoint that is restored has the file as its base commit has it.
#[test]
fn a_committed_line_that_a_restore_brings_back_before_a_session_edits_the_file_is_a_persons() {
    let desk = Desk::new();
    let human = ["human wrote this first\n", "human wrote this second\n"];
    desk.write("f", changed(&[]) + &human.concat());
    desk.commit_all();
    desk.turn("b", &[("n", "b wrote a file\n")]);
    desk.commit_all();
    desk.write("f", changed(&[]) + human[0] + "human wrote something else\n");
    desk.git(&["commit", "-qam", "else"]);
    desk.sh("echo human wrote this too >>f; git checkpoint restore b@1 -- f");
    desk.turn("b", &[("f", &(changed(&[]) + &human.concat() + "b wrote this\n"))]);
    assert_eq!(blamed(&desk, "f"), expected(&desk, "f"));
    desk.commit_all();
    assert_eq!(blamed(&desk, "f"), expected(&desk, "f"));
    desk.finish();
}

/// Between the base of the checkpoint and HEAD, a person has replaced all that follows the numbered lines.
#[rstest::rstest]
#[case::a_sessions_committed_lines("c wrote this first\nc wrote this second\n", "echo b wrote this >>f", "f")]
#[case::a_renamed_file("human wrote this first\n", "mv f m; echo b wrote this >>m", "m")]
#[case::a_deleted_line(
    "human wrote this first\nhuman wrote this second\n",
    "sed -i 's/^human.*first$/b wrote this/' f",
    "f"
)]
fn lines_that_a_restore_brings_back_from_an_earlier_base_are_whose_they_were(
    #[case] committed: &str,
    #[case] script: &str,
    #[case] path: &str,
) {
    let desk = Desk::new();
    let before = changed(&[]) + committed;
    if committed.starts_with('c') {
        desk.turn("c", &[("f", &before)]);
    } else {
        desk.write("f", before);
    }
    desk.commit_all();
    desk.prompt("b");
    desk.sh(script);
    desk.stop("b");
    desk.sh("git checkpoint restore --all base");
    desk.write("f", changed(&[]) + "human wrote something else\n");
    desk.git(&["commit", "-qam", "else"]);
    desk.turn("c", &[("f", &(desk.read("f") + "c wrote this too\n"))]);
    desk.sh("git checkpoint restore --all b@1");
    assert_eq!(blamed(&desk, path), expected(&desk, path));
    desk.commit_all();
    assert_eq!(blamed(&desk, path), expected(&desk, path));
    desk.finish();
}
