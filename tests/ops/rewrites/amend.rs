//! `git commit --amend`, in all its forms.

use git_checkpoint::testing::model::record::How;

use super::{World, lines};
use crate::support::{processes::described, template::Template};

static START: Template = Template::new(|world| {
    let world = world.commit_old();
    world.agent_commit("a", "one");
    assert_eq!(world.sessions("HEAD"), ["a"]);
});

fn world() -> World {
    World::copied(&START)
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
    let world = world();
    let ids = world.ids("HEAD");
    amend(&world, arguments, 1);
    assert_eq!(world.ids("HEAD"), ids);
    assert_eq!(world.named("HEAD"), [ids[0].to_string()], "{}", world.message("HEAD"));
    assert_eq!(world.how("HEAD"), [How::Amend]);
    assert_eq!(world.all().len(), 1);
    world.is_whole();
}

/// Amends HEAD so many seconds after it was committed.
fn amend(world: &World, arguments: &[&str], seconds: u64) {
    let before: u64 = world.git(&["log", "-1", "--format=%ct"]).trim().parse().expect("a number");
    let mut command = world.command("git");
    command.env("GIT_COMMITTER_DATE", format!("@{} +0000", before + seconds));
    let output = command.args(["commit", "-q", "--amend", "--allow-empty"]).args(arguments).output().expect("git runs");
    assert!(output.status.success(), "{}", described(&output));
}

/// Within a second, an amend that changes nothing makes the same commit.
#[test]
fn an_amend_that_makes_the_same_commit_changes_no_link() {
    let world = world();
    let (before, ids) = (world.commit_id("HEAD"), world.ids("HEAD"));
    amend(&world, &["--no-edit"], 0);
    assert_eq!(
        (world.commit_id("HEAD"), world.ids("HEAD"), world.how("HEAD")),
        (before, ids.clone(), vec![How::Commit])
    );
    assert_eq!(world.all(), ids);
    world.is_whole();
}

#[test]
fn an_amend_with_a_message_later_keeps_the_record() {
    let world = World::with_old_commit();
    world.agent("a", "one", &lines("one", 6));
    world.git(&["add", "-A"]);
    world.sh("GIT_AUTHOR_DATE='@1710000000 +0000' GIT_COMMITTER_DATE='@1710000000 +0000' git commit -qm one");
    let ids = world.ids("HEAD");
    assert_eq!(ids.len(), 1);
    world.git(&["commit", "-q", "--amend", "-m", "other words"]);
    assert_eq!((world.ids("HEAD"), world.how("HEAD")), (ids.clone(), vec![How::Amend]));
    assert_eq!(world.named("HEAD"), [ids[0].to_string()]);
    world.is_whole();
}

#[test]
fn an_alias_that_amends_keeps_the_trailer() {
    let world = world();
    let ids = world.ids("HEAD");
    world.git(&["config", "alias.again", "commit --amend"]);
    world.git(&["again", "-qm", "other words"]);
    assert_eq!(world.named("HEAD"), [ids[0].to_string()]);
    world.is_whole();
}

#[test]
fn a_commit_with_the_date_of_the_last_one_is_no_amend() {
    let world = World::with_old_commit();
    let run = |arguments: &[&str]| {
        let mut command = world.command("git");
        command.env("GIT_AUTHOR_DATE", "@1710000000 +0000").env("GIT_COMMITTER_DATE", "@1710000000 +0000");
        assert!(command.args(arguments).status().expect("git runs").success());
    };
    world.agent("a", "one", &lines("one", 5));
    world.git(&["add", "-A"]);
    run(&["commit", "-qm", "one"]);
    world.write("two", "by hand\n");
    world.git(&["add", "-A"]);
    run(&["commit", "-qm", "two"]);
    assert_eq!(world.sessions("HEAD~1"), ["a"]);
    assert_eq!(world.ids("HEAD"), []);
    world.is_whole();
}

#[test]
fn a_message_that_says_amend_is_no_amend() {
    let world = world();
    world.write("two", "by hand\n");
    world.git(&["add", "-A"]);
    world.git(&["commit", "-q", "-m", "--amend"]);
    assert_eq!(world.ids("HEAD"), []);
    world.is_whole();
}

#[rstest::rstest]
#[case::no_edit(&["--no-edit"])]
#[case::message(&["-m", "other words"])]
fn an_amend_with_new_work_has_both(#[case] arguments: &[&str]) {
    let world = world();
    let old = world.ids("HEAD");
    world.agent("b", "two", &lines("two", 6));
    world.git(&["add", "-A"]);
    world.git(&[&["commit", "-q", "--amend"], arguments].concat());
    assert_eq!(world.sessions("HEAD"), ["a", "b"]);
    assert!(world.ids("HEAD").contains(&old[0]));
    world.is_whole();
    // And what comes after it is no amend.
    world.human_commit("three");
    assert_eq!(world.ids("HEAD"), []);
    world.is_whole();
}

#[test]
fn an_amend_with_new_work_of_the_same_session_and_file() {
    let world = world();
    world.turn("a", || world.add_to("one", &lines("more", 3)));
    world.git(&["commit", "-qa", "--amend", "--no-edit"]);
    assert_eq!(world.sessions("HEAD"), ["a"]);
    assert_eq!(world.ids("HEAD").len(), 2);
    world.is_whole();
}

#[test]
fn an_amend_with_work_by_hand_keeps_the_record() {
    let world = world();
    let ids = world.ids("HEAD");
    world.write("hand", "by hand\n");
    world.git(&["add", "-A"]);
    world.git(&["commit", "-q", "--amend", "-m", "other words"]);
    assert_eq!(world.ids("HEAD"), ids);
    assert_eq!(world.all(), ids);
    world.is_whole();
}

#[test]
fn an_amend_of_work_by_hand_takes_an_agents_work_in() {
    let world = World::with_old_commit();
    world.human_commit("hand");
    world.agent("a", "one", &lines("one", 6));
    world.git(&["add", "-A"]);
    world.git(&["commit", "-q", "--amend", "-m", "other words"]);
    assert_eq!(world.sessions("HEAD"), ["a"]);
    assert_eq!(world.named("HEAD").len(), 1);
    world.is_whole();
}

#[test]
fn an_amend_that_takes_only_a_part_carries_the_rest_forward() {
    let world = world();
    world.turn("b", || {
        world.write("two", lines("two", 6));
        world.write("three", lines("three", 6));
    });
    world.git(&["add", "two"]);
    world.git(&["commit", "-q", "--amend", "--no-edit"]);
    assert_eq!(world.sessions("HEAD"), ["a", "b"]);
    world.git(&["add", "three"]);
    world.git(&["commit", "-qm", "three"]);
    assert_eq!(world.sessions("HEAD"), ["b"]);
    assert_eq!(world.all().len(), 3);
    world.is_whole();
}

#[rstest::rstest]
#[case::plain(&["--amend", "--no-edit"])]
#[case::message(&["--amend", "-m", "other words"])]
#[case::editor(&["--amend"])]
fn an_amend_that_drops_all_work_drops_the_record(#[case] arguments: &[&str]) {
    let world = world();
    world.write("one", "by hand\n");
    world.git(&[&["commit", "-qa"], arguments].concat());
    assert_eq!((world.named("HEAD"), world.ids("HEAD")), (Vec::new(), Vec::new()), "{}", world.message("HEAD"));
    world.is_whole();
}

#[test]
fn an_amend_within_a_rebase_that_drops_all_work_drops_the_record() {
    let world = world();
    world.agent_commit("b", "two");
    world.rebase("sed -i '1s/pick/edit/'", &["HEAD~2"]);
    world.write("one", "by hand\n");
    world.git(&["commit", "-qa", "--amend", "--no-edit"]);
    world.git(&["rebase", "--continue"]);
    assert_eq!((world.sessions("HEAD"), world.sessions("HEAD~1")), (vec!["b".to_owned()], Vec::new()));
    world.is_whole();
}

#[test]
fn an_amend_that_keeps_a_line_of_the_work_keeps_the_record() {
    let world = world();
    let ids = world.ids("HEAD");
    let line = lines("one", 6).lines().next().expect("six").replace("number", "fine number");
    world.write("one", format!("by hand\n{line}\n"));
    world.git(&["commit", "-qa", "--amend", "--no-edit"]);
    assert_eq!(world.ids("HEAD"), ids, "{}", world.message("HEAD"));
    assert_eq!(world.named("HEAD").len(), 1);
    world.git(&["mv", "one", "other"]);
    world.git(&["commit", "-q", "--amend", "--no-edit"]);
    assert_eq!(world.ids("HEAD"), ids, "{}", world.message("HEAD"));
    world.is_whole();
}

#[test]
fn an_amend_that_drops_one_work_of_two_keeps_the_other() {
    let world = world();
    world.agent("b", "two", &lines("two", 6));
    world.git(&["add", "-A"]);
    world.git(&["commit", "-q", "--amend", "--no-edit"]);
    assert_eq!(world.sessions("HEAD"), ["a", "b"]);
    world.git(&["rm", "-q", "--cached", "one"]);
    world.git(&["commit", "-q", "--amend", "--no-edit"]);
    assert_eq!((world.sessions("HEAD"), world.named("HEAD").len()), (vec!["b".to_owned()], 1));
    world.is_whole();
}

#[rstest::rstest]
#[case::reused(&["-C", "HEAD"])]
#[case::edited(&["-c", "HEAD"])]
#[case::by_id(&["-C", "main~0"])]
fn a_copied_message_brings_no_record(#[case] arguments: &[&str]) {
    let world = world();
    world.write("hand", "by hand\n");
    world.git(&["add", "hand"]);
    world.git(&[&["commit", "-q"], arguments].concat());
    assert_eq!((world.named("HEAD"), world.ids("HEAD")), (Vec::new(), Vec::new()), "{}", world.message("HEAD"));
    assert_eq!(world.sessions("HEAD~1"), ["a"]);
    world.is_whole();
}

#[test]
fn a_copied_message_with_new_work_brings_the_record_of_that() {
    let world = world();
    world.agent("b", "two", &lines("two", 6));
    world.git(&["add", "-A"]);
    world.git(&["commit", "-q", "-C", "HEAD"]);
    assert_eq!((world.sessions("HEAD"), world.named("HEAD").len()), (vec!["b".to_owned()], 1));
    world.is_whole();
}

#[test]
fn the_message_for_another_commit_keeps_its_trailer() {
    let world = world();
    let ids = world.ids("HEAD");
    world.human_commit("hand");
    world.git(&["commit", "-q", "--allow-empty", "--fixup=amend:HEAD~1"]);
    world.rebase("true", &["--autosquash", "HEAD~3"]);
    assert_eq!((world.ids("HEAD~1"), world.named("HEAD~1").len()), (ids, 1), "{}", world.message("HEAD~1"));
}

#[test]
fn an_amend_while_work_waits_keeps_the_work() {
    let world = world();
    world.agent("b", "two", &lines("two", 6));
    world.git(&["commit", "-q", "--amend", "-m", "only words"]);
    assert_eq!(world.sessions("HEAD"), ["a"]);
    world.git(&["add", "two"]);
    world.git(&["commit", "-qm", "two"]);
    assert_eq!(world.sessions("HEAD"), ["b"]);
    world.is_whole();
}

#[test]
fn an_amend_of_the_first_commit() {
    let world = World::with_old_commit();
    world.git(&["checkout", "-q", "--orphan", "new"]);
    world.agent("a", "one", &lines("one", 6));
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "first"]);
    assert_eq!(world.sessions("HEAD"), ["a"]);
    world.git(&["commit", "-q", "--amend", "-m", "first again"]);
    assert_eq!(world.sessions("HEAD"), ["a"]);
    world.is_whole();
}

#[test]
fn an_amend_of_a_merge() {
    let world = world();
    world.git(&["checkout", "-q", "-b", "side", "HEAD~1"]);
    world.agent_commit("b", "two");
    world.git(&["checkout", "-q", "main"]);
    world.git(&["merge", "-q", "--no-edit", "side"]);
    world.agent("c", "three", &lines("three", 6));
    world.git(&["add", "-A"]);
    world.git(&["commit", "-q", "--amend", "--no-edit"]);
    assert_eq!(world.sessions("HEAD"), ["c"]);
    assert_eq!(world.git(&["rev-list", "--parents", "-1", "HEAD"]).split(' ').count(), 3);
    world.is_whole();
}
