//! `git commit --amend`, in all its forms.

use git_checkpoint::testing::model::record::How;

use super::{Bench, lines};
use crate::support::site::described;

fn bench() -> Bench {
    let bench = Bench::new();
    bench.agent_commit("a", "one");
    assert_eq!(bench.sessions("HEAD"), ["a"]);
    bench
}

#[rstest::rstest]
#[case::no_edit(&["--no-edit"])]
#[case::editor(&[])]
#[case::reset_author(&["--no-edit", "--reset-author"])]
#[case::author(&["--no-edit", "--author=X <x@example.com>"])]
#[case::date(&["--no-edit", "--date=2001-01-01T00:00:00Z"])]
#[case::message(&["-m", "other words"])]
#[case::message_and_author(&["-m", "other words", "--reset-author"])]
#[case::message_and_date(&["-m", "other words", "--date=2001-01-01T00:00:00Z"])]
#[case::abbreviated(&["--am", "-m", "other words"])]
#[case::reused(&["-C", "HEAD~1"])]
fn an_amend_at_once_keeps_the_record(#[case] arguments: &[&str]) {
    let bench = bench();
    let ids = bench.ids("HEAD");
    amend(&bench, arguments, 1);
    assert_eq!(bench.ids("HEAD"), ids);
    assert_eq!(bench.named("HEAD"), [ids[0].to_string()], "{}", bench.message("HEAD"));
    assert_eq!(bench.how("HEAD"), [How::Amend]);
    assert_eq!(bench.all().len(), 1);
    bench.is_whole();
}

/// Amends HEAD so many seconds after it was committed.
fn amend(bench: &Bench, arguments: &[&str], seconds: u64) {
    let before: u64 = bench.git(&["log", "-1", "--format=%ct"]).trim().parse().expect("a number");
    let mut command = bench.command("git");
    command.env("GIT_COMMITTER_DATE", format!("@{} +0000", before + seconds));
    let output = command.args(["commit", "-q", "--amend", "--allow-empty"]).args(arguments).output().expect("git runs");
    assert!(output.status.success(), "{}", described(&output));
}

/// Within a second, an amend that changes nothing makes the same commit.
#[test]
fn an_amend_that_makes_the_same_commit_changes_no_link() {
    let bench = bench();
    let (before, ids) = (bench.id("HEAD"), bench.ids("HEAD"));
    amend(&bench, &["--no-edit"], 0);
    assert_eq!((bench.id("HEAD"), bench.ids("HEAD"), bench.how("HEAD")), (before, ids.clone(), vec![How::Commit]));
    assert_eq!(bench.all(), ids);
    bench.is_whole();
}

#[test]
fn an_amend_with_a_message_later_keeps_the_record() {
    let bench = Bench::new();
    bench.agent("a", "one", &lines("one", 6));
    bench.git(&["add", "-A"]);
    bench.sh("GIT_AUTHOR_DATE='@1710000000 +0000' GIT_COMMITTER_DATE='@1710000000 +0000' git commit -qm one");
    let ids = bench.ids("HEAD");
    assert_eq!(ids.len(), 1);
    bench.git(&["commit", "-q", "--amend", "-m", "other words"]);
    assert_eq!((bench.ids("HEAD"), bench.how("HEAD")), (ids.clone(), vec![How::Amend]));
    assert_eq!(bench.named("HEAD"), [ids[0].to_string()]);
    bench.is_whole();
}

#[test]
fn an_alias_that_amends_keeps_the_trailer() {
    let bench = bench();
    let ids = bench.ids("HEAD");
    bench.git(&["config", "alias.again", "commit --amend"]);
    bench.git(&["again", "-qm", "other words"]);
    assert_eq!(bench.named("HEAD"), [ids[0].to_string()]);
    bench.is_whole();
}

#[test]
fn a_commit_with_the_date_of_the_last_one_is_no_amend() {
    let bench = Bench::new();
    let run = |arguments: &[&str]| {
        let mut command = bench.command("git");
        command.env("GIT_AUTHOR_DATE", "@1710000000 +0000").env("GIT_COMMITTER_DATE", "@1710000000 +0000");
        assert!(command.args(arguments).status().expect("git runs").success());
    };
    bench.agent("a", "one", &lines("one", 5));
    bench.git(&["add", "-A"]);
    run(&["commit", "-qm", "one"]);
    bench.write("two", "by hand\n");
    bench.git(&["add", "-A"]);
    run(&["commit", "-qm", "two"]);
    assert_eq!(bench.sessions("HEAD~1"), ["a"]);
    assert_eq!(bench.ids("HEAD"), []);
    bench.is_whole();
}

#[test]
fn a_message_that_says_amend_is_no_amend() {
    let bench = bench();
    bench.write("two", "by hand\n");
    bench.git(&["add", "-A"]);
    bench.git(&["commit", "-q", "-m", "--amend"]);
    assert_eq!(bench.ids("HEAD"), []);
    bench.is_whole();
}

#[rstest::rstest]
#[case::no_edit(&["--no-edit"])]
#[case::message(&["-m", "other words"])]
fn an_amend_with_new_work_has_both(#[case] arguments: &[&str]) {
    let bench = bench();
    let old = bench.ids("HEAD");
    bench.agent("b", "two", &lines("two", 6));
    bench.git(&["add", "-A"]);
    bench.git(&[&["commit", "-q", "--amend"], arguments].concat());
    assert_eq!(bench.sessions("HEAD"), ["a", "b"]);
    assert!(bench.ids("HEAD").contains(&old[0]));
    bench.is_whole();
    // And what comes after it is no amend.
    bench.human_commit("three");
    assert_eq!(bench.ids("HEAD"), []);
    bench.is_whole();
}

#[test]
fn an_amend_with_new_work_of_the_same_session_and_file() {
    let bench = bench();
    bench.turn("a", || bench.add_to("one", &lines("more", 3)));
    bench.git(&["commit", "-qa", "--amend", "--no-edit"]);
    assert_eq!(bench.sessions("HEAD"), ["a"]);
    assert_eq!(bench.ids("HEAD").len(), 2);
    bench.is_whole();
}

#[test]
fn an_amend_with_work_by_hand_keeps_the_record() {
    let bench = bench();
    let ids = bench.ids("HEAD");
    bench.write("hand", "by hand\n");
    bench.git(&["add", "-A"]);
    bench.git(&["commit", "-q", "--amend", "-m", "other words"]);
    assert_eq!(bench.ids("HEAD"), ids);
    assert_eq!(bench.all(), ids);
    bench.is_whole();
}

#[test]
fn an_amend_of_work_by_hand_takes_an_agents_work_in() {
    let bench = Bench::new();
    bench.human_commit("hand");
    bench.agent("a", "one", &lines("one", 6));
    bench.git(&["add", "-A"]);
    bench.git(&["commit", "-q", "--amend", "-m", "other words"]);
    assert_eq!(bench.sessions("HEAD"), ["a"]);
    assert_eq!(bench.named("HEAD").len(), 1);
    bench.is_whole();
}

#[test]
fn an_amend_that_takes_only_a_part_carries_the_rest_forward() {
    let bench = bench();
    bench.turn("b", || {
        bench.write("two", lines("two", 6));
        bench.write("three", lines("three", 6));
    });
    bench.git(&["add", "two"]);
    bench.git(&["commit", "-q", "--amend", "--no-edit"]);
    assert_eq!(bench.sessions("HEAD"), ["a", "b"]);
    bench.git(&["add", "three"]);
    bench.git(&["commit", "-qm", "three"]);
    assert_eq!(bench.sessions("HEAD"), ["b"]);
    assert_eq!(bench.all().len(), 3);
    bench.is_whole();
}

#[rstest::rstest]
#[case::plain(&["--amend", "--no-edit"])]
#[case::message(&["--amend", "-m", "other words"])]
#[case::editor(&["--amend"])]
fn an_amend_that_drops_all_work_drops_the_record(#[case] arguments: &[&str]) {
    let bench = bench();
    bench.write("one", "by hand\n");
    bench.git(&[&["commit", "-qa"], arguments].concat());
    assert_eq!((bench.named("HEAD"), bench.ids("HEAD")), (Vec::new(), Vec::new()), "{}", bench.message("HEAD"));
    bench.is_whole();
}

#[test]
fn an_amend_within_a_rebase_that_drops_all_work_drops_the_record() {
    let bench = bench();
    bench.agent_commit("b", "two");
    bench.rebase("sed -i '1s/pick/edit/'", &["HEAD~2"]);
    bench.write("one", "by hand\n");
    bench.git(&["commit", "-qa", "--amend", "--no-edit"]);
    bench.git(&["rebase", "--continue"]);
    assert_eq!((bench.sessions("HEAD"), bench.sessions("HEAD~1")), (vec!["b".to_owned()], Vec::new()));
    bench.is_whole();
}

#[test]
fn an_amend_that_keeps_a_line_of_the_work_keeps_the_record() {
    let bench = bench();
    let ids = bench.ids("HEAD");
    let line = lines("one", 6).lines().next().expect("six").replace("number", "fine number");
    bench.write("one", format!("by hand\n{line}\n"));
    bench.git(&["commit", "-qa", "--amend", "--no-edit"]);
    assert_eq!(bench.ids("HEAD"), ids, "{}", bench.message("HEAD"));
    assert_eq!(bench.named("HEAD").len(), 1);
    bench.git(&["mv", "one", "other"]);
    bench.git(&["commit", "-q", "--amend", "--no-edit"]);
    assert_eq!(bench.ids("HEAD"), ids, "{}", bench.message("HEAD"));
    bench.is_whole();
}

#[test]
fn an_amend_that_drops_one_work_of_two_keeps_the_other() {
    let bench = bench();
    bench.agent("b", "two", &lines("two", 6));
    bench.git(&["add", "-A"]);
    bench.git(&["commit", "-q", "--amend", "--no-edit"]);
    assert_eq!(bench.sessions("HEAD"), ["a", "b"]);
    bench.git(&["rm", "-q", "--cached", "one"]);
    bench.git(&["commit", "-q", "--amend", "--no-edit"]);
    assert_eq!((bench.sessions("HEAD"), bench.named("HEAD").len()), (vec!["b".to_owned()], 1));
    bench.is_whole();
}

#[rstest::rstest]
#[case::reused(&["-C", "HEAD"])]
#[case::edited(&["-c", "HEAD"])]
#[case::by_id(&["-C", "main~0"])]
fn a_copied_message_brings_no_record(#[case] arguments: &[&str]) {
    let bench = bench();
    bench.write("hand", "by hand\n");
    bench.git(&["add", "hand"]);
    bench.git(&[&["commit", "-q"], arguments].concat());
    assert_eq!((bench.named("HEAD"), bench.ids("HEAD")), (Vec::new(), Vec::new()), "{}", bench.message("HEAD"));
    assert_eq!(bench.sessions("HEAD~1"), ["a"]);
    bench.is_whole();
}

#[test]
fn a_copied_message_with_new_work_brings_the_record_of_that() {
    let bench = bench();
    bench.agent("b", "two", &lines("two", 6));
    bench.git(&["add", "-A"]);
    bench.git(&["commit", "-q", "-C", "HEAD"]);
    assert_eq!((bench.sessions("HEAD"), bench.named("HEAD").len()), (vec!["b".to_owned()], 1));
    bench.is_whole();
}

#[test]
fn the_message_for_another_commit_keeps_its_trailer() {
    let bench = bench();
    let ids = bench.ids("HEAD");
    bench.human_commit("hand");
    bench.git(&["commit", "-q", "--allow-empty", "--fixup=amend:HEAD~1"]);
    bench.rebase("true", &["--autosquash", "HEAD~3"]);
    assert_eq!((bench.ids("HEAD~1"), bench.named("HEAD~1").len()), (ids, 1), "{}", bench.message("HEAD~1"));
}

#[test]
fn an_amend_while_work_waits_keeps_the_work() {
    let bench = bench();
    bench.agent("b", "two", &lines("two", 6));
    bench.git(&["commit", "-q", "--amend", "-m", "only words"]);
    assert_eq!(bench.sessions("HEAD"), ["a"]);
    bench.git(&["add", "two"]);
    bench.git(&["commit", "-qm", "two"]);
    assert_eq!(bench.sessions("HEAD"), ["b"]);
    bench.is_whole();
}

#[test]
fn an_amend_of_the_first_commit() {
    let bench = Bench::new();
    bench.git(&["checkout", "-q", "--orphan", "new"]);
    bench.agent("a", "one", &lines("one", 6));
    bench.git(&["add", "-A"]);
    bench.git(&["commit", "-qm", "first"]);
    assert_eq!(bench.sessions("HEAD"), ["a"]);
    bench.git(&["commit", "-q", "--amend", "-m", "first again"]);
    assert_eq!(bench.sessions("HEAD"), ["a"]);
    bench.is_whole();
}

#[test]
fn an_amend_of_a_merge() {
    let bench = bench();
    bench.git(&["checkout", "-q", "-b", "side", "HEAD~1"]);
    bench.agent_commit("b", "two");
    bench.git(&["checkout", "-q", "main"]);
    bench.git(&["merge", "-q", "--no-edit", "side"]);
    bench.agent("c", "three", &lines("three", 6));
    bench.git(&["add", "-A"]);
    bench.git(&["commit", "-q", "--amend", "--no-edit"]);
    assert_eq!(bench.sessions("HEAD"), ["c"]);
    assert_eq!(bench.git(&["rev-list", "--parents", "-1", "HEAD"]).split(' ').count(), 3);
    bench.is_whole();
}
